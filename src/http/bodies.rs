//! The memory that bodies of requests take, of all requests together.
//!
//! A small body fits into the memory that every request in flight may hold, and the number of requests
//! is bounded. A larger one takes its memory from one budget, step by step as its bytes arrive: a slow
//! body is counted for the bytes that it holds, and an announced length is not trusted. If the budget
//! has too few bytes left, the body is refused. It does not wait, since its bytes would wait with it.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bounds::{
    BODIES_BYTES_MAX, BODY_BYTES_FREE, BODY_MEMORY_MAX, JSON_OBJECT_BYTES, JSON_VALUE_BYTES,
};

/// The bytes that all bodies hold together, beyond [`BODY_BYTES_FREE`] each.
#[derive(Debug)]
pub struct Bodies {
    taken: AtomicUsize,
    max: usize,
}

/// There is no memory left for a body of this size.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BudgetExhausted;

impl Bodies {
    pub const fn new() -> Self {
        Self::with(BODIES_BYTES_MAX)
    }

    const fn with(max: usize) -> Self {
        Self { taken: AtomicUsize::new(0), max }
    }

    /// The part of one request, which holds nothing yet.
    pub(super) const fn share(&self) -> BodyShare<'_> {
        BodyShare { bodies: self, held: 0 }
    }

    fn take(&self, bytes: usize) -> Result<(), BudgetExhausted> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.max);
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(|_| ()).ok().ok_or(BudgetExhausted)
    }
}

impl Default for Bodies {
    fn default() -> Self {
        Self::new()
    }
}

/// One body's part of the budget; dropping it gives the bytes back.
#[derive(Debug)]
pub(super) struct BodyShare<'b> {
    bodies: &'b Bodies,
    held: usize,
}

impl BodyShare<'_> {
    /// Holds at least this much memory from now on. A share never shrinks.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), BudgetExhausted> {
        let wanted = bytes.min(BODY_MEMORY_MAX).saturating_sub(BODY_BYTES_FREE);
        let more = wanted.saturating_sub(self.held);
        if more > 0 {
            self.bodies.take(more)?;
            self.held = wanted;
        }
        Ok(())
    }
}

impl Drop for BodyShare<'_> {
    fn drop(&mut self) {
        if self.held > 0 {
            self.bodies.taken.fetch_sub(self.held, Ordering::Relaxed);
        }
    }
}

/// The most memory that this JSON text and its parsed values can take. Every value follows a bracket,
/// a comma or a colon. Those inside of strings are counted too, so the result may be too large.
pub(super) fn parsed_bytes(text: &[u8]) -> usize {
    text.iter().fold(text.len(), |sum, byte| {
        sum.saturating_add(match byte {
            b'{' => JSON_OBJECT_BYTES,
            b'[' | b',' | b':' => JSON_VALUE_BYTES,
            _ => 0,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::BODY_BYTES_MAX;

    #[test]
    fn small_bodies_need_no_budget_and_large_ones_give_it_back() {
        let bodies = Bodies::with(100);
        let mut small = bodies.share();
        assert_eq!(small.grow_to(BODY_BYTES_FREE), Ok(()));
        let mut first = bodies.share();
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 60), Ok(()));
        let mut second = bodies.share();
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 41), Err(BudgetExhausted));
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 40), Ok(()));
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 60), Ok(()), "it holds this much already");
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 61), Err(BudgetExhausted));
        drop(first);
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 100), Ok(()));
        drop(second);
        assert_eq!(bodies.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_costliest_body_finds_its_memory_on_an_idle_server() {
        let bodies = Bodies::new();
        let objects = "{},".repeat(BODY_BYTES_MAX / 3);
        assert_eq!(bodies.share().grow_to(parsed_bytes(objects.as_bytes())), Ok(()));
    }

    #[test]
    fn a_card_needs_no_budget() {
        let card = r#"{"type":"card","data":{"number":"4242424242424242","expiration_month":12,
            "expiration_year":2030,"cvc":"123"},"metadata":{"order":"1","shop":"2"},
            "containers":["/pci/high/"],"search_indexes":["{{ data.number | last4 }}"]}"#;
        assert!(parsed_bytes(card.as_bytes()) < BODY_BYTES_FREE);
    }

    /// The size of a value's allocations, without the allocator's own overhead.
    fn heap_bytes(value: &serde_json::Value) -> usize {
        use serde_json::Value;
        match value {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(number) => number.to_string().len().max(16),
            Value::String(text) => text.capacity().max(16),
            Value::Array(items) => {
                items.capacity() * size_of::<Value>() + items.iter().map(heap_bytes).sum::<usize>()
            }
            // A list of members with their hashes, and a table of at most 7/8 as many positions.
            Value::Object(members) => {
                let member = size_of::<u64>() + size_of::<String>() + size_of::<Value>();
                let slots = match members.len() {
                    0 => 0,
                    length => (length * 8 / 7 + 1).next_power_of_two().max(4),
                };
                let keys: usize = members.keys().map(|key| key.capacity().max(16)).sum();
                let table = slots * (member + size_of::<usize>() + 1) + 16;
                table + keys + members.values().map(heap_bytes).sum::<usize>()
            }
        }
    }

    #[test]
    fn parsed_values_take_no_more_than_was_counted() {
        for item in ["0,", "[0],", "[[]],", "{},", r#"{"a":0},"#, r#""","#, r#"{"a":{"b":[1]}},"#] {
            let text = format!("[{}0]", item.repeat(1_000));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let taken = text.len() + size_of_val(&value) + heap_bytes(&value);
            assert!(taken <= parsed_bytes(text.as_bytes()), "{item}: {taken}");
        }
        for members in 1..300 {
            let members: Vec<_> = (0..members).map(|at| format!(r#""{at}":0"#)).collect();
            let text = format!("{{{}}}", members.join(","));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let taken = text.len() + size_of_val(&value) + heap_bytes(&value);
            assert!(taken <= parsed_bytes(text.as_bytes()), "{text}: {taken}");
        }
    }
}
