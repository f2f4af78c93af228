//! Every request example of the API document goes to the real binary, which answers as the document
//! says. The harness holds each answer to its schema; these tests send the requests.

use serde_json::{Value, json};
use strongroom::testing::base64;
use strongroom::testing::{Access, ROUTES, Route};

use crate::access_examples::{self, adapted, no_success};
use crate::harness::{Operation, Request, Vault, api_document};
use crate::proxy::Scene;
use crate::threeds::{self, authenticate, create};

#[test]
fn every_operation_and_every_example_of_a_request_succeeds() {
    let scene = Scene::start();
    let (mut sent, mut failures) = (0, Vec::new());
    let mut operations: Vec<_> = api_document().operations().collect();
    // No key of the tenant works after this one.
    operations.sort_by_key(|it| (it.method, it.path) == ("delete", "/tenants/self"));
    for operation in operations {
        for example in examples(operation) {
            let answer = scene.send(&example.request(&scene, operation));
            let wanted = successes(operation);
            if !wanted.contains(&answer.status) {
                let (method, path, name) = (operation.method, operation.path, example.name);
                let (status, detail) = (answer.status, &answer.json);
                failures
                    .push(format!("{method} {path} {name:?}: {status}, not {wanted:?}: {detail}"));
            }
            sent += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(sent > ROUTES.len() / 2, "only {sent} requests were sent");
}

struct Example<'a> {
    name: &'a str,
    media_type: Option<&'a str>,
    body: Option<&'a Value>,
    query: Vec<(&'a str, &'a Value)>,
}

/// The examples of the body, and one request for each example of a parameter of the query. An
/// operation without either is sent once, with what it requires.
fn examples(operation: Operation<'static>) -> Vec<Example<'static>> {
    let parameters = parameters(operation);
    let required: Vec<_> = parameters
        .iter()
        .filter(|parameter| parameter["required"] == true)
        .map(|parameter| (name(parameter), shown(parameter).first().expect("an example")))
        .collect();
    let plain = |name, query| Example { name, media_type: None, body: None, query };
    let Some(body) = operation.value.get("requestBody") else {
        let mut all = vec![plain("without a body", required.clone())];
        for parameter in &parameters {
            for value in shown(parameter) {
                let mut query: Vec<_> = required.clone();
                query.retain(|(known, _)| *known != name(parameter));
                query.push((name(parameter), value));
                all.push(plain(name(parameter), query));
            }
        }
        return all;
    };
    let contents = body["content"].as_object().expect("content");
    let bodies = contents.iter().flat_map(|(media_type, content)| {
        let examples = content["examples"].as_object().into_iter().flatten();
        examples.map(move |(name, example)| (media_type, name, &example["value"]))
    });
    let all: Vec<_> = bodies
        .map(|(media_type, name, value)| Example {
            name,
            media_type: Some(media_type),
            body: Some(value),
            query: required.clone(),
        })
        .collect();
    let (method, path) = (operation.method, operation.path);
    assert!(!all.is_empty(), "{method} {path} takes a body and needs an example of it");
    all
}

fn parameters(operation: Operation<'static>) -> Vec<&'static Value> {
    let all = operation.value["parameters"].as_array().into_iter().flatten();
    let all = all.map(|parameter| api_document().schemas().resolve(parameter).unwrap());
    all.filter(|parameter| parameter["in"] == "query").collect()
}

fn name(parameter: &'static Value) -> &'static str {
    parameter["name"].as_str().expect("a name")
}

fn shown(parameter: &'static Value) -> &'static [Value] {
    parameter["schema"]["examples"].as_array().map_or(&[], Vec::as_slice)
}

/// The statuses of success, or the only one that is not a failure of the caller.
pub(crate) fn successes(operation: Operation<'_>) -> Vec<u16> {
    let responses = operation.value["responses"].as_object().expect("responses");
    let statuses: Vec<u16> = responses.keys().filter_map(|status| status.parse().ok()).collect();
    if let Some(status) = no_success(operation.path) {
        return vec![status];
    }
    match operation.path {
        // There is no key before there is a webhook.
        "/keys/webhooks.v1.key" | "/keys/webhooks.v1-test.key" => vec![200, 404],
        // Only a person of the sign-on opens the console; everybody learns the ways.
        "/console/data/sign-on" => vec![200, 401, 403],
        // The destination's answer.
        "/proxy" | "/proxy/{path}" => vec![200],
        _ => statuses.into_iter().filter(|status| (200..300).contains(status)).collect(),
    }
}

impl Example<'_> {
    fn request(&self, scene: &Scene, operation: Operation<'_>) -> Request {
        let vault = &scene.vault;
        let mut path = path(vault, operation);
        for (index, (name, value)) in self.query.iter().enumerate() {
            let text = value.as_str().map_or_else(|| value.to_string(), String::from);
            let mark = if index == 0 { '?' } else { '&' };
            path.extend([
                String::from(mark),
                String::from(*name),
                String::from('='),
                encoded(&text),
            ]);
        }
        let mut request = Request::new(&operation.method.to_ascii_uppercase(), &path);
        request = request.key(&key(vault, operation));
        if operation.path.starts_with("/proxy") && !operation.path.starts_with("/proxies") {
            request = request.header("BT-PROXY-URL", &scene.psp.url("/echo"));
        }
        let (Some(kind), Some(body)) = (self.media_type, self.body) else { return request };
        let body = if kind == FORM {
            form(vault, operation, &path, body)
        } else {
            adapted(vault, operation.path, body).to_string()
        };
        request.header("Content-Type", kind).body(body)
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// The path of the operation with resources of the vault that the examples are for.
pub(crate) fn path(vault: &Vault, operation: Operation<'_>) -> String {
    if operation.path == "/proxy/{path}" {
        return String::from("/proxy/v1/charges");
    }
    access_examples::path(vault, route(operation))
}

fn route(operation: Operation<'_>) -> &'static Route {
    let is_method = |route: &&Route| {
        route.methods.iter().any(|known| known.as_str().eq_ignore_ascii_case(operation.method))
    };
    let path = operation.path.trim_end_matches("/{path}");
    let mut found = ROUTES.iter().filter(|route| route.path == path).filter(is_method);
    found.next().unwrap_or_else(|| panic!("{} {} is no route", operation.method, operation.path))
}

fn key(vault: &Vault, operation: Operation<'_>) -> String {
    match (operation.path, route(operation).access()) {
        ("/sessions", _) => vault.keys.public.clone(),
        ("/fields/v1/access", _) => key_of_a_shop(vault),
        (_, Access::Key(permissions)) => String::from(access_examples::key(vault, permissions)),
        _ => String::new(),
    }
}

/// The key of a public application for the pages of the shop that the document names.
pub(crate) fn key_of_a_shop(vault: &Vault) -> String {
    let shop = json!({
        "name": "Shop", "type": "public", "permissions": ["token:create"],
        "allowed_origins": ["https://shop.example"],
    });
    let made = vault.post("/applications", &vault.keys.management, shop).with_status(201);
    made.member("key")
}

/// The form of the example, with real transactions in the place of those that the document shows.
fn form(vault: &Vault, operation: Operation<'_>, path: &str, body: &Value) -> String {
    let in_path = path.split('/').nth(3).unwrap_or_default();
    let members = body.as_object().expect("an object of the form's members");
    let members = members.iter().map(|(name, value)| {
        let bytes = base64::decode_url(value.as_str().expect("a text")).expect("base64");
        let mut message: Value = serde_json::from_slice(&bytes).expect("JSON in base64");
        match operation.path {
            "/3ds/sim/acs/method" => {
                let made = create(vault, &threeds::card(vault, "4242424242424242"));
                message["threeDSServerTransID"] = Value::from(made.id());
                let url = made.member("method_notification_url");
                message["threeDSMethodNotificationURL"] = Value::from(url);
            }
            "/3ds/sim/acs/challenge" => {
                let session = create(vault, &threeds::card(vault, "4200000000000004")).id();
                let asked = authenticate(vault, &session, threeds::body()).with_status(200);
                message["threeDSServerTransID"] = Value::from(session);
                message["acsTransID"] = asked.json["acs_transaction_id"].clone();
                message["messageVersion"] = asked.json["threeds_version"].clone();
            }
            _ => message["threeDSServerTransID"] = Value::from(in_path),
        }
        format!("{name}={}", base64::encode_url(message.to_string().as_bytes()))
    });
    members.collect::<Vec<_>>().join("&")
}

/// The text with everything but letters, digits and a few marks in percent encoding.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            String::from(char::from(byte))
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[test]
fn every_example_in_the_document_fits_its_own_schema() {
    let document = api_document();
    let mut checked = 0;
    let mut check = |place: &str, content: &Value| {
        for (kind, content) in content.as_object().into_iter().flatten() {
            for (name, example) in content["examples"].as_object().into_iter().flatten() {
                let fits = document.schemas().check(&content["schema"], &example["value"]);
                assert_eq!(fits, Ok(()), "{place}: the example {name} of {kind}");
                checked += 1;
            }
        }
    };
    for operation in document.operations() {
        let place = format!("{} {}", operation.method, operation.path);
        check(&place, &operation.value["requestBody"]["content"]);
        for (status, response) in operation.value["responses"].as_object().expect("responses") {
            let response = document.schemas().resolve(response).unwrap();
            check(&format!("{place} {status}"), &response["content"]);
        }
    }
    assert!(checked > 0);
}
