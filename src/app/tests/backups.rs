//! Scheduled backups: when they are taken and proven, which ones are kept, and the recorded
//! results.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::app::tests::{TestVault, draft, master, prepared};
use crate::app::{
    AuditScope, BackupFailure, Error, ExportCursor, ExportQuery, ProofFailure, Vault,
    clear_leftovers, prove,
};
use crate::bounds::BACKUP_RETRY;
use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::domain::audit::{Act, Actor, EntityKind};
use crate::domain::backup::{BackupPlan, BackupState, file_name};
use crate::domain::origin::{Origin, SystemUser};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::backup::Reader;
use crate::store::meta::Restoration;
use crate::store::tests::disk::{EIO, Fault, Operation, TestDisk};
use crate::store::tests::{TestDirectory, block_on};
use crate::store::{Store, StorePlace, meta};

const DAY: Duration = Duration::from_hours(24);

fn plan(directory: &Path) -> BackupPlan {
    let directory = directory.to_path_buf();
    BackupPlan { directory, every: DAY, keep: 2, prove_every: Some(2 * DAY) }
}

fn with_clock() -> (TestVault, Clock) {
    let clock = Clock::new();
    let disk = TestDisk::holding(prepared().0.clone());
    (TestVault::on(disk, clock.clone()).unwrap(), clock)
}

