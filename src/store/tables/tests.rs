//! Names, numbers and the order of keys.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::*;
use crate::domain::container::Container;
use crate::domain::id::{
    ApplicationId, ClientKeyId, EventId, KeyId, ProxyId, SessionId, TenantId, TokenId, WebhookId,
};
use crate::domain::time::Timestamp;

#[test]
fn every_table_has_a_name_and_a_number_of_its_own() {
    let names: BTreeSet<_> = Table::ALL.iter().map(|table| table.name()).collect();
    let numbers: BTreeSet<_> = Table::ALL.iter().map(|table| table.number()).collect();
    assert_eq!((names.len(), numbers.len()), (Table::ALL.len(), Table::ALL.len()));
    let by_number = |table: &Table| Table::from_number(table.number()) == Some(*table);
    assert!(Table::ALL.iter().all(by_number) && Table::from_number(0).is_none());
}

#[test]
fn keys_and_values_lead_to_their_tenant_and_to_no_other() {
    let tenant = TenantId::new(Uuid::from_u128(7));
    let other = *TenantId::new(Uuid::from_u128(8)).bytes();
    let (id, at) = (Uuid::from_u128(9), Timestamp::from_seconds(1_000_000));
    let delivery = PendingDelivery { tenant, webhook: WebhookId::new(id), event: EventId::new(id) };
    let place = proxies(tenant, ProxyId::new(id));
    let rows = [
        (Table::Tokens, tokens(tenant, TokenId::new(id)), vec![]),
        (Table::Applications, applications(tenant, ApplicationId::new(id)), vec![]),
        (Table::KeyUses, key_uses(tenant, ApplicationId::new(id), KeyId::new(id)), vec![]),
        (Table::ClientKeys, client_keys(tenant, ClientKeyId::new(id)), vec![]),
        (Table::Counts, counts(tenant, CountKind::Tokens), vec![]),
        (Table::Counts, digests(tenant.bytes()), vec![]),
        (Table::Keys, keys(tenant.bytes(), 1, 1), vec![]),
        (Table::Cvcs, cvcs(at, tenant, id).to_vec(), vec![]),
        (Table::Expiries, expiries(at, ExpiryKind::Token, tenant, id), vec![]),
        (Table::Idempotency, idempotency(tenant, &[1; 16]), vec![]),
        (Table::IdempotencyAnswers, idempotency_answers(at, tenant, &[1; 16]), vec![]),
        (Table::WebhookSchedule, delivery.schedule_key(at), vec![]),
        (Table::WebhookDeliveries, delivery.delivery_key(), vec![]),
        (Table::ThreedsSessions, threeds_sessions(tenant, SessionId::new(id)), vec![]),
        (Table::ProxyKeys, proxy_keys(&[3; 32]), place),
    ];
    for (table, key, value) in rows {
        assert!(table.is_row_of(tenant.bytes(), &key, &value), "{}", table.name());
        assert!(!table.is_row_of(&other, &key, &value), "{}", table.name());
        assert!(table.rows_of(tenant.bytes()).contains(&key), "{}", table.name());
    }
}

#[test]
fn lists_are_ordered_by_container_then_newest_first() {
    let tenant = TenantId::new(Uuid::nil());
    let key = |path: &str, second| {
        let path = Container::parse(path).unwrap();
        let token = TokenId::new(Uuid::nil());
        TokenList::new(tenant, EVERYTHING).in_container(
            &path,
            Timestamp::from_seconds(second),
            token,
        )
    };
    let sorted = [key("/a/", 9), key("/a/", 1), key("/a/-/", 5), key("/a/b/", 7), key("/b/", 8)];
    assert!(sorted.is_sorted());
}
