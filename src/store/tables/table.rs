//! The tables: their names, their numbers, and whose key seals their rows.

use redb::TableDefinition;
use uuid::Uuid;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// API key's tag (32) -> the key, sealed by the server. How a caller is found.
    ApiKeys,
    /// tenant, application, key id -> the tag, sealed by the tenant. How an application lists its
    /// keys.
    ApplicationKeys,
    /// tenant, application -> the application, sealed by the tenant.
    Applications,
    /// scope (a tenant, or zeros for the server), number of the first entry (8) -> time (8) and
    /// number of entries (2) in clear, and the entries, sealed by the server.
    Audit,
    /// number of entries before it (8) -> a signed link of the audit chain, in clear.
    AuditCheckpoints,
    /// tenant, what is counted (1) -> how many there are, in clear.
    /// The server's own stand under zeros. A scope's digest of records is sealed by a key for that.
    Counts,
    /// tenant, token or intent -> minute (8) in clear and the card verification code, sealed by that
    /// minute's own key, which is not in this file.
    Cvcs,
    /// time, what falls due (1), tenant, id -> nothing. In the order of time.
    Expiries,
    /// half-day (8), tenant, blinded idempotency key (16) -> the answer, sealed by the tenant.
    Idempotency,
    /// scope (a tenant, or zeros for the server), purpose (1), number (4) -> the key, sealed by
    /// the master key.
    Keys,
    /// name -> a value in clear: the file's format and id, the master key's check value, what is known
    /// of each key besides its bytes, the audit chain's ends and public key.
    Meta,
    /// tenant -> the tenant, sealed by the server.
    Tenants,
    /// scheme's name, 0, part (4) -> what its directory server says of card ranges, sealed by the
    /// server. Part 0 tells how many follow.
    ThreedsRanges,
    /// session, tenant -> the 3DS session, sealed by the tenant. The session comes first, since
    /// messages of the protocol and returning browsers name nothing else.
    ThreedsSessions,
    /// tenant, intent -> the token intent, sealed by the tenant.
    TokenIntents,
    /// tenant, filter (16), container path, 0, inverted time, token -> when it expires and its
    /// paths, in clear, where it does or there are several; and without the path, once for all
    /// containers -> both always. How tokens are listed.
    TokenLists,
    /// tenant, blinded predefined id (16) -> the token's id, sealed by the tenant.
    TokenNames,
    /// tenant, token -> the token, sealed by the tenant.
    Tokens,
}

pub(in crate::store) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