fn names(directory: &TestDirectory) -> Vec<String> {
    let listed = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> =
        listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn backups_are_taken_when_they_are_due_and_the_newest_are_kept() {
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let (vault, clock) = with_clock();
    // Files with names of the schedule that are not backups of this vault: one is cut off, one
    // belongs to another vault.
    fs::write(directory.join("strongroom-20000101T000000Z-0badcafe.backup"), "cut").unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1.backup");
    fs::copy(fixture, directory.join("strongroom-20000102T000000Z-0badcafe.backup")).unwrap();
    fs::write(directory.join("mine.txt"), "mine").unwrap();
    let foreign = names(&directory);
    let mut taken = Vec::new();
    for round in 0..4 {
        block_on(vault.create_id(draft(&format!("of round {round}"))));
        let at = block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap().at;
        taken.push(file_name(at, &vault.app.backups().mark().unwrap()));
        assert!(block_on(vault.app.backups().take_due(&plan)).unwrap().is_none(), "not due again");
        assert_eq!(vault.app.backups().state().unwrap().taken.unwrap().at, at);
        clock.advance(DAY);
    }
    let mut expected = [&foreign[..], &taken[2..]].concat();
    expected.sort();
    assert_eq!(names(&directory), expected);
}

#[test]
fn a_backup_of_a_clock_that_was_ahead_is_neither_kept_nor_proven_in_place_of_newer_ones() {
    for keep in [1, 2] {
        let directory = TestDirectory::new();
        let plan = BackupPlan { keep, ..plan(directory.path()) };
        let (vault, clock) = with_clock();
        let ahead = 365 * DAY;
        let take = || {
            block_on(vault.create_id(draft("before a backup")));
            let taken = block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
            (taken.at, file_name(taken.at, &vault.app.backups().mark().unwrap()))
        };
        clock.advance(ahead);
        let (_, stale) = take();
        clock.set_back(ahead);
        for round in 1..=keep {
            let (at, new) = take();
            let there = names(&directory);
            assert!(there.contains(&new), "{there:?}");
            assert_eq!(there.contains(&stale), round < keep, "{there:?}");
            let proven = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap();
            assert_eq!(proven.unwrap().backup_at, at);
            clock.advance(2 * DAY);
        }
        // Nor does a damaged file with a name of the future hide the newest backup.
        let (at, _) = take();
        fs::write(directory.join(&stale), "cut").unwrap();
        let proven = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap();
        assert_eq!(proven.unwrap().backup_at, at);
    }
}

#[test]
fn a_restored_copy_counts_and_removes_only_backups_that_it_made() {
    let (directory, place) = (TestDirectory::new(), TestDirectory::new());
    let plan = plan(directory.path());
    let (vault, clock) = with_clock();
    let take = |app: &Vault| {
        let taken = block_on(app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
        clock.advance(DAY);
        file_name(taken.at, &app.backups().mark().unwrap())
    };
    let [first, second] = [(); 2].map(|()| take(&vault.app));
    let backup = Reader::open(&directory.join(&second)).unwrap();
    let restoration = Restoration { at: vault.app.now(), by: None };
    Store::restore(place.path(), backup, None, meta::put_restored(&restoration)).unwrap();
    let restored = StorePlace::Directory(place.path().to_path_buf());
    let restored = Vault::open(&restored, master(), clock.clone()).unwrap();
    let own = [(); 3].map(|()| take(&restored));
    assert_eq!(names(&directory), [&first, &second, &own[1], &own[2]].map(String::clone));
    restored.close();
}

#[test]
fn what_is_known_of_backups_survives_a_restart() {
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let (vault, clock) = with_clock();
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
    let proven = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap().unwrap();
    let state = vault.app.backups().state().unwrap();
    assert_eq!(state.proven, Some(proven));
    assert_eq!(state.taken.map(|taken| taken.at), Some(proven.backup_at));
    assert_eq!(state.age_of_proof(proven.at.plus(DAY)), Some(DAY));
    vault.app.close();
    let again = TestVault::on(TestDisk::holding(vault.disk.durable()), clock).unwrap();
    assert_eq!(again.app.backups().state().unwrap(), state);
    assert!(block_on(again.app.backups().take_due(&plan)).unwrap().is_none());
    assert!(block_on(again.app.backups().prove_due(&plan)).unwrap().is_none());
}

#[test]
fn a_backup_that_cannot_be_written_is_remembered_tried_again_and_no_failure_of_the_vault() {
    let directory = TestDirectory::new();
    let plan = plan(&directory.join("missing"));
    let (vault, clock) = with_clock();
    let failed = block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap();
    assert!(matches!(failed, Err(BackupFailure::Target(_))), "{failed:?}");
    assert!(vault.app.backups().state().unwrap().failed_at.is_some());
    assert!(block_on(vault.app.backups().take_due(&plan)).unwrap().is_none(), "not at once");
    let id = block_on(vault.create_id(draft("the vault works on")));
    assert!(vault.data(&id).is_some());
    fs::create_dir(&plan.directory).unwrap();
    clock.advance(BACKUP_RETRY);
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
    assert_eq!(vault.app.backups().state().unwrap().failed_at, None);
}

#[test]
fn a_proof_opens_every_record_of_the_newest_backup_and_leaves_nothing() {
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let (vault, clock) = with_clock();
    let none = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap();
    assert!(matches!(none, Err(ProofFailure::NoBackup)));
    clock.advance(BACKUP_RETRY);
    block_on(vault.create_id(draft("to be proven")));
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
    let newest = directory.join(&names(&directory)[0]);
    // A later backup of another vault is not proven.
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1.backup");
    fs::copy(fixture, directory.join("strongroom-29990101T000000Z-0badcafe.backup")).unwrap();
    let taken = names(&directory);
    // Leftovers of a killed proof are cleared first.
    let scratch = directory
        .join(&format!("strongroom-proof-{}.scratch", vault.app.backups().mark().unwrap()));
    fs::create_dir(&scratch).unwrap();
    fs::write(scratch.join("strongroom.redb"), "left").unwrap();
    let proven = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap().unwrap();
    assert!(proven.rows > 10);
    assert_eq!(names(&directory), taken);
    let proof =
        prove(&newest, None, &scratch, (master(), Clock::new()), &std::sync::Arc::default())
            .unwrap();
    assert_eq!((proof.report.tokens, proof.report.is_clean()), (1, true));
    // A directory with other files, or behind a link, does not belong to a proof.
    fs::create_dir(&scratch).unwrap();
    let precious = scratch.join("precious");
    fs::write(&precious, "of an operator").unwrap();
    let moved = directory.join("moved");
    for is_link in [false, true] {
        if is_link {
            fs::rename(&scratch, &moved).unwrap();
            std::os::unix::fs::symlink("moved", &scratch).unwrap();
            fs::write(moved.join("strongroom.redb"), "of an operator").unwrap();
        }
        let refused =
            prove(&newest, None, &scratch, (master(), Clock::new()), &std::sync::Arc::default());
        assert!(matches!(refused, Err(ProofFailure::Scratch(_))), "{refused:?}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "of an operator");
    }
    assert!(moved.join("strongroom.redb").exists());
    fs::remove_file(&scratch).unwrap();
    fs::remove_dir_all(&moved).unwrap();
    // The next proof finds damage that came after the last one.
    let mut bytes = fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&newest, bytes).unwrap();
    clock.advance(2 * DAY);
    let failed = block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap();
    assert!(matches!(failed, Err(ProofFailure::Restore(_) | ProofFailure::Backup(_))));
    let state = vault.app.backups().state().unwrap();
    assert_eq!(state.proven, Some(proven), "the age of the last proof goes on");
    assert!(state.proof_failed_at.is_some());
    assert_eq!(names(&directory), taken);
}

#[test]
fn what_a_killed_server_left_among_the_backups_is_cleared_and_nothing_else() {
    let directory = TestDirectory::new();
    let at = Timestamp::from_seconds(1_794_648_600);
    let (own, other) = (file_name(at, "0000000a"), file_name(at, "0000000b"));
    let others_scratch = String::from("strongroom-proof-0000000b.scratch");
    let mut kept = [
        own.clone(),
        format!("{other}.unfinished"),
        String::from("mine.backup.unfinished"),
        others_scratch.clone(),
    ];
    for name in &kept {
        fs::write(directory.join(name), "kept").unwrap();
    }
    fs::write(directory.join(&format!("{own}.unfinished")), "cut").unwrap();
    fs::create_dir(directory.join("strongroom-proof-0000000a.scratch")).unwrap();
    clear_leftovers(directory.path(), "0000000a").unwrap();
    kept.sort();
    assert_eq!(names(&directory), kept);
}

#[test]
fn a_new_master_key_makes_a_backup_due_which_is_proven_under_it() {
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let (vault, clock) = with_clock();
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
    clock.advance(Duration::from_mins(1));
    let text = Secret::new("5a".repeat(32).into_bytes());
    block_on(vault.app.rotation().rotate_master(MasterKey::parse(&text).unwrap())).unwrap();
    clock.advance(Duration::from_mins(1));
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
    assert!(block_on(vault.app.backups().take_due(&plan)).unwrap().is_none(), "not due again");
    block_on(vault.app.backups().prove_due(&plan)).unwrap().unwrap().unwrap();
}

/// Fails the disk at each sync of an attempt in turn. True if a vault that was opened after such a
/// failure delays its next attempt.
fn is_put_off(
    try_once: impl Fn(&TestVault) -> Result<bool, Error>,
    is_remembered: impl Fn(&BackupState) -> bool,
    prepared: impl Fn() -> (TestVault, Clock),
) -> bool {
    let mut put_off = false;
    for nth in 1.. {
        let (vault, clock) = prepared();
        vault.disk.plan(Operation::Sync, nth, Fault::Always(EIO));
        if try_once(&vault).is_ok() {
            return put_off;
        }
        let again = TestVault::on(TestDisk::holding(vault.disk.durable()), clock.clone()).unwrap();
        if !try_once(&again).unwrap() {
            put_off = true;
            assert!(is_remembered(&again.app.backups().state().unwrap()));
            clock.advance(BACKUP_RETRY);
            assert!(try_once(&again).unwrap());
            assert!(!is_remembered(&again.app.backups().state().unwrap()));
        }
    }
    false
}

#[test]
fn a_try_that_a_process_died_in_puts_the_next_one_off_like_a_failure() {
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let clear = || {
        fs::remove_dir_all(directory.path()).unwrap();
        fs::create_dir(directory.path()).unwrap();
    };
    let take = |vault: &TestVault| {
        clear();
        block_on(vault.app.backups().take_due(&plan)).map(|taken| taken.is_some())
    };
    assert!(is_put_off(take, |state| state.failed_at.is_some(), with_clock));
    let prove = |vault: &TestVault| {
        block_on(vault.app.backups().prove_due(&plan)).map(|proven| proven.is_some())
    };
    let with_backup = || {
        clear();
        let (vault, clock) = with_clock();
        block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
        (vault, clock)
    };
    assert!(is_put_off(prove, |state| state.proof_failed_at.is_some(), with_backup));
}

#[test]
fn a_restored_vault_says_so_in_its_chain_once() {
    let directory = TestDirectory::new();
    let (vault, clock) = with_clock();
    let file = directory.join("a.backup");
    block_on(vault.app.backups().back_up(file.clone())).unwrap();
    let data = directory.join("data");
    fs::create_dir(&data).unwrap();
    let user = SystemUser { uid: 1_000, name: Some(Box::from("operator")), login: Some(1_001) };
    let restoration = Restoration { at: vault.app.now(), by: Some(user.clone()) };
    Store::restore(&data, Reader::open(&file).unwrap(), None, meta::put_restored(&restoration))
        .unwrap();
    for _ in 0..2 {
        let app =
            Vault::open(&StorePlace::Directory(data.clone()), master(), clock.clone()).unwrap();
        let page = block_on(
            app.audit()
                .export(ExportQuery { next: Some(ExportCursor::default()), ..Default::default() }),
        );
        let entries = page.unwrap().entries;
        let told: Vec<_> = entries.iter().filter(|it| it.entry.act == Act::Restore).collect();
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((told.scope, told.entry.at), (AuditScope::Server, restoration.at));
        assert_eq!(told.entry.origin.as_deref(), Some(&Origin::of_user(user.clone())));
        assert_eq!(
            (told.entry.actor, told.entry.entity.kind),
            (Actor::Operator, EntityKind::Vault)
        );
        assert!(app.verification().verify().unwrap().is_clean());
        app.close();
    }
}
