//! Encodings of values that several records hold.

use std::time::Duration;

use serde::{Serialize as _, Serializer};
use serde_json::value::RawValue;

use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::condition::{Attribute, Condition, Operator};
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::hex;
use crate::domain::id::{AccessSessionId, ApplicationId, KeyId, ReactorId, TenantId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::record::shape::{Json, Members, Shape, Stored, members, plain, put, text, texts};

texts! { as_str: Attribute, Container, Operator, Permission, TokenType, Transform; }

members! { AccessRule {
    description?, priority, container, conditions?, transform, permissions,
} }

members! { Condition { attribute, operator, value } }

impl Shape for Access {
    type Key = ();

    fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        put(map, "permissions", &self.permissions().to_vec())?;
        put(map, "rules", &self.rules().to_vec())
    }

    /// Sorts the rules, so that no record can change their order.
    fn read_members(members: &Members<'_>, (): ()) -> Option<Self> {
        Some(Self::new(members.required("permissions")?, members.required("rules")?))
    }
}

macro_rules! ids {
    ($($type:ty),+) => {$(
        impl Stored for $type {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.uuid().serialize(serializer)
            }

            fn read(json: &RawValue) -> Option<Self> {
                plain(json).map(Self::new)
            }
        }
    )+};
}

ids! { AccessSessionId, ApplicationId, KeyId, ReactorId, TenantId }

/// Microseconds since 1970.
impl Stored for Timestamp {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.micros())
    }

    fn read(json: &RawValue) -> Option<Self> {
        plain(json).map(Self::from_micros)
    }
}

/// Microseconds.
impl Stored for Duration {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(self.as_micros()).unwrap_or(u64::MAX))
    }

    fn read(json: &RawValue) -> Option<Self> {
        plain(json).map(Self::from_micros)
    }
}

/// Hexadecimal, as every hash, tag and key.
impl<const N: usize> Stored for [u8; N] {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self))
    }

    fn read(json: &RawValue) -> Option<Self> {
        hex::decode(&text(json)?)
    }
}

impl<const N: usize> Stored for Secret<[u8; N]> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.expose().write(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        Stored::read(json).map(Self::new)
    }
}

impl Stored for AnswerSeed {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.expose().write(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        Stored::read(json).map(Self::new)
    }
}

impl Stored for Data {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json(self.json()).serialize(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        Some(Self::from_json(String::from(json.get())))
    }
}
