//! The shapes of records: each struct's members are listed once, in the order of the file. Encoding
//! and decoding follow from the list, and a member missing from the list does not compile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::secret::Secret;
use crate::store::record::encoding::{BadRecord, EncodeFailed, VERSION, bad, body, encode};

pub(super) trait Stored: Sized {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn read(json: &RawValue) -> Option<Self>;
}

/// A value that a record may leave out.
pub(super) trait Sparse: Default {
    fn is_left_out(&self) -> bool;
}

/// A struct whose members a record holds. `record!` and `members!` implement it.
pub(super) trait Shape: Sized {
    /// The members that are in the row's key, which the seal authenticates.
    type Key;

    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
    fn read_members(members: &Members<'_>, key: Self::Key) -> Option<Self>;
}

pub(super) fn encode_shape<T: Shape>(value: &T) -> Result<Secret<Vec<u8>>, EncodeFailed> {
    encode(VERSION, &AsObject(value))
}

pub(super) fn decode_shape<T: Shape>(key: T::Key, bytes: &[u8]) -> Result<T, BadRecord> {
    let members = serde_json::from_slice(body(VERSION, bytes)?).map_err(bad)?;
    T::read_members(&members, key).ok_or(BadRecord)
}

/// Implements [`Shape`]: `field` for a member of the same name, `field = "name"` for another name,
/// a question mark for a member that is left out if absent or empty, and `..field` for a struct
/// whose members are inlined here.
macro_rules! members {
    ($($type:ty $(, $key:ident: $key_type:ty)* { $($rows:tt)+ })+) => {$(
        impl $crate::store::record::shape::Shape for $type {
            type Key = ($($key_type,)*);

            fn write_members<M: serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> Result<(), M::Error> {
                $crate::store::record::shape::write_rows!(self, map; $($rows)+,);
                Ok(())
            }

            fn read_members(
                members: &$crate::store::record::shape::Members<'_>,
                ($($key,)*): Self::Key,
            ) -> Option<Self> {
                $crate::store::record::shape::read_rows!(members; { $($key,)* } $($rows)+,)
            }
        }
    )+};
}

macro_rules! write_rows {
    ($value:ident, $map:ident; $(,)?) => {};
    ($value:ident, $map:ident; ..$field:ident, $($rest:tt)*) => {
        $crate::store::record::shape::Shape::write_members(&$value.$field, $map)?;
        $crate::store::record::shape::write_rows!($value, $map; $($rest)*);
    };
    ($value:ident, $map:ident; $field:ident, $($rest:tt)*) => {
        $crate::store::record::shape::put($map, stringify!($field), &$value.$field)?;
        $crate::store::record::shape::write_rows!($value, $map; $($rest)*);
    };
    ($value:ident, $map:ident; $field:ident?, $($rest:tt)*) => {
        $crate::store::record::shape::put_sparse($map, stringify!($field), &$value.$field)?;
        $crate::store::record::shape::write_rows!($value, $map; $($rest)*);
    };
    ($value:ident, $map:ident; $field:ident = $name:literal, $($rest:tt)*) => {
        $crate::store::record::shape::put($map, $name, &$value.$field)?;
        $crate::store::record::shape::write_rows!($value, $map; $($rest)*);
    };
}

macro_rules! read_rows {
    ($members:ident; { $($read:tt)* } $(,)?) => { Some(Self { $($read)* }) };
    ($members:ident; { $($read:tt)* } ..$field:ident, $($rest:tt)*) => {
        $crate::store::record::shape::read_rows!($members; { $($read)*
            $field: $crate::store::record::shape::Shape::read_members($members, ())?,
        } $($rest)*)
    };
    ($members:ident; { $($read:tt)* } $field:ident, $($rest:tt)*) => {
        $crate::store::record::shape::read_rows!($members; { $($read)*
            $field: $members.required(stringify!($field))?,
        } $($rest)*)
    };
    ($members:ident; { $($read:tt)* } $field:ident?, $($rest:tt)*) => {
        $crate::store::record::shape::read_rows!($members; { $($read)*
            $field: $members.optional(stringify!($field))?,
        } $($rest)*)
    };
    ($members:ident; { $($read:tt)* } $field:ident = $name:literal, $($rest:tt)*) => {
        $crate::store::record::shape::read_rows!($members; { $($read)*
            $field: $members.required($name)?,
        } $($rest)*)
    };
}

/// Declares a record: its encoding and decoding functions, the members in its row's key, and its
/// other members. A record `in_clear` is not sealed.
macro_rules! record {
    ($encode:ident, $decode:ident($($key:ident: $key_type:ty),*): $type:ty { $($members:tt)+ }) => {
        pub fn $encode(
            record: &$type,
        ) -> Result<$crate::secret::Secret<Vec<u8>>, $crate::store::record::EncodeFailed> {
            $crate::store::record::shape::encode_shape(record)
        }

        $crate::store::record::shape::record! {
            $decode($($key: $key_type),*): $type { $($members)+ }
        }
    };
    (in_clear $encode:ident, $decode:ident($($key:ident: $key_type:ty),*): $type:ty {
        $($members:tt)+
    }) => {
        pub fn $encode(record: &$type) -> Result<Vec<u8>, $crate::store::record::EncodeFailed> {
            Ok($crate::store::record::shape::encode_shape(record)?.expose().clone())
        }

        $crate::store::record::shape::record! {
            $decode($($key: $key_type),*): $type { $($members)+ }
        }
    };
    ($decode:ident($($key:ident: $key_type:ty),*): $type:ty { $($members:tt)+ }) => {
        pub fn $decode(
            $($key: $key_type,)*
            bytes: &[u8],
        ) -> Result<$type, $crate::store::record::BadRecord> {
            $crate::store::record::shape::decode_shape(($($key,)*), bytes)
        }

        $crate::store::record::shape::members! { $type $(, $key: $key_type)* { $($members)+ } }
    };
}

/// Implements [`Stored`] for types that `parse` reads and a method writes as text.
macro_rules! texts {
    ($($write:ident: $($type:ty),+;)+) => {$($(
        impl $crate::store::record::shape::Stored for $type {
            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(AsRef::<str>::as_ref(&self.$write()))
            }

            fn read(json: &serde_json::value::RawValue) -> Option<Self> {
                // Some `parse` functions return an option, others a result.
                Self::parse(&$crate::store::record::shape::text(json)?).into_iter().next()
            }
        }
    )+)+};
}

