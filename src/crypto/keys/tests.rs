//! The use of each key in each phase, and the counts of uses.

use super::*;

fn material(purpose: KeyPurpose, number: u32, byte: u8) -> KeyMaterial {
    KeyMaterial { purpose, number, bytes: Secret::new([byte; 32]) }
}

fn keys(extra: Vec<KeyMaterial>) -> TenantKeys {
    in_phase(Phase::Settled, extra)
}

fn in_phase(phase: Phase, extra: Vec<KeyMaterial>) -> TenantKeys {
    let mut all = vec![
        material(KeyPurpose::Seal, 1, 1),
        material(KeyPurpose::Index, 1, 2),
        material(KeyPurpose::Fingerprint, 1, 3),
    ];
    all.extend(extra);
    TenantKeys::new([9; 16], &all, phase, &Uses::default()).unwrap()
}

#[test]
fn values_sealed_under_an_older_key_still_open() {
    let random = Random::new();
    let sealed = keys(vec![]).seal(1, b"key", b"plain", &random);
    let later = keys(vec![material(KeyPurpose::Seal, 2, 4)]);
    assert_eq!(later.open(1, b"key", &sealed).unwrap().expose(), b"plain");
    let newer = later.seal(1, b"key", b"plain", &random);
    assert!(keys(vec![]).open(1, b"key", &newer).is_err());
}

#[test]
fn each_phase_seals_and_indexes_as_it_should() {
    let blinded = |index: &IndexKey| index.blind(&[b"x"]);
    let old = blinded(keys(vec![]).index());
    let new = vec![material(KeyPurpose::Seal, 2, 4), material(KeyPurpose::Index, 2, 5)];
    let new = blinded(keys(new).index());
    for (phase, number, found, written, live) in [
        (Phase::Announced, 1, old, vec![old], vec![old, new]),
        (Phase::Both, 2, old, vec![old, new], vec![old, new]),
        (Phase::Flipped, 2, new, vec![new, old], vec![new, old]),
        (Phase::Clearing, 2, new, vec![new], vec![new, old]),
        (Phase::Settled, 2, new, vec![new], vec![new]),
    ] {
        let both = vec![material(KeyPurpose::Seal, 2, 4), material(KeyPurpose::Index, 2, 5)];
        let keys = in_phase(phase, both);
        assert_eq!(keys.number(), number, "{phase:?}");
        assert_eq!(blinded(keys.index()), found, "{phase:?}");
        assert_eq!(keys.write_indexes().map(blinded).collect::<Vec<_>>(), written);
        assert_eq!(keys.active_indexes().map(blinded).collect::<Vec<_>>(), live);
        let is_rotating = phase != Phase::Settled;
        assert_eq!(keys.replaced_index().map(blinded), is_rotating.then_some(old), "{phase:?}");
        let is_written = phase != Phase::Announced;
        assert_eq!(keys.newest_index().map(blinded), is_written.then_some(new), "{phase:?}");
        assert_eq!(keys.phase(), phase);
        let alike = in_phase(phase, vec![]);
        assert_eq!(
            keys.fingerprint().fingerprint("a", "b"),
            alike.fingerprint().fingerprint("a", "b")
        );
        assert_eq!(blinded(keys.lasting()), blinded(alike.lasting()));
    }
}

#[test]
fn sealings_are_counted_by_key() {
    let counters = Uses::default();
    let all = [KeyPurpose::Seal, KeyPurpose::Index, KeyPurpose::Fingerprint];
    let all = all.map(|purpose| material(purpose, 1, 1));
    let [one, two] =
        [(); 2].map(|()| TenantKeys::new([9; 16], &all, Phase::Settled, &counters).unwrap());
    for keys in [&one, &two, &two] {
        keys.seal(1, b"key", b"plain", &Random::new());
    }
    let used = counters.take();
    assert_eq!(used, [crate::crypto::KeyUse { scope: [9; 16], number: 1, times: 3 }]);
    assert_eq!(counters.take(), []);
    counters.put_back(&used);
    assert_eq!(counters.take(), used);
    // The counter stays after a count of zero, as long as a key uses it.
    two.seal(1, b"key", b"plain", &Random::new());
    assert_eq!(counters.take(), [crate::crypto::KeyUse { scope: [9; 16], number: 1, times: 1 }]);
    assert_eq!(counters.len(), 1);
    drop((one, two));
    assert_eq!((counters.take(), counters.len()), (Vec::new(), 0));
}

#[test]
fn a_missing_purpose_gives_no_keys() {
    let alone = [material(KeyPurpose::Seal, 1, 1)];
    let keys = TenantKeys::new([9; 16], &alone, Phase::Settled, &Uses::default());
    assert!(keys.is_none());
}

