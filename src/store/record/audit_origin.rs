//! The origin of an audit entry: a byte of flags, and the parts that the flags announce.
//!
//! | bit | bytes | part |
//! |---|---|---|
//! | 1 | 4 | IPv4 address |
//! | 2 | 16 | IPv6 address |
//! | 4 | 16 | id of the API key |
//! | 8 | 16 | trace id that is a UUID |
//! | 16 | 1, n | trace id that is another text: its length, the text |
//! | 8 and 16 | 16 | trace id of 32 hexadecimal digits |
//! | 32 | 4, 1, n | user id; length of the user's name, 0 if it is not known; the name |
//! | 1, 2 and 32 | 4 | behind the name: the id of the user who logged in; there is no address |
//! | 64 | | there is an origin, also if it has no parts |
//! | 128 | | the origin is that of the newest entry of the row that has one; no other bit is set |
//! | 64 and 128 | 1, 1, n | there is an origin; after its other parts, a person: the way of the sign-on, the length of the name, the name |

use std::net::IpAddr;
use std::sync::Arc;

use uuid::Uuid;

use crate::domain::id::KeyId;
use crate::domain::origin::{Origin, SystemUser, TraceId};
use crate::domain::person::{Person, SignOnWay};
use crate::store::record::encoding::{BadRecord, EncodeFailed};

const V4: u8 = 1;
const V6: u8 = 2;
const KEY: u8 = 4;
const TRACE_UUID: u8 = 8;
const TRACE_TEXT: u8 = 16;
const TRACE_DIGITS: u8 = TRACE_UUID | TRACE_TEXT;
/// A user of the machine has no address.
const LOGIN: u8 = V4 | V6;
const USER: u8 = 32;
const PRESENT: u8 = 64;
const SAME: u8 = 128;
const PERSON: u8 = PRESENT | SAME;

/// `before` is the newest origin among the entries before this one. Fails for a text of more than
/// 255 bytes, which no origin has.
pub(super) fn encode_origin(
    bytes: &mut Vec<u8>,
    origin: Option<&Arc<Origin>>,
    before: Option<&Arc<Origin>>,
) -> Result<(), EncodeFailed> {
    let Some(origin) = origin else {
        bytes.push(0);
        return Ok(());
    };
    if before.is_some_and(|before| Arc::ptr_eq(before, origin) || before == origin) {
        bytes.push(SAME);
        return Ok(());
    }
    bytes.push(parts(origin));
    match origin.address {
        Some(IpAddr::V4(address)) => bytes.extend(address.octets()),
        Some(IpAddr::V6(address)) => bytes.extend(address.octets()),
        None => (),
    }
    bytes.extend(origin.key().iter().flat_map(|key| *key.bytes()));
    match &origin.trace {
        Some(TraceId::Digits(id) | TraceId::Uuid(id)) => bytes.extend(id.as_bytes()),
        Some(TraceId::Text(text)) => encode_text(bytes, text)?,
        None => (),
    }
    if let Some(SystemUser { uid, name, login }) = &origin.user {
        bytes.extend(uid.to_be_bytes());
        encode_text(bytes, name.as_deref().unwrap_or_default())?;
        let login = login.filter(|_| origin.address.is_none());
        bytes.extend(login.map(u32::to_be_bytes).into_iter().flatten());
    }
    if let Some(Person { name, way }) = &origin.person {
        bytes.push(way.code());
        encode_text(bytes, name)?;
    }
    Ok(())
}

fn parts(origin: &Origin) -> u8 {
    let address = match origin.address {
        Some(IpAddr::V4(_)) => V4,
        Some(IpAddr::V6(_)) => V6,
        None if origin.user.as_ref().is_some_and(|user| user.login.is_some()) => LOGIN,
        None => 0,
    };
    let trace = match &origin.trace {
        Some(TraceId::Digits(_)) => TRACE_DIGITS,
        Some(TraceId::Text(_)) => TRACE_TEXT,
        Some(TraceId::Uuid(_)) => TRACE_UUID,
        None => 0,
    };
    let key = if origin.key().is_some() { KEY } else { 0 };
    let user = if origin.user.is_some() { USER } else { 0 };
    let present = if origin.person.is_some() { PERSON } else { PRESENT };
    present | address | trace | key | user
}

/// `None` if the entry has no origin.
pub(super) fn decode_origin(
    rest: &mut &[u8],
    before: Option<&Arc<Origin>>,
) -> Result<Option<Arc<Origin>>, BadRecord> {
    let [parts] = take(rest).ok_or(BadRecord)?;
    match parts {
        0 => Ok(None),
        SAME => before.map(Arc::clone).ok_or(BadRecord).map(Some),
        _ if parts & PRESENT == 0 => Err(BadRecord),
        _ => decode_parts(parts, rest).ok_or(BadRecord).map(|origin| Some(Arc::new(origin))),
    }
}

fn decode_parts(parts: u8, rest: &mut &[u8]) -> Option<Origin> {
    let address = match parts & (V4 | V6) {
        0 => None,
        V4 => Some(IpAddr::from(take::<4>(rest)?)),
        V6 => Some(IpAddr::from(take::<16>(rest)?)),
        LOGIN if parts & USER != 0 => None,
        _ => return None,
    };
    let key = match parts & KEY {
        0 => None,
        _ => Some(KeyId::new(Uuid::from_bytes(take(rest)?))),
    };
    let trace = match parts & TRACE_DIGITS {
        TRACE_DIGITS => Some(TraceId::Digits(Uuid::from_bytes(take(rest)?))),
        TRACE_TEXT => Some(TraceId::Text(Box::from(take_text(rest)?))),
        TRACE_UUID => Some(TraceId::Uuid(Uuid::from_bytes(take(rest)?))),
        _ => None,
    };
    let user = if parts & USER == 0 {
        None
    } else {
        let uid = u32::from_be_bytes(take(rest)?);
        let name = Some(take_text(rest)?).filter(|name| !name.is_empty()).map(Box::from);
        let login = match parts & LOGIN {
            LOGIN => Some(u32::from_be_bytes(take(rest)?)),
            _ => None,
        };
        Some(SystemUser { uid, name, login })
    };
    let person = if parts & PERSON == PERSON {
        let [way] = take(rest)?;
        Some(Person { way: SignOnWay::from_code(way)?, name: Box::from(take_text(rest)?) })
    } else {
        None
    };
    Some(Origin::new(address, key, trace, user).with_person(person))
}

fn encode_text(bytes: &mut Vec<u8>, text: &str) -> Result<(), EncodeFailed> {
    bytes.push(u8::try_from(text.len()).ok().ok_or(EncodeFailed)?);
    bytes.extend(text.bytes());
    Ok(())
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let [length] = take(rest)?;
    let (text, behind) = rest.split_at_checked(usize::from(length))?;
    *rest = behind;
    str::from_utf8(text).ok()
}

pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}
