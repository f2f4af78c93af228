//! Operations on a disk that fails: errors for those who wait, nothing lost for those who do not.

use crate::app::tests::workload::{Done, Told, work};
use crate::app::tests::{Vault, draft, prepared};
use crate::app::{App, Error, VaultFailure};
use crate::clock::Clock;
use crate::store::tests::disk::{EIO, ENOSPC, EROFS, Fault, Operation, TestDisk};
use crate::store::tests::{block_on, end_of};
use crate::store::{Fatal, OpenFailure, StorageFailure};

/// Every third operation in turn; the store's own tests fail each of them.
#[track_caller]
fn check(operation: Operation, fault: Fault, expected: fn(&StorageFailure) -> bool) {
    for nth in (1..).step_by(if operation == Operation::Write { 5 } else { 1 }) {
        let clock = Clock::new();
        let vault = Vault::on(TestDisk::holding(prepared().0.clone()), clock.clone()).unwrap();
        vault.disk.plan(operation, nth, fault);
        let before = vault.disk.count(operation);
        let mut told = Told::default();
        let done = work(&vault, &clock, &mut told);
        if vault.disk.count(operation) - before < nth {
            assert_eq!(done, Done::All);
            assert!(nth > 24, "the disk never failed");
            return;
        }
        let fatal = block_on(end_of(vault.app.store()));
        assert!(matches!(&fatal, Fatal::Storage(failure) if expected(failure)), "{fatal:?}");
        for image in [vault.disk.volatile(), vault.disk.durable()] {
            told.check(image, &clock, &format!("{operation:?} {nth}"));
        }
    }
}

#[test]
fn a_disk_that_fills_up_loses_nothing_that_was_answered() {
    check(Operation::Write, Fault::Always(ENOSPC), |it| matches!(it, StorageFailure::Full));
}

#[test]
fn a_disk_that_fails_to_write_loses_nothing_that_was_answered() {
    check(Operation::Write, Fault::Once(EIO), |it| matches!(it, StorageFailure::Io(_)));
}

#[test]
fn a_disk_that_fails_to_sync_loses_nothing_that_was_answered() {
    check(Operation::Sync, Fault::Once(EIO), |it| matches!(it, StorageFailure::Io(_)));
}

#[test]
fn a_disk_that_turns_read_only_answers_reads_until_the_end() {
    let vault = Vault::new();
    let id = block_on(vault.create_id(draft("kept")));
    vault.disk.plan(Operation::Write, 1, Fault::Always(EROFS));
    assert!(matches!(block_on(vault.create(draft("not kept"))), Err(Error::Stopped)));
    let fatal = block_on(end_of(vault.app.store()));
    assert!(matches!(fatal, Fatal::Storage(StorageFailure::ReadOnly)), "{fatal:?}");
    let again = Vault::on(TestDisk::holding(vault.disk.volatile()), Clock::new()).unwrap();
    assert!(again.data(&id).is_some());
    assert_eq!(again.assert_clean().tokens, 1);
}

#[test]
fn a_read_that_fails_is_an_error_of_the_storage_and_ends_the_store() {
    let vault = Vault::new();
    let ids: Vec<_> = (0..80).map(|n| block_on(vault.create_id(draft(&n.to_string())))).collect();
    vault.app.close();
    let image = vault.disk.durable();
    let mut failed = 0;
    for nth in 1.. {
        let disk = TestDisk::holding(image.clone());
        disk.plan(Operation::Read, nth, Fault::Once(EIO));
        let again = match Vault::on(disk.clone(), Clock::new()) {
            Ok(again) => again,
            Err(error) => {
                assert!(matches!(error, Error::Storage(StorageFailure::Io(_))), "{nth}: {error:?}");
                continue;
            }
        };
        let read = ids.iter().find_map(|id| again.app.read_token(&again.caller, id).err());
        match read {
            Some(Error::Storage(StorageFailure::Io(_))) => failed += 1,
            Some(other) => panic!("{nth}: {other:?}"),
            None => break,
        }
        let fatal = block_on(end_of(again.app.store()));
        assert!(matches!(fatal, Fatal::Storage(StorageFailure::Io(_))), "{fatal:?}");
    }
    assert!(failed > 3, "{failed} reads failed while running");
}

#[test]
fn another_master_key_is_refused_by_name_and_changes_nothing() {
    let disk = TestDisk::holding(prepared().0.clone());
    let other = crate::crypto::MasterKey::parse(&crate::secret::Secret::new(b"43".repeat(32)));
    let refused = App::on_backend(disk.clone(), other.unwrap(), Clock::new());
    assert!(matches!(refused, Err(VaultFailure::WrongMasterKey)), "{refused:?}");
    Vault::on(TestDisk::holding(disk.volatile()), Clock::new()).unwrap().assert_clean();
}

#[test]
fn a_disk_of_another_program_is_refused() {
    let disk = TestDisk::holding(vec![7; 10_000]);
    let refused = App::on_backend(disk, crate::app::tests::master(), Clock::new());
    assert!(matches!(refused, Err(VaultFailure::File(OpenFailure::NotOurs))), "{refused:?}");
}
