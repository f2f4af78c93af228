//! Identities. Each has its own type, so that a token's id cannot be passed for a tenant's.

use uuid::Uuid;

use crate::domain::time::Timestamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn new(id: Uuid) -> Self {
                Self(id)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }

            pub fn bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Accepts only the spelling of answers: lower case, hyphens, no braces.
            pub fn parse(text: &str) -> Option<Self> {
                parse_canonical(text).map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    TenantId,
    /// A session of a public application, not a 3DS session.
    AccessSessionId,
    ApplicationId,
    ClientKeyId,
    /// The id of an API key, not its text.
    KeyId,
    ProxyId,
    ReactorId,
    /// A call of a reactor whose caller does not wait.
    ReactorRequestId,
    /// A 3DS session's id, which is also its transaction id in every message.
    SessionId,
    /// The id of a token's record. Callers may know the token by a name that they chose instead.
    TokenId,
    TokenIntentId,
    WebhookId,
    /// The id of an event that webhooks receive.
    EventId,
}

/// An id in the shape of UUID version 4, which published clients check, whose first 48 bits are
/// the millisecond: ids of one time are stored next to each other.
pub fn assigned(now: Timestamp, random: [u8; 10]) -> Uuid {
    // A time before 1970 costs only the order in the file.
    let millis = u64::try_from(now.millis()).unwrap_or(0).to_be_bytes();
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(millis.iter().skip(2).chain(&random)) {
        *to = *from;
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// The time at which an id was assigned, to the millisecond.
pub fn assigned_at(id: Uuid) -> Timestamp {
    // 48 bits fit.
    let millis = i64::try_from(id.as_u128().wrapping_shr(80)).unwrap_or(0);
    Timestamp::from_micros(millis.saturating_mul(1_000))
}

fn parse_canonical(text: &str) -> Option<Uuid> {
    // `Uuid::parse_str` also accepts braces, URNs and upper case. Two spellings of one id would
    // give two idempotency paths and two predefined ids.
    if text.len() != 36 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    Uuid::try_parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_ids_look_like_version_4_and_sort_by_time() {
        let early = assigned(Timestamp::from_seconds(1_700_000_000), [0xff; 10]);
        let late = assigned(Timestamp::from_micros(1_700_000_000_001_000), [0; 10]);
        assert_eq!(early.get_version_num(), 4);
        assert!(matches!(early.get_variant(), uuid::Variant::RFC4122));
        assert!(early < late);
        assert_eq!(assigned_at(late), Timestamp::from_micros(1_700_000_000_001_000));
    }

    #[test]
    fn only_the_canonical_spelling_parses() {
        let text = "018bcfe5-6800-4fff-bfff-ffffffffffff";
        assert_eq!(TokenId::parse(text).map(|id| id.to_string()).as_deref(), Some(text));
        for other in [text.to_uppercase(), format!("{{{text}}}"), text.replace('-', "")] {
            assert_eq!(TokenId::parse(&other), None);
        }
    }
}
