//! The kinds of expiries, and the keys of [`Table::Expiries`] in order of time.

use std::ops::Bound;

use uuid::Uuid;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::domain::words::words;
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, micros, two_ids};

words! {
    /// The kind of an expiry.
    pub enum ExpiryKind:
        /// The code in the file.
        code -> u8 [from_code]
    {
        /// A client encryption key.
        ClientKey = "client key", 7;
        /// The answer of a reactor whose caller does not wait.
        ReactorResult = "reactor result", 9;
        /// A session of a public application.
        Session = "session", 8;
        /// A 3DS session's record, at the end of its retention.
        ThreedsSession = "3DS session", 5;
        /// The timeout of the step that a 3DS session waits for.
        ThreedsWait = "wait of a 3DS session", 6;
        Token = "token", 1;
        TokenIntent = "token intent", 3;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiryEntry {
    pub kind: ExpiryKind,
    pub tenant: TenantId,
    pub id: Uuid,
}

pub fn expiries(at: Timestamp, kind: ExpiryKind, tenant: TenantId, id: Uuid) -> Vec<u8> {
    join(&[&micros(at).to_be_bytes(), &[kind.code()], tenant.bytes(), id.as_bytes()])
}

pub fn expiry_of_key(key: &[u8]) -> Option<ExpiryEntry> {
    let kind = ExpiryKind::from_code(*key.get(8)?)?;
    let (tenant, id) = two_ids(key.get(9..)?)?;
    Some(ExpiryEntry { kind, tenant: TenantId::new(tenant), id })
}

pub fn expiry_time(key: &[u8]) -> Option<Timestamp> {
    let micros = key.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))?;
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// The entries up to and including this moment.
pub fn expiries_until(at: Timestamp) -> KeyRange {
    let end = micros(at).saturating_add(1).to_be_bytes().to_vec();
    KeyRange::new(Table::Expiries, Bound::Unbounded, Bound::Excluded(end))
}
