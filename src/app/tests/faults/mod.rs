//! Random damage of every file of a vault. A damaged vault is refused or answers correctly;
//! otherwise the answer is an error, or `verify` names the damage. It never panics.
//!
//! `STRONGROOM_FLIPS=100000` tries that many samples, `STRONGROOM_SEED` begins with another seed.

mod answers;
mod children;
mod exported;
mod rows;
mod scene;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::app::tests::faults::answers::{Answers, ask, judge};
use crate::app::tests::faults::rows::Rows;
use crate::app::tests::faults::scene::{Scene, scene};
use crate::app::tests::{assert_clean, draft, master};
use crate::app::{Error, Vault, VaultFailure, Write};
use crate::clock::Clock;
use crate::store::tests::damage::{Sample, damage};
use crate::store::tests::disk::{Image, TestDisk};
use crate::store::tests::{block_on, remove_log_state};
use crate::store::{OpenFailure, StorageFailure, Store, Table, tables};

/// Makes a sample from a seed; `None` if it would change nothing.
type Choose<'a> = &'a dyn Fn(u64) -> Option<(Sample, Image)>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Not opened, for this reason.
    Refused(String),
    /// Every answer was right, and `verify` found nothing.
    Harmless,
    /// Every answer was right, and `verify` found something.
    Found,
    /// Some answers were errors or incomplete, and `verify` found something.
    Reported,
    /// Only the last batch of the log is missing, as if its write had been cut off.
    LastBatch,
    /// The test fails with such a sample.
    Bad(String),
}

fn open(image: Image, clock: &Clock) -> Result<(Vault, TestDisk), VaultFailure> {
    let disk = TestDisk::holding(image);
    Ok((Vault::on_disk(&disk, master(), clock.clone())?, disk))
}

fn reason(failure: &VaultFailure) -> String {
    let text = format!("{failure:?}");
    text.chars().take_while(|letter| !['"', '{'].contains(letter)).take(60).collect()
}

/// Opens the damaged vault, checks all answers, uses it further, and opens it again.
fn run(scene: &Scene, expected: &Expected, sample: &Sample, image: Image) -> Outcome {
    let (app, disk) = match open(image.clone(), &scene.clock) {
        Ok(opened) => opened,
        Err(failure) => return Outcome::Refused(reason(&failure)),
    };
    let page = PageCheck { image, result: OnceCell::new() };
    let first = look(&app, scene, (&expected.all, &page), &[]);
    if matches!(first, Outcome::Bad(_)) && sample.file.starts_with("strongroom.log.") {
        // Only the newest frame can be mistaken for one that a loss of power has cut off.
        if look(&app, scene, (&expected.before_last, &page), &[]) == Outcome::Harmless {
            return Outcome::LastBatch;
        }
    }
    if matches!(first, Outcome::Bad(_)) || !sample.seed.is_multiple_of(4) {
        return first;
    }
    let known = (&expected.all, &page);
    // Using the vault further must not destroy anything.
    let mut new = Vec::new();
    let used = block_on(use_on(&app, &mut new));
    let then = look(&app, scene, known, &new);
    if matches!(then, Outcome::Bad(_)) {
        return then;
    }
    app.close();
    drop(app);
    let again = match open(disk.volatile(), &scene.clock) {
        Ok((app, _)) => look(&app, scene, known, &new),
        Err(failure) => Outcome::Refused(reason(&failure)),
    };
    match (used, again) {
        (_, bad @ Outcome::Bad(_)) => bad,
        (Ok(()), Outcome::Refused(why)) if first == Outcome::Harmless => {
            Outcome::Bad(format!("it was clean, and the second start refuses it: {why}"))
        }
        _ => first,
    }
}

async fn use_on(app: &Vault, new: &mut Vec<String>) -> Result<(), Error> {
    let caller = app.access().authenticate(&crate::app::tests::prepared_key())?;
    let made = app.tokens(&caller).create(draft("made afterwards"), &Write::plain()).await?;
    new.push(made.outcome.shown.token.public_id());
    app.upkeep().sweep_all().await?;
    for turn in 0..8 {
        app.store().merge_now(turn)?;
    }
    Ok(())
}

fn look(
    app: &Vault,
    scene: &Scene,
    (expected, page): (&Answers, &PageCheck),
    new: &[String],
) -> Outcome {
    let judgement = judge(expected, &ask(app, &scene.known), new);
    let report = app.verification().verify();
    let is_right = judgement.missing.is_empty() && judgement.failed == 0;
    let is_named = report.as_ref().is_ok_and(|it| !it.is_clean() || it.cvcs_gone > 0);
    // `verify` also compares the checksums of the pages.
    let is_named = is_named || (!is_right && page.finds_damage());
    let has_failed = report.is_err();
    if !judgement.wrong.is_empty() {
        return Outcome::Bad(format!("wrong: {:?}", judgement.wrong));
    }
    if !judgement.missing.is_empty() && !is_named && !has_failed {
        return Outcome::Bad(format!("missing and not named: {:?}", judgement.missing));
    }
    if judgement.failed > 0 && !is_named && !has_failed {
        return Outcome::Bad(format!("{} failed, and verify is clean", judgement.failed));
    }
    match (is_right, is_named || has_failed) {
        (true, false) => Outcome::Harmless,
        (true, true) => Outcome::Found,
        (false, _) => Outcome::Reported,
    }
}

/// The answers of an undamaged vault.
struct Expected {
    all: Answers,
    /// Before the last batch of the log.
    before_last: Answers,
}

