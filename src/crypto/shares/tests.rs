//! Tests of splitting and combining.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::field::{inverse, times};
use super::*;
use crate::domain::hex;

fn scheme() -> impl Strategy<Value = Scheme> {
    (2_u8..7).prop_flat_map(|total| {
        (2..=total).prop_map(move |needed| Scheme::new(needed, total).unwrap())
    })
}

fn again(share: &Share) -> Share {
    Share::parse(share.text().unwrap().expose()).unwrap()
}

#[test]
fn a_share_is_groups_that_a_person_can_type() {
    let shares = split(&Secret::new([7; 32]), Scheme::parse("3-of-5").unwrap(), &Random::new());
    let text = shares[1].text().unwrap();
    assert!(text.expose().split('-').rev().skip(1).all(|group| group.len() == GROUP));
    let typed = text.expose().to_lowercase().replace('-', " ").replace('0', "o");
    let read = Share::parse(&format!(" {typed}\r\n")).unwrap();
    assert_eq!(read.text().unwrap().expose(), text.expose());
    assert_eq!((read.number(), read.scheme().needed(), read.scheme().total()), (2, 3, 5));
    assert_eq!((read.set_bytes(), read.set()), (shares[1].set_bytes(), shares[1].set()));
    let named = Share { set: [0xab, 0, 1, 0xff], ..read };
    assert_eq!((named.set_bytes(), named.set().as_str()), ([0xab, 0, 1, 0xff], "ab0001ff"));
}

#[test]
fn schemes_make_sense() {
    for text in ["1-of-5", "0-of-0", "6-of-5", "3-of-256", "3of5", "", "-of-"] {
        assert_eq!(Scheme::parse(text), None, "{text}");
    }
    assert!(Scheme::parse("255-of-255").is_some());
}

#[test]
fn shares_that_do_not_belong_together_are_refused() {
    let random = Random::new();
    let two = Scheme::parse("2-of-3").unwrap();
    let key = Secret::new([7; 32]);
    let (one, other) = (split(&key, two, &random), split(&key, two, &random));
    let [first, second, third] = one.as_slice() else { panic!() };
    assert_eq!(combine(&[]).unwrap_err(), InvalidShare::TooFew(2));
    assert_eq!(combine(&[again(first)]).unwrap_err(), InvalidShare::TooFew(1));
    let twice = combine(&[again(second), again(second)]);
    assert_eq!(twice.unwrap_err(), InvalidShare::Repeated(2));
    let mixed = combine(&[again(first), again(&other[1])]);
    assert_eq!(mixed.unwrap_err(), InvalidShare::OtherSet);
    // Passes its check, but is not on the same polynomials.
    let forged = Share { values: Secret::new([9; 32]), ..again(third) };
    let forged = combine(&[again(first), again(second), forged]);
    assert_eq!(forged.unwrap_err(), InvalidShare::Damaged);
}

/// Made by an independent implementation, in another language and with other arithmetic (tables of
/// logarithms).
#[test]
fn the_published_vectors_split_and_combine() {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../tests/vectors/shares.json")).unwrap();
    for vector in vectors.as_array().unwrap() {
        let text = |name: &str| vector[name].as_str().unwrap();
        let texts = |name: &str| {
            let all = vector[name].as_array().unwrap().iter();
            all.map(|it| String::from(it.as_str().unwrap())).collect::<Vec<_>>()
        };
        let key = Secret::new(hex::decode::<32>(text("key")).unwrap());
        let scheme = Scheme::parse(text("scheme")).unwrap();
        let shares: Vec<_> =
            texts("shares").iter().map(|share| Share::parse(share).unwrap()).collect();
        assert_eq!(shares.len(), usize::from(scheme.total()));
        for (at, hash) in texts("hashes").iter().enumerate() {
            assert_eq!(hex::encode(&shares[at].hash()), *hash);
        }
        let choices = shares.windows(usize::from(scheme.needed()));
        for choice in choices.chain([shares.as_slice()]) {
            let choice: Vec<_> = choice.iter().map(again).collect();
            assert_eq!(combine(&choice).unwrap().expose(), key.expose());
        }
        let higher = texts("coefficients");
        let higher: Vec<_> =
            higher.iter().map(|it| Secret::new(hex::decode(it).unwrap())).collect();
        let made = split_along(&key, scheme, hex::decode(text("set")).unwrap(), &higher);
        let made: Vec<_> =
            made.iter().map(|share| share.text().unwrap().expose().clone()).collect();
        assert_eq!(made, texts("shares"));
    }
}

#[test]
fn hashes_tell_shares_apart() {
    let two = Scheme::parse("2-of-3").unwrap();
    let shares = split(&Secret::new([7; 32]), two, &Random::new());
    let forged = Share { values: Secret::new([9; 32]), ..again(&shares[1]) };
    let renumbered = Share { number: 3, ..again(&shares[1]) };
    let hashes: BTreeSet<_> =
        [&shares[0], &shares[1], &shares[2], &forged, &renumbered].map(Share::hash).into();
    assert_eq!(hashes.len(), 5);
    assert_eq!(again(&shares[1]).hash(), shares[1].hash());
}

