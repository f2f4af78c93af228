//! The tables: their names, their numbers, and the owner of the key that seals their rows.

use uuid::Uuid;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::idempotency::finder_of_answer;
use crate::store::tables::range::KeyRange;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// place of the API key's tag (32) -> the API key, sealed by the server. Authentication finds
    /// the caller here.
    ApiKeys,
    /// tenant, application, key id -> the API key and its tag, sealed by the tenant. Lists the API
    /// keys of an application.
    ApplicationKeys,
    /// tenant, application -> the application, sealed by the tenant.
    Applications,
    /// scope (a tenant, or zeros for the server), number of the first entry (8) -> time (8) and
    /// number of entries (2) in clear, and the entries, sealed by the server.
    Audit,
    /// number of entries before it (8) -> a signed link of the audit chain, in clear.
    AuditCheckpoints,
    /// tenant, key -> the private key that opens values which clients encrypted, sealed by the
    /// tenant.
    ClientKeys,
    /// scope (a tenant, or zeros for the server), kind (1) -> a number, in clear. Also the digest
    /// of the scope's records, sealed by the digest key.
    Counts,
    /// minute (8), tenant, token or intent -> the minute again and the card verification code,
    /// sealed by the key of that minute, which is not in this file.
    Cvcs,
    /// time, kind of expiry (1), tenant, id -> nothing.
    Expiries,
    /// half-day (8), tenant, blinded idempotency key (16) -> the time of the answer (8), in clear.
    /// Finds an answer. These small rows are in the order of chance, the answers are not.
    Idempotency,
    /// time (8), tenant, blinded idempotency key (16) -> the answer, sealed by the tenant under the
    /// identity of the row that finds it.
    IdempotencyAnswers,
    /// tenant, application, key id -> the last minute in which the API key was used (8), in clear.
    /// Audit rows have their times in clear too, and each key in use writes this row every minute:
    /// a sealed row would cost a sealing, a digest and a rotation for a hint to administrators.
    KeyUses,
    /// scope (a tenant, or zeros for the server), purpose (1), number (4) -> the key, sealed by
    /// the master key.
    Keys,
    /// name -> a value in clear: the file's format and id, the master key's check value, the times
    /// of each key, and the ends and the public keys of the audit chain.
    Meta,
    /// name -> state of the processes that share the rows, in clear; see [`crate::store::shared`].
    /// A store of one process has no such rows, and backups leave them out.
    Processes,
    /// tenant, proxy -> the proxy with its configuration, sealed by the tenant.
    Proxies,
    /// SHA-256 of a proxy key (32) -> tenant, proxy, in clear. A proxy key is random, so the hash
    /// does not disclose it. The proxy's record holds the key too and is compared with it.
    ProxyKeys,
    /// SHA-256 of a session key (32) -> tenant, session, in clear, as in `ProxyKeys`.
    SessionKeys,
    /// tenant, session -> the session of a public application, sealed by the tenant.
    Sessions,
    /// tenant -> the tenant, sealed by the server.
    Tenants,
    /// scheme's name, 0, part (4) -> card ranges of the scheme's directory server, sealed by the
    /// server. Part 0 holds the number of further parts.
    ThreedsRanges,
    /// session, tenant -> the 3DS session, sealed by the tenant. The session comes first, because
    /// protocol messages and returning browsers name only the session.
    ThreedsSessions,
    /// tenant, intent -> the token intent, sealed by the tenant.
    TokenIntents,
    /// Lists tokens. One entry for each container of a token: tenant, filter (16), container path,
    /// 0, inverted time, token -> the token's expiry and its paths, in clear, if it expires or has
    /// several paths. Metadata that is not in lower case has further entries under its lower-case
    /// text, with a 1 before the path.
    TokenLists,
    /// tenant, blinded predefined id (16) -> the token's id, sealed by the tenant.
    TokenNames,
    /// tenant, token -> the token, sealed by the tenant.
    Tokens,
    /// tenant, webhook, event -> the event that is to be delivered, sealed by the tenant.
    WebhookDeliveries,
    /// time (8), tenant, webhook, event -> the attempts so far, in clear. The time is that of the
    /// next attempt.
    WebhookSchedule,
    /// tenant, webhook -> the webhook, sealed by the tenant.
    Webhooks,
}

