//! The entries of one row of the audit chain, version 1. Unlike other records they are binary to
//! save space: every read makes at least one entry, and most of an entry is ids.
//!
//! A row is a version byte and its entries, each of which is:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | time, microseconds since 1970, big-endian |
//! | 1 | actor: 0 system, 1 operator, 2 application, 3 cardholder, 4 directory server, 5 caller of a proxy, 6 unknown |
//! | 16 | the application's id; only if the actor is an application |
//! | 1 | act |
//! | 1 | kind of the entity |
//! | 16 | id of the entity |
//! | 2 | length of the entity's predefined id; 0 if it has none |
//! | n | the predefined id |
//! | n | the origin, as [`super::audit_origin`] describes it |
//! | 25 | reason (1), count (8), first and last time (8 each); only if the act is a refusal |
//!
//! The numbers are those of [`crate::domain::audit`]; vectors: `tests/vectors/audit-v1.json`.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::audit::{Act, Actor, AuditEntry, Entity, EntityKind, RefusalReason, Refusals};
use crate::domain::id::ApplicationId;
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::store::record::audit_origin::{decode_origin, encode_origin, take};
use crate::store::record::encoding::{BadRecord, EncodeFailed, body};

const VERSION: u8 = 1;
/// The size of an entry of an application's request over IPv4.
const ENTRY_BYTES: usize = 96;

/// Fails for a predefined id of 64 KiB and more: a shortened one would name another entity.
pub fn encode_audit(entries: &[AuditEntry]) -> Result<Vec<u8>, EncodeFailed> {
    let mut bytes = Vec::with_capacity(1 + entries.len() * ENTRY_BYTES);
    bytes.push(VERSION);
    let mut before: Option<&Arc<Origin>> = None;
    for AuditEntry { at, actor, act, entity, origin, refusals } in entries {
        bytes.extend(at.micros().to_be_bytes());
        bytes.push(match actor {
            Actor::System => 0,
            Actor::Operator => 1,
            Actor::Application(_) => 2,
            Actor::Cardholder => 3,
            Actor::DirectoryServer => 4,
            Actor::ProxyCaller => 5,
            Actor::Unknown => 6,
            Actor::Person => 7,
        });
        bytes.extend(actor.id().iter().flat_map(|id| *id.bytes()));
        bytes.push(act.code());
        bytes.push(entity.kind.code());
        bytes.extend(entity.id.as_bytes());
        let name = entity.name.as_deref().unwrap_or_default();
        let length = u16::try_from(name.len()).ok().ok_or(EncodeFailed)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(name.bytes());
        encode_origin(&mut bytes, origin.as_ref(), before)?;
        before = origin.as_ref().or(before);
        match (*act == Act::Refuse, refusals.as_deref()) {
            (true, Some(refusals)) => encode_refusals(&mut bytes, refusals),
            (false, None) => (),
            (true, None) | (false, Some(_)) => return Err(EncodeFailed),
        }
    }
    Ok(bytes)
}