proptest! {
    #[test]
    fn any_that_are_enough_give_the_key(
        key: [u8; 32], scheme in scheme(), order in prop::collection::vec(any::<u32>(), 7),
        more in 0_usize..3,
    ) {
        let mut shares = split(&Secret::new(key), scheme, &Random::new());
        shares.sort_by_key(|share| order[usize::from(share.number)]);
        shares.truncate(usize::from(scheme.needed) + more);
        let read: Vec<_> = shares.iter().map(again).collect();
        let given = combine(&read).unwrap();
        prop_assert_eq!(given.expose(), &key);
    }

    /// With one share less, every key is equally likely: for any key there is a share that leads to
    /// it.
    #[test]
    fn one_less_than_enough_fits_every_key(key: [u8; 32], other: [u8; 32]) {
        let three = Scheme::parse("3-of-3").unwrap();
        let mut shares = split(&Secret::new(key), three, &Random::new());
        shares.truncate(2);
        // The third share with which these two lead to the other key.
        let zero = Share { number: 0, values: Secret::new(other), ..again(&shares[0]) };
        let values = at(&[again(&shares[0]), again(&shares[1]), zero], 3);
        shares.push(Share { number: 3, values, ..again(&shares[0]) });
        let given = combine(&shares).unwrap();
        prop_assert_eq!(given.expose(), &other);
    }

    #[test]
    fn no_mistyped_share_is_read(at: prop::sample::Index, digit in 0_usize..32) {
        let two = Scheme::parse("2-of-2").unwrap();
        let shares = split(&Secret::new([7; 32]), two, &Random::new());
        let text = shares[0].text().unwrap();
        let mut typed: Vec<char> = text.expose().replace('-', "").chars().collect();
        let at = at.index(typed.len());
        let wrong = char::from(ALPHABET[digit]);
        prop_assume!(typed[at] != wrong);
        typed[at] = wrong;
        let typed: String = typed.into_iter().collect();
        prop_assert_eq!(Share::parse(&typed).unwrap_err(), InvalidShare::Damaged);
    }
}

/// A second implementation of the field, from its definition: polynomials over two elements modulo
/// x^8 + x^4 + x^3 + x + 1, by long multiplication and long division.
fn slow_times(one: u8, other: u8) -> u8 {
    let product = (0..8)
        .filter(|bit| other >> bit & 1 == 1)
        .fold(0_u16, |sum, bit| sum ^ (u16::from(one) << bit));
    let remainder = (8..16).rev().fold(product, |rest, bit| {
        if rest >> bit & 1 == 1 { rest ^ (0x11b << (bit - 8)) } else { rest }
    });
    u8::try_from(remainder).unwrap()
}

fn slow_divide(one: u8, by: u8) -> u8 {
    (0..=255).find(|quotient| slow_times(*quotient, by) == one).unwrap()
}

/// The value at 0 of the polynomial through these points, by eliminating one point at a time
/// (Neville), which shares no step with Lagrange's sum.
fn slow_combine(points: &[(u8, u8)]) -> u8 {
    let mut column: Vec<u8> = points.iter().map(|(_, y)| *y).collect();
    for width in 1..points.len() {
        column = (0..points.len() - width)
            .map(|at| {
                let (first, last) = (points[at].0, points[at + width].0);
                let sum = slow_times(first, column[at + 1]) ^ slow_times(last, column[at]);
                slow_divide(sum, first ^ last)
            })
            .collect();
    }
    column[0]
}

#[test]
fn the_field_agrees_with_a_second_implementation_in_every_product_and_inverse() {
    for one in 0..=255 {
        for other in 0..=255 {
            assert_eq!(times(one, other), slow_times(one, other), "{one} {other}");
        }
        if one != 0 {
            assert_eq!(inverse(one), slow_divide(1, one), "{one}");
        }
    }
}

#[test]
fn shares_combine_to_the_same_key_in_a_second_implementation() {
    let random = Random::new();
    for text in ["2-of-2", "2-of-5", "3-of-5", "5-of-7", "7-of-7"] {
        let scheme = Scheme::parse(text).unwrap();
        let key: [u8; 32] = random.bytes();
        let shares = split(&Secret::new(key), scheme, &random);
        for choice in shares.windows(usize::from(scheme.needed())) {
            let byte = |at: usize| -> u8 {
                let points: Vec<_> =
                    choice.iter().map(|it| (it.number, it.values.expose()[at])).collect();
                slow_combine(&points)
            };
            let combined: Vec<u8> = (0..KEY_BYTES).map(byte).collect();
            assert_eq!(combined, key, "{text}");
        }
    }
}
