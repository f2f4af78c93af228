//! The entries of one row of the audit chain, version 1. Unlike other records they are binary to
//! save space: every read makes at least one entry, and most of an entry is two ids.
//!
//! A row is a version byte and its entries, each of which is:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | time, microseconds since 1970, big-endian |
//! | 1 | actor: 0 system, 1 operator, 2 application, 3 cardholder, 4 directory server, 5 caller of a proxy |
//! | 16 | the application's id; only if the actor is an application |
//! | 1 | act |
//! | 1 | kind of the entity |
//! | 16 | id of the entity |
//! | 2 | length of the entity's predefined id; 0 if it has none |
//! | n | the predefined id |
//!
//! The numbers are those of [`crate::domain::audit`]; vectors: `tests/vectors/audit-v1.json`.

use uuid::Uuid;

use crate::domain::audit::{Act, Actor, AuditEntry, Entity, EntityKind};
use crate::domain::id::ApplicationId;
use crate::domain::time::Timestamp;
use crate::store::record::encoding::{BadRecord, EncodeFailed, body};

const VERSION: u8 = 1;
const ENTRY_BYTES: usize = 64;

/// Fails for a predefined id of 64 KiB and more: a shortened one would name another entity.
pub fn encode_audit(entries: &[AuditEntry]) -> Result<Vec<u8>, EncodeFailed> {
    let mut bytes = Vec::with_capacity(1 + entries.len() * ENTRY_BYTES);
    bytes.push(VERSION);
    for AuditEntry { at, actor, act, entity } in entries {
        bytes.extend(at.micros().to_be_bytes());
        bytes.push(match actor {
            Actor::System => 0,
            Actor::Operator => 1,
            Actor::Application(_) => 2,
            Actor::Cardholder => 3,
            Actor::DirectoryServer => 4,
            Actor::ProxyCaller => 5,
        });
        bytes.extend(actor.id().iter().flat_map(|id| *id.bytes()));
        bytes.push(act.code());
        bytes.push(entity.kind.code());
        bytes.extend(entity.id.as_bytes());
        let name = entity.name.as_deref().unwrap_or_default();
        let length = u16::try_from(name.len()).ok().ok_or(EncodeFailed)?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(name.bytes());
    }
    Ok(bytes)
}

pub fn decode_audit(bytes: &[u8]) -> Result<Vec<AuditEntry>, BadRecord> {
    let mut rest = body(VERSION, bytes)?;
    let mut entries = Vec::with_capacity(rest.len() / ENTRY_BYTES + 1);
    while !rest.is_empty() {
        entries.push(entry(&mut rest).ok_or(BadRecord)?);
    }
    Ok(entries)
}

fn entry(rest: &mut &[u8]) -> Option<AuditEntry> {
    let at = Timestamp::from_micros(i64::from_be_bytes(take(rest)?));
    let [actor] = take(rest)?;
    let actor = match actor {
        0 => Actor::System,
        1 => Actor::Operator,
        2 => Actor::Application(ApplicationId::new(Uuid::from_bytes(take(rest)?))),
        3 => Actor::Cardholder,
        4 => Actor::DirectoryServer,
        5 => Actor::ProxyCaller,
        _ => return None,
    };
    let [act, kind] = take(rest)?;
    let id = Uuid::from_bytes(take(rest)?);
    let length = usize::from(u16::from_be_bytes(take(rest)?));
    let (name, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let name = Some(str::from_utf8(name).ok()?).filter(|name| !name.is_empty()).map(Box::from);
    let entity = Entity { kind: EntityKind::from_code(kind)?, id, name };
    Some(AuditEntry { at, actor, act: Act::from_code(act)?, entity })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_an_error_and_not_cut_short() {
        let entry = |length: usize| AuditEntry {
            at: Timestamp::from_seconds(1),
            actor: Actor::System,
            act: Act::Create,
            entity: Entity {
                kind: EntityKind::Token,
                id: Uuid::nil(),
                name: Some("n".repeat(length).into()),
            },
        };
        let longest = entry(usize::from(u16::MAX));
        let bytes = encode_audit(std::slice::from_ref(&longest)).unwrap();
        assert_eq!(decode_audit(&bytes), Ok(vec![longest]));
        assert_eq!(encode_audit(&[entry(usize::from(u16::MAX) + 1)]), Err(EncodeFailed));
    }
}
