//! The memory of request bodies, of all requests together.
//!
//! A small body fits into the memory that every request in flight may hold, and the number of
//! requests is bounded. A larger one takes its memory from one budget, step by step as its bytes
//! arrive: a slow body counts only for the bytes that it holds, and an announced length is not
//! trusted. If the caller's share of the budget has too few bytes left, the body is refused. It
//! does not wait, since its bytes would wait with it.

use crate::bounds::{
    BODIES_BYTES_MAX, BODY_BYTES_FREE, JSON_OBJECT_BYTES, JSON_VALUE_BYTES, JSON_VALUES_MAX,
    JSON_VALUES_STRANGER_MAX,
};
use crate::domain::json_count::JsonCount;
use crate::domain::shares::{Claimant, Shares};

/// The bytes that all bodies hold together, beyond [`BODY_BYTES_FREE`] each.
#[derive(Debug)]
pub struct Bodies(Shares);

/// No memory is left for a body of this size.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BudgetExhausted;

impl Bodies {
    /// The share of one request, which holds nothing yet.
    pub(super) const fn share(&self, claimant: Claimant) -> BodyShare<'_> {
        BodyShare { bodies: self, claimant, held: 0 }
    }
}

impl Default for Bodies {
    fn default() -> Self {
        Self(Shares::new(BODIES_BYTES_MAX))
    }
}

/// One body's part of the budget; dropping it gives the bytes back.
#[derive(Debug)]
pub(super) struct BodyShare<'b> {
    bodies: &'b Bodies,
    claimant: Claimant,
    held: usize,
}

impl BodyShare<'_> {
    /// Holds at least this amount of memory from now on. A share never shrinks.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), BudgetExhausted> {
        let wanted = bytes.saturating_sub(BODY_BYTES_FREE);
        let more = wanted.saturating_sub(self.held);
        if more > 0 {
            if !self.bodies.0.take(self.claimant, more) {
                return Err(BudgetExhausted);
            }
            self.held = wanted;
        }
        Ok(())
    }

    /// True if the body has taken from the budget.
    pub(super) const fn holds_budget(&self) -> bool {
        self.held > 0
    }

    /// The number of JSON values that the caller may send.
    pub(super) const fn values_max(&self) -> usize {
        match self.claimant {
            Claimant::Certified(_) | Claimant::Keyed(_) => JSON_VALUES_MAX,
            Claimant::Stranger { .. } => JSON_VALUES_STRANGER_MAX,
        }
    }
}

impl Drop for BodyShare<'_> {
    fn drop(&mut self) {
        if self.held > 0 {
            self.bodies.0.give_back(self.claimant, self.held);
        }
    }
}

/// A cheap upper bound of [`parsed_bytes`]. Every value follows a bracket, a comma or a colon;
/// those inside of strings are counted too.
pub(super) fn parsed_bytes_most(text: &[u8]) -> usize {
    text.iter().fold(text.len(), |sum, byte| {
        sum.saturating_add(match byte {
            b'{' => JSON_OBJECT_BYTES,
            b'[' | b',' | b':' => JSON_VALUE_BYTES,
            _ => 0,
        })
    })
}

/// The most memory that a JSON text of this length and its parsed values can take.
pub(super) const fn parsed_bytes(length: usize, count: JsonCount) -> usize {
    let others = count.values.saturating_sub(count.objects).saturating_mul(JSON_VALUE_BYTES);
    let objects = count.objects.saturating_mul(JSON_OBJECT_BYTES);
    length.saturating_add(objects).saturating_add(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::BODY_BYTES_MAX;
    use crate::domain::id::TenantId;
    use crate::domain::json_count::count_json;

    fn of_tenant() -> Claimant {
        Claimant::Keyed(TenantId::new(uuid::Uuid::from_u128(1)))
    }

    fn of_stranger() -> Claimant {
        Claimant::Stranger { address: [192, 0, 2, 1].into(), tenant: None }
    }

    #[test]
    fn small_bodies_need_no_budget_and_large_ones_give_it_back() {
        // A tenant gets half of this.
        let bodies = Bodies(Shares::new(200));
        let mut small = bodies.share(of_tenant());
        assert_eq!(small.grow_to(BODY_BYTES_FREE), Ok(()));
        assert!(!small.holds_budget());
        let mut first = bodies.share(of_tenant());
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 60), Ok(()));
        assert!(first.holds_budget());
        let mut second = bodies.share(of_tenant());
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 41), Err(BudgetExhausted));
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 40), Ok(()));
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 60), Ok(()), "it holds this much already");
        assert_eq!(first.grow_to(BODY_BYTES_FREE + 61), Err(BudgetExhausted));
        drop(first);
        assert_eq!(second.grow_to(BODY_BYTES_FREE + 100), Ok(()));
        drop(second);
        assert_eq!(bodies.0.taken(), 0);
    }

    #[test]
    fn the_costliest_body_of_each_caller_finds_its_memory_on_an_idle_server() {
        for claimant in [of_tenant(), of_stranger()] {
            let bodies = Bodies::default();
            let mut share = bodies.share(claimant);
            let values = share.values_max();
            let most = parsed_bytes(BODY_BYTES_MAX, JsonCount { values, objects: values });
            assert_eq!(share.grow_to(most), Ok(()), "{claimant:?}");
        }
    }

    #[test]
    fn a_card_needs_no_budget() {
        let card = r#"{"type":"card","data":{"number":"4242424242424242","expiration_month":12,
            "expiration_year":2030,"cvc":"123"},"metadata":{"order":"1","shop":"2"},
            "containers":["/pci/high/"],"search_indexes":["{{ data.number | last4 }}"]}"#;
        assert!(parsed_bytes_most(card.as_bytes()) < BODY_BYTES_FREE);
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
        let check = |text: &str, taken: usize| {
            let counted = parsed_bytes(text.len(), count_json(text.as_bytes()));
            assert!(taken <= counted, "{text}: {taken} of {counted}");
            assert!(taken <= parsed_bytes_most(text.as_bytes()), "{text}: {taken}");
        };
        for item in ["0,", "[0],", "[[]],", "{},", r#"{"a":0},"#, r#""","#, r#"{"a":{"b":[1]}},"#] {
            let text = format!("[{}0]", item.repeat(1_000));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let taken = text.len() + size_of_val(&value) + heap_bytes(&value);
            check(&text, taken);
        }
        for members in 1..300 {
            let members: Vec<_> = (0..members).map(|at| format!(r#""{at}":0"#)).collect();
            let text = format!("{{{}}}", members.join(","));
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let taken = text.len() + size_of_val(&value) + heap_bytes(&value);
            check(&text, taken);
        }
    }
}
