//! The deletion of a tenant: it leaves no row, no change adds one, and after an interruption the
//! next start continues it.

use std::sync::Arc;

use crate::app::rotation::{Step, Walk};
use crate::app::tests::{TestVault, card, draft, expiring, named, new_tenant, prepared};
use crate::app::{Caller, DeletionStep, Error, KeyState, ScrubProgress, ScrubWalk, Vault, Write};
use crate::clock::Clock;
use crate::domain::id::TenantId;
use crate::domain::key_text::KeyText;
use crate::store::tables::meta;
use crate::store::tests::block_on;
use crate::store::tests::disk::{Fate, Fault, Operation, TestDisk};
use crate::store::{Change, Table, Upkeep, Verdict, tables};

struct Second {
    tenant: TenantId,
    key: KeyText,
    caller: Arc<Caller>,
}

fn fill(app: &Vault) -> Result<Second, Error> {
    block_on(async {
        let (tenant, key) = new_tenant(app, "second").await;
        let caller = app.access().authenticate(&key)?;
        let soon = app.now().plus(std::time::Duration::from_hours(1)).to_wire();
        for one in [draft("a"), draft("b"), named("name", "c"), expiring("d", &soon), card("123")] {
            app.tokens(&caller).create(one, &Write::plain()).await?;
        }
        app.access().write_last_uses().await?;
        Ok(Second { tenant, key, caller })
    })
}

fn rows_of(app: &Vault, tenant: TenantId) -> Vec<&'static str> {
    let snapshot = app.store().snapshot().unwrap();
    let mut found = Vec::new();
    for table in Table::ALL {
        for (key, value) in snapshot.first(&table.whole(), usize::MAX).unwrap() {
            if table.is_row_of(tenant.bytes(), &key, &value) {
                found.push(table.name());
            }
        }
    }
    found
}

fn finish(app: &Vault) -> Result<(), Error> {
    block_on(async {
        for _ in crate::waiting::steps("the end of the deletion") {
            if app.deletion().step().await? == DeletionStep::Idle {
                return Ok(());
            }
        }
        Ok(())
    })
}

#[track_caller]
fn assert_clean(app: &Vault, deletions: u64) {
    assert_eq!(crate::app::tests::assert_clean(app).deletions, deletions);
}

#[test]
fn nothing_of_a_deleted_tenant_stays_and_other_tenants_keep_everything() {
    let vault = TestVault::new();
    let own = block_on(vault.create_id(draft("own")));
    let second = fill(&vault.app).unwrap();
    let held = rows_of(&vault.app, second.tenant);
    for name in ["tokens", "token_lists", "token_names", "due", "cvcs", "keys", "key_uses"] {
        assert!(held.contains(&name), "{name}");
    }
    let before = rows_of(&vault.app, vault.caller.tenant.id);
    block_on(vault.app.deletion().begin(second.tenant, None)).unwrap();
    assert!(vault.app.deletion().is_under_way(second.tenant).unwrap());
    finish(&vault.app).unwrap();
    assert_eq!(rows_of(&vault.app, second.tenant), Vec::<&str>::new());
    assert_eq!(rows_of(&vault.app, vault.caller.tenant.id), before);
    assert_eq!(vault.data(&own).unwrap()["value"], "own");
    assert_clean(&vault.app, 0);
    let again = block_on(vault.app.deletion().begin(second.tenant, None));
    assert!(matches!(again, Err(Error::NotFound("tenant"))), "{again:?}");
    let inventory = block_on(vault.app.keys().inventory()).unwrap();
    let gone: Vec<_> =
        inventory.keys.iter().filter(|key| key.tenant == Some(second.tenant)).collect();
    assert_eq!(gone.len(), 3);
    assert!(gone.iter().all(|key| key.state == KeyState::Destroyed && key.destroyed_at.is_some()));
    vault.app.close();
    let vault = vault.again();
    assert_clean(&vault.app, 0);
}

/// The log files that contain one of these values.
fn log_files_with(disk: &TestDisk, values: &[Vec<u8>]) -> Vec<String> {
    let log = disk.volatile().into_iter().filter(|(name, _)| name.starts_with("strongroom.log."));
    let has = |bytes: &[u8], value: &[u8]| bytes.windows(value.len()).any(|it| it == value);
    let found = log.filter(|(_, bytes)| values.iter().any(|value| has(bytes, value)));
    found.map(|(name, _)| name).collect()
}

