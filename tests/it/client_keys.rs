//! Client encryption keys, and tokens from values that clients encrypted.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use serde_json::{Value, json};
use strongroom::testing::base64;

use crate::harness::{Answer, NUMBER, Vault, card, names, only_rule, post};
use crate::lifetimes::{now_plus, time_of};

fn create(vault: &Vault, body: Value) -> Answer {
    vault.post("/keys", &vault.keys.management, body)
}

/// A client encryption key as a client sees it.
pub(crate) struct Key {
    id: String,
    public: Vec<u8>,
}

impl Key {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

pub(crate) fn new_key(vault: &Vault) -> Key {
    new_key_by(vault, &vault.keys.management)
}

/// A key of the tenant of this management key.
pub(crate) fn new_key_by(vault: &Vault, management: &str) -> Key {
    let made = vault.post("/keys", management, json!({})).with_status(201);
    let pem = made.member("public_key_pem");
    let text = pem.strip_prefix("-----BEGIN PUBLIC KEY-----\n").unwrap();
    let text = text.strip_suffix("\n-----END PUBLIC KEY-----\n").unwrap();
    let text = text.replace('+', "-").replace('/', "_");
    Key { id: made.member("key_id"), public: base64::decode_url(&text).unwrap() }
}

pub(crate) fn encrypt(key: &Key, data: &Value) -> String {
    encrypt_as(key, None, data)
}

/// A client's side of the encryption, by the contract and not by the vault's code. `kind` is the type
/// of token that the client names in the header.
#[expect(clippy::disallowed_methods, reason = "a client chooses its own randomness and nonce")]
pub(crate) fn encrypt_as(key: &Key, kind: Option<&str>, data: &Value) -> String {
    let own = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).unwrap();
    let x = base64::encode_url(own.compute_public_key().unwrap().as_ref());
    let mut header = json!({
        "alg": "ECDH-ES", "kid": key.id, "enc": "A256GCM",
        "epk": {"kty": "OKP", "crv": "X25519", "x": x},
    });
    if let Some(kind) = kind {
        header["cty"] = json!(kind);
    }
    let header = base64::encode_url(header.to_string().as_bytes());
    let peer = UnparsedPublicKey::new(&X25519, &key.public);
    let content_key = agree_ephemeral(own, &peer, |shared| {
        let info = b"\x00\x00\x00\x07A256GCM\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00";
        digest(&SHA256, &[b"\x00\x00\x00\x01", shared, info.as_slice()].concat())
    });
    let content_key = UnboundKey::new(&AES_256_GCM, content_key.unwrap().as_ref()).unwrap();
    let mut sealed = data.to_string().into_bytes();
    LessSafeKey::new(content_key)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key([9; 12]),
            Aad::from(header.as_bytes()),
            &mut sealed,
        )
        .unwrap();
    let (text, tag) = sealed.split_at(sealed.len() - 16);
    let [iv, text, tag] = [[9; 12].as_slice(), text, tag].map(base64::encode_url);
    format!("{header}..{iv}.{text}.{tag}")
}

fn tokenize(vault: &Vault, encrypted: &str) -> Answer {
    let body = json!({"type": "card", "encrypted": encrypted});
    vault.create(body)
}

#[test]
fn a_key_is_created_listed_read_and_deleted() {
    let vault = Vault::start();
    let management = &vault.keys.management;
    let made = create(&vault, json!({})).with_status(201);
    let id = made.member("key_id");
    assert_eq!(
        (made.member("id"), &made.json["publicKeyPEM"]),
        (id.clone(), &made.json["public_key_pem"])
    );
    assert_eq!(made.header("location").map(|it| it.ends_with(&format!("/keys/{id}"))), Some(true));
    let metadata = json!({"key_id": id, "id": id, "expires_at": made.json["expires_at"]});
    let path = format!("/keys/{id}");
    assert_eq!(vault.get(&path, management).with_status(200).json, metadata);
    let second = create(&vault, json!({})).with_status(201).member("key_id");
    let listed = vault.get("/keys", management).with_status(200).json;
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|key| &key["key_id"]).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&&json!(id)) && ids.contains(&&json!(second)));
    assert!(vault.delete(&path, management).with_status(204).bytes.is_empty());
    vault.get(&path, management).problem(404);
    vault.delete(&path, management).problem(404);
}

