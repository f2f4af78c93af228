//! Helpers of the language's tests: a host that returns the same bytes every time.

mod bounds;
mod cache;
mod chapter;
mod custom_filters;
mod grammar;
mod guarded;
mod masks;
mod properties;
mod references;
mod standard_filters;

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;

use super::*;

/// Random bytes from a counter, and an HMAC that has only the one published answer.
pub(super) struct Fixed(Cell<u64>);

impl Fixed {
    pub(super) const fn new() -> Self {
        Self(Cell::new(0x9E37_79B9_7F4A_7C15))
    }
}

impl Host for Fixed {
    fn random(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let mut state = self.0.get();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            self.0.set(state);
            *byte = state.to_le_bytes()[3];
        }
    }

    fn hmac(&self, hash: Hash, key: &[u8], message: &[u8]) -> Vec<u8> {
        match (hash, key, message) {
            (Hash::Sha256, b"secretKeyValue", b"4242424242424242") => vec![
                0x90, 0xA0, 0x05, 0x0E, 0x90, 0x51, 0x51, 0x01, 0xDC, 0xAD, 0x0F, 0x68, 0x95, 0x53,
                0x70, 0xCC, 0xA8, 0x1F, 0x6D, 0xCB, 0x9D, 0x29, 0x9E, 0x7E, 0x05, 0x85, 0xCC, 0x97,
                0x46, 0x71, 0x6D, 0x9B,
            ],
            (Hash::Sha1, ..) => vec![1],
            (Hash::Sha256, ..) => vec![2],
            (Hash::Sha512, ..) => vec![5],
        }
    }
}

pub(super) const fn budget() -> Budget {
    Budget::of(crate::bounds::EXPRESSION_WORK_WRITE_MAX)
}

pub(super) fn evaluate(text: &str, data: &Value) -> Result<Value, Failed> {
    let template = Template::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    template.evaluate(&Data(data), &Fixed::new(), &budget())
}

#[track_caller]
pub(super) fn check(text: &str, data: &Value, expected: &Value) {
    let value = evaluate(text, data).unwrap_or_else(|why| panic!("{text}: {why}"));
    assert_eq!(&value, expected, "{text}");
}

#[track_caller]
pub(super) fn check_filters(filters: &str, input: impl Into<Value>, expected: impl Into<Value>) {
    check(&format!("{{{{ data | {filters} }}}}"), &input.into(), &expected.into());
}

#[track_caller]
pub(super) fn check_failed(filters: &str, input: impl Into<Value>, expected: Failed) {
    let text = format!("{{{{ data | {filters} }}}}");
    assert_eq!(evaluate(&text, &input.into()), Err(expected), "{text}");
}

#[track_caller]
pub(super) fn check_malformed(text: &str, at: usize, why: MalformedReason) {
    let found = Template::parse(text).err().map(|it| (it.at, it.why));
    assert_eq!(found, Some((at, why)), "{text}");
}
