//! The last use of API keys: what is written, when, and what is removed with a key.

use std::time::Duration;

use crate::app::tests::floor::{FLOOR, Free};
use crate::app::tests::{
    TestVault, everything, new_application, new_tenant, prepared, prepared_key,
};
use crate::app::{Report, ScrubProgress, ScrubWalk, Write};
use crate::clock::Clock;
use crate::domain::time::Timestamp;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Operation, TestDisk};
use crate::store::{Change, Table, tables};
use crate::waiting::steps;

/// Two seconds into a minute.
const NOW: Timestamp = Timestamp::from_seconds(1_794_764_282);

fn vault(clock: &Clock) -> TestVault {
    TestVault::on(TestDisk::holding(prepared().0.clone()), clock.clone()).unwrap()
}

fn rows(vault: &TestVault) -> Vec<(Vec<u8>, Vec<u8>)> {
    vault.app.store().snapshot().unwrap().first(&Table::KeyUses.whole(), usize::MAX).unwrap()
}

fn last_use(vault: &TestVault) -> Option<Timestamp> {
    let caller = &vault.caller;
    vault.app.access().last_uses(caller.tenant.id).unwrap().get(&caller.key.id).copied()
}

#[test]
fn a_use_is_shown_at_once_and_is_found_after_a_restart_when_it_was_written() {
    let clock = Clock::stopped_at(NOW);
    let used = vault(&clock);
    let minute = Timestamp::from_seconds(NOW.seconds() - 2);
    assert_eq!((last_use(&used), rows(&used).len()), (Some(minute), 0));
    block_on(used.app.access().write_last_uses()).unwrap();
    used.assert_clean();
    let place =
        tables::key_uses(used.caller.tenant.id, used.caller.application.id, used.caller.key.id);
    let value = tables::minute_value(minute.seconds() / 60);
    assert_eq!(rows(&used), [(place, value)]);
    let TestVault { app, disk, caller } = used;
    app.close();
    let later = Clock::stopped_at(NOW.plus(Duration::from_hours(1)));
    let again = TestVault::on(TestDisk::holding(disk.durable()), later).unwrap();
    let tenant = caller.tenant.id;
    // Opening the test vault has used the key once more.
    let hour_later = Timestamp::from_seconds(minute.seconds() + 3_600);
    assert_eq!(last_use(&again), Some(hour_later));
    assert_eq!(tables::minute_of_value(&rows(&again)[0].1), Some(minute.seconds() / 60));
    assert_eq!(again.caller.tenant.id, tenant);
}

#[test]
fn a_minute_is_written_once_and_an_idle_vault_writes_nothing() {
    let clock = Clock::stopped_at(NOW);
    let vault = vault(&clock);
    let write = || block_on(vault.app.access().write_last_uses()).unwrap();
    write();
    let synced = vault.disk.count(Operation::Sync);
    let commits = || vault.disk.count(Operation::Sync) - synced;
    for _ in 0..3 {
        vault.app.access().authenticate(&prepared_key()).unwrap();
        write();
    }
    clock.advance(Duration::from_mins(5));
    write();
    assert_eq!(commits(), 0, "nothing new, nothing written");
    vault.app.access().authenticate(&prepared_key()).unwrap();
    write();
    assert!(commits() > 0);
    assert_eq!(last_use(&vault), Some(Timestamp::from_seconds(NOW.seconds() - 2 + 300)));
}

#[test]
fn the_last_use_goes_with_its_key_and_does_not_come_back() {
    let clock = Clock::stopped_at(NOW);
    let vault = vault(&clock);
    let (app, access) = (&vault.app, vault.app.access());
    block_on(access.write_last_uses()).unwrap();
    let (tenant, first) = block_on(new_tenant(app, "second"));
    let owner = access.authenticate(&first).unwrap();
    let application = owner.application.id;
    let new = block_on(access.create_key(tenant, application, None, None, &Write::plain()));
    let new = new.unwrap().outcome;
    access.authenticate(&new.text).unwrap();
    block_on(access.write_last_uses()).unwrap();
    assert_eq!((rows(&vault).len(), access.last_uses(tenant).unwrap().len()), (3, 2));
    // The key is used again, and deleted before that use is written.
    clock.advance(Duration::from_mins(1));
    access.authenticate(&new.text).unwrap();
    block_on(access.delete_key(tenant, application, new.key.id, None)).unwrap();
    assert_eq!(rows(&vault).len(), 2);
    block_on(access.write_last_uses()).unwrap();
    assert_eq!(rows(&vault).len(), 2);
    let (other, key) = block_on(new_application(&vault.app, tenant, &everything()));
    access.authenticate(&key.text).unwrap();
    block_on(access.write_last_uses()).unwrap();
    assert_eq!(rows(&vault).len(), 3);
    block_on(access.delete_application(other.tenant, other.id, Some(&owner))).unwrap();
    block_on(access.write_last_uses()).unwrap();
    assert_eq!(rows(&vault).len(), 2);
    vault.assert_clean();
}

#[test]
fn below_the_floor_of_the_disk_last_uses_wait_in_memory() {
    let clock = Clock::stopped_at(NOW);
    let mut vault = vault(&clock);
    let free = Free::default();
    free.watched_by(&mut vault.app);
    for (bytes, expected) in [(FLOOR / 2, 0), (0, 0), (10 * FLOOR, 1)] {
        free.set(&vault.app, bytes);
        block_on(vault.app.access().write_last_uses()).unwrap();
        assert_eq!(rows(&vault).len(), expected, "{bytes} bytes are free");
        assert!(last_use(&vault).is_some());
    }
}

/// Commits the planted change. Returns the report of `verify` and the damage that the scrub counts.
fn findings(plant: impl Fn(&TestVault) -> Change) -> (Report, u64) {
    let vault = vault(&Clock::stopped_at(NOW));
    block_on(vault.app.access().write_last_uses()).unwrap();
    block_on(vault.app.store().commit(plant(&vault))).unwrap();
    let mut walk = ScrubWalk::default();
    steps("the end of the scrub")
        .find(|_| vault.app.upkeep().scrub_some(&mut walk).unwrap() == ScrubProgress::Everything);
    (vault.app.verification().verify().unwrap(), vault.app.damage.count())
}

#[test]
fn a_last_use_without_its_key_or_without_a_time_is_found() {
    let place = |vault: &TestVault| rows(vault).remove(0).0;
    let without_key = |vault: &TestVault| {
        let mut place = place(vault);
        place[40] ^= 1;
        Change::new().put(Table::KeyUses, place, tables::minute_value(1))
    };
    let no_time = |vault: &TestVault| Change::new().put(Table::KeyUses, place(vault), vec![1]);
    let no_place = |_: &TestVault| Change::new().put(Table::KeyUses, vec![1], vec![1]);
    for (report, damaged) in [findings(without_key), findings(no_time), findings(no_place)] {
        assert_eq!((report.findings.len(), damaged), (1, 1), "{:?}", report.findings);
    }
    let (report, damaged) = findings(|_| Change::new());
    assert_eq!((report.findings, damaged), (Vec::new(), 0));
}
