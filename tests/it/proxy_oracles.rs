//! Whatever a caller of a proxy writes into its expressions: two tenants that differ only in values
//! which the caller may not see answer it alike. The destination answers every call with the same
//! bytes, so that nothing but the vault can make a difference.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::client_keys::{encrypt, new_key_by};
use crate::harness::{Answer, Request, Vault, only_rule, post, thorough};
use crate::proxy::Scene;

/// The number, the code and the secret in the configuration of each tenant's proxies.
const HIDDEN: [[&str; 3]; 2] =
    [["4242424200184242", "7391", "sk_live_111"], ["4242424200264242", "8562", "sk_test_999"]];

/// Filters whose outcome depends on the value: success or failure, the text of a failure, or the
/// length of the result.
const FILTERS: [&str; 12] = [
    "slice: 8, 1 | minus: 1 | divided_by: 0",
    "slice: 8, 4 | to_number | divided_by: 18",
    "slice: 8, 4 | minus: 18 | pad_left: 9000, 'x'",
    "split: '18' | first | minus: 42424242 | abs | pad_left: 99, 'x' | card_exp: 'MMYY'",
    "replace: '1', '\n'",
    "replace: '18', 'x' | to_number",
    "replace: '7391', 'x' | to_number",
    "remove: 'sk_live_' | to_number",
    "append: 'x' | json: '$[?@ == 1]'",
    "json: '$[?search(@, \"18\")]' | to_number",
    "json: '$..*'",
    "last4 | to_boolean",
];

