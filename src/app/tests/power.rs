//! Cuts the power at every sync in turn: of the log, of the data file and of the keys of codes. A run
//! that is not thorough takes every third sync, so that it may miss what only one of them shows.

use crate::app::Vault;
use crate::app::tests::workload::{AnsweredWork, Done, work};
use crate::app::tests::{TestVault, master, prepared};
use crate::clock::Clock;
use crate::store::tests::disk::{Fate, Fault, Operation, TestDisk};
use crate::waiting::thorough;

#[track_caller]
fn check(fate: impl Fn(u64) -> Fate) {
    for nth in (1..).step_by(thorough(3, 1)) {
        let clock = Clock::new();
        let disk = TestDisk::holding(prepared().0.clone());
        let vault = TestVault::with_small_log(disk.clone(), clock.clone());
        let fate = fate(nth);
        let nth = usize::try_from(nth).unwrap();
        disk.plan(Operation::Sync, nth, Fault::PowerLoss(fate));
        let before = disk.count(Operation::Sync);
        let mut told = AnsweredWork::default();
        let done = work(&vault, &clock, &mut told);
        let syncs = disk.count(Operation::Sync) - before;
        told.check(disk.durable(), &clock, &format!("{fate:?} at sync {nth}"));
        if syncs < nth {
            assert_eq!(done, Done::All);
            assert!(nth > 30, "only {syncs} syncs");
            return;
        }
    }
}

#[test]
fn a_vault_whose_creation_was_interrupted_is_whole_or_is_made_again() {
    for fate in [|_| Fate::Lost, |_| Fate::Reached, Fate::Torn, |nth| Fate::Torn(nth + 1_000)] {
        for nth in (1..).step_by(thorough(3, 1)) {
            let disk = TestDisk::new();
            let at = usize::try_from(nth).unwrap();
            disk.plan(Operation::Sync, at, Fault::PowerLoss(fate(nth)));
            let made = Vault::on_disk(&disk, master(), Clock::new());
            let is_done = made.inspect(Vault::close).is_ok() && disk.count(Operation::Sync) < at;
            disk.restart();
            let app = Vault::on_disk(&disk, master(), Clock::new()).unwrap();
            let report = app.verification().verify().unwrap();
            assert!(report.is_clean(), "{nth}: {:?}", report.findings);
            app.close();
            if is_done {
                assert!(nth > 12, "only {nth} syncs");
                break;
            }
        }
    }
}

#[test]
fn what_was_answered_survives_when_all_unsynced_writes_are_lost() {
    check(|_| Fate::Lost);
}

#[test]
fn what_was_answered_survives_when_all_writes_reached_the_disk_unanswered() {
    check(|_| Fate::Reached);
}

#[test]
fn what_was_answered_survives_when_writes_are_torn() {
    check(Fate::Torn);
}

#[test]
fn what_was_answered_survives_when_writes_are_torn_otherwise() {
    check(|nth| Fate::Torn(nth + 1_000));
    check(|nth| Fate::Torn(nth + 2_000));
}
