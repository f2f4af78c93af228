//! Keys of remembered answers and of the rows that find them.

use std::ops::Bound;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::idempotency::{half_day, half_day_start};
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, micros};

/// The key of the row that finds an answer. It starts with the half-day, so that one range removes
/// expired rows.
pub fn idempotency(half_day: u64, tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[&half_day.to_be_bytes(), tenant.bytes(), blinded])
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
    let (_, rest) = key.split_first_chunk::<8>()?;
    let time: &[u8; 8] = time.try_into().ok()?;
    Some(join(&[time, rest]))
}

/// Returns `None` for a key that is too short.
pub fn finder_of_answer(key: &[u8]) -> Option<Vec<u8>> {
    let (time, rest) = key.split_first_chunk::<8>()?;
    let at = i64::try_from(u64::from_be_bytes(*time)).ok().map(Timestamp::from_micros)?;
    Some(join(&[&half_day(at).to_be_bytes(), rest]))
}

pub fn idempotency_before(half_day: u64) -> KeyRange {
    let to = Bound::Excluded(half_day.to_be_bytes().to_vec());
    KeyRange::new(Table::Idempotency, Bound::Unbounded, to)
}

pub fn idempotency_answers_before(half_day: u64) -> KeyRange {
    let start = half_day_start(half_day).map_or(0, micros);
    let to = Bound::Excluded(start.to_be_bytes().to_vec());
    KeyRange::new(Table::IdempotencyAnswers, Bound::Unbounded, to)
}
