//! A nearly full disk: changes are refused, then all writes, and the vault recovers without a
//! restart.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::app::tests::{TestVault, draft, everything, expiring, prepared, tenant_draft};
use crate::app::{
    BackupFailure, DiskEvent, DiskState, Error, ProofFailure, TokenPatch, Vault, Write,
};
use crate::bounds::BACKUP_RETRY;
use crate::clock::Clock;
use crate::domain::backup::BackupPlan;
use crate::metrics::{Checks, Observe};
use crate::store::tests::disk::{ENOSPC, Fault, Operation, TestDisk};
use crate::store::tests::{TestDirectory, block_on, end_of};
use crate::store::{DataDisk, Fatal, Space, StorageFailure};

pub(super) const FLOOR: u64 = 800;
/// The length of the data file.
const DATA: u64 = 7;
/// Stands for free space that cannot be read.
const UNREADABLE: u64 = u64::MAX;

/// The free space that the vault sees, set by tests.
#[derive(Clone, Default)]
pub(super) struct Free(Arc<AtomicU64>);

impl Free {
    pub(super) fn set(&self, app: &Vault, bytes: u64) -> Option<DiskEvent> {
        self.0.store(bytes, Ordering::Relaxed);
        app.upkeep().look_at_disk()
    }

    pub(super) fn watched_by(&self, app: &mut Vault) {
        app.keep_free(FLOOR, Arc::new(self.clone()));
    }
}

impl DataDisk for Free {
    fn space(&self) -> io::Result<Space> {
        match self.0.load(Ordering::Relaxed) {
            UNREADABLE => Err(io::ErrorKind::PermissionDenied.into()),
            free_bytes => Ok(Space { free_bytes, data_bytes: DATA }),
        }
    }

    /// All directories but `elsewhere`.
    fn is_under(&self, directory: &Path) -> io::Result<bool> {
        Ok(!directory.ends_with("elsewhere"))
    }
}

fn vault(clock: &Clock) -> (TestVault, Free) {
    let disk = TestDisk::holding(prepared().0.clone());
    let mut vault = TestVault::on(disk, clock.clone()).unwrap();
    let free = Free::default();
    free.watched_by(&mut vault.app);
    free.set(&vault.app, FLOOR);
    (vault, free)
}

fn is_ready(app: &Vault) -> bool {
    let mut checks = Checks::default();
    app.check(&mut checks);
    checks.are_right()
}

fn news(free_bytes: u64, room: DiskState) -> DiskEvent {
    DiskEvent::State(room, Space { free_bytes, data_bytes: DATA })
}

/// Every change is refused and writes nothing.
#[track_caller]
fn check_refuses_changes(vault: &TestVault, id: &str) {
    let before = vault.disk.count(Operation::Write);
    let refused = |outcome: Result<(), Error>| matches!(outcome, Err(Error::ReadOnly(_)));
    assert!(refused(block_on(vault.create(draft("new"))).map(drop)));
    let patch = TokenPatch { metadata: Some(json!({"a": "b"})), ..TokenPatch::default() };
    let changed = block_on(vault.app.tokens(&vault.caller).update(id, &patch, &Write::plain()));
    assert!(refused(changed.map(drop)));
    let tenant = vault.app.access().create_tenant(tenant_draft("new"));
    assert!(refused(block_on(tenant).map(drop)));
    let (owner, draft, plain) = (vault.caller.tenant.id, everything(), Write::plain());
    let made = vault.app.access().create_application(owner, &draft, None, &plain);
    assert!(refused(block_on(made).map(drop)));
    assert_eq!(vault.disk.count(Operation::Write), before);
}