/// Implements [`Stored`] for enumerations as one word per variant.
macro_rules! words {
    ($($type:ident { $($variant:ident $word:literal),+ $(,)? })+) => {$(
        impl $crate::store::record::shape::Stored for $type {
            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self { $(Self::$variant => $word),+ })
            }

            fn read(json: &serde_json::value::RawValue) -> Option<Self> {
                match &*$crate::store::record::shape::text(json)? {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

/// Implements [`Stored`] for enumerations of two variants as a flag.
macro_rules! flags {
    ($($type:ident { false $off:ident, true $on:ident })+) => {$(
        impl $crate::store::record::shape::Stored for $type {
            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bool(matches!(self, Self::$on))
            }

            fn read(json: &serde_json::value::RawValue) -> Option<Self> {
                let is_on: bool = $crate::store::record::shape::plain(json)?;
                Some(if is_on { Self::$on } else { Self::$off })
            }
        }
    )+};
}

/// Implements [`Stored`] for types that are written as another value: the value, and the function
/// that reads it back.
macro_rules! stored_as {
    ($($type:ty $([$($generic:tt)+])?: |$it:ident| $value:expr, $read:expr;)+) => {$(
        impl $(<$($generic)+>)? $crate::store::record::shape::Stored for $type {
            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $it = self;
                serde::Serialize::serialize(&$value, serializer)
            }

            fn read(json: &serde_json::value::RawValue) -> Option<Self> {
                $crate::store::record::shape::Stored::read(json).and_then($read)
            }
        }
    )+};
}

pub(super) use flags;
pub(super) use members;
pub(super) use read_rows;
pub(super) use record;
pub(super) use stored_as;
pub(super) use texts;
pub(super) use words;
pub(super) use write_rows;

/// Serializes a value in its stored form.
pub(super) struct AsStored<'a, T>(pub(super) &'a T);

impl<T: Stored> Serialize for AsStored<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

pub(super) fn put<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: &impl Stored,
) -> Result<(), M::Error> {
    map.serialize_entry(name, &AsStored(value))
}

