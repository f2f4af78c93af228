//! Keys of remembered answers and of the rows that find them.

use std::ops::Bound;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, micros};

/// The key of the row that finds an answer.
pub fn idempotency(tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[tenant.bytes(), blinded])
}

/// The value of the row that finds an answer.
pub fn idempotency_time(at: Timestamp) -> Vec<u8> {
    micros(at).to_be_bytes().to_vec()
}

/// The key of an answer. It starts with the time, so that new answers are inserted side by side.
pub fn idempotency_answers(at: Timestamp, tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[&micros(at).to_be_bytes(), tenant.bytes(), blinded])
}

/// The key of the answer that a row finds; `None` for a damaged row.
pub fn answer_of_finder(key: &[u8], time: &[u8]) -> Option<Vec<u8>> {
    let time: &[u8; 8] = time.try_into().ok()?;
    Some(join(&[time, key]))
}

/// The key of the row that finds an answer, and its value; `None` for a key that is too short.
pub fn finder_of_answer(key: &[u8]) -> Option<(&[u8], &[u8; 8])> {
    key.split_first_chunk().map(|(time, finder)| (finder, time))
}

pub fn idempotency_answers_before(at: Timestamp) -> KeyRange {
    let to = Bound::Excluded(micros(at).to_be_bytes().to_vec());
    KeyRange::new(Table::IdempotencyAnswers, Bound::Unbounded, to)
}