#[test]
fn below_the_floor_changes_are_refused_and_reads_and_sweeps_go_on() {
    let clock = Clock::new();
    let (vault, free) = vault(&clock);
    let id = block_on(vault.create_id(draft("kept")));
    let due = block_on(vault.create_id(expiring("due", &vault.in_an_hour())));
    let erased = block_on(vault.create_id(draft("erased")));
    assert!(is_ready(&vault.app));
    assert_eq!(free.set(&vault.app, FLOOR - 1), Some(news(FLOOR - 1, DiskState::ReadOnly)));
    assert_eq!(vault.app.upkeep().look_at_disk(), None, "a change is news once");
    assert!(!is_ready(&vault.app));
    check_refuses_changes(&vault, &id);
    assert!(vault.app.require_space_for_audit().is_ok());
    assert!(vault.data(&id).is_some());
    clock.advance(Duration::from_hours(2));
    assert_eq!(block_on(vault.app.upkeep().sweep_all()).unwrap(), 1);
    assert!(vault.data(&due).is_none());
    block_on(vault.delete(&erased)).unwrap();
    assert!(vault.data(&erased).is_none(), "deleting goes on");
    assert_eq!(free.set(&vault.app, FLOOR), None, "hardly above it is not above it");
    check_refuses_changes(&vault, &id);
    assert_eq!(free.set(&vault.app, 2 * FLOOR), Some(news(2 * FLOOR, DiskState::Writable)));
    assert!(is_ready(&vault.app));
    block_on(vault.create_id(draft("new")));
    block_on(vault.delete(&id)).unwrap();
    assert_eq!(vault.assert_clean().tokens, 1);
}

#[test]
fn below_the_floor_access_can_still_be_taken_away() {
    let (vault, free) = vault(&Clock::new());
    free.set(&vault.app, FLOOR - 1);
    let (tenant, application) = (vault.caller.tenant.id, vault.caller.application.id);
    let keys = vault.app.access().list_keys(tenant, application).unwrap();
    block_on(vault.app.access().delete_key(tenant, application, keys[0].id, None)).unwrap();
    assert!(vault.app.access().list_keys(tenant, application).unwrap().is_empty());
}

#[test]
fn below_the_hard_floor_nothing_is_written_at_all() {
    let clock = Clock::new();
    let (vault, free) = vault(&clock);
    let id = block_on(vault.create_id(expiring("due", &vault.in_an_hour())));
    clock.advance(Duration::from_hours(2));
    assert_eq!(free.set(&vault.app, FLOOR / 8 - 1), Some(news(FLOOR / 8 - 1, DiskState::Full)));
    check_refuses_changes(&vault, &id);
    assert!(matches!(vault.app.require_space_for_audit(), Err(Error::ReadOnly(_))));
    let before = vault.disk.count(Operation::Write);
    assert_eq!(block_on(vault.app.upkeep().sweep_all()).unwrap(), 0);
    let (tenant, application) = (vault.caller.tenant.id, vault.caller.application.id);
    let key = vault.app.access().list_keys(tenant, application).unwrap()[0].id;
    let revoked = block_on(vault.app.access().delete_key(tenant, application, key, None));
    assert!(matches!(revoked, Err(Error::ReadOnly(_))));
    assert_eq!(vault.disk.count(Operation::Write), before);
    assert_eq!(free.set(&vault.app, FLOOR / 2), Some(news(FLOOR / 2, DiskState::ReadOnly)));
    assert_eq!(block_on(vault.app.upkeep().sweep_all()).unwrap(), 1);
    vault.assert_clean();
}

#[test]
fn a_disk_that_cannot_be_asked_is_told_and_changes_nothing_else() {
    let (vault, free) = vault(&Clock::new());
    assert_eq!(free.set(&vault.app, UNREADABLE), Some(DiskEvent::Unreadable));
    assert_eq!(vault.app.upkeep().look_at_disk(), None, "once");
    assert!(!is_ready(&vault.app));
    block_on(vault.create_id(draft("kept")));
    assert_eq!(free.set(&vault.app, FLOOR - 1), Some(news(FLOOR - 1, DiskState::ReadOnly)));
    assert_eq!(free.set(&vault.app, UNREADABLE), Some(DiskEvent::Unreadable));
    assert!(matches!(block_on(vault.create(draft("new"))), Err(Error::ReadOnly(_))));
}

