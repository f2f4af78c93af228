//! Phrases that most remembered answers contain, each stored as one byte.
//!
//! The texts of an answer are JSON of the same few members, and its head is JSON of this program.
//! Text in UTF-8 never has the bytes from 0xf5 to 0xff, and JSON never has those below 0x20. These
//! bytes stand for the phrases: 0x01 to 0x1f for the first 31, 0xf5 and more for the rest. A zero
//! means that the next byte stands for itself. The phrases belong to version 3 of the record: a
//! change of one needs a new version.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::secret::{Secret, SecretBuffer};
use crate::store::record::encoding::BadRecord;

/// The next byte stands for itself.
const LITERAL: u8 = 0;
/// The first byte that stands for a phrase of the second group.
const SECOND_GROUP: u8 = 0xf5;
const FIRST_GROUP_COUNT: usize = 31;

const PHRASES: [&str; 42] = [
    "{\"id\":\"",
    "\",\"tenant_id\":\"",
    "\",\"type\":\"card\"",
    "\",\"type\":\"",
    ",\"data\":",
    "\"expiration_month\":",
    ",\"expiration_year\":",
    ",\"number\":\"",
    ",\"card\":{\"authentication\":null,\"bin\":\"",
    "\",\"brand\":\"",
    ",\"funding\":\"",
    "\",\"last4\":\"",
    ",\"fingerprint\":\"",
    ",\"containers\":[\"",
    ",\"mask\":{\"number\":\"{{ data.number | reveal_last: 4 }}\",\"expiration_month\":\
     \"{{ data.expiration_month }}\",\"expiration_year\":\"{{ data.expiration_year }}\"}",
    ",\"mask\":",
    ",\"metadata\":{",
    ",\"search_indexes\":[",
    ",\"fingerprint_expression\":\"{{ data.number }}\"",
    ",\"fingerprint_expression\":\"{{ data | stringify }}\"",
    ",\"fingerprint_expression\":\"",
    ",\"expires_at\":\"",
    ",\"created_by\":\"",
    "\",\"created_at\":\"",
    ",\"modified_by\":\"",
    "\",\"modified_at\":\"",
    "0+00:00\"",
    ",\"_extras\":{\"deduplicated\":false}",
    ",\"_extras\":{\"deduplicated\":true,\"deduplication_behavior\":\"",
    "{\"answered_at\":",
    ",\"status\":201",
    ",\"status\":200",
    ",\"location\":\"/",
    ",\"disclosures\":[{\"right\":\"create\",\"value\":\"own\",\"containers\":[\"",
    ",\"disclosures\":[{\"right\":\"",
    "\"],\"extent\":\"full\",\"transform\":\"reveal\",\"fingerprint\":true}]",
    ",\"subjects\":[{\"id\":{\"token\":[\"",
    "\",null]},\"sealed\":",
    "}],\"body\":[{\"text\":",
    "},{\"of\":0}",
    ",{\"text\":",
    "\",\"value\":\"",
];

/// The text with its phrases as single bytes.
pub(super) fn shorten(text: &[u8]) -> Secret<Vec<u8>> {
    let mut bytes = SecretBuffer::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.iter().take_while(|byte| is_plain(**byte)).count();
        let (run, behind) = rest.split_at(plain);
        bytes.extend(run);
        let Some((first, next)) = behind.split_first() else { break };
        if let Some((code, behind)) = longest_phrase(behind) {
            bytes.push(code);
            rest = behind;
            continue;
        }
        if *first < 0x20 || *first >= SECOND_GROUP {
            bytes.push(LITERAL);
        }
        bytes.push(*first);
        rest = next;
    }
    bytes.finish()
}

/// The text that [`shorten`] was given.
pub(super) fn lengthen(bytes: &[u8]) -> Result<Secret<Vec<u8>>, BadRecord> {
    let mut text = SecretBuffer::with_capacity(bytes.len().saturating_mul(2));
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            LITERAL => text.push(rest.next().ok_or(BadRecord)?),
            0x20..SECOND_GROUP => text.push(byte),
            code => {
                let phrase = place_of(code).and_then(|place| PHRASES.get(place));
                text.extend(phrase.ok_or(BadRecord)?.as_bytes());
            }
        }
    }
    Ok(text.finish())
}

/// Returns true for a byte that stands for itself and begins no phrase.
const fn is_plain(byte: u8) -> bool {
    !matches!(byte, b'"' | b',' | b'{' | b'}' | b'0' | ..0x20 | SECOND_GROUP..)
}

/// Phrases by their first bytes, each with its place, the longest first.
type ByStart = BTreeMap<[u8; START_BYTES], Vec<(&'static str, usize)>>;

static BY_START: LazyLock<ByStart> = LazyLock::new(|| {
    let mut by_start: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (place, phrase) in PHRASES.iter().enumerate() {
        if let Some(start) = phrase.as_bytes().first_chunk() {
            by_start.entry(*start).or_default().push((*phrase, place));
        }
    }
    for phrases in by_start.values_mut() {
        phrases.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
    }
    by_start
});

/// No phrase is shorter.
const START_BYTES: usize = 4;

/// The code of the longest phrase that the text starts with, and the text behind it.
fn longest_phrase(text: &[u8]) -> Option<(u8, &[u8])> {
    let mut phrases = BY_START.get(text.first_chunk()?)?.iter();
    let (place, behind) = phrases
        .find_map(|(phrase, place)| Some((*place, text.strip_prefix(phrase.as_bytes())?)))?;
    Some((code_of(place)?, behind))
}

fn code_of(place: usize) -> Option<u8> {
    match place.checked_sub(FIRST_GROUP_COUNT) {
        None => u8::try_from(place).ok()?.checked_add(1),
        Some(place) => u8::try_from(place).ok()?.checked_add(SECOND_GROUP),
    }
}

fn place_of(code: u8) -> Option<usize> {
    match code.checked_sub(SECOND_GROUP) {
        None => usize::from(code).checked_sub(1),
        Some(place) => usize::from(place).checked_add(FIRST_GROUP_COUNT),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_phrase_has_a_code_and_is_one_byte() {
        for (place, phrase) in PHRASES.iter().enumerate() {
            let code = code_of(place).unwrap();
            assert_eq!(place_of(code), Some(place));
            assert_eq!(shorten(phrase.as_bytes()).expose(), &[code], "{phrase}");
        }
    }

    proptest! {
        #[test]
        fn texts_come_back_as_they_were(
            parts in prop::collection::vec(
                prop_oneof![
                    any::<Vec<u8>>(),
                    (0..PHRASES.len()).prop_map(|place| PHRASES[place].as_bytes().to_vec()),
                    (0..PHRASES.len()).prop_map(|place| PHRASES[place].as_bytes()[1..].to_vec()),
                ],
                0..8,
            ),
        ) {
            let text = parts.concat();
            let short = shorten(&text);
            let again = lengthen(short.expose()).unwrap();
            prop_assert_eq!(again.expose(), &text);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            drop(lengthen(&bytes));
        }
    }
}
