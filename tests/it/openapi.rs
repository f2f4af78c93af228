//! The OpenAPI document and the Postman collection of the running program.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::harness::{Vault, get};

fn document(vault: &Vault) -> Value {
    vault.send(&get("/openapi.json")).with_status(200).json
}

#[test]
fn a_browser_page_of_another_origin_can_load_the_document() {
    let vault = Vault::start();
    let answer = vault.send(&get("/openapi.json").header("Origin", "https://tool.example"));
    let answer = answer.with_status(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let tag = answer.header("etag").unwrap();
    vault.send(&get("/openapi.json").header("If-None-Match", tag)).with_status(304);
}

fn operations(document: &Value) -> Vec<(String, String)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            operations.push((method.to_uppercase(), path.clone()));
        }
    }
    operations
}

#[test]
fn the_postman_collection_has_each_operation_once() {
    let vault = Vault::start();
    let expected = operations(&document(&vault));
    let collection = vault.send(&get("/postman.json")).with_status(200).json;
    let folders = collection["item"].as_array().unwrap();
    let items = folders.iter().flat_map(|folder| folder["item"].as_array().unwrap());
    let found: Vec<_> = items
        .map(|item| {
            let request = &item["request"];
            let segments = request["url"]["path"].as_array().unwrap().iter();
            let segments = segments.map(|segment| {
                let segment = segment.as_str().unwrap();
                let name = segment.strip_prefix(':');
                name.map_or_else(|| format!("/{segment}"), |name| format!("/{{{name}}}"))
            });
            let method = String::from(request["method"].as_str().unwrap());
            (method, segments.collect::<String>())
        })
        .collect();
    assert_eq!(found.len(), expected.len());
    let set = |all: Vec<_>| all.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(set(found), set(expected));
}