#[test]
fn a_disk_that_was_full_in_the_middle_of_a_commit_is_read_only_after_the_restart() {
    let (vault, _) = vault(&Clock::new());
    let id = block_on(vault.create_id(draft("kept")));
    vault.disk.plan(Operation::Write, 1, Fault::Always(ENOSPC));
    assert!(matches!(block_on(vault.create(draft("cut off"))), Err(Error::Stopped)));
    let fatal = block_on(end_of(vault.app.store()));
    assert!(matches!(fatal, Fatal::Storage(StorageFailure::Full)), "{fatal:?}");
    // The next process finds the disk just as full.
    let disk = TestDisk::holding(vault.disk.volatile());
    let mut again = TestVault::on(disk, Clock::new()).unwrap();
    again.disk.plan(Operation::Write, 1, Fault::Always(ENOSPC));
    let free = Free::default();
    free.watched_by(&mut again.app);
    assert_eq!(free.set(&again.app, 0), Some(news(0, DiskState::Full)));
    check_refuses_changes(&again, &id);
    block_on(again.app.upkeep().sweep_all()).unwrap();
    assert!(again.data(&id).is_some(), "what was answered is there");
    again.disk.release();
    assert_eq!(free.set(&again.app, 2 * FLOOR), Some(news(2 * FLOOR, DiskState::Writable)));
    block_on(again.create_id(draft("after")));
    assert!((2..=3).contains(&again.assert_clean().tokens), "the one cut off may be there, whole");
}

#[test]
fn sweeps_that_do_not_come_to_an_end_are_told() {
    let clock = Clock::new();
    let (vault, _) = vault(&clock);
    clock.advance(Duration::from_mins(10));
    assert!(!is_ready(&vault.app));
    block_on(vault.app.upkeep().sweep_all()).unwrap();
    assert!(is_ready(&vault.app));
}

fn plan(directory: &Path) -> BackupPlan {
    let (day, directory) = (Duration::from_hours(24), directory.to_path_buf());
    BackupPlan { directory, every: day, keep: 2, prove_every: Some(day) }
}

#[test]
fn a_backup_on_the_vaults_own_disk_leaves_the_floor_alone() {
    let clock = Clock::new();
    let (vault, free) = vault(&clock);
    let directory = TestDirectory::new();
    let plan = plan(directory.path());
    let by_command = || block_on(vault.app.backups().back_up(directory.join("a.backup")));
    let by_schedule = || block_on(vault.app.backups().take_due(&plan)).unwrap();
    free.set(&vault.app, FLOOR + DATA - 1);
    assert_eq!(vault.app.disk_state(), DiskState::Writable);
    assert!(matches!(by_command(), Err(BackupFailure::NoSpace)));
    assert!(matches!(by_schedule(), Some(Err(BackupFailure::NoSpace))));
    assert!(vault.app.backups().state().unwrap().failed_at.is_some());
    assert!(by_schedule().is_none(), "not at once");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    free.set(&vault.app, FLOOR + DATA);
    by_command().unwrap();
    clock.advance(BACKUP_RETRY);
    by_schedule().unwrap().unwrap();
    let backup = vault.app.backups().state().unwrap().taken.unwrap().bytes;

    let prove = || block_on(vault.app.backups().prove_due(&plan)).unwrap();
    free.set(&vault.app, FLOOR + DATA + backup - 1);
    assert!(matches!(prove(), Some(Err(ProofFailure::NoSpace))));
    assert!(vault.app.backups().state().unwrap().proof_failed_at.is_some());
    assert!(prove().is_none(), "not at once");
    clock.advance(BACKUP_RETRY);
    free.set(&vault.app, FLOOR + DATA + backup);
    prove().unwrap().unwrap();
}

#[test]
fn below_the_floor_a_backup_goes_to_another_disk_only_and_below_the_hard_floor_nowhere() {
    let clock = Clock::new();
    let (vault, free) = vault(&clock);
    let directory = TestDirectory::new();
    let elsewhere = directory.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    free.set(&vault.app, FLOOR - 1);
    let refused = block_on(vault.app.backups().back_up(directory.join("a.backup")));
    assert!(matches!(refused, Err(BackupFailure::NoSpace)));
    block_on(vault.app.backups().back_up(elsewhere.join("a.backup"))).unwrap();
    let plan = plan(&elsewhere);
    free.set(&vault.app, FLOOR / 8 - 1);
    let before = vault.disk.count(Operation::Write);
    let refused = block_on(vault.app.backups().back_up(elsewhere.join("b.backup")));
    assert!(matches!(refused, Err(BackupFailure::NoSpace)));
    assert!(block_on(vault.app.backups().take_due(&plan)).unwrap().is_none());
    assert!(block_on(vault.app.backups().prove_due(&plan)).unwrap().is_none());
    assert_eq!(vault.disk.count(Operation::Write), before);
    free.set(&vault.app, FLOOR / 2);
    block_on(vault.app.backups().take_due(&plan)).unwrap().unwrap().unwrap();
}