#[test]
fn a_key_lasts_a_year_unless_the_request_says_less() {
    let vault = Vault::start_with(&["--stop-clock"]);
    let at = |days: i64| now_plus(&vault, days * 24 * 3_600);
    let made = create(&vault, json!({})).with_status(201);
    assert_eq!(time_of(&made.member("expires_at")), time_of(&at(365)));
    create(&vault, json!({"expires_at": at(366)})).with_status(201);
    for wrong in [at(367), at(-1), String::from("soon")] {
        create(&vault, json!({"expires_at": wrong})).invalid(&["expires_at"]);
    }
    create(&vault, json!({"expires_at": 1})).invalid(&["expires_at"]);
    // The type that published clients send.
    let request = post("/keys").key(&vault.keys.management).body("{}");
    let request = request.header("Content-Type", "application/json-patch+json");
    vault.send(&request).with_status(201);
}

#[test]
fn data_that_a_client_encrypted_goes_the_way_of_other_data() {
    let vault = Vault::start();
    let key = new_key(&vault);
    let made = tokenize(&vault, &encrypt(&key, &card())).with_status(201);
    assert_eq!(made.json["data"]["number"], json!(NUMBER));
    assert_eq!(made.json["card"]["last4"], "4242");
    assert_eq!(made.json.get("encrypted"), None);
    let plain = json!({"type": "card", "data": card()});
    let plain = vault.create(plain).with_status(201);
    assert_eq!(made.json["fingerprint"], plain.json["fingerprint"]);
    // A public key needs no right to read what it sends, and learns nothing of it.
    let body = json!({"type": "card", "encrypted": encrypt(&key, &card())});
    let outline = vault.post("/tokens", &vault.keys.public, body).with_status(201);
    assert_eq!(names(&outline.json), ["_extras", "containers", "id", "tenant_id", "type"]);
    // The content is checked like any other.
    let wrong = json!({"number": "4242424242424241", "expiration_month": 13});
    tokenize(&vault, &encrypt(&key, &wrong)).invalid(&["data.expiration_month", "data.number"]);
    let body = json!({
        "card": {"type": "card", "encrypted": encrypt(&key, &card())},
        "name": {"type": "token", "encrypted": encrypt(&key, &json!("A. Name")), "metadata": {"a": "b"}},
        "other": "plain",
    });
    let done = vault.post("/tokenize", &vault.keys.private, body).with_status(200);
    assert_eq!(done.json["card"]["data"]["number"], NUMBER);
    assert_eq!(done.json["name"]["data"], "A. Name");
    assert_eq!(done.json["name"]["metadata"]["a"], "b");
    assert!(done.json["other"].is_string());
}

#[test]
fn a_key_that_may_only_create_does_not_undo_the_encryption() {
    let vault = Vault::start();
    let key = new_key(&vault);
    let encrypted = encrypt(&key, &card());
    let rule = |transform: &str| only_rule("/", transform, &["token:create"]);
    let creators = [
        (vault.keys.public.clone(), json!(null)),
        (vault.key_with("private", &["token:create"], &json!([])), json!("XXXXXXXXXXXX4242")),
        (vault.key_with("private", &[], &rule("reveal")), json!("XXXXXXXXXXXX4242")),
        (vault.key_with("private", &[], &rule("redact")), json!(null)),
    ];
    let expressions = [
        ("mask", json!({"number": "{{ data.number }}", "cvc": "{{ data.cvc }}"})),
        ("mask", json!("{{ data.number }}")),
        ("id", json!("{{ data.number | append: 'x' }}")),
        ("search_indexes", json!(["{{ data.number | slice: 0, 9 }}"])),
        ("fingerprint_expression", json!("{{ data.number | slice: 0, 9 }}")),
    ];
    for (creator, shown) in &creators {
        for kind in ["card", "token"] {
            for (name, value) in &expressions {
                let body = json!({"type": kind, "encrypted": encrypted, *name: value});
                vault.post("/tokens", creator, body.clone()).problem(403);
                vault.post("/tokenize", creator, json!({ "x": body })).problem(403);
            }
            let body = json!({"type": kind, "encrypted": encrypted, "deduplicate_token": true});
            let made = vault.post("/tokens", creator, body.clone()).with_status(201);
            let tokenized = vault.post("/tokenize", creator, json!({ "x": body })).with_status(200);
            for answer in [made, tokenized] {
                assert!(!answer.text().contains(NUMBER), "{}", answer.text());
                assert!(!answer.text().contains("\"123\""), "{}", answer.text());
            }
        }
        let body = json!({"type": "card", "encrypted": encrypted});
        let made = vault.post("/tokens", creator, body).with_status(201);
        assert_eq!(&made.json["data"]["number"], shown, "{}", made.text());
    }
    // A key that may see the token chooses how it appears.
    let body = json!({
        "type": "card", "encrypted": encrypted, "mask": {"number": "{{ data.number | last4 }}"},
        "search_indexes": ["{{ data.number }}"],
    });
    vault.create(body).with_status(201);
}