pub fn decode_audit(bytes: &[u8]) -> Result<Vec<AuditEntry>, BadRecord> {
    let mut rest = body(VERSION, bytes)?;
    let mut entries = Vec::with_capacity(rest.len() / ENTRY_BYTES + 1);
    let mut before = None;
    while !rest.is_empty() {
        let mut entry = decode_entry(&mut rest).ok_or(BadRecord)?;
        entry.origin = decode_origin(&mut rest, before.as_ref())?;
        before = entry.origin.clone().or(before);
        if entry.act == Act::Refuse {
            entry.refusals = Some(Box::new(decode_refusals(&mut rest).ok_or(BadRecord)?));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn decode_entry(rest: &mut &[u8]) -> Option<AuditEntry> {
    let at = Timestamp::from_micros(i64::from_be_bytes(take(rest)?));
    let [actor] = take(rest)?;
    let actor = match actor {
        0 => Actor::System,
        1 => Actor::Operator,
        2 => Actor::Application(ApplicationId::new(Uuid::from_bytes(take(rest)?))),
        3 => Actor::Cardholder,
        4 => Actor::DirectoryServer,
        5 => Actor::ProxyCaller,
        6 => Actor::Unknown,
        7 => Actor::Person,
        _ => return None,
    };
    let [act, kind] = take(rest)?;
    let id = Uuid::from_bytes(take(rest)?);
    let length = usize::from(u16::from_be_bytes(take(rest)?));
    let (name, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let name = Some(str::from_utf8(name).ok()?).filter(|name| !name.is_empty()).map(Box::from);
    let entity = Entity { kind: EntityKind::from_code(kind)?, id, name };
    Some(AuditEntry::new(at, actor, Act::from_code(act)?, entity))
}

fn encode_refusals(bytes: &mut Vec<u8>, refusals: &Refusals) {
    let Refusals { reason, count, first_at, last_at } = refusals;
    bytes.push(reason.code());
    bytes.extend(count.to_be_bytes());
    bytes.extend(first_at.micros().to_be_bytes());
    bytes.extend(last_at.micros().to_be_bytes());
}

fn decode_refusals(rest: &mut &[u8]) -> Option<Refusals> {
    let [reason] = take(rest)?;
    let reason = RefusalReason::from_code(reason)?;
    let count = u64::from_be_bytes(take(rest)?);
    let first_at = Timestamp::from_micros(i64::from_be_bytes(take(rest)?));
    let last_at = Timestamp::from_micros(i64::from_be_bytes(take(rest)?));
    Some(Refusals { reason, count, first_at, last_at })
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::id::KeyId;
    use crate::domain::origin::SystemUser;
    use crate::domain::person::{Person, SignOnWay};

    fn entry(act: Act, name: Option<&str>) -> AuditEntry {
        let actor = Actor::Application(ApplicationId::new(Uuid::from_u128(1)));
        let entity =
            Entity { kind: EntityKind::Token, id: Uuid::from_u128(2), name: name.map(Box::from) };
        AuditEntry::new(Timestamp::from_seconds(1), actor, act, entity)
    }

    fn request(address: &str, trace: &str) -> Origin {
        let address = Some(address.parse::<IpAddr>().unwrap());
        Origin::of_request(address, trace).with_key(KeyId::new(Uuid::from_u128(3)))
    }

    #[track_caller]
    fn check(entries: &[AuditEntry]) -> usize {
        let bytes = encode_audit(entries).unwrap();
        assert_eq!(decode_audit(&bytes).as_deref(), Ok(entries));
        for length in 1..bytes.len() {
            let cut = decode_audit(&bytes[..length]);
            assert!(cut.is_err() || cut.unwrap().len() < entries.len(), "{length}");
        }
        bytes.len()
    }

    #[test]
    fn a_name_that_is_too_long_is_an_error_and_not_cut_short() {
        let entry = |length: usize| entry(Act::Create, Some(&"n".repeat(length)));
        let longest = entry(usize::from(u16::MAX));
        let bytes = encode_audit(std::slice::from_ref(&longest)).unwrap();
        assert_eq!(decode_audit(&bytes), Ok(vec![longest]));
        assert_eq!(encode_audit(&[entry(usize::from(u16::MAX) + 1)]), Err(EncodeFailed));
    }

    /// Every read costs one entry, so the bytes of a row decide how fast the file grows.
    #[test]
    fn an_origin_adds_few_bytes_and_is_written_once_for_the_entries_of_a_request() {
        let trace = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed";
        let with = |origin| AuditEntry { origin: Some(origin), ..entry(Act::Read, None) };
        let none = check(&[entry(Act::Read, None)]);
        assert_eq!(none, 1 + 45 + 1);
        let origin = Arc::new(request("192.0.2.1", trace));
        let one = check(&[with(Arc::clone(&origin))]);
        assert_eq!(one, none + 4 + 16 + 16);
        assert!(one <= 1 + ENTRY_BYTES);
        let page = vec![with(origin); 100];
        assert_eq!(check(&page), one + 99 * 46, "one byte for each further entry");
        let v6 = check(&[with(Arc::new(request("2001:db8::1", trace)))]);
        assert_eq!(v6, one + 12);
        assert_eq!(check(&[with(Arc::new(request("192.0.2.1", "retry-7")))]), one - 16 + 8);
    }

    #[test]
    fn all_shapes_of_origins_and_refusals_lead_back() {
        let named = |name: Option<&str>| {
            Origin::of_user(SystemUser { uid: 1_000, name: name.map(Box::from), login: Some(7) })
        };
        let refusals = Refusals {
            reason: RefusalReason::WrongKey,
            count: u64::MAX,
            first_at: Timestamp::from_seconds(5),
            last_at: Timestamp::from_seconds(9),
        };
        let origins = [
            Origin::default(),
            Origin::of_request(None, ""),
            request("::ffff:192.0.2.1", "1b9d6bcdbbfd4b2d9b5dab8dfbbd4bed"),
            request("::", &"x".repeat(crate::bounds::TRACE_BYTES_MAX)),
            named(None),
            named(Some("operator")),
            request("192.0.2.1", "t").with_person(Some(Person {
                name: Box::from("n".repeat(255)),
                way: SignOnWay::Proxy,
            })),
            named(None)
                .with_person(Some(Person { name: Box::from(""), way: SignOnWay::Certificate })),
        ];
        let mut entries = vec![entry(Act::Expire, None)];
        for origin in origins.map(Arc::new) {
            let refused = AuditEntry {
                act: Act::Refuse,
                refusals: Some(Box::new(refusals)),
                ..entry(Act::Refuse, Some("ReadToken"))
            };
            entries.push(AuditEntry { origin: Some(origin), ..refused });
            entries.push(entry(Act::Create, None));
        }
        let origin = entries.iter().rev().find_map(|entry| entry.origin.clone());
        entries.push(AuditEntry { origin, ..entry(Act::Update, None) });
        check(&entries);
    }

    #[test]
    fn only_a_refusal_has_counts() {
        assert_eq!(encode_audit(&[entry(Act::Refuse, None)]), Err(EncodeFailed));
        let at = Timestamp::from_seconds(1);
        let reason = RefusalReason::NoKey;
        let refusals = Refusals { reason, count: 1, first_at: at, last_at: at };
        let read = AuditEntry { refusals: Some(Box::new(refusals)), ..entry(Act::Read, None) };
        assert_eq!(encode_audit(&[read]), Err(EncodeFailed));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), version in 0_u8..3) {
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            if let Ok(entries) = decode_audit(&bytes) {
                prop_assert_eq!(decode_audit(&encode_audit(&entries).unwrap()), Ok(entries));
            }
        }
    }
}
