//! The work budget of a request: the total that its expressions may cost.
//!
//! One unit of work is about one nanosecond of the release build on a current server;
//! `app/tests/cost.rs` measures it for each filter. The input of a filter is charged before it
//! runs, its output afterwards. A request can therefore exceed its budget by the output of one
//! filter: at most [`bounds::EXPRESSION_OUTPUT_BYTES_MAX`] bytes or
//! [`bounds::EXPRESSION_ITEMS_MAX`] values, about a millisecond.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::failures::Failed;
use crate::bounds;

/// A call of a filter: its arguments are collected, its result is boxed and wiped later.
pub(super) const CALL: usize = 100;
/// A step over a value, by a path or a variable.
pub(super) const STEP: usize = 16;
/// One character that is examined by itself, in addition to reading the text.
pub(super) const CHARACTER: usize = 8;
/// Reading one value of a list or an object: numbers are stored as text and must be parsed.
const READ_VALUE: usize = 40;
/// One more value in memory: it is allocated, filled, wiped and freed.
const MAKE_VALUE: usize = 80;
/// One byte of an expression, a mask, a path or a pattern that is parsed.
const PARSE_BYTE: usize = 48;
/// One byte of JSON text that becomes a value, which is wiped later.
const JSON_BYTE: usize = 3;

/// The remaining work of a request. It is made once for each request and passed down, so that it
/// covers all expressions, tokens and retried decisions together.
///
/// Atomic only so that the request's future may move between threads; two threads never share it.
#[derive(Debug)]
pub struct Budget {
    left: AtomicUsize,
    stage: Stage,
}

/// `First` if a larger budget follows when this one runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    Last,
}

/// The value of a budget that refused a charge. A budget that was spent exactly is zero instead.
const RAN_OUT: usize = usize::MAX;

impl Budget {
    pub const fn of(work: usize) -> Self {
        Self { left: AtomicUsize::new(work), stage: Stage::Last }
    }

    /// A small budget for a first attempt. If it runs out, the caller tries again with a larger
    /// one.
    pub const fn first(work: usize) -> Self {
        Self { left: AtomicUsize::new(work), stage: Stage::First }
    }

    /// Does a part of the work, which may spend all but this reserve. A part that runs out does not end
    /// the whole, unless a larger budget follows.
    pub fn spend_on_part<T>(&self, reserve: usize, work: impl FnOnce(&Self) -> T) -> T {
        let left = self.left();
        let most = left.saturating_sub(reserve);
        let part = Self { left: AtomicUsize::new(most), stage: self.stage };
        let done = work(&part);
        let left = left.saturating_sub(most.saturating_sub(part.left()));
        let is_over = self.ran_out() || part.is_in_vain();
        self.left.store(if is_over { RAN_OUT } else { left }, Ordering::Relaxed);
        done
    }

    /// True if the result will be discarded, so that the evaluation can stop.
    pub fn is_in_vain(&self) -> bool {
        self.stage == Stage::First && self.ran_out()
    }

    /// True if a charge was refused. All further charges are refused too.
    pub fn ran_out(&self) -> bool {
        self.left.load(Ordering::Relaxed) == RAN_OUT
    }

    pub fn left(&self) -> usize {
        if self.ran_out() { 0 } else { self.left.load(Ordering::Relaxed) }
    }

    /// Charges for parsing a mask or an expression.
    pub(super) fn spend_parsing(&self, text: &str) -> Result<(), Failed> {
        self.spend(text.len().saturating_mul(PARSE_BYTE))
    }

    /// Charges for parsing JSON text, in advance.
    pub fn spend_json(&self, text: &str) -> Result<(), Failed> {
        // Every value but the first, and every member's name, follows one of these characters. They
        // may also occur inside texts, so the count is an upper bound.
        let marks = text.bytes().filter(|byte| matches!(byte, b',' | b':' | b'[' | b'{')).count();
        let bytes = text.len().saturating_mul(JSON_BYTE);
        self.spend(Weight { bytes, values: marks.saturating_add(1) }.made())
    }

    pub(super) fn spend(&self, work: usize) -> Result<(), Failed> {
        let left = self.left.load(Ordering::Relaxed);
        match left.checked_sub(work) {
            Some(left_over) if left != RAN_OUT => {
                self.left.store(left_over, Ordering::Relaxed);
                Ok(())
            }
            Some(_) | None => {
                self.left.store(RAN_OUT, Ordering::Relaxed);
                Err(Failed::TooMuchWork)
            }
        }
    }
}

/// The size of a value in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    bytes: usize,
    /// Names of members count as values: each is an allocation.
    values: usize,
}

impl Weight {
    pub(super) fn of(value: &Value) -> Self {
        let mut weight = Self { bytes: 0, values: 0 };
        weight.add(value);
        weight
    }

    fn add(&mut self, value: &Value) {
        self.values = self.values.saturating_add(1);
        match value {
            Value::Null | Value::Bool(_) => (),
            Value::Number(number) => self.add_bytes(number.as_str().len()),
            Value::String(text) => self.add_bytes(text.len()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                self.values = self.values.saturating_add(1);
                self.add_bytes(name.len());
                self.add(member);
            }),
        }
    }

    const fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The work of reading all of it.
    pub(super) const fn read(self) -> usize {
        self.bytes.saturating_add(self.values.saturating_mul(READ_VALUE))
    }

    /// The work of making it.
    pub(super) const fn made(self) -> usize {
        self.bytes.saturating_add(self.values.saturating_mul(MAKE_VALUE))
    }

    /// A lower bound of the length of its JSON text.
    pub(super) const fn size(self) -> usize {
        self.bytes.saturating_add(self.values)
    }
}

/// The work of making a text.
pub(super) const fn text_made(bytes: usize) -> usize {
    bytes.saturating_add(MAKE_VALUE)
}

pub(super) fn check_size(bytes: usize) -> Result<(), Failed> {
    if bytes > bounds::EXPRESSION_OUTPUT_BYTES_MAX { Err(Failed::TooLarge) } else { Ok(()) }
}