/// The callers that may not see these values.
const CALLERS: [Caller; 6] = [
    Caller::Invoker,
    Caller::Keyless("token:use"),
    Caller::Keyless("proxy:invoke"),
    Caller::KeylessWithoutApplication,
    Caller::Masked,
    Caller::Session,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// A private key that may invoke proxies and nothing else.
    Invoker,
    /// The key of a proxy that needs no other, whose application has this permission.
    Keyless(&'static str),
    KeylessWithoutApplication,
    /// A private key that may use tokens masked.
    Masked,
    /// A session that may invoke proxies and nothing else.
    Session,
}

struct World {
    public: String,
    management: String,
    card: String,
    encrypted: String,
    destination: String,
    secret: &'static str,
}

impl World {
    fn new(scene: &Scene, keys: [&str; 3], hidden: [&'static str; 3]) -> Self {
        let [private, public, management] = keys;
        let [number, cvc, secret] = hidden;
        let data = json!({"number": number, "cvc": cvc});
        let vault = &scene.vault;
        let card = json!({"type": "card", "data": data});
        let card = vault.post("/tokens", private, card).with_status(201).id();
        let sealed = encrypt(&new_key_by(vault, management), &data);
        let header = json!({"type": "card", "encrypted": sealed}).to_string();
        let header = base64::encode_url(header.as_bytes()).replace('-', "+").replace('_', "/");
        Self {
            public: String::from(public),
            management: String::from(management),
            card,
            encrypted: header,
            destination: scene.psp.url("/status/200"),
            secret,
        }
    }

    fn application(&self, vault: &Vault, kind: &str, mut access: Value) -> Answer {
        let mut body = json!({"name": "n", "type": kind, "permissions": [], "rules": []});
        body.as_object_mut().unwrap().append(access.as_object_mut().unwrap());
        vault.post("/applications", &self.management, body).with_status(201)
    }

    fn proxy(&self, vault: &Vault, mut members: Value) -> String {
        let management =
            self.application(vault, "management", json!({"permissions": ["proxy:create"]}));
        let mut body = json!({
            "name": "n", "destination_url": self.destination,
            "configuration": {"secret": self.secret},
        });
        body.as_object_mut().unwrap().append(members.as_object_mut().unwrap());
        vault.post("/proxies", &management.member("key"), body).with_status(201).member("key")
    }

    /// A request of this caller that lacks only its expressions.
    fn call(&self, vault: &Vault, caller: Caller, transforms: &Value) -> Request {
        let of = |permission: &str| json!({"permissions": [permission]});
        let closed = || self.proxy(vault, transforms.clone());
        let open = |application: Option<Answer>| {
            let mut members = transforms.clone();
            members["require_auth"] = json!(false);
            if let Some(application) = application {
                members["application"] = json!({"id": application.id()});
            }
            post("/proxy").header("BT-PROXY-KEY", &self.proxy(vault, members))
        };
        let call = match caller {
            Caller::Invoker => {
                let key = self.application(vault, "private", of("proxy:invoke")).member("key");
                post("/proxy").key(&key).header("BT-PROXY-KEY", &closed())
            }
            Caller::Keyless(permission) => {
                open(Some(self.application(vault, "private", of(permission))))
            }
            Caller::KeylessWithoutApplication => open(None),
            Caller::Masked => {
                let rules = only_rule("/", "mask", &["token:use"]);
                let access = json!({"permissions": ["proxy:invoke"], "rules": rules});
                let key = self.application(vault, "private", access).member("key");
                post("/proxy").key(&key).header("BT-PROXY-KEY", &closed())
            }
            Caller::Session => {
                let made = vault.send(&post("/sessions").key(&self.public)).with_status(201);
                let grantor = self.application(vault, "private", of("proxy:invoke")).member("key");
                let grant = json!({"nonce": made.member("nonce"), "permissions": ["proxy:invoke"]});
                vault.post("/sessions/authorize", &grantor, grant).with_status(200);
                post("/proxy").key(&made.member("session_key")).header("BT-PROXY-KEY", &closed())
            }
        };
        call.header("BT-ENCRYPTED", &self.encrypted)
    }

    /// All that the caller sees of the answer.
    fn seen(&self, answer: &Answer) -> Value {
        let mut headers: Vec<_> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        // A connection ends after a number of requests.
        headers.retain(|name| *name != "connection");
        headers.sort_unstable();
        let text = answer.text().replace(&self.card, "the card");
        json!({"status": answer.status, "headers": headers, "text": text})
    }
}

/// Every expression over every value that a caller can name, `CARD` for the id of the card.
fn expressions() -> Vec<String> {
    let sources = [
        "CARD | json: '$.number'",
        "CARD | json: '$.cvc'",
        "token: CARD | json: '$.data.number'",
        "encrypted | json: '$.data.number'",
        "encrypted.data.cvc",
        "config: secret",
        "proxy.config.secret",
        "proxy | json: '$.config.secret'",
        "proxy.request.body",
    ];
    let filtered = sources.iter().flat_map(|source| {
        let whole = format!("{{{{ {source} }}}}");
        let filters = FILTERS.iter().map(move |filter| format!("{{{{ {source} | {filter} }}}}"));
        std::iter::once(whole).chain(filters)
    });
    let arguments = ["encrypted.data.number", "config.secret", "proxy.config.secret"];
    let arguments = arguments.iter().flat_map(|argument| {
        [
            format!("{{{{ proxy.request.headers.x-own | divided_by: {argument} }}}}"),
            format!("{{{{ proxy.request.headers.x-own | append: {argument} | slice: 8, 5 | to_number }}}}"),
            format!("{{{{ proxy.request.headers.x-own | split: {argument} | size | divided_by: 0 }}}}"),
        ]
    });
    filtered.chain(arguments).collect()
}

/// The expression in the places of a call: those that differ most for one with filters, else all.
fn placed(call: &Request, expression: &str) -> Vec<Request> {
    let call = call.clone().header("X-Own", "1");
    let number = "{{ encrypted | json: '$.data.number' }}";
    let form = call.clone().header("Content-Type", "application/x-www-form-urlencoded");
    let mut placed = vec![
        call.clone().json(json!({"a": expression, "b": format!("x {expression}")})),
        call.clone().header("X-Value", &expression.replace('\n', " ")).body(number),
    ];
    if !is_filtered(expression) {
        placed.extend([call.body(expression), form.body(format!("a={expression}"))]);
    }
    placed
}

fn is_filtered(expression: &str) -> bool {
    let pipes = expression.matches('|').count();
    pipes > expression.matches("| json: '$.").count()
}

#[test]
fn what_a_caller_of_a_proxy_may_not_see_never_changes_what_it_gets() {
    let scene = Scene::start();
    let other = scene.vault.tenant("test");
    let (one, two) = (&scene.vault.keys, &other.keys);
    let keys = [
        [one.private.as_str(), &one.public, &one.management],
        [two.private.as_str(), &two.public, &two.management],
    ];
    let worlds: Vec<_> = keys
        .into_iter()
        .zip(HIDDEN)
        .map(|(keys, hidden)| World::new(&scene, keys, hidden))
        .collect();
    let transforming = json!({"request_transforms": [
        {"type": "append_header", "options": {"location": "X-Key", "value": "{{ config: secret }}"}},
        {"type": "append_json", "options": {"location": "$.c", "value": "{{ encrypted.data.cvc }}"}},
    ]});
    let mut statuses = BTreeSet::new();
    for caller in CALLERS {
        for transforms in [json!({}), transforming.clone()] {
            let calls: Vec<_> =
                worlds.iter().map(|world| world.call(&scene.vault, caller, &transforms)).collect();
            let all = |it: &String| transforms == json!({}) || !is_filtered(it);
            let step = thorough(5, 1);
            for expression in expressions().into_iter().filter(all).step_by(step) {
                let answers = worlds.iter().zip(&calls).map(|(world, call)| {
                    let requests = placed(call, &expression.replace("CARD", &world.card));
                    let seen = |request: &Request| {
                        let answer = scene.send(request);
                        statuses.insert(answer.status);
                        world.seen(&answer)
                    };
                    requests.iter().map(seen).collect::<Vec<_>>()
                });
                let answers: Vec<_> = answers.collect();
                for (place, (one, two)) in answers[0].iter().zip(&answers[1]).enumerate() {
                    let case = format!("{caller:?} {transforms} place {place} {expression}");
                    assert_eq!(one, two, "{case}");
                }
            }
        }
    }
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), [200, 400, 403]);
}
