//! The part of `strongroom verify` for proxies, sessions, webhooks, the keys of clients and the last
//! uses of API keys: every row opens, and every row that finds another one has it.

use crate::app::access::sessions::{due, find_session};
use crate::app::client_keys::{self, find_client_key};
use crate::app::error::Error;
use crate::app::proxies;
use crate::app::upkeep::verify::{Report, unless_damaged};
use crate::app::vault::Vault;
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, Table};

const SEALED: &[Table] = &[
    Table::ClientKeys,
    Table::Proxies,
    Table::Sessions,
    Table::WebhookDeliveries,
    Table::Webhooks,
];

/// Pairs of tables with the same number of rows: a row of the first finds one of the second.
const PAIRS: &[(Table, Table)] = &[
    (Table::ProxyKeys, Table::Proxies),
    (Table::SessionKeys, Table::Sessions),
    (Table::WebhookSchedule, Table::WebhookDeliveries),
];

pub(super) fn verify_sealed(
    snapshot: &Snapshot,
    tenant: TenantId,
    keys: &TenantKeys,
    report: &mut Report,
) -> Result<(), Error> {
    for table in SEALED {
        for entry in snapshot.range(&table.rows_of(tenant.bytes()))? {
            let (key, sealed) = entry?;
            let opened = keys.open(table.number(), &key, &sealed).map_err(Error::from);
            if unless_damaged(opened)?.is_none() {
                let (name, id) = (table.name(), table.id_of_key(&key));
                report.find(format!("tenant {tenant}: {id} of {name} does not open"));
            }
        }
    }
    verify_proxies(snapshot, tenant, keys, report)?;
    verify_client_keys(snapshot, tenant, keys, report)?;
    verify_sessions(snapshot, tenant, keys, report)
}

/// Every proxy is found by its key.
fn verify_proxies(
    snapshot: &Snapshot,
    tenant: TenantId,
    keys: &TenantKeys,
    report: &mut Report,
) -> Result<(), Error> {
    for entry in snapshot.range(&Table::Proxies.rows_of(tenant.bytes()))? {
        let (place, sealed) = entry?;
        let opened = unless_damaged(proxies::open(keys, tenant, &place, &sealed))?;
        let Some(proxy) = opened else { continue };
        let finder = tables::proxy_keys(&proxies::hash(&proxy.key));
        if snapshot.value(Table::ProxyKeys, &finder)? != Some(place) {
            report.find(format!("proxy {}: its key does not find it", proxy.id));
        }
    }
    Ok(())
}

/// Every client encryption key has the entry of its expiry.
fn verify_client_keys(
    snapshot: &Snapshot,
    tenant: TenantId,
    keys: &TenantKeys,
    report: &mut Report,
) -> Result<(), Error> {
    for entry in snapshot.range(&tables::client_keys_of(tenant))? {
        let (key, _) = entry?;
        let Some((_, id)) = tables::client_key_of_key(&key) else {
            report.find(format!("tenant {tenant}: the key of a client key is no id"));
            continue;
        };
        let found = find_client_key(snapshot, keys, tenant, id);
        let Some((key, _)) = unless_damaged(found)?.flatten() else { continue };
        report.index_entries = report.index_entries.saturating_add(1);
        if snapshot.value(Table::Expiries, &client_keys::due(&key))?.is_none() {
            report.find(format!("client key {id}: an entry of due is missing"));
        }
    }
    Ok(())
}

/// Every session has the row that finds it and the entry of its expiry.
fn verify_sessions(
    snapshot: &Snapshot,
    tenant: TenantId,
    keys: &TenantKeys,
    report: &mut Report,
) -> Result<(), Error> {
    let mut count: i64 = 0;
    for entry in snapshot.range(&Table::Sessions.rows_of(tenant.bytes()))? {
        let (key, _) = entry?;
        count = count.saturating_add(1);
        let Some((_, id)) = tables::session_of_place(&key) else {
            report.find(format!("tenant {tenant}: the key of a session is no id"));
            continue;
        };
        let found = find_session(snapshot, keys, tenant, id);
        let Some((session, _)) = unless_damaged(found)?.flatten() else { continue };
        report.index_entries = report.index_entries.saturating_add(1);
        if snapshot.value(Table::Expiries, &due(&session))?.is_none() {
            report.find(format!("session {id}: an entry of due is missing"));
        }
        let finder = tables::session_keys(&session.key_hash);
        let place = snapshot.value(Table::SessionKeys, &finder)?;
        if place != Some(tables::session_place(tenant, id)) {
            report.find(format!("session {id}: its key does not find it"));
        }
    }
    let counted = snapshot.count(&tables::counts(tenant, CountKind::Sessions))?;
    if count != counted {
        report.find(format!("tenant {tenant}: {count} sessions, but {counted} counted"));
    }
    Ok(())
}

/// Every last use belongs to an API key, and every key of card verification codes opens.
pub(super) fn verify_unsealed(
    vault: &Vault,
    snapshot: &Snapshot,
    report: &mut Report,
) -> Result<(), Error> {
    let damaged = vault.cvcs().damaged_keys();
    if damaged > 0 {
        report.find(format!("cvc.keys: {damaged} keys are damaged; their codes are lost"));
    }
    for entry in snapshot.range(&Table::KeyUses.whole())? {
        let (key, value) = entry?;
        let Some((tenant, id)) = tables::application_key_of_key(&key) else {
            report.find(String::from("last uses of API keys: a key makes no sense"));
            continue;
        };
        if tables::minute_of_value(&value).is_none() {
            report.find(format!("key {id}: its last use is no time"));
        }
        if snapshot.value(Table::ApplicationKeys, &key)?.is_none() {
            report.find(format!("tenant {tenant}: the last use of key {id} has no key"));
        }
    }
    Ok(())
}

pub(super) fn verify_pairs(snapshot: &Snapshot, report: &mut Report) -> Result<(), Error> {
    for (finder, found) in PAIRS {
        let (finders, rows) = (snapshot.len(*finder)?, snapshot.len(*found)?);
        if finders != rows {
            let (finder, found) = (finder.name(), found.name());
            report.find(format!("{finders} rows of {finder}, but {rows} of {found}"));
        }
    }
    // As many rows, and each finds one: no event waits for ever without a place in the schedule.
    for entry in snapshot.range(&Table::WebhookSchedule.whole())? {
        let (key, _) = entry?;
        let delivery = tables::scheduled_of_key(&key).map(|(_, delivery)| delivery.delivery_key());
        let found =
            delivery.map(|key| snapshot.value(Table::WebhookDeliveries, &key)).transpose()?;
        if found.flatten().is_none() {
            report.find(String::from("webhooks: a row of the schedule finds no event"));
        }
    }
    let waiting = snapshot.len(Table::WebhookSchedule)?;
    let counted = snapshot.count(&tables::all_webhook_counts())?;
    if i64::try_from(waiting) != Ok(counted) {
        report.find(format!("{waiting} events wait for webhooks, but {counted} counted"));
    }
    Ok(())
}