#[test]
fn blind_indexes_keep_their_parts_apart() {
    let keys = keys(vec![]);
    assert_ne!(keys.index().blind(&[b"ab", b"c"]), keys.index().blind(&[b"a", b"bc"]));
    assert_eq!(keys.index().blind(&[b"ab"]), keys.index().blind(&[b"ab"]));
}

#[test]
fn fingerprints_have_44_letters_and_digits_and_differ_by_type() {
    let keys = keys(vec![]);
    let print = keys.fingerprint().fingerprint("card", "4242424242424242");
    assert_eq!(print.len(), 44);
    assert!(print.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_ne!(print, keys.fingerprint().fingerprint("card_number", "4242424242424242"));
}

#[test]
fn each_purpose_has_the_code_and_the_name_that_it_always_had() {
    let purposes = [
        (KeyPurpose::Seal, 1, "seal"),
        (KeyPurpose::Index, 2, "index"),
        (KeyPurpose::Fingerprint, 3, "fingerprint"),
        (KeyPurpose::Audit, 4, "audit"),
        (KeyPurpose::Sign, 5, "sign"),
        (KeyPurpose::Digest, 8, "digest"),
        (KeyPurpose::Webhook, 10, "webhook"),
    ];
    for (purpose, code, name) in purposes {
        assert_eq!((purpose.code(), purpose.as_str()), (code, name));
        assert_eq!(KeyPurpose::from_code(code), Some(purpose));
    }
    assert_eq!([0, 6, 7, 9, 11, u8::MAX].map(KeyPurpose::from_code), [None; 6]);
}

#[test]
fn a_value_that_comes_back_opens_after_a_rotation_and_in_its_place_alone() {
    let sealed = keys(vec![]).seal_lasting(1, b"key", b"plain", &Random::new());
    let later = keys(vec![material(KeyPurpose::Seal, 2, 4), material(KeyPurpose::Index, 2, 5)]);
    assert_eq!(later.open_lasting(1, b"key", &sealed).unwrap().expose(), b"plain");
    assert!(later.open_lasting(2, b"key", &sealed).is_err());
    assert!(later.open_lasting(1, b"kez", &sealed).is_err());
    let stored = later.seal(1, b"key", b"plain", &Random::new());
    assert!(later.open_lasting(1, b"key", &stored).is_err());
}

/// The keys of a server. If `rotated`, with a second key for sealing, for the audit chain and for
/// signing.
fn system_keys(rotated: bool) -> SystemKeys {
    let purposes = [
        KeyPurpose::Seal,
        KeyPurpose::Index,
        KeyPurpose::Audit,
        KeyPurpose::Sign,
        KeyPurpose::Digest,
    ];
    let mut all: Vec<_> =
        (1..).zip(purposes).map(|(byte, purpose)| material(purpose, 3, byte)).collect();
    if rotated {
        let newer = [KeyPurpose::Seal, KeyPurpose::Audit, KeyPurpose::Sign];
        all.extend((11..).zip(newer).map(|(byte, purpose)| material(purpose, 7, byte)));
    }
    SystemKeys::new(&all, Phase::Settled, &Uses::default()).unwrap()
}

#[test]
fn the_server_seals_under_its_newest_keys_and_opens_under_all() {
    let (before, after) = (system_keys(false), system_keys(true));
    assert_eq!((before.number(), before.signer()), (3, 3));
    assert_eq!((after.number(), after.signer()), (7, 7));
    let place = Identity { tenant: &SystemKeys::SCOPE, table: 1, key: b"key" };
    let random = Random::new();
    for keys in [&before, &after] {
        let sealed = keys.seal(&place, b"plain", &random);
        assert_eq!(SealingKey::number_of(&sealed), Some(keys.number()));
        assert_eq!(after.open(&place, &sealed).unwrap().expose(), b"plain");
        let entry = keys.seal_audit(&place, b"entry", &random);
        assert_eq!(SealingKey::number_of(&entry), Some(keys.signer()));
        assert_eq!(after.open_audit(&place, &entry).unwrap().expose(), b"entry");
        // Neither key opens a value of the other.
        assert!(after.open(&place, &entry).is_err() && after.open_audit(&place, &sealed).is_err());
    }
    let newer = after.seal_audit(&place, b"entry", &random);
    assert!(before.open_audit(&place, &newer).is_err());
    // No rotation changes the key of the card verification codes.
    let code = before.cvcs().seal(&place, b"123", &random);
    assert_eq!(after.cvcs().open(&place, &code).unwrap().expose(), b"123");
}
