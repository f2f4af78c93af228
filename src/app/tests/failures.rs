//! Operations on a failing disk: waiting requests get errors, and no answered change is lost.

use crate::app::open::start;
use crate::app::tests::workload::{AnsweredWork, Done, work};
use crate::app::tests::{TestVault, card, deduplicating, draft, named, other_master, prepared};
use crate::app::tokens::evaluations::Work;
use crate::app::{ApplicationQuery, Error, Vault, VaultFailure};
use crate::clock::Clock;
use crate::crypto::Random;
use crate::store::tests::disk::{EIO, ENOSPC, EROFS, Fault, Operation, TestDisk};
use crate::store::tests::{block_on, copy_in_memory, end_of};
use crate::store::{CvcKeys, Fatal, StorageFailure};
use crate::waiting::thorough;

/// Fails every sync and every fifth write in turn; the store's own tests fail each of them.
#[track_caller]
/// A run that is not thorough takes every third place, so that it may miss what only one of them
/// shows.
fn check(operation: Operation, fault: Fault, expected: fn(&StorageFailure) -> bool) {
    let step = if operation == Operation::Write { 5 } else { 1 };
    for nth in (1..).step_by(step * thorough(3, 1)) {
        let clock = Clock::new();
        let disk = TestDisk::holding(prepared().0.clone());
        let vault = TestVault::with_small_log(disk, clock.clone());
        vault.disk.plan(operation, nth, fault);
        let before = vault.disk.count(operation);
        let mut told = AnsweredWork::default();
        let done = work(&vault, &clock, &mut told);
        if vault.disk.count(operation) - before < nth {
            assert_eq!(done, Done::All);
            assert!(nth > 12, "the disk never failed");
            return;
        }
        // All work was done and its rows are in the data file: the closing store overwrites the
        // log, but skips it when the disk is full.
        let closed_on_a_full_disk = done == Done::All && fault == Fault::Always(ENOSPC);
        if !closed_on_a_full_disk {
            let fatal = block_on(end_of(vault.app.store()));
            assert!(matches!(&fatal, Fatal::Storage(failure) if expected(failure)), "{fatal:?}");
        }
        for image in [vault.disk.volatile(), vault.disk.durable()] {
            told.check(image, &clock, &format!("{operation:?} {nth}"));
        }
    }
}

#[test]
fn a_disk_that_fills_up_or_fails_loses_nothing_that_was_answered() {
    check(Operation::Write, Fault::Always(ENOSPC), |it| matches!(it, StorageFailure::Full));
    for operation in [Operation::Write, Operation::Sync] {
        check(operation, Fault::Once(EIO), |it| matches!(it, StorageFailure::Io(_)));
    }
}

#[test]
fn a_disk_that_turns_read_only_answers_reads_until_the_end() {
    let vault = TestVault::new();
    let id = block_on(vault.create_id(draft("kept")));
    vault.disk.plan(Operation::Write, 1, Fault::Always(EROFS));
    assert!(matches!(block_on(vault.create(draft("not kept"))), Err(Error::Stopped)));
    let fatal = block_on(end_of(vault.app.store()));
    assert!(matches!(fatal, Fatal::Storage(StorageFailure::ReadOnly)), "{fatal:?}");
    let again = TestVault::on(TestDisk::holding(vault.disk.volatile()), Clock::new()).unwrap();
    assert!(again.data(&id).is_some());
    assert_eq!(again.assert_clean().tokens, 1);
}

