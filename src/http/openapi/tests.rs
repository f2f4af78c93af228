use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::description::Description;
use super::document::{document, is_described};
use super::operations;
use crate::http::route::{Access, Handler, ROUTES};

const RENEW: &str = "STRONGROOM_RENEW=1 cargo test --lib openapi";

/// The fixture has no chapters of the manual, which are files of their own.
#[test]
fn the_document_is_the_one_in_the_fixture() {
    let mut document = document(ROUTES);
    for tag in document["tags"].as_array_mut().unwrap() {
        assert!(tag.as_object_mut().unwrap().remove("description").is_some(), "{tag}");
    }
    let text = format!("{document:#}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/openapi.json");
    if std::env::var_os("STRONGROOM_RENEW").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let line = text.lines().zip(known.lines()).position(|(now, before)| now != before);
    assert!(
        text == known,
        "the document differs from tests/fixtures/openapi.json, first in line {:?}.\n\
         If the change is meant, renew the file and read the difference: {RENEW}",
        line.map(|line| line + 1),
    );
}

/// The names of routes that need a description. Files describe themselves.
fn routes() -> BTreeSet<&'static str> {
    let is_needed = |handler: &Handler| !matches!(handler, Handler::Asset(_) | Handler::Folder(_));
    let routes = ROUTES.iter().filter(|route| is_described(route) && is_needed(&route.handler));
    routes.map(|route| route.name).collect()
}

#[test]
fn every_route_has_one_description_and_every_description_a_route() {
    let described: Vec<_> = operations::all().iter().map(|it| it.route).collect();
    let names: BTreeSet<_> = described.iter().copied().collect();
    assert_eq!(names, routes(), "descriptions are in src/http/openapi/operations");
    assert_eq!(names.len(), described.len(), "a route has two descriptions");
}

#[test]
fn every_parameter_of_a_path_is_described() {
    let paths = document(ROUTES)["paths"].take();
    for (path, item) in paths.as_object().unwrap() {
        let names: BTreeSet<_> =
            path.split('{').skip(1).map(|part| part.split('}').next().unwrap()).collect();
        for (method, operation) in item.as_object().unwrap() {
            let none = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let in_path = parameters.iter().filter(|it| it["in"] == "path");
            let found: BTreeSet<_> = in_path.map(|it| it["name"].as_str().unwrap()).collect();
            assert_eq!(found, names, "{method} {path}");
        }
    }
}

#[test]
fn examples_of_json_are_json() {
    let contents = |it: &Description| {
        let answers = it.answers.iter().filter_map(|answer| answer.content.as_ref());
        let all = it.request.iter().chain(answers);
        let json = all.filter(|content| content.media_type.contains("json"));
        json.flat_map(|content| &content.examples).map(|it| it.text.clone()).collect::<Vec<_>>()
    };
    for description in operations::all() {
        for text in contents(&description) {
            let parsed = serde_json::from_str::<Value>(&text);
            assert!(parsed.is_ok(), "{}: {parsed:?}", description.route);
        }
    }
}

fn walk(value: &Value, visit: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values().for_each(|member| walk(member, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_component_is_used() {
    let document = document(ROUTES);
    let mut used = BTreeSet::new();
    walk(&document, &mut |members| {
        if let Some(Value::String(reference)) = members.get("$ref") {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
            used.insert(reference.clone());
        }
    });
    for kind in ["headers", "parameters", "responses", "schemas"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "{name} is not used");
        }
    }
}

#[test]
fn operations_have_names_of_their_own() {
    let document = document(ROUTES);
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(names.insert(String::from(id)), "{id} is there twice");
            assert_ne!(operation["summary"], "", "{id}");
        }
    }
}

#[test]
fn every_row_of_the_rate_limits_has_a_name_of_its_own_and_operations_name_rows() {
    let document = document(ROUTES);
    let rows = document["x-rate-limit-rows"].as_array().unwrap();
    let ids: BTreeSet<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rows.len());
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let named = operation["x-rate-limits"].as_array().unwrap();
            assert!(named.contains(&Value::from("address")), "{operation}");
            assert!(named.iter().all(|id| ids.contains(id.as_str().unwrap())), "{operation}");
        }
    }
}

#[test]
fn every_body_has_an_example() {
    let document = document(ROUTES);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(body) = operation.get("requestBody") else { continue };
            let contents = body["content"].as_object().unwrap();
            let examples = contents.values().filter_map(|content| content.get("examples"));
            assert!(examples.count() > 0, "{method} {path}");
        }
    }
}

#[test]
fn the_chapter_on_operations_has_a_row_for_each_with_its_permissions() {
    let document = document(ROUTES);
    let mut tags = document["tags"].as_array().unwrap().iter();
    let chapter = tags.find(|tag| tag["name"] == "Operations").unwrap()["description"].as_str();
    let chapter = chapter.unwrap();
    for row in [
        "| `POST /tokens` | `token:create` | 201 |",
        "| `GET /tokens` | `token:read` | 200, deprecated |",
        "| `POST /detokenize` | `token:use` or `token:read` | 200 |",
        "| `GET /roles` | any key | 200 |",
        "| `POST /proxy` | `proxy:invoke` or `token:use` | the destination's |",
        "| `POST /applications/{id}/regenerate` | `application:update` | none |",
    ] {
        assert!(chapter.lines().any(|line| line == row), "{row}");
    }
    let keyed = ROUTES.iter().filter(|it| matches!(it.access(), Access::Key(_)));
    for route in keyed {
        let listed =
            route.methods.iter().all(|it| chapter.contains(&format!("`{it} {}`", route.path)));
        // Persons of the operator's sign-on call it, and no key may.
        let takes_key = route.name != "ConsoleSignOn";
        assert_eq!(listed, takes_key, "{}", route.name);
    }
    let sign_on = &document["paths"]["/console/data/sign-on"]["post"];
    assert_eq!(sign_on["security"], Value::Array(Vec::new()));
    assert!(sign_on.get("x-permissions").is_none() && sign_on.get("x-key").is_none());
}