impl Table {
    pub const ALL: &[Self] = &[
        Self::ApiKeys,
        Self::ApplicationKeys,
        Self::Applications,
        Self::Audit,
        Self::AuditCheckpoints,
        Self::ClientKeys,
        Self::Counts,
        Self::Cvcs,
        Self::Expiries,
        Self::Idempotency,
        Self::IdempotencyAnswers,
        Self::KeyUses,
        Self::Keys,
        Self::Meta,
        Self::Processes,
        Self::Proxies,
        Self::ProxyKeys,
        Self::SessionKeys,
        Self::Sessions,
        Self::Tenants,
        Self::ThreedsRanges,
        Self::ThreedsSessions,
        Self::TokenIntents,
        Self::TokenLists,
        Self::TokenNames,
        Self::Tokens,
        Self::WebhookDeliveries,
        Self::WebhookSchedule,
        Self::Webhooks,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKeys => "api_keys",
            Self::ApplicationKeys => "application_keys",
            Self::Applications => "applications",
            Self::Audit => "audit",
            Self::AuditCheckpoints => "audit_checkpoints",
            Self::ClientKeys => "client_keys",
            Self::Counts => "counts",
            Self::Cvcs => "cvcs",
            Self::Expiries => "due",
            Self::Idempotency => "idempotency",
            Self::IdempotencyAnswers => "idempotency_answers",
            Self::KeyUses => "key_uses",
            Self::Keys => "keys",
            Self::Meta => "meta",
            Self::Processes => "processes",
            Self::Proxies => "proxies",
            Self::ProxyKeys => "proxy_keys",
            Self::SessionKeys => "session_keys",
            Self::Sessions => "sessions",
            Self::Tenants => "tenants",
            Self::ThreedsRanges => "threeds_ranges",
            Self::ThreedsSessions => "threeds_sessions",
            Self::TokenIntents => "token_intents",
            Self::TokenLists => "token_lists",
            Self::TokenNames => "token_names",
            Self::Tokens => "tokens",
            Self::WebhookDeliveries => "webhook_deliveries",
            Self::WebhookSchedule => "webhook_schedule",
            Self::Webhooks => "webhooks",
        }
    }

    /// The number of the table in the identity of sealed values. Numbers must never be changed or
    /// reused.
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
            Self::IdempotencyAnswers => 22,
            Self::ClientKeys => 23,
            Self::Proxies => 24,
            Self::ProxyKeys => 25,
            Self::Sessions => 26,
            Self::SessionKeys => 27,
            Self::Webhooks => 28,
            Self::WebhookDeliveries => 29,
            Self::WebhookSchedule => 30,
            Self::KeyUses => 31,
            Self::Processes => 32,
        }
    }

    /// The owner of the key that seals the values. A rotation uses this to find the rows of a
    /// scope.
    pub const fn sealed_by(self) -> SealedBy {
        match self {
            Self::ApiKeys | Self::Tenants | Self::ThreedsRanges => SealedBy::Server,
            Self::ApplicationKeys
            | Self::Applications
            | Self::ClientKeys
            | Self::Proxies
            | Self::Sessions
            | Self::TokenIntents
            | Self::TokenNames
            | Self::Tokens
            | Self::WebhookDeliveries
            | Self::Webhooks => SealedBy::Tenant { at: 0 },
            Self::IdempotencyAnswers => SealedBy::Tenant { at: 8 },
            Self::ThreedsSessions => SealedBy::Tenant { at: 16 },
            Self::Audit
            | Self::AuditCheckpoints
            | Self::Counts
            | Self::Cvcs
            | Self::Expiries
            | Self::Idempotency
            | Self::KeyUses
            | Self::Keys
            | Self::Meta
            | Self::Processes
            | Self::ProxyKeys
            | Self::SessionKeys
            | Self::TokenLists
            | Self::WebhookSchedule => SealedBy::Others,
        }
    }

    /// Returns true if the digests of live records count the rows. They count all sealed rows
    /// except the audit chain, which is protected by its links, and card verification codes, whose
    /// keys are destroyed.
    pub const fn is_digested(self) -> bool {
        match self.sealed_by() {
            SealedBy::Server | SealedBy::Tenant { .. } => true,
            SealedBy::Others => matches!(self, Self::Keys),
        }
    }

    /// True for a table whose rows are mostly written once, with a key that no row had before. Rows of
    /// other tables are often written again without being read.
    pub const fn grows(self) -> bool {
        matches!(
            self,
            Self::Audit
                | Self::Cvcs
                | Self::Expiries
                | Self::Idempotency
                | Self::IdempotencyAnswers
                | Self::TokenIntents
                | Self::TokenLists
                | Self::Tokens
        )
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

    /// The table and the key in the identity of a sealed row: its own, except for remembered answers.
    /// In format 3 those were in the rows that find them now, and a migration moves them without
    /// opening them. `None` for a key that is too short.
    pub fn identity_of_key(self, key: &[u8]) -> Option<(Self, Vec<u8>)> {
        match self {
            Self::IdempotencyAnswers => Some((Self::Idempotency, finder_of_answer(key)?)),
            Self::ApiKeys
            | Self::ApplicationKeys
            | Self::Applications
            | Self::Audit
            | Self::AuditCheckpoints
            | Self::ClientKeys
            | Self::Counts
            | Self::Cvcs
            | Self::Expiries
            | Self::Idempotency
            | Self::KeyUses
            | Self::Keys
            | Self::Meta
            | Self::Processes
            | Self::Proxies
            | Self::ProxyKeys
            | Self::SessionKeys
            | Self::Sessions
            | Self::Tenants
            | Self::ThreedsRanges
            | Self::ThreedsSessions
            | Self::TokenIntents
            | Self::TokenLists
            | Self::TokenNames
            | Self::Tokens
            | Self::WebhookDeliveries
            | Self::WebhookSchedule
            | Self::Webhooks => Some((self, key.to_vec())),
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

    /// The place of the table in [`Table::ALL`].
    #[expect(clippy::as_conversions, reason = "the tables are listed in the order of declaration")]
    pub(in crate::store) const fn index(self) -> usize {
        self as usize
    }

    /// The table of this number; `None` for a number that no table has.
    pub(in crate::store) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|table| table.number() == number)
    }
}

/// The owner of the key that seals the values of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedBy {
    /// The master key, the key of a minute, or the audit chain's key seals the values, or they are
    /// in clear.
    Others,
    Server,
    /// The tenant whose id is at this offset in the row's key.
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
