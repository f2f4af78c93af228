//! Elements: the values of messages, and the macros that build messages of them.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::threeds::codes::{Code, Reason};
use crate::threeds::message::{ErrorCode, Rejection};
use crate::threeds::{NamedVersion, ProtocolVersion};

/// A value in a message.
pub trait Element: Sized {
    /// Returns `None` after recording the mistake in the reader.
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self>;

    /// Writes the value with the codes of this version.
    fn write(&self, version: ProtocolVersion) -> Value;

    /// False if the value is newer than this version.
    fn is_known_to(&self, _: ProtocolVersion) -> bool {
        true
    }
}

/// A member of an object: a required element, or an optional one.
pub(super) trait Member: Sized {
    fn take(members: &Map<String, Value>, name: &str, reader: &mut ElementReader) -> Option<Self>;
    fn put(&self, members: &mut Map<String, Value>, name: &str, version: ProtocolVersion);
}

impl<T: Element> Member for T {
    fn take(members: &Map<String, Value>, name: &str, reader: &mut ElementReader) -> Option<Self> {
        if let Some(value) = members.get(name).filter(|value| !is_empty(value)) {
            reader.within(name, |reader| T::read(value, reader))
        } else {
            reader.missing(name);
            None
        }
    }

    fn put(&self, members: &mut Map<String, Value>, name: &str, version: ProtocolVersion) {
        members.insert(String::from(name), self.write(version));
    }
}

impl<T: Element> Member for Option<T> {
    /// A member that is present but empty is a mistake: the protocol requires leaving it out.
    fn take(members: &Map<String, Value>, name: &str, reader: &mut ElementReader) -> Option<Self> {
        match members.get(name) {
            None => Some(None),
            Some(value) if is_empty(value) => {
                reader.within(name, ElementReader::invalid);
                None
            }
            Some(value) => reader.within(name, |reader| T::read(value, reader)).map(Some),
        }
    }

    fn put(&self, members: &mut Map<String, Value>, name: &str, version: ProtocolVersion) {
        if let Some(element) = self
            && element.is_known_to(version)
        {
            members.insert(String::from(name), element.write(version));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// The current path in a message, and the mistakes so far.
#[derive(Debug)]
pub struct ElementReader {
    pub(super) version: ProtocolVersion,
    path: Vec<String>,
    pub(super) flaws: Flaws,
}

/// Names of elements that are missing or illegal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flaws {
    missing: Vec<String>,
    invalid: Vec<String>,
}

impl ElementReader {
    pub(super) const fn new(version: ProtocolVersion) -> Self {
        let flaws = Flaws { missing: Vec::new(), invalid: Vec::new() };
        Self { version, path: Vec::new(), flaws }
    }

    pub(super) fn within<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(String::from(name));
        let read = read(self);
        self.path.pop();
        read
    }

    fn missing(&mut self, name: &str) {
        let path = self.within(name, |reader| reader.path.join("."));
        self.flaws.missing.push(path);
    }

    /// Records that the current element is illegal.
    pub(super) fn invalid(&mut self) {
        self.flaws.invalid.push(self.path.join("."));
    }

    pub(super) fn valid<T>(&mut self, element: Option<T>) -> Option<T> {
        if element.is_none() {
            self.invalid();
        }
        element
    }
}

impl Flaws {
    /// Reports the missing elements if there are any, otherwise the illegal ones.
    pub(super) fn into_rejection(self) -> Option<Rejection> {
        let (code, names) = match (self.missing.is_empty(), self.invalid.is_empty()) {
            (false, _) => (ErrorCode::ElementMissing, self.missing),
            (true, false) => (ErrorCode::FormatInvalid, self.invalid),
            (true, true) => return None,
        };
        Some(Rejection { code, detail: names.join(",") })
    }
}

/// An object of elements: `name: Type = "emvName" since;`. Elements that are newer than the
/// message's version are neither read nor written.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty = $emv:literal $since:ident;)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)+
        }

        impl $crate::threeds::message::element::Element for $name {
            fn read(
                value: &serde_json::Value,
                reader: &mut $crate::threeds::message::element::ElementReader,
            ) -> Option<Self> {
                use $crate::threeds::message::element::{Member, unknown};
                use $crate::threeds::version::ProtocolVersion;
                let members = reader.valid(value.as_object())?;
                // Read every member before the first failure counts, so that all are reported.
                $(let $field = if ProtocolVersion::$since <= reader.version {
                    <$kind as Member>::take(members, $emv, reader)
                } else {
                    unknown::<$kind>(reader)
                };)+
                Some(Self { $($field: $field?),+ })
            }

            fn write(
                &self,
                version: $crate::threeds::version::ProtocolVersion,
            ) -> serde_json::Value {
                use $crate::threeds::message::element::Member;
                use $crate::threeds::version::ProtocolVersion;
                let mut members = serde_json::Map::new();
                $(if ProtocolVersion::$since <= version {
                    Member::put(&self.$field, &mut members, $emv, version);
                })+
                serde_json::Value::Object(members)
            }
        }
    };
}
pub(super) use object;

