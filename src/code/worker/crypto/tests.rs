//! Keys that are damaged are refused, and never stop the worker. The values themselves are compared
//! with Node's in the tests of the library.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::code::worker::crypto::ciphers::Cipher;
use crate::code::worker::crypto::fault::NOT_AUTHENTIC;
use crate::code::worker::crypto::hashes::{Hash, pbkdf2};
use crate::code::worker::crypto::keys::Key;
use crate::code::worker::crypto::padding::Encryption;
use crate::code::worker::crypto::signatures::Scheme;
use crate::crypto::Random;

const KEYS: &str = include_str!("../../library/tests/node/keys.json");

fn der(kind: &str, form: &str) -> Vec<u8> {
    let keys: Value = serde_json::from_str(KEYS).unwrap();
    let pem = keys[kind][form].as_str().unwrap();
    let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(text).unwrap()
}

#[test]
fn a_damaged_key_is_refused_or_is_another_key() {
    let random = Random::new();
    for (kind, form) in [
        ("p256", "pkcs8"),
        ("p256", "spki"),
        ("p384", "sec1"),
        ("ed", "pkcs8"),
        ("ed", "spki"),
        ("rsa", "spki"),
        ("rsa", "publicPkcs1"),
    ] {
        let whole = der(kind, form);
        for at in 0..whole.len() {
            assert!(Key::from_der(&whole[..at]).is_err(), "{kind} {form} cut at {at}");
            // Most bytes are digits of a number, which are alike.
            if at > 40 && at % 7 > 0 {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[at] ^= 0x01;
            let Ok(key) = Key::from_der(&damaged) else { continue };
            for scheme in ["pkcs1", "pss", "ecdsa-der", "ed25519"] {
                let scheme = Scheme::named(scheme, "sha256", -1).unwrap();
                let is_signed = scheme.sign(&key, b"text", &random).is_ok();
                assert!(!is_signed || key.describe().is_private());
                assert_ne!(scheme.verify(&key, b"text", &[1; 256]), Ok(true));
            }
        }
    }
}

/// Changes only bytes of lengths and of first digits: each trial validates a key, which takes long.
#[test]
fn a_damaged_private_rsa_key_is_refused() {
    let whole = der("rsa", "pkcs1");
    for at in (0..whole.len()).step_by(29).chain(0..16) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x01;
        let Ok(key) = Key::from_der(&damaged) else { continue };
        let scheme = Scheme::named("pkcs1", "sha256", 0).unwrap();
        if let Ok(signature) = scheme.sign(&key, b"text", &Random::new()) {
            assert_eq!(scheme.verify(&key, b"text", &signature), Ok(true), "byte {at}");
        }
    }
}

#[test]
fn changed_ciphertexts_are_not_opened() {
    let cipher = Cipher::named("aes-256-gcm").unwrap();
    let (key, iv) = ([7; 32], [9; 12]);
    let sealed = cipher.encrypt(&key, &iv, b"4242424242424242", b"a").unwrap();
    let (text, tag) = sealed.split_at(16);
    assert_eq!(cipher.decrypt(&key, &iv, text, b"a", tag).unwrap(), b"4242424242424242");
    assert_eq!(cipher.decrypt(&key, &iv, text, b"b", tag), Err(NOT_AUTHENTIC));
    assert_eq!(cipher.decrypt(&key, &iv, text, b"a", &tag[..3]), Err(NOT_AUTHENTIC));
    assert_eq!(cipher.decrypt(&key, &iv, text, b"a", &[]), Err(NOT_AUTHENTIC));
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        let (text, tag) = changed.split_at(16);
        assert_eq!(cipher.decrypt(&key, &iv, text, b"a", tag), Err(NOT_AUTHENTIC), "byte {at}");
    }
}

#[test]
fn failures_of_rsa_decryption_are_one_failure() {
    let random = Random::new();
    let key = Key::from_der(&der("rsa", "pkcs1")).unwrap();
    let oaep = Encryption::named("oaep", "sha256", "sha256", b"").unwrap();
    let labeled = Encryption::named("oaep", "sha256", "sha256", b"l").unwrap();
    let sealed = oaep.encrypt(&key, b"card", &random).unwrap();
    let failures: Vec<_> = [
        labeled.decrypt(&key, &sealed, &random),
        oaep.decrypt(&key, &[0; 256], &random),
        oaep.decrypt(&key, &[1; 255], &random),
        oaep.decrypt(&key, &[0xff; 256], &random),
    ]
    .into_iter()
    .map(Result::unwrap_err)
    .collect();
    assert!(failures.iter().all(|it| it == &failures[0]), "{failures:?}");
}

#[test]
fn lengths_are_bounded() {
    assert!(pbkdf2(Hash::Sha256, b"p", b"s", 1, 65_537).is_err());
    assert!(Key::generate("rsa", 8_192, &Random::new()).is_err());
    assert!(Key::generate("rsa", 0, &Random::new()).is_err());
    assert!(Key::from_parts("rsa", &[&[0xff; 2_000], &[3]]).is_err());
    assert!(Key::from_parts("rsa", &[&[0xff; 256], &[3], &[5], &[1], &[0]]).is_err());
}
