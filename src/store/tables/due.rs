//! What falls due, and the keys of [`Table::Due`](super::Table::Due), which are in the order of time.

use uuid::Uuid;

use super::{join, ordered, token_of_key};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;

/// What falls due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Falls {
    /// A token's card verification code.
    CvcOfToken,
    CvcOfTokenIntent,
    /// A 3DS session's record, at the end of its retention.
    ThreedsSession,
    /// What a 3DS session waits for comes to its end.
    ThreedsWait,
    Token,
    TokenIntent,
}

impl Falls {
    /// As it stands in the file.
    const fn code(self) -> u8 {
        match self {
            Self::Token => 1,
            Self::CvcOfToken => 2,
            Self::TokenIntent => 3,
            Self::CvcOfTokenIntent => 4,
            Self::ThreedsSession => 5,
            Self::ThreedsWait => 6,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Token),
            2 => Some(Self::CvcOfToken),
            3 => Some(Self::TokenIntent),
            4 => Some(Self::CvcOfTokenIntent),
            5 => Some(Self::ThreedsSession),
            6 => Some(Self::ThreedsWait),
            _ => None,
        }
    }
}

/// An entry of [`Table::Due`](super::Table::Due), read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    pub falls: Falls,
    pub tenant: TenantId,
    pub id: Uuid,
}

pub fn due(at: Timestamp, falls: Falls, tenant: TenantId, id: Uuid) -> Vec<u8> {
    join(&[&ordered(at).to_be_bytes(), &[falls.code()], tenant.bytes(), id.as_bytes()])
}

pub fn due_of_key(key: &[u8]) -> Option<Due> {
    let falls = Falls::from_code(*key.get(8)?)?;
    let (tenant, id) = token_of_key(key.get(9..)?)?;
    Some(Due { falls, tenant, id: id.uuid() })
}

/// When an entry of [`Table::Due`](super::Table::Due) falls due.
pub fn due_at(key: &[u8]) -> Option<Timestamp> {
    let micros = key.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))?;
    i64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// Everything in [`Table::Due`](super::Table::Due) up to and including this moment sorts before the key.
pub fn due_after(at: Timestamp) -> Vec<u8> {
    ordered(at).saturating_add(1).to_be_bytes().to_vec()
}
