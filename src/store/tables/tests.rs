//! Names, numbers and the order of keys.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::*;
use crate::domain::container::Container;
use crate::domain::id::TenantId;
use crate::domain::id::TokenId;
use crate::domain::time::Timestamp;

#[test]
fn every_table_has_a_name_and_a_number_of_its_own() {
    let names: BTreeSet<_> = Table::ALL.iter().map(|table| table.name()).collect();
    let numbers: BTreeSet<_> = Table::ALL.iter().map(|table| table.number()).collect();
    assert_eq!((names.len(), numbers.len()), (Table::ALL.len(), Table::ALL.len()));
}

#[test]
fn every_table_is_listed_at_its_index_and_found_by_its_number() {
    for (index, table) in Table::ALL.iter().enumerate() {
        assert_eq!((table.index(), Table::from_number(table.number())), (index, Some(*table)));
    }
    assert_eq!(Table::from_number(0), None);
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