#[test]
fn the_log_has_no_key_after_the_first_change_and_no_row_at_the_end() {
    let vault = TestVault::new();
    vault.app.store().set_upkeep(Upkeep::Allowed);
    let second = fill(&vault.app).unwrap();
    let values = |range| -> Vec<Vec<u8>> {
        let rows = vault.app.store().snapshot().unwrap().first(&range, usize::MAX).unwrap();
        rows.into_iter().map(|(_, value)| value).collect()
    };
    let keys = values(tables::keys_of(second.tenant.bytes()));
    let tokens = values(Table::Tokens.rows_of(second.tenant.bytes()));
    assert!(!keys.is_empty() && !tokens.is_empty());
    assert!(!log_files_with(&vault.disk, &keys).is_empty());
    block_on(vault.app.deletion().begin(second.tenant, None)).unwrap();
    assert_eq!(log_files_with(&vault.disk, &keys), Vec::<String>::new());
    finish(&vault.app).unwrap();
    assert_eq!(log_files_with(&vault.disk, &tokens), Vec::<String>::new());
    assert_clean(&vault.app, 0);
}

#[test]
fn no_caller_of_a_tenant_that_is_being_deleted_reads_or_writes() {
    let vault = TestVault::new();
    let Second { tenant, key, caller } = fill(&vault.app).unwrap();
    block_on(vault.app.deletion().begin(tenant, None)).unwrap();
    let refused = |outcome: Result<(), Error>| {
        assert!(matches!(outcome, Err(Error::Unauthenticated)), "{outcome:?}");
    };
    refused(vault.app.access().authenticate(&key).map(drop));
    refused(vault.app.access().authenticate_again(&caller).map(drop));
    // This request was authenticated before the deletion.
    let late = |one| block_on(vault.app.tokens(&caller).create(one, &Write::plain())).map(drop);
    refused(late(draft("late")));
    refused(late(card("321")));
    refused(block_on(vault.app.tokens(&caller).delete("name")));
    let list = block_on(vault.app.rotation().rotate_tenant(tenant));
    assert!(matches!(list, Err(Error::NotFound("tenant"))), "{list:?}");
    finish(&vault.app).unwrap();
    refused(late(draft("later")));
    assert_eq!(rows_of(&vault.app, tenant), Vec::<&str>::new());
    assert_clean(&vault.app, 0);
}

#[test]
fn the_page_of_an_import_that_was_under_way_leaves_no_state_behind() {
    let vault = TestVault::new();
    let (tenant, _) = block_on(new_tenant(&vault.app, "second"));
    let late = || {
        // A page of duplicates writes only this row.
        let state = Change::new().put(Table::Meta, meta::import(tenant, "digest"), vec![0]);
        block_on(vault.app.store().commit(state)).unwrap()
    };
    assert_eq!(late(), Verdict::Applied);
    block_on(vault.app.deletion().begin(tenant, None)).unwrap();
    assert_eq!(late(), Verdict::Closed);
    finish(&vault.app).unwrap();
    assert_eq!(late(), Verdict::Closed);
    let snapshot = vault.app.store().snapshot().unwrap();
    assert_eq!(snapshot.first(&meta::imports_of(tenant), 1).unwrap().len(), 0);
}

#[test]
fn two_deletions_come_to_their_end_and_a_command_works_on_its_own() {
    let vault = TestVault::new();
    let [first, second] = ["first", "second"].map(|name| block_on(new_tenant(&vault.app, name)).0);
    let deletion = vault.app.deletion();
    for tenant in [first, second] {
        block_on(deletion.begin(tenant, None)).unwrap();
    }
    for _ in crate::waiting::steps("the end of the second deletion") {
        if block_on(deletion.step_of(second)).unwrap() == DeletionStep::Idle {
            break;
        }
    }
    assert!(deletion.is_under_way(first).unwrap());
    assert_eq!(rows_of(&vault.app, second), Vec::<&str>::new());
    finish(&vault.app).unwrap();
    assert_clean(&vault.app, 0);
}

#[test]
fn the_first_change_destroys_every_key_also_those_of_a_rotation_and_of_codes() {
    let TestVault { app, caller, .. } = TestVault::new();
    let second = fill(&app).unwrap();
    block_on(app.rotation().rotate_tenant(second.tenant)).unwrap();
    block_on(app.deletion().begin(second.tenant, None)).unwrap();
    let snapshot = app.store().snapshot().unwrap();
    let keys = snapshot.first(&tables::keys_of(second.tenant.bytes()), usize::MAX).unwrap();
    assert_eq!(keys.len(), 0);
    assert_eq!(app.cvcs().destroy_keys_of(second.tenant).unwrap(), 0, "they are gone already");
    drop((snapshot, second, caller));
    let mut walk = Walk::default();
    assert_eq!(block_on(app.rotation().rotate_step(&mut walk)).unwrap(), Step::Idle);
    finish(&app).unwrap();
    assert_clean(&app, 0);
}