pub(super) fn put_sparse<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: &(impl Stored + Sparse),
) -> Result<(), M::Error> {
    if value.is_left_out() { Ok(()) } else { put(map, name, value) }
}

struct AsObject<'a, T>(&'a T);

impl<T: Shape> Serialize for AsObject<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write_members(&mut map)?;
        map.end()
    }
}

impl<T: Shape<Key = ()>> Stored for T {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AsObject(self).serialize(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        Self::read_members(&plain(json)?, ())
    }
}

pub(super) struct Members<'a>(Vec<(&'a str, &'a RawValue)>);

impl<'a> Members<'a> {
    pub(super) fn required<T: Stored>(&self, name: &str) -> Option<T> {
        T::read(self.find(name)?)
    }

    /// A missing member is the default; `None` if the value does not decode.
    pub(super) fn optional<T: Stored + Sparse>(&self, name: &str) -> Option<T> {
        self.find(name).map_or_else(|| Some(T::default()), T::read)
    }

    /// Returns `None` unless there is exactly one member.
    pub(super) fn single(&self) -> Option<(&'a str, &'a RawValue)> {
        let [member] = self.0.as_slice() else { return None };
        Some(*member)
    }

    pub(super) fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Gather;

        impl<'de> Visitor<'de> for Gather {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members(Vec::with_capacity(16));
                while let Some((name, json)) = map.next_entry()? {
                    if members.find(name).is_some() {
                        return Err(A::Error::custom("a member occurs twice"));
                    }
                    members.0.push((name, json));
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Gather)
    }
}

pub(super) fn plain<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Option<T> {
    serde_json::from_str(json.get()).ok()
}

pub(super) fn text(json: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    plain(json).map(|Text(text)| text)
}

/// Text that is JSON already. Writing other text fails.
pub(super) struct Json<'a>(pub(super) &'a str);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The parser's error is dropped, because it may quote the text.
        let raw: Option<&RawValue> = serde_json::from_str(self.0).ok();
        raw.ok_or_else(|| S::Error::custom("not JSON"))?.serialize(serializer)
    }
}

pub(super) fn write_tagged<S: Serializer>(
    name: &str,
    value: &impl Stored,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map([(name, AsStored(value))])
}

macro_rules! same_in_json {
    ($($type:ty),+) => {$(
        impl Stored for $type {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.serialize(serializer)
            }

            fn read(json: &RawValue) -> Option<Self> {
                plain(json)
            }
        }
    )+};
}

same_in_json! {
    bool, i64, u8, u16, u32, u64, usize, Uuid, String, Value, Map<String, Value>,
    BTreeMap<String, String>, (String, String)
}

impl<T: Stored> Stored for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(AsStored).serialize(serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        if json.get() == "null" { Some(None) } else { T::read(json).map(Some) }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(AsStored))
    }

    fn read(json: &RawValue) -> Option<Self> {
        plain::<Vec<&RawValue>>(json)?.into_iter().map(T::read).collect()
    }
}

impl<T> Sparse for Option<T> {
    fn is_left_out(&self) -> bool {
        self.is_none()
    }
}

impl<T> Sparse for Vec<T> {
    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}

impl<K: Ord, V> Sparse for BTreeMap<K, V> {
    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}

impl Sparse for bool {
    fn is_left_out(&self) -> bool {
        !*self
    }
}