impl Expected {
    fn of(scene: &Scene, image: &Image) -> Self {
        let ask = |image: &Image| {
            let (app, _) = open(image.clone(), &scene.clock).unwrap();
            assert_clean(&app);
            assert!(Store::has_sound_pages_on(&TestDisk::holding(image.clone())).unwrap());
            ask(&app, &scene.known)
        };
        Self { all: ask(image), before_last: ask(&scene.before_last) }
    }
}

/// The checksums of a damaged image's pages, compared only if needed.
struct PageCheck {
    image: Image,
    result: OnceCell<bool>,
}

impl PageCheck {
    fn finds_damage(&self) -> bool {
        let check = || Store::has_sound_pages_on(&TestDisk::holding(self.image.clone()));
        *self.result.get_or_init(|| !check().is_ok_and(|is_sound| is_sound))
    }
}

/// Tries the samples that `choose` makes from the seeds.
fn try_samples(image: &Image, seeds: Range<u64>, choose: Choose<'_>) {
    let scene = scene();
    let expected = Expected::of(scene, image);
    let mut outcomes: BTreeMap<(String, Outcome), u64> = BTreeMap::new();
    for seed in seeds {
        children::begin(seed);
        let Some((sample, damaged)) = choose(seed) else { continue };
        let ran = catch_unwind(AssertUnwindSafe(|| run(scene, &expected, &sample, damaged)));
        let outcome = ran.unwrap_or_else(|_| Outcome::Bad(String::from("it panicked")));
        let is_log = sample.file.starts_with("strongroom.log.");
        // Every frame has a checksum, so a damaged one must never be accepted.
        let outcome = if is_log && matches!(outcome, Outcome::Found | Outcome::Reported) {
            Outcome::Bad(String::from("a damaged frame of the log was taken"))
        } else {
            outcome
        };
        if let Outcome::Bad(why) = &outcome {
            children::report_bad(&format!("{sample}: {why}"));
        } else {
            *outcomes.entry((sample.file.clone(), outcome)).or_default() += 1;
        }
    }
    for ((file, outcome), count) in &outcomes {
        println!("{count:6} {file} {outcome:?}");
    }
}

#[test]
fn damage_of_a_stopped_vault_is_refused_named_or_harmless() {
    children::in_children("damage_of_a_stopped_vault_is_refused_named_or_harmless", 1, |seeds| {
        let Scene { stopped, earlier, .. } = scene();
        try_samples(stopped, seeds, &|seed| damage(seed, stopped, earlier));
    });
}

#[test]
fn damage_of_a_killed_vault_is_refused_named_or_harmless() {
    let test = "damage_of_a_killed_vault_is_refused_named_or_harmless";
    children::in_children(test, 1_000_000, |seeds| {
        let Scene { killed, earlier, .. } = scene();
        try_samples(killed, seeds, &|seed| damage(seed, killed, earlier));
    });
}

#[test]
fn damage_of_a_single_row_of_any_table_is_refused_named_or_harmless() {
    let test = "damage_of_a_single_row_of_any_table_is_refused_named_or_harmless";
    children::in_children(test, 2_000_000, |seeds| {
        let scene = scene();
        let rows = Rows::read(&scene.stopped, &scene.clock);
        let old = Rows::read(&scene.earlier, &scene.clock);
        try_samples(&scene.stopped, seeds, &|seed| rows.damage(seed, &old));
    });
}

/// The rows that are single in their kind, and whose loss would make a start overwrite others.
#[test]
fn a_lost_row_of_the_audit_chain_makes_no_start_or_write_replace_others() {
    let scene = scene();
    let rows = Rows::read(&scene.stopped, &scene.clock);
    let without = |key: &[u8]| rows.without(Table::Meta, key);
    let kept = |disk: &TestDisk, table: Table| Rows::read(&disk.volatile(), &scene.clock).of(table);
    // Without its public key, new keys of the chain would replace the keys that seal it.
    let disk = TestDisk::holding(without(tables::meta::AUDIT_PUBLIC_KEY));
    let refused = Vault::on_disk(&disk, master(), scene.clock.clone());
    assert!(matches!(refused, Err(VaultFailure::KeysDamaged)), "{:?}", refused.err());
    assert!(kept(&disk, Table::Keys) == rows.of(Table::Keys));
    // Without its head, the next entry would be the first one.
    let disk = TestDisk::holding(without(tables::meta::AUDIT_HEAD));
    let app = Vault::on_disk(&disk, master(), scene.clock.clone()).unwrap();
    let refused = block_on(use_on(&app, &mut Vec::new()));
    assert!(matches!(refused, Err(Error::Stopped | Error::Storage(_))), "{refused:?}");
    drop(app);
    assert!(kept(&disk, Table::Audit) == rows.of(Table::Audit));
}

#[test]
fn a_data_file_without_its_state_of_the_log_is_refused_and_the_log_stays() {
    let scene = scene();
    let disk = TestDisk::holding(scene.killed.clone());
    remove_log_state(&disk);
    let before = disk.volatile();
    let refused = open(before.clone(), &scene.clock).map(drop);
    let Err(VaultFailure::File(OpenFailure::Storage(StorageFailure::Log(what, _)))) = refused
    else {
        panic!("{refused:?}")
    };
    assert!(what.contains("names no log"), "{what}");
    let log = |image: &Image| image.keys().filter(|name| name.contains(".log.")).count();
    assert_eq!(log(&disk.volatile()), log(&scene.killed));
}