impl Table {
    pub const ALL: &[Self] = &[
        Self::ApiKeys,
        Self::ApplicationKeys,
        Self::Applications,
        Self::Audit,
        Self::AuditCheckpoints,
        Self::Counts,
        Self::Cvcs,
        Self::Expiries,
        Self::Idempotency,
        Self::Keys,
        Self::Meta,
        Self::Tenants,
        Self::ThreedsRanges,
        Self::ThreedsSessions,
        Self::TokenIntents,
        Self::TokenLists,
        Self::TokenNames,
        Self::Tokens,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKeys => "api_keys",
            Self::ApplicationKeys => "application_keys",
            Self::Applications => "applications",
            Self::Audit => "audit",
            Self::AuditCheckpoints => "audit_checkpoints",
            Self::Counts => "counts",
            Self::Cvcs => "cvcs",
            Self::Expiries => "due",
            Self::Idempotency => "idempotency",
            Self::Keys => "keys",
            Self::Meta => "meta",
            Self::Tenants => "tenants",
            Self::ThreedsRanges => "threeds_ranges",
            Self::ThreedsSessions => "threeds_sessions",
            Self::TokenIntents => "token_intents",
            Self::TokenLists => "token_lists",
            Self::TokenNames => "token_names",
            Self::Tokens => "tokens",
        }
    }

    /// Part of every sealed value's identity: never change one, never use one again.
    pub const fn number(self) -> u8 {
        match self {
            Self::Meta => 1,
            Self::Keys => 2,
            Self::Tenants => 3,
            Self::Applications => 4,
            Self::ApplicationKeys => 5,
            Self::ApiKeys => 6,
            Self::Tokens => 7,
            Self::TokenNames => 8,
            Self::TokenLists => 9,
            Self::Expiries => 10,
            Self::Counts => 11,
            Self::Cvcs => 12,
            Self::TokenIntents => 13,
            Self::Idempotency => 14,
            Self::Audit => 15,
            Self::AuditCheckpoints => 16,
            Self::ThreedsSessions => 20,
            Self::ThreedsRanges => 21,
        }
    }

    /// Whose key seals the values. A rotation goes by this.
    pub const fn sealed_by(self) -> SealedBy {
        match self {
            Self::ApiKeys | Self::Tenants | Self::ThreedsRanges => SealedBy::Server,
            Self::ApplicationKeys
            | Self::Applications
            | Self::TokenIntents
            | Self::TokenNames
            | Self::Tokens => SealedBy::Tenant { at: 0 },
            Self::Idempotency => SealedBy::Tenant { at: 8 },
            Self::ThreedsSessions => SealedBy::Tenant { at: 16 },
            Self::Audit
            | Self::AuditCheckpoints
            | Self::Counts
            | Self::Cvcs
            | Self::Expiries
            | Self::Keys
            | Self::Meta
            | Self::TokenLists => SealedBy::Others,
        }
    }

    /// Whether the digests of live records count the rows: those that are sealed, but for the audit
    /// chain, which has links of its own, and for card verification codes, whose keys are destroyed.
    pub const fn is_digested(self) -> bool {
        match self.sealed_by() {
            SealedBy::Server | SealedBy::Tenant { .. } => true,
            SealedBy::Others => matches!(self, Self::Keys),
        }
    }

    /// The scope whose digest counts the row of this key.
    pub fn digest_scope(self, key: &[u8]) -> Option<[u8; 16]> {
        if self == Self::Keys { key.first_chunk().copied() } else { self.owner_of_key(key) }
    }

    /// The scope whose key seals the row of this key; `None` for a key that is too short.
    pub fn owner_of_key(self, key: &[u8]) -> Option<[u8; 16]> {
        match self.sealed_by() {
            SealedBy::Server => Some([0; 16]),
            SealedBy::Tenant { at } => key.get(at..)?.first_chunk().copied(),
            SealedBy::Others => None,
        }
    }

    /// The smallest range that holds all rows of a scope. It holds rows of other scopes as well if
    /// the table's keys do not start with the scope.
    pub fn rows_of(self, scope: &[u8; 16]) -> KeyRange {
        match self.sealed_by() {
            SealedBy::Tenant { at: 0 } => KeyRange::prefix(self, scope.to_vec()),
            SealedBy::Tenant { .. } | SealedBy::Server | SealedBy::Others => self.whole(),
        }
    }

    /// The id that names a damaged row in the log; nil for a key without one.
    pub fn id_of_key(self, key: &[u8]) -> Uuid {
        let id = match self.sealed_by() {
            SealedBy::Tenant { at: 0 } if self != Self::TokenNames => key.last_chunk::<16>(),
            SealedBy::Tenant { at: 16 } => key.first_chunk::<16>(),
            SealedBy::Tenant { .. } | SealedBy::Server | SealedBy::Others => None,
        };
        id.map_or(Uuid::nil(), |id| Uuid::from_bytes(*id))
    }

    pub(in crate::store) const fn definition(self) -> Definition {
        TableDefinition::new(self.name())
    }
}

/// Whose key seals the values of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedBy {
    /// The master key, a key that is destroyed in time, the audit chain's own, or none.
    Others,
    Server,
    /// The tenant whose id stands at this place in the row's key.
    Tenant {
        at: usize,
    },
}

/// The tenant of a scope, which is the tenant's id.
pub const fn tenant_of_scope(scope: &[u8; 16]) -> TenantId {
    TenantId::new(Uuid::from_bytes(*scope))
}

/// The two ids that a key of 32 bytes consists of.
pub(super) fn two_ids(key: &[u8]) -> Option<(Uuid, Uuid)> {
    let (first, second) = key.split_first_chunk::<16>()?;
    Some((Uuid::from_bytes(*first), Uuid::from_bytes(second.try_into().ok()?)))
}

/// A time before 1970 sorts as 1970: an expiry at such a time has passed in either case.
pub(super) fn micros(at: Timestamp) -> u64 {
    u64::try_from(at.micros()).unwrap_or(0)
}

pub(super) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
