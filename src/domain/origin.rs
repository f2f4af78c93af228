//! The origin of an act: the client's address, the API key, the request's trace id, or the
//! operator's user. Audit entries carry it.

use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;

use uuid::Uuid;

use crate::domain::id::KeyId;
use crate::domain::person::Person;

/// A request has one origin from its first check to its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The client's address, behind the proxies that the operator trusts.
    pub address: Option<IpAddr>,
    pub trace: Option<TraceId>,
    /// The user who ran an operator's command.
    pub user: Option<SystemUser>,
    /// The person at the console, beside the key if the request has one.
    pub person: Option<Person>,
    /// Set when the request is authenticated, which is after the origin is made.
    key: OnceLock<KeyId>,
}

impl Origin {
    pub fn of_request(address: Option<IpAddr>, trace: &str) -> Self {
        let trace = Some(TraceId::new(trace)).filter(|_| !trace.is_empty());
        Self { address, trace, ..Self::default() }
    }

    pub fn of_user(user: SystemUser) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// All parts, as a stored entry holds them.
    pub fn new(
        address: Option<IpAddr>,
        key: Option<KeyId>,
        trace: Option<TraceId>,
        user: Option<SystemUser>,
    ) -> Self {
        let key = key.map_or_else(OnceLock::new, OnceLock::from);
        Self { address, trace, user, person: None, key }
    }

    #[must_use]
    pub fn with_person(self, person: Option<Person>) -> Self {
        Self { person, ..self }
    }

    #[cfg(test)]
    #[must_use]
    pub fn with_key(self, key: KeyId) -> Self {
        self.note_key(key);
        self
    }

    /// A request has one key: the first that is noted stays.
    pub fn note_key(&self, key: KeyId) {
        self.key.get_or_init(|| key);
    }

    pub fn key(&self) -> Option<KeyId> {
        self.key.get().copied()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemUser {
    pub uid: u32,
    /// Absent if the system's list of users does not have it.
    pub name: Option<Box<str>>,
    /// The user who logged in, which `su` and `sudo` do not change. The kernel knows it; absent for
    /// a process without a login, such as a service, or if it cannot be read.
    pub login: Option<u32>,
}

/// The id of a request. UUIDs, and the 32 digits of W3C Trace Context, are stored as bytes, which
/// take less memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceId {
    /// 32 hexadecimal digits without hyphens.
    Digits(Uuid),
    Text(Box<str>),
    Uuid(Uuid),
}

impl TraceId {
    /// Stores bytes only if they print as exactly this text.
    pub fn new(text: &str) -> Self {
        let mut buffer = Uuid::encode_buffer();
        match Uuid::try_parse(text) {
            Ok(id) if id.as_hyphenated().encode_lower(&mut buffer) == text => Self::Uuid(id),
            Ok(id) if id.as_simple().encode_lower(&mut buffer) == text => Self::Digits(id),
            Ok(_) | Err(_) => Self::Text(Box::from(text)),
        }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digits(id) => id.as_simple().fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Uuid(id) => id.as_hyphenated().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_that_are_hexadecimal_are_kept_as_bytes() {
        let id = Uuid::from_u128(0x1b9d_6bcd_bbfd_4b2d_9b5d_ab8d_fbbd_4bed);
        for (text, expected) in [
            ("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", TraceId::Uuid(id)),
            ("1b9d6bcdbbfd4b2d9b5dab8dfbbd4bed", TraceId::Digits(id)),
            (
                "1B9D6BCD-BBFD-4B2D-9B5D-AB8DFBBD4BED",
                TraceId::Text(Box::from("1B9D6BCD-BBFD-4B2D-9B5D-AB8DFBBD4BED")),
            ),
            ("checkout-17", TraceId::Text(Box::from("checkout-17"))),
        ] {
            assert_eq!(TraceId::new(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_id_gives_its_text_again(text in "[0-9a-fA-F]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|.{0,64}") {
            prop_assert_eq!(TraceId::new(&text).to_string(), text);
        }
    }

    #[test]
    fn the_first_key_of_a_request_stays() {
        let origin = Origin::default();
        assert_eq!(origin.key(), None);
        for number in [1, 2] {
            origin.note_key(KeyId::new(Uuid::from_u128(number)));
            assert_eq!(origin.key(), Some(KeyId::new(Uuid::from_u128(1))));
        }
    }
}
