//! Work on a whole vault: the preload, the audit chain, backup and restore, rotation of keys. The clock runs from the
//! command to its end, when everything is durable.

use crate::Outcome;
use crate::drive::drive;
use crate::metrics::{Metrics, ROTATION_LEFT, TOKENS};
use crate::proc::{self, Scratch};
use crate::report::{HEADLINE, Results};
use crate::request::{Kind, Load};
use crate::stage::{SLICES, Stage};
use crate::stats::{median, quotient};
use crate::vault::VaultFiles;
use std::time::Instant;

/// Fills a vault that ran once, and returns a sample of the ids.
pub(crate) fn preload(
    place: &VaultFiles,
    tokens: u64,
    results: &mut Results,
) -> Outcome<Vec<String>> {
    let empty_bytes = proc::disk_bytes(&place.data)?;
    let start = Instant::now();
    let ids = place.preload(tokens)?;
    results.preload_tokens_per_s = Some(quotient(tokens as f64, start.elapsed().as_secs_f64()));
    let filled_bytes = proc::disk_bytes(&place.data)?.saturating_sub(empty_bytes);
    results.disk_per_preloaded_bytes = Some(quotient(filled_bytes as f64, tokens as f64));
    let start = Instant::now();
    let entries = place.verify_audit()?;
    results.audit_verified_per_s = Some(quotient(entries, start.elapsed().as_secs_f64()));
    Ok(ids)
}

/// A backup of the running vault, and a restore of it beside.
pub(crate) fn back_up_and_restore(
    place: &VaultFiles,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    let (file, data) = (scratch.path("backup"), scratch.path("restored"));
    let (written, back_up_s) = place.back_up(&file)?;
    let (_, restore_s) = place.restore(&file, &data)?;
    let tokens = written.lines().find_map(|line| line.trim().strip_prefix("tokens:"));
    let tokens: f64 = tokens.ok_or("the backup prints no count")?.trim().parse()?;
    results.backup_tokens_per_s = Some(quotient(tokens, back_up_s));
    results.restore_tokens_per_s = Some(quotient(tokens, restore_s));
    results.backup_per_token_bytes = Some(quotient(std::fs::metadata(&file)?.len() as f64, tokens));
    std::fs::remove_file(file)?;
    Ok(std::fs::remove_dir_all(data)?)
}

/// Rotations of all tenant keys in the running vault: one without requests, from the new keys to the last entry under the
/// old ones, and one beside creates.
pub(crate) fn rotate(stage: &Stage<'_>, results: &mut Results) -> Outcome<()> {
    // A new connection for each page: the vault closes one that is silent for a minute.
    let value = |name: &str| Outcome::Ok(Metrics::connect(&stage.place.data)?.page()?.value(name));
    let cards = value(TOKENS)?.ok_or("the vault does not count its tokens")?;
    let start = Instant::now();
    stage.place.rotate(&["--wait"])?;
    let time_s = start.elapsed().as_secs_f64();
    results.rotated_cards_per_s = Some(quotient(cards, time_s));
    let work = stage.work(Kind::Card, Load::Create);
    let mut create = || {
        let mut p50s_us = Vec::new();
        for _ in 0..SLICES {
            let slice = drive(&stage.vault.target, &work, HEADLINE, stage.plan.pace)?;
            results.count_errors("rotate", &slice);
            p50s_us.push(slice.p50_us);
        }
        Outcome::Ok(median(p50s_us).unwrap_or_default())
    };
    let before_us = create()?;
    stage.place.rotate(&[])?;
    let beside_us = create()?;
    let is_running = value(ROTATION_LEFT)?.is_some_and(|left| left > 0.0);
    println!(
        "rotate: {cards} cards in {time_s:.1} s without requests; p50 of creates {before_us:.0} us, beside a rotation \
         {beside_us:.0} us{}",
        if is_running { "" } else { ", which ended too early" }
    );
    results.create_beside_rotation = is_running.then(|| quotient(beside_us, before_us));
    Ok(())
}
