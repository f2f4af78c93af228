//! Damaged rows of the data file: lists pass over them, the log names them, and the scrub finds them
//! without being asked.

use std::path::Path;

use redb::{Database, ReadableTable as _, TableDefinition};
use serde_json::json;

use crate::harness::{Vault, needs_data_file, wait_until};
use crate::watch::metric;

/// Changes rows of a table of the stopped vault in this directory.
pub(crate) fn edit(
    data: &Path,
    table: &str,
    change: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>,
) -> usize {
    let database = Database::open(data.join("strongroom.redb")).unwrap();
    let definition: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(table);
    let transaction = database.begin_write().unwrap();
    let mut count = 0;
    {
        let mut table = transaction.open_table(definition).unwrap();
        let rows: Vec<_> = table
            .iter()
            .unwrap()
            .map(|row| row.map(|(key, value)| (key.value().to_vec(), value.value().to_vec())))
            .collect::<Result<_, _>>()
            .unwrap();
        for (key, value) in rows {
            match change(&key, &value) {
                Some(new) if new == value => continue,
                Some(new) => drop(table.insert(key.as_slice(), new.as_slice()).unwrap()),
                None => drop(table.remove(key.as_slice()).unwrap()),
            }
            count += 1;
        }
    }
    transaction.commit().unwrap();
    count
}

fn bytes(id: &str) -> Vec<u8> {
    let digits: Vec<u8> = id.bytes().filter(|it| *it != b'-').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn events<'a>(log: &'a str, name: &str) -> Vec<&'a str> {
    log.lines().filter(|line| line.contains(&format!("\"{name}\""))).collect()
}

#[test]
fn one_damaged_record_costs_no_list_and_is_named() {
    needs_data_file!("it plants damage in the file");
    let mut vault = Vault::start();
    let token = |data: &str| {
        vault.token(json!({
            "type": "token", "data": data, "metadata": {"a": "b"}, "search_indexes": ["{{ data }}"],
        }))
    };
    let ids = [token("x"), token("x"), token("x")];
    assert_eq!(vault.stop(), Some(0));
    let damaged = bytes(&ids[1]);
    let count = edit(&vault.data(), "tokens", |key, value| {
        let mut value = value.to_vec();
        if key.ends_with(&damaged) {
            *value.last_mut().unwrap() ^= 1;
        }
        Some(value)
    });
    assert_eq!(count, 1);
    vault.restart();
    let key = vault.keys.private.clone();
    let listed = |path: &str| {
        let answer = vault.get(path, &key).with_status(200);
        answer.json["data"].as_array().unwrap().len()
    };
    let search = |path: &str| {
        let answer = vault.post(path, &key, json!({"query": "data:x"}));
        answer.with_status(200).json["data"].as_array().unwrap().len()
    };
    for path in ["/v2/tokens", "/v2/tokens?metadata.a=b", "/tokens", "/tokens?metadata.a=b"] {
        assert_eq!(listed(path), 2, "{path}");
    }
    let named = format!("/tokens?id={}&id={}", ids[0], ids[1]);
    assert_eq!(listed(&named), 1);
    for path in ["/v2/tokens/search", "/tokens/search"] {
        assert_eq!(search(path), 2, "{path}");
    }
    // The token itself is a fault, whose log line says which token it is.
    vault.get(&format!("/tokens/{}", ids[1]), &key).problem(500);
    vault.get(&format!("/tokens/{}", ids[0]), &key).with_status(200);
    for event in ["row_damaged", "internal_fault"] {
        wait_until(event, || !events(&vault.log(), event).is_empty());
    }
    let log = vault.log();
    let named = |line: &&str| line.contains(&ids[1]);
    let found = events(&log, "row_damaged");
    assert!(found.len() == 1 && found.iter().all(named), "{found:?}");
    assert!(found[0].contains("\"table\":\"tokens\""), "{found:?}");
    let faults = events(&log, "internal_fault");
    assert!(faults.len() == 1 && faults.iter().all(named), "{faults:?}");
}

#[test]
fn the_scrub_finds_an_index_entry_that_hides_a_token() {
    needs_data_file!("it plants damage in the file");
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    vault.token(json!({"type": "token", "data": "y"}));
    wait_until("no pass", || metric(&vault, "strongroom_scrub_passes_total") > 0);
    assert_eq!(metric(&vault, "strongroom_damaged_rows"), 0);
    assert_eq!(vault.stop(), Some(0));
    let hidden = bytes(&id);
    let count = edit(&vault.data(), "token_lists", |key, value| {
        (!key.ends_with(&hidden)).then(|| value.to_vec())
    });
    assert!(count > 1, "{count}");
    vault.restart();
    // No request reports it: the lists are silently short.
    let ready = || {
        let ready = vault.get("/readyz", &vault.keys.management).with_status(200);
        ready.json["checks"]["records"].clone()
    };
    wait_until("readyz does not say so", || ready() != "ok");
    assert_eq!(metric(&vault, "strongroom_damaged_rows"), 1);
    assert_eq!(metric(&vault, "strongroom_check{check=\"records\"}"), 0);
    assert_eq!(metric(&vault, "strongroom_ready"), 1, "one record is no reason to refuse the rest");
    let status = vault.operator(&["status"]).with_code(0).stdout;
    assert!(status.contains("damaged rows           1"), "{status}");
    assert!(status.contains("records: Some rows"), "{status}");
    wait_until("the log does not name the token", || {
        let log = vault.log();
        events(&log, "row_damaged").iter().any(|line| line.contains(&id))
    });
}
