//! Keys of 3DS sessions and card ranges.

use crate::domain::id::{SessionId, TenantId};
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, two_ids};
use crate::threeds::scheme::Scheme;

pub fn threeds_ranges(scheme: Scheme, part: u32) -> Vec<u8> {
    join(&[scheme.as_str().as_bytes(), &[0], &part.to_be_bytes()])
}

pub fn threeds_ranges_of(scheme: Scheme) -> KeyRange {
    KeyRange::prefix(Table::ThreedsRanges, join(&[scheme.as_str().as_bytes(), &[0]]))
}

pub fn part_of_ranges_key(key: &[u8]) -> Option<(Scheme, u32)> {
    let (name, part) = key.split_last_chunk::<4>()?;
    let name = name.strip_suffix(&[0])?;
    Some((Scheme::parse(std::str::from_utf8(name).ok()?)?, u32::from_be_bytes(*part)))
}

pub fn threeds_sessions(tenant: TenantId, session: SessionId) -> Vec<u8> {
    join(&[session.bytes(), tenant.bytes()])
}

/// The session of this id, of any tenant.
pub fn threeds_sessions_of(session: SessionId) -> KeyRange {
    KeyRange::prefix(Table::ThreedsSessions, session.bytes().to_vec())
}

pub fn session_of_key(key: &[u8]) -> Option<(TenantId, SessionId)> {
    let (session, tenant) = two_ids(key)?;
    Some((TenantId::new(tenant), SessionId::new(session)))
}
