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
use crate::store::record::shape::{
    AsStored, Json, Members, Shape, Stored, members, put, stored_as, text, texts,
};

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
    ($($type:ty),+) => { stored_as! { $($type: |it| it.uuid(), |id| Some(Self::new(id));)+ } };
}

ids! { AccessSessionId, ApplicationId, KeyId, ReactorId, TenantId }

// Times are microseconds since 1970.
stored_as! {
    AnswerSeed: |it| AsStored(it.expose()), |seed| Some(Self::new(seed));
    Duration: |it| u64::try_from(it.as_micros()).unwrap_or(u64::MAX),
        |micros| Some(Self::from_micros(micros));
    Secret<[u8; N]> [const N: usize]: |it| AsStored(it.expose()), |bytes| Some(Self::new(bytes));
    Timestamp: |it| it.micros(), |micros| Some(Self::from_micros(micros));
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

impl Stored for Data {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json(self.json()).serialize(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        Some(Self::from_json(String::from(json.get())))
    }
}