#[test]
fn a_chosen_id_confirms_no_guess_of_an_encrypted_value() {
    let vault = Vault::start();
    let encrypted = encrypt(&new_key(&vault), &card());
    let creator = vault.key_with("private", &["token:create"], &json!([]));
    let spread = |number: &str| number.split_at(8).0.to_owned() + "x" + number.split_at(8).1;
    for key in [&vault.keys.public, &creator] {
        let create = |id: String| {
            vault.post("/tokens", key, json!({"type": "card", "encrypted": encrypted, "id": id}))
        };
        let right = create(spread(NUMBER)).invalid(&["id"]).without_trace();
        let wrong = create(spread("5555555555554441")).invalid(&["id"]).without_trace();
        assert_eq!(right, wrong);
        create(format!("order-{}-2026", key.len())).with_status(201);
        vault.delete(&format!("/tokens/order-{}-2026", key.len()), &vault.keys.private);
    }
}

#[test]
fn a_collector_learns_at_most_that_encrypted_data_is_invalid() {
    let vault = Vault::start();
    let key = new_key(&vault);
    let creator = vault.key_with("private", &["token:create"], &json!([]));
    let contents = [
        json!({"number": "4242424242424241"}),
        json!({"number": NUMBER, "expiration_month": 13, "cvc": "12345"}),
        json!({"cvc": "1"}),
        json!("text"),
        json!([1, 2]),
    ];
    let mut answers = Vec::new();
    for content in contents {
        let body = json!({"type": "card", "encrypted": encrypt(&key, &content)});
        answers.push(vault.post("/tokens", &creator, body).invalid(&["data"]).without_trace());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    // Mistakes of the request itself are still named.
    let body = json!({
        "type": "card", "encrypted": encrypt(&key, &json!("text")), "expires_at": "soon",
    });
    vault.post("/tokens", &creator, body).invalid(&["data", "expires_at"]);
}

#[test]
fn a_value_that_was_encrypted_for_one_type_is_not_opened_for_another() {
    let vault = Vault::start();
    let key = new_key(&vault);
    let encrypted = encrypt_as(&key, Some("card"), &card());
    let send = |kind: &str, encrypted: &str| {
        let body = json!({"type": kind, "encrypted": encrypted});
        vault.create(body)
    };
    let refused = send("token", &encrypted).invalid(&["encrypted"]);
    let broken = send("token", "none").invalid(&["encrypted"]);
    assert_eq!(refused.without_trace(), broken.without_trace());
    send("card", &encrypted).with_status(201);
    send("token", &encrypt_as(&key, Some("application/json"), &card())).invalid(&["encrypted"]);
}

#[test]
fn a_token_has_data_or_an_encrypted_value() {
    let vault = Vault::start();
    let encrypted = encrypt(&new_key(&vault), &json!("x"));
    let send = |body: Value| vault.create(body);
    send(json!({"type": "token", "data": "x", "encrypted": encrypted})).invalid(&["encrypted"]);
    send(json!({"type": "token"})).invalid(&["data"]);
    send(json!({"encrypted": encrypted})).invalid(&["type"]);
    send(json!({"type": "token", "encrypted": 1})).problem(400);
    send(json!({"token_intent_id": "x", "encrypted": encrypted}))
        .invalid(&["encrypted", "token_intent_id"]);
    let body = json!({"a": {"type": "token", "encrypted": "none"}});
    vault.post("/tokenize", &vault.keys.private, body).invalid(&["$.a.encrypted"]);
}

#[test]
fn every_failure_to_open_has_the_same_answer() {
    let vault = Vault::start_with(&["--stop-clock"]);
    let key = new_key(&vault);
    let good = encrypt(&key, &card());
    let parts: Vec<_> = good.split('.').collect();
    let with = |at: usize, part: &str| {
        let mut parts = parts.clone();
        parts[at] = part;
        parts.join(".")
    };
    let flipped = |at: usize| {
        let mut bytes = base64::decode_url(parts[at]).unwrap();
        bytes[0] ^= 1;
        with(at, &base64::encode_url(&bytes))
    };
    let no_json =
        encrypt(&key, &json!("x")).split('.').next().map(|head| good.replace(parts[0], head));
    let strange = Key { id: key.id.clone(), public: vec![9; 32] };
    let unknown = Key {
        id: String::from("0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b"),
        public: key.public.clone(),
    };
    let deleted = new_key(&vault);
    let deleted_value = encrypt(&deleted, &card());
    vault.delete(&format!("/keys/{}", deleted.id), &vault.keys.management).with_status(204);
    let first = tokenize(&vault, "no message at all").invalid(&["encrypted"]);
    let wrong = [
        flipped(2),
        flipped(3),
        flipped(4),
        no_json.unwrap(),
        encrypt(&strange, &card()),
        encrypt(&unknown, &card()),
        deleted_value,
        with(1, "AA"),
        with(3, ""),
    ];
    for text in wrong {
        let refused = tokenize(&vault, &text).invalid(&["encrypted"]);
        assert_eq!(refused.without_trace(), first.without_trace(), "{text}");
    }
    tokenize(&vault, &good).with_status(201);
    // A key of another tenant does not exist here.
    let other = vault.tenant("test");
    let body = json!({"type": "card", "encrypted": good});
    let refused = vault.post("/tokens", &other.keys.private, body).invalid(&["encrypted"]);
    assert_eq!(refused.without_trace(), first.without_trace());
    // From its expiry on, the key opens nothing.
    vault.advance(366 * 24 * 3_600);
    let refused = tokenize(&vault, &good).invalid(&["encrypted"]);
    assert_eq!(refused.without_trace(), first.without_trace());
}

#[test]
fn a_caller_without_the_right_learns_nothing_about_the_encrypted_value() {
    let vault = Vault::start();
    let rule = only_rule("/a/", "reveal", &["token:create"]);
    let key = vault.key_with("private", &[], &rule);
    let send = |encrypted: &str| {
        vault.post("/tokens", &key, json!({"type": "card", "encrypted": encrypted})).problem(403)
    };
    let good = send(&encrypt(&new_key(&vault), &card()));
    assert_eq!(good.without_trace(), send("none").without_trace());
}

#[test]
fn an_expired_key_leaves_nothing_and_the_file_is_sound() {
    let mut vault = Vault::start_with(&["--stop-clock"]);
    let key = new_key(&vault);
    create(&vault, json!({})).with_status(201);
    vault.delete(&format!("/keys/{}", key.id), &vault.keys.management).with_status(204);
    vault.stop();
    vault.verify().with_code(0);
    vault.restart();
    assert_eq!(vault.advance(365 * 24 * 3_600)["removed"], 1);
    assert_eq!(vault.get("/keys", &vault.keys.management).with_status(200).json, json!([]));
    vault.stop();
    vault.verify().with_code(0);
}

#[test]
fn creating_and_deleting_a_key_is_in_the_log() {
    let vault = Vault::start();
    let id = new_key(&vault).id;
    vault.delete(&format!("/keys/{id}"), &vault.keys.management).with_status(204);
    let acts = vault.acts(&format!("entity_type=client_key&entity_id={id}"));
    assert_eq!(acts, ["delete", "create"]);
}
