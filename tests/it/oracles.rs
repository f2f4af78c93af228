//! Whatever a caller is allowed to call, in whatever order: two vaults that differ only in a value
//! that the caller may not see answer it alike, and the value is in none of the answers.
//!
//! The two vaults are two tenants of one server. Rules, tokens and sequences of calls are random;
//! ids, times and fingerprints are compared by where they appear first, so that two answers that
//! use the same id in the same places are alike.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use crate::client_keys::{encrypt, new_key_by};
use crate::harness::{Answer, Vault, thorough};

/// The caller's rights: none of them shows the hidden values in plain.
#[derive(Debug, Clone)]
struct Rules {
    kind: &'static str,
    by_container: Vec<(&'static str, &'static str, Vec<&'static str>)>,
    /// Containers of the caller's own, where it may see all that is there.
    mine: bool,
}

#[derive(Debug, Clone)]
enum Call {
    Convert(Option<(&'static str, Value)>, &'static str),
    Create(Value),
    Detokenize(&'static str),
    Encrypted(Value, Content),
    List(&'static str),
    Patch(Value),
    Read,
    Search(&'static str),
    Tokenize(Value),
}

/// The content of an encrypted value.
#[derive(Debug, Clone, Copy)]
enum Content {
    Card,
    /// The data of no type, wrong in another way in each tenant.
    Wrong,
}

struct World {
    owner: String,
    caller: String,
    card: String,
    note: String,
    intents: Vec<String>,
    /// The card and the wrong content, as a client encrypted them.
    encrypted: [String; 2],
    secrets: [String; 3],
    known: HashMap<String, usize>,
}

/// Card numbers that have first eight and last four digits in common, as every view of a card shows
/// those, and notes of the same length.
const SECRETS: [[&str; 3]; 2] = [
    ["4242424200184242", "the first well kept secret", "7391"],
    ["4242424200264242", "another well guarded thing", "8562"],
];

/// Contents of encrypted values that are no cards, each for another reason.
fn wrong_contents() -> [Value; 2] {
    [json!({"number": "4242424242424241", "cvc": "x"}), json!({"expiration_month": 13})]
}

/// Most callers may write everywhere and read something: with fewer rights most calls are refused,
/// and say nothing.
fn rules() -> impl Strategy<Value = Rules> {
    let container =
        prop_oneof![3 => Just("/"), 2 => Just("/a/"), 1 => select(vec!["/a/b/", "/c/"])];
    let writes = prop_oneof![
        3 => Just(vec!["token:create", "token:update"]),
        1 => Just(vec!["token:create"]),
        1 => Just(vec!["token:update"]),
    ];
    let writing = ((container.clone(), select(vec!["redact", "mask", "reveal"])), writes);
    let reading = (container, prop_oneof![1 => Just("redact"), 2 => Just("mask")]);
    let reading = (reading, prop::sample::subsequence(vec!["token:read", "token:search"], 1..=2));
    let writing = prop::collection::vec(writing, 1..3);
    let reading = prop::collection::vec(reading, 0..3);
    let public = prop::bool::weighted(0.2);
    (public, writing, reading, any::<bool>()).prop_map(|(public, writing, reading, mine)| {
        let kind = if public { "public" } else { "private" };
        let reading = if public { Vec::new() } else { reading };
        let rules = writing.into_iter().chain(reading);
        let rules = rules.map(|((container, transform), may)| (container, transform, may));
        Rules { kind, by_container: rules.collect(), mine: mine && !public }
    })
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let expression = select(vec![
        "{{ data }}",
        "{{ data.number }}",
        "{{ data.number | slice: 8, 1 }}",
        "{{ data.secret | slice: 0, 1 }}",
        "{{ data.secret }}",
        "{{ data.cvc }}",
        "{{ data | stringify }}",
        "{{ data.number | split: '8' | size }}",
        "4242424242424242",
    ]);
    let containers =
        select(vec![json!(["/a/"]), json!(["/a/b/"]), json!(["/c/"]), json!(["/mine/", "/a/"])]);
    let appearance = (expression, select(vec!["mask", "search_indexes", "fingerprint_expression"]))
        .prop_map(|(text, name)| {
            (name, if name == "search_indexes" { json!([text]) } else { json!(text) })
        });
    let data = select(vec![
        json!({}),
        json!({"number": "5555555555554444"}),
        json!({"cvc": "123"}),
        json!({"secret": null}),
        json!({"number": null}),
        json!({"number": {"deep": 1}}),
        json!({"extra": "x"}),
    ]);
    let patch = prop_oneof![
        1 => Just(json!({})),
        1 => Just(json!({"metadata": {"x": "y"}})),
        1 => Just(json!({"mask": null})),
        1 => Just(json!({"expires_at": "1/1/2100"})),
        2 => containers.clone().prop_map(|it| json!({"containers": it, "deduplicate_token": true})),
        2 => data.prop_map(|it| json!({"data": it, "deduplicate_token": true})),
        8 => appearance.clone().prop_map(|(name, value)| json!({name: value})),
    ];
    let draft = (appearance.clone(), containers.clone(), any::<bool>()).prop_map(
        |((name, value), containers, deduplicate)| {
            json!({
                "type": "card", "data": {"number": "4242424242424242"}, name: value,
                "containers": containers, "deduplicate_token": deduplicate,
            })
        },
    );
    let call = prop_oneof![
        3 => encrypted_calls(appearance.clone(), containers.clone()),
        6 => patch.prop_map(Call::Patch),
        2 => Just(Call::Read),
        1 => draft.clone().prop_map(Call::Create),
        1 => draft.prop_map(Call::Tokenize),
        1 => select(vec!["{{ id }}", "{{ token: id }}", "{{ id | json: '$.number' }}"])
            .prop_map(Call::Detokenize),
        1 => select(vec!["/v2/tokens", "/v2/tokens?container=/a/", "/tokens", "/v2/tokens?type=card"])
            .prop_map(Call::List),
        1 => select(vec!["", "type:card", "metadata.x:y", "data:4242424242424242", "data:4"])
            .prop_map(Call::Search),
        2 => (prop::option::of(appearance), select(vec!["/a/", "/c/"]))
            .prop_map(|(extra, container)| Call::Convert(extra, container)),
    ];
    prop::collection::vec(call, 4..12)
}

/// Creates of encrypted values, with a member that the caller may not set or without.
fn encrypted_calls(
    appearance: impl Strategy<Value = (&'static str, Value)>,
    containers: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Call> {
    let chosen = prop_oneof![
        1 => Just((json!({}), json!(["/a/"]))),
        1 => Just((json!({"id": "{{ data.number | append: 'x' }}"}), json!(["/a/"]))),
        3 => (appearance, containers)
            .prop_map(|((name, value), containers)| (json!({name: value}), containers)),
    ];
    let kind = select(vec!["card", "token", "card_number"]);
    let content = prop_oneof![3 => Just(Content::Card), 1 => Just(Content::Wrong)];
    (chosen, kind, any::<bool>(), content).prop_map(
        |((mut draft, containers), kind, deduplicate, content)| {
            draft["type"] = json!(kind);
            draft["containers"] = containers;
            draft["deduplicate_token"] = json!(deduplicate);
            Call::Encrypted(draft, content)
        },
    )
}

impl World {
    fn new(
        vault: &Vault,
        keys: (&str, &str),
        rules: &Rules,
        (secrets, encrypted): ([&str; 3], &[String; 2]),
    ) -> Self {
        let (owner, management) = keys;
        let mut granted: Vec<_> = rules
            .by_container
            .iter()
            .enumerate()
            .map(|(at, rule)| {
                let (container, transform, permissions) = rule;
                json!({
                    "priority": at + 10, "container": container, "transform": transform,
                    "permissions": permissions,
                })
            })
            .collect();
        if rules.mine {
            granted.push(json!({
                "priority": 1, "container": "/mine/", "transform": "reveal",
                "permissions": ["token:read", "token:update", "token:search", "token:use"],
            }));
        }
        let body = json!({"name": "n", "type": rules.kind, "permissions": [], "rules": granted});
        let caller = vault.post("/applications", management, body).with_status(201).member("key");
        let [number, secret, code] = secrets;
        let data = json!({"number": number, "cvc": code, "secret": secret});
        let make = |path: &str, body: Value| vault.post(path, owner, body).with_status(201).id();
        let card = json!({"type": "card", "data": data, "containers": ["/a/b/"]});
        let note = json!({
            "type": "token", "data": data, "containers": ["/a/"],
            "mask": {"number": "{{ data.number | reveal_last: 4 }}"},
        });
        let intent = || make("/token-intents", json!({"type": "card", "data": data}));
        Self {
            owner: String::from(owner),
            caller,
            card: make("/tokens", card),
            note: make("/tokens", note),
            intents: (0..4).map(|_| intent()).collect(),
            encrypted: encrypted.clone(),
            secrets: secrets.map(String::from),
            known: HashMap::new(),
        }
    }

    fn call(&mut self, vault: &Vault, call: &Call, id: &str) -> Answer {
        let key = &self.caller;
        match call {
            Call::Convert(extra, container) => {
                let Some(intent) = self.intents.pop() else {
                    return vault.get("/token-intents/none", key);
                };
                let mut body = json!({"token_intent_id": intent, "containers": [container]});
                if let Some((name, value)) = extra {
                    body[*name] = value.clone();
                }
                vault.post("/tokens", key, body)
            }
            Call::Create(draft) => vault.post("/tokens", key, draft.clone()),
            Call::Detokenize(expression) => {
                vault.post("/detokenize", key, json!({"x": expression.replace("id", id)}))
            }
            Call::Encrypted(draft, content) => {
                let [card, wrong] = &self.encrypted;
                let mut draft = draft.clone();
                draft["encrypted"] = match content {
                    Content::Card => json!(card),
                    Content::Wrong => json!(wrong),
                };
                let single = draft["deduplicate_token"] == json!(true);
                if single {
                    vault.post("/tokens", key, draft)
                } else {
                    vault.post("/tokenize", key, json!({ "x": draft }))
                }
            }
            Call::List(path) => vault.get(path, key),
            Call::Patch(body) => vault.patch_as(key, id, body.clone()),
            Call::Read => vault.get(&format!("/tokens/{id}"), key),
            Call::Search("") => vault.post("/v2/tokens/search", key, json!({})),
            Call::Search(query) => vault.post("/v2/tokens/search", key, json!({ "query": query })),
            Call::Tokenize(draft) => vault.post("/tokenize", key, json!({ "x": draft })),
        }
    }

    /// Everything that the caller sees of an answer but what must differ.
    fn seen(&mut self, answer: &Answer) -> Value {
        for secret in &self.secrets {
            // Ids hold short runs of digits by chance; a code would stand in quotes.
            let quoted = format!("\"{secret}\"");
            let bytes = if secret.len() == 4 { quoted.as_bytes() } else { secret.as_bytes() };
            let is_in = |text: &[u8]| text.windows(bytes.len()).any(|part| part == bytes);
            assert!(!is_in(&answer.bytes), "{secret} is in {}", answer.text());
            let in_headers = answer.headers.iter().any(|(_, value)| is_in(value.as_bytes()));
            assert!(!in_headers, "{secret} is in {:?}", answer.headers);
        }
        let mut headers: Vec<_> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
        headers.sort_unstable();
        let body = self.compared("", &answer.json);
        json!({"status": answer.status, "headers": headers, "body": body})
    }

    fn compared(&mut self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let is_id = text.len() == 36 && text.matches('-').count() == 4;
                let at = match name {
                    "trace_id" | "next" => return json!("one of its own"),
                    "created_at" | "modified_at" | "expires_at" => return json!("a time"),
                    _ if is_id => self.known.len(),
                    "fingerprint" => self.known.len(),
                    _ => return value.clone(),
                };
                json!(self.known.entry(text.clone()).or_insert(at))
            }
            Value::Array(items) => items.iter().map(|item| self.compared(name, item)).collect(),
            Value::Object(members) => {
                let mut seen = Map::new();
                for (name, member) in members {
                    seen.insert(name.clone(), self.compared(name, member));
                }
                Value::Object(seen)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

#[test]
fn what_a_caller_may_not_read_never_changes_what_it_sees() {
    let vault = Vault::start();
    let other = vault.tenant("test");
    let keys = [
        (vault.keys.private.as_str(), vault.keys.management.as_str()),
        (other.keys.private.as_str(), other.keys.management.as_str()),
    ];
    for (_, management) in keys {
        let settings = json!({"token_deduplication_behavior": "update_existing"});
        let body = json!({"name": "n", "settings": settings});
        vault.put("/tenants/self", management, body).with_status(200);
    }
    let encrypted: Vec<_> = keys
        .iter()
        .zip(SECRETS)
        .zip(wrong_contents())
        .map(|(((_, management), [number, secret, code]), wrong)| {
            let key = new_key_by(&vault, management);
            let card = json!({"number": number, "cvc": code, "secret": secret});
            [encrypt(&key, &card), encrypt(&key, &wrong)]
        })
        .collect();
    let cases = (rules(), prop::collection::vec(any::<bool>(), 12), calls());
    let config = Config { cases: thorough(16, 96), max_shrink_iters: 64, ..Config::default() };
    let outcome = TestRunner::new(config).run(&cases, |(rules, which, calls)| {
        let mut worlds: Vec<_> = keys
            .iter()
            .zip(SECRETS.into_iter().zip(&encrypted))
            .map(|(keys, values)| World::new(&vault, *keys, &rules, values))
            .collect();
        for (call, card) in calls.iter().zip(which) {
            // A converter chooses where a value goes; where it reads in plain, it may read.
            if rules.mine && matches!(call, Call::Convert(..) | Call::Encrypted(..)) {
                continue;
            }
            let seen: Vec<_> = worlds
                .iter_mut()
                .map(|world| {
                    let id = if card { world.card.clone() } else { world.note.clone() };
                    let answer = world.call(&vault, call, &id);
                    world.seen(&answer)
                })
                .collect();
            prop_assert_eq!(&seen[0], &seen[1], "{:?}", call);
        }
        // A later case must list only its own tokens.
        for world in &worlds {
            for id in [&world.card, &world.note] {
                vault.delete(&format!("/tokens/{id}"), &world.owner).with_status(204);
            }
            let left = vault.get("/v2/tokens?size=100", &world.owner).with_status(200).json;
            for token in left["data"].as_array().unwrap() {
                let path = format!("/tokens/{}", token["id"].as_str().unwrap());
                vault.delete(&path, &world.owner).with_status(204);
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