#[test]
fn a_read_that_fails_is_an_error_of_the_storage_and_ends_the_store() {
    let vault = TestVault::new();
    let id = block_on(vault.create_id(named("a name", "x")));
    vault.app.close();
    let image = vault.disk.durable();
    for nth in 1.. {
        let again = TestVault::without_cache(TestDisk::holding(image.clone())).unwrap();
        again.disk.plan(Operation::Read, nth, Fault::Once(EIO));
        // Reads of each kind, then a write.
        let app = &again.app;
        let tenant = again.caller.tenant.id;
        let read = app
            .access()
            .list_tenants()
            .and_then(|_| app.access().read_application(tenant, again.caller.application.id))
            .and_then(|_| app.access().list_applications(tenant, &ApplicationQuery::default()))
            .and_then(|_| app.access().count_tokens(tenant))
            .and_then(|_| {
                app.tokens(&again.caller).show_token(&id, app.now(), &Work::Read.budget())
            })
            .and_then(|_| app.verification().verify())
            .and_then(|_| block_on(again.create(deduplicating("new"))));
        match read {
            // A read of the writer failed, which only the store reports.
            Err(Error::Stopped | Error::Storage(StorageFailure::Io(_))) => (),
            Err(other) => panic!("{nth}: {other:?}"),
            Ok(_) => {
                assert!(nth > 30, "only {nth} reads");
                return;
            }
        }
        let fatal = block_on(end_of(app.store()));
        assert!(matches!(fatal, Fatal::Storage(StorageFailure::Io(_))), "{fatal:?}");
    }
}

#[test]
fn a_storage_that_cannot_be_reached_is_busy_and_then_goes_on() {
    let (store, reach) = copy_in_memory(&TestDisk::holding(prepared().0.clone()));
    let disk = TestDisk::new();
    let keys = CvcKeys::on_volume(&disk);
    let app = start(store, keys, crate::app::tests::master(), Clock::new(), Random::new());
    let vault = TestVault::made_of(app, disk).unwrap();
    let id = block_on(vault.create_id(draft("before")));
    reach(false);
    let refused = block_on(vault.create(draft("meanwhile")));
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    assert!(matches!(block_on(vault.delete(&id)), Err(Error::Busy)));
    reach(true);
    assert!(vault.data(&id).is_some());
    block_on(vault.create_id(draft("after")));
    assert_eq!(vault.assert_clean().tokens, 2);
}

#[test]
fn a_vault_whose_disk_fails_while_it_opens_says_so() {
    let image = prepared().0.clone();
    for nth in 1.. {
        let disk = TestDisk::holding(image.clone());
        disk.plan(Operation::Read, nth, Fault::Once(EIO));
        match TestVault::on(disk, Clock::new()) {
            Err(Error::Storage(StorageFailure::Io(_))) => (),
            Err(other) => panic!("{nth}: {other:?}"),
            Ok(_) => {
                assert!(nth > 3, "only {nth} reads");
                return;
            }
        }
    }
}

#[test]
fn another_master_key_is_refused_by_name_and_changes_nothing() {
    let disk = TestDisk::holding(prepared().0.clone());
    let refused = Vault::on_disk(&disk, other_master(), Clock::new());
    assert!(matches!(refused, Err(VaultFailure::WrongMasterKey)), "{refused:?}");
    TestVault::on(TestDisk::holding(disk.volatile()), Clock::new()).unwrap().assert_clean();
}

#[test]
fn a_create_with_a_cvc_is_refused_and_nothing_written_when_the_file_of_cvc_keys_fails() {
    let vault = TestVault::new();
    vault.app.cvc_keys.fail_writes();
    let refused = block_on(vault.create(card("123")));
    let failed = |error: &Error| matches!(error, Error::Storage(StorageFailure::ReadOnly));
    assert!(refused.as_ref().is_err_and(failed), "{refused:?}");
    let fatal = block_on(end_of(vault.app.store()));
    assert!(matches!(fatal, Fatal::Storage(StorageFailure::ReadOnly)), "{fatal:?}");
    let again = TestVault::on(TestDisk::holding(vault.disk.volatile()), Clock::new()).unwrap();
    assert_eq!(again.assert_clean().tokens, 0);
    let created = block_on(again.create(card("123")));
    assert!(created.is_ok(), "a file that works is synced before the decision is made again");
    assert_eq!(again.assert_clean().cvcs, 1);
}