/// A group of optional elements: `name: Type = "emvName" since;`. They are direct members of the
/// message, so the message declares the group with the name `""`.
macro_rules! optional {
    ($name:ident {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty = $emv:literal $since:ident;)+
    }) => {
        #[derive(Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: Option<$kind>,)+
        }

        impl $crate::threeds::message::element::Member for $name {
            fn take(
                members: &serde_json::Map<String, serde_json::Value>,
                _: &str,
                reader: &mut $crate::threeds::message::element::ElementReader,
            ) -> Option<Self> {
                use $crate::threeds::message::element::Member;
                // Read every member before the first failure counts, so that all are reported.
                $(let $field = if ProtocolVersion::$since <= reader.version {
                    <Option<$kind> as Member>::take(members, $emv, reader)
                } else {
                    Some(None)
                };)+
                Some(Self { $($field: $field?),+ })
            }

            fn put(
                &self,
                members: &mut serde_json::Map<String, serde_json::Value>,
                _: &str,
                version: ProtocolVersion,
            ) {
                use $crate::threeds::message::element::Member;
                $(if ProtocolVersion::$since <= version {
                    Member::put(&self.$field, members, $emv, version);
                })+
            }
        }
    };
}
pub(super) use optional;

/// A member that the message's version does not have.
pub(super) fn unknown<T: Member>(reader: &mut ElementReader) -> Option<T> {
    T::take(&Map::new(), "", reader)
}

/// Elements that are text: `<parameters> Type: method;`. The type has `parse`, and the method
/// returns the text.
macro_rules! textual {
    ($(<$(const $size:ident: usize),*> $name:ty: $text:ident;)+) => {$(
        impl<$(const $size: usize),*> Element for $name {
            fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
                reader.valid(value.as_str().and_then(Self::parse))
            }

            fn write(&self, _: ProtocolVersion) -> Value {
                Value::from(self.$text())
            }
        }
    )+};
}
pub(super) use textual;

textual! {
    <> ProtocolVersion: as_str;
    <> NamedVersion: to_string;
}

impl Element for Uuid {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let text = value.as_str().filter(|text| text.len() == 36);
        reader.valid(text.and_then(|text| Self::try_parse(text).ok()))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.to_string())
    }
}

impl Element for Reason {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let version = reader.version;
        reader.valid(value.as_str().and_then(|code| Self::from_code(code, version)))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.code())
    }

    fn is_known_to(&self, version: ProtocolVersion) -> bool {
        Self::from_code(&self.code(), version).is_some()
    }
}

impl<T: Code> Element for T {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let version = reader.version;
        reader.valid(value.as_str().and_then(|code| T::parse_code(code, version)))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.text())
    }

    fn is_known_to(&self, version: ProtocolVersion) -> bool {
        self.introduced() <= version
    }
}
