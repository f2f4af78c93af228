//! Which key of a phase does what, and that it is counted.

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