#[test]
fn a_deletion_goes_on_after_a_restart_at_any_step() {
    for steps in 0.. {
        let vault = TestVault::new();
        let Second { tenant, key, caller } = fill(&vault.app).unwrap();
        drop(caller);
        block_on(vault.app.deletion().begin(tenant, None)).unwrap();
        let mut is_over = false;
        for _ in 0..steps {
            let step = block_on(vault.app.deletion().step()).unwrap();
            is_over |= matches!(step, DeletionStep::Finished(_));
        }
        // The vault is not closed: the process was killed.
        let vault = vault.again();
        assert_clean(&vault.app, u64::from(!is_over));
        let refused = vault.app.access().authenticate(&key);
        assert!(matches!(refused, Err(Error::Unauthenticated)), "{steps}");
        finish(&vault.app).unwrap();
        assert_eq!(rows_of(&vault.app, tenant), Vec::<&str>::new(), "{steps}");
        assert_clean(&vault.app, 0);
        if is_over {
            assert!(steps > 10, "only {steps} steps");
            return;
        }
    }
}

#[test]
fn sweeps_and_the_scrub_pass_over_a_tenant_that_is_being_deleted() {
    let clock = Clock::new();
    let vault = TestVault::on(TestDisk::holding(prepared().0.clone()), clock.clone()).unwrap();
    let second = fill(&vault.app).unwrap();
    let in_an_hour = vault.in_an_hour();
    let own = block_on(vault.create_id(expiring("own", &in_an_hour)));
    block_on(vault.app.deletion().begin(second.tenant, None)).unwrap();
    clock.advance(std::time::Duration::from_hours(2));
    loop {
        block_on(vault.app.upkeep().sweep_all()).unwrap();
        let mut walk = ScrubWalk::default();
        while vault.app.upkeep().scrub_some(&mut walk).unwrap() == ScrubProgress::Some {}
        assert_eq!(vault.app.damage.met(), 0);
        if block_on(vault.app.deletion().step()).unwrap() == DeletionStep::Idle {
            break;
        }
    }
    assert_eq!(vault.data(&own), None, "the sweep went on");
    assert_clean(&vault.app, 0);
}

#[test]
fn the_rows_of_api_keys_are_found_while_the_server_s_keys_rotate() {
    let TestVault { app, caller, .. } = TestVault::new();
    drop(caller);
    let (tenant, key) = block_on(new_tenant(&app, "second"));
    block_on(app.rotation().rotate_server()).unwrap();
    block_on(app.deletion().begin(tenant, None)).unwrap();
    let mut walk = Walk::default();
    for _ in crate::waiting::steps("the end of the rotation") {
        if block_on(app.rotation().rotate_step(&mut walk)).unwrap() == Step::Idle {
            break;
        }
        block_on(app.deletion().step()).unwrap();
    }
    finish(&app).unwrap();
    let refused = app.access().authenticate(&key);
    assert!(matches!(refused, Err(Error::Unauthenticated)), "{refused:?}");
    assert_clean(&app, 0);
}

/// Cuts the power at every sync of a deletion in turn.
#[track_caller]
fn check_power(fate: impl Fn(u64) -> Fate) {
    for nth in 1.. {
        let disk = TestDisk::holding(prepared().0.clone());
        let vault = TestVault::with_small_log(disk.clone(), Clock::new());
        vault.app.store().set_upkeep(Upkeep::Allowed);
        let own = block_on(vault.create_id(draft("own")));
        let second = fill(&vault.app).unwrap();
        let (before, at) = (disk.count(Operation::Sync), usize::try_from(nth).unwrap());
        disk.plan(Operation::Sync, at, Fault::PowerLoss(fate(nth)));
        let begun = block_on(vault.app.deletion().begin(second.tenant, None)).is_ok();
        let merged = vault.app.store().merge_now(0).is_ok();
        let is_done = begun && merged && finish(&vault.app).is_ok();
        let syncs = disk.count(Operation::Sync) - before;
        let vault = TestVault::on(TestDisk::holding(disk.durable()), Clock::new()).unwrap();
        let case = format!("{:?} at sync {nth}", fate(nth));
        let report = vault.app.verification().verify().unwrap();
        assert!(report.is_clean(), "{case}: {:?}", report.findings);
        let key = vault.app.access().authenticate(&second.key);
        assert!(!begun || matches!(key, Err(Error::Unauthenticated)), "{case}: {key:?}");
        if key.is_ok() {
            block_on(vault.app.deletion().begin(second.tenant, None)).unwrap();
        }
        drop(key);
        finish(&vault.app).unwrap();
        assert_eq!(rows_of(&vault.app, second.tenant), Vec::<&str>::new(), "{case}");
        assert_eq!(vault.data(&own).unwrap()["value"], "own", "{case}");
        assert_clean(&vault.app, 0);
        if is_done && syncs < at {
            assert!(nth > 10, "only {syncs} syncs");
            return;
        }
    }
}

#[test]
fn a_deletion_that_the_loss_of_power_interrupts_goes_on() {
    check_power(|_| Fate::Lost);
    check_power(Fate::Torn);
}
