//! Work on a whole vault: the preload, the audit chain, backup and restore, rotation of keys. The clock runs from the
//! command to its end, when everything is durable.

use crate::Outcome;
use crate::proc::{self, Scratch};
use crate::report::Results;
use crate::stage::Stage;
use crate::stats::quotient;
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

/// The stopped vault, so that nothing is held back for requests: all tenant keys, from the new one to the last entry under
/// the old one.
pub(crate) fn rotate(stage: &mut Stage<'_>, results: &mut Results) -> Outcome<()> {
    stage.vault.stop()?;
    let start = Instant::now();
    stage.place.rotate()?;
    let time_s = start.elapsed().as_secs_f64();
    results.rotated_per_s = Some(quotient(stage.place.records_under(2)? as f64, time_s));
    stage.vault = stage.place.start()?;
    Ok(())
}
