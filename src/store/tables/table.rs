//! The tables. Each row of the declaration has everything that walks over all tables need:
//! verification, the scrub, key rotations, deletion of tenants, inventories and backups.

use uuid::Uuid;

use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;

macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $table:ident = $number:literal, $name:literal, $owner:expr, $sealed_by:ident, $written:ident;
    )*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($(#[$doc])* $table,)*
        }

        impl Table {
            /// In the order in which the rows of a deleted tenant are removed.
            pub const ALL: &[Self] = &[$(Self::$table,)*];

            const fn spec(self) -> TableSpec {
                match self {
                    $(Self::$table => TableSpec {
                        number: $number,
                        name: $name,
                        owner: $owner,
                        sealed_by: SealedBy::$sealed_by,
                        written: Written::$written,
                    },)*
                }
            }
        }
    };
}

use OwnerPlace::{Key, Nobody, Sealed, Value};

// Each row: the number in the identity of sealed values, which must never be changed or reused; the
// name in the file; the place of the owner; the owner of the sealing key; the frequency of writes.
// The order is the order in which a deletion empties the tables. Codes come first, because the
// tenant's sealing keys do not protect them. A row that finds another one is deleted before it, so
// that the scrub and `verify` never meet a dangling row. Rotations and the scrub walk backwards.
tables! {
    /// minute (8), tenant, token or intent -> the minute again and the card verification code,
    /// sealed by the key of that minute, which is not in this file.
    Cvcs = 12, "cvcs", Key(8), Others, Once;
    /// time, kind of expiry (1), tenant, id -> nothing.
    Expiries = 10, "due", Key(9), Others, Once;
    /// place of the API key's tag (32) -> the API key, sealed by the server. Authentication finds
    /// the caller here.
    ApiKeys = 6, "api_keys", Sealed, Server, Often;
    /// tenant, application, key id -> the last minute in which the API key was used (8), in clear.
    /// Audit rows have their times in clear too, and each key in use writes this row every minute:
    /// a sealed row would cost a sealing, a digest and a rotation for a hint to administrators.
    KeyUses = 31, "key_uses", Key(0), Others, Often;
    /// tenant, application, key id -> the API key and its tag, sealed by the tenant. Lists the API
    /// keys of an application.
    ApplicationKeys = 5, "application_keys", Key(0), Tenant, Often;
    /// tenant, application -> the application, sealed by the tenant.
    Applications = 4, "applications", Key(0), Tenant, Often;
    /// SHA-256 of a session key (32) -> tenant, session, in clear, as in `ProxyKeys`.
    SessionKeys = 27, "session_keys", Value, Others, Often;
    /// tenant, session -> the session of a public application, sealed by the tenant.
    Sessions = 26, "sessions", Key(0), Tenant, Often;
    /// SHA-256 of a proxy key (32) -> tenant, proxy, in clear. A proxy key is random, so the hash
    /// does not disclose it. The proxy's record holds the key too and is compared with it.
    ProxyKeys = 25, "proxy_keys", Value, Others, Often;
    /// tenant, proxy -> the proxy with its configuration, sealed by the tenant.
    Proxies = 24, "proxies", Key(0), Tenant, Often;
    /// tenant, request -> the answer of a reactor whose caller does not wait, sealed by the tenant.
    ReactorResults = 34, "reactor_results", Key(0), Tenant, Once;
    /// tenant, reactor -> the reactor with its code and configuration, sealed by the tenant.
    Reactors = 33, "reactors", Key(0), Tenant, Often;
    /// tenant, key -> the private key that opens values which clients encrypted, sealed by the
    /// tenant.
    ClientKeys = 23, "client_keys", Key(0), Tenant, Often;
    /// time (8), tenant, webhook, event -> the attempts so far, in clear. The time is that of the
    /// next attempt.
    WebhookSchedule = 30, "webhook_schedule", Key(8), Others, Often;
    /// tenant, webhook, event -> the event that is to be delivered, sealed by the tenant.
    WebhookDeliveries = 29, "webhook_deliveries", Key(0), Tenant, Often;
    /// tenant, webhook -> the webhook, sealed by the tenant.
    Webhooks = 28, "webhooks", Key(0), Tenant, Often;
    /// Lists tokens. One entry for each container of a token: tenant, filter (16), container path,
    /// 0, inverted time, token -> the token's expiry and its paths, in clear, if it expires or has
    /// several paths. Metadata that is not in lower case has further entries under its lower-case
    /// text, with a 1 before the path.
    TokenLists = 9, "token_lists", Key(0), Others, Once;
    /// tenant, blinded predefined id (16) -> the token's id, sealed by the tenant.
    TokenNames = 8, "token_names", Key(0), Tenant, Often;
    /// tenant, token -> the token, sealed by the tenant.
    Tokens = 7, "tokens", Key(0), Tenant, Once;
    /// tenant, intent -> the token intent, sealed by the tenant.
    TokenIntents = 13, "token_intents", Key(0), Tenant, Once;
    /// session, tenant -> the 3DS session, sealed by the tenant. The session comes first, because
    /// protocol messages and returning browsers name only the session.
    ThreedsSessions = 20, "threeds_sessions", Key(16), Tenant, Often;
    /// tenant, blinded idempotency key (16) -> the time of the answer (8), in clear. Finds an
    /// answer. These small rows are in the order of chance, the answers are not.
    Idempotency = 14, "idempotency", Key(0), Others, Once;
    /// time (8), tenant, blinded idempotency key (16) -> the answer, sealed by the tenant.
    IdempotencyAnswers = 22, "idempotency_answers", Key(8), Tenant, Once;
    /// scope (a tenant, or zeros for the server), purpose (1), number (4) -> the key, sealed by
    /// the master key.
    Keys = 2, "keys", Key(0), Others, Often;
    /// tenant -> the tenant, sealed by the server.
    Tenants = 3, "tenants", Key(0), Server, Often;
    /// scope (a tenant, or zeros for the server), kind (1) -> a number, in clear. Also the digest
    /// of the scope's records, sealed by the digest key.
    Counts = 11, "counts", Key(0), Others, Often;
    /// scheme's name, 0, part (4) -> card ranges of the scheme's directory server, sealed by the
    /// server. Part 0 holds the number of further parts.
    ThreedsRanges = 21, "threeds_ranges", Nobody, Server, Often;
    /// scope (a tenant, or zeros for the server), number of the first entry (8) -> time (8) and
    /// number of entries (2) in clear, and the entries, sealed by the server.
    Audit = 15, "audit", Nobody, Others, Once;
    /// number of entries before it (8) -> a signed link of the audit chain, in clear.
    AuditCheckpoints = 16, "audit_checkpoints", Nobody, Others, Often;
    /// name -> a value in clear: the file's format and id, the master key's check value, the times
    /// of each key, and the ends and the public keys of the audit chain.
    Meta = 1, "meta", Nobody, Others, Often;
    /// name -> state of the processes that share the rows, in clear; see [`crate::store::shared`].
    /// A store of one process has no such rows, and backups leave them out.
    Processes = 32, "processes", Nobody, Others, Often;
}

struct TableSpec {
    number: u8,
    name: &'static str,
    owner: OwnerPlace,
    sealed_by: SealedBy,
    written: Written,
}

/// The place of the tenant's id in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerPlace {
    /// At this offset in the key.
    Key(usize),
    /// At the start of the value, which is in clear.
    Value,
    /// In the value, which is sealed by the server.
    Sealed,
    /// No tenant owns the row. Entries of the audit chain stay when their tenant is deleted,
    /// because each row is a link of the chain.
    Nobody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedBy {
    /// The values are sealed by the master key, a minute's key or the audit chain's key, or are in
    /// clear.
    Others,
    Server,
    /// The tenant whose id is in the row's key.
    Tenant,
}

enum Written {
    /// Mostly once, with a new key.
    Once,
    /// Repeatedly, without being read.
    Often,
}

impl Table {
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The table's number in the identity of sealed values.
    pub const fn number(self) -> u8 {
        self.spec().number
    }

    pub const fn owner_place(self) -> OwnerPlace {
        self.spec().owner
    }

    pub const fn sealed_by(self) -> SealedBy {
        self.spec().sealed_by
    }

    pub const fn grows(self) -> bool {
        matches!(self.spec().written, Written::Once)
    }

    /// Returns true if the digests of live records count the rows. They count all sealed rows
    /// except the audit chain, which its links protect, and card verification codes, whose keys are
    /// destroyed.
    pub const fn is_digested(self) -> bool {
        !matches!(self.sealed_by(), SealedBy::Others) || matches!(self, Self::Keys)
    }

    /// The scope whose digest counts this row.
    pub fn digest_scope(self, key: &[u8]) -> Option<[u8; 16]> {
        if self == Self::Keys { self.scope_in_key(key) } else { self.owner_of_key(key) }
    }

    /// The scope whose key seals this row; `None` for a key that is too short.
    pub fn owner_of_key(self, key: &[u8]) -> Option<[u8; 16]> {
        match self.sealed_by() {
            SealedBy::Server => Some([0; 16]),
            SealedBy::Tenant => self.scope_in_key(key),
            SealedBy::Others => None,
        }
    }

    /// The scope in a key; zeros for the server's own rows.
    pub fn scope_in_key(self, key: &[u8]) -> Option<[u8; 16]> {
        match self.owner_place() {
            Key(at) => key.get(at..)?.first_chunk().copied(),
            Value | Sealed | Nobody => None,
        }
    }

    /// Returns true if the key or the clear value of the row names this scope.
    pub fn is_row_of(self, scope: &[u8; 16], key: &[u8], value: &[u8]) -> bool {
        let found = match self.owner_place() {
            Value => value.first_chunk().copied(),
            Key(_) | Sealed | Nobody => self.scope_in_key(key),
        };
        found.as_ref() == Some(scope)
    }

    /// The smallest range that holds all rows of a scope, and perhaps others.
    pub fn rows_of(self, scope: &[u8; 16]) -> KeyRange {
        match (self.owner_place(), self.sealed_by()) {
            // The server's scope seals the rows of all tenants.
            (_, SealedBy::Server) => self.whole(),
            (Key(0), _) => KeyRange::prefix(self, scope.to_vec()),
            (Key(_) | Value | Sealed | Nobody, _) => self.whole(),
        }
    }

    /// The id that names a damaged row in the log; nil for a key without one.
    pub fn id_of_key(self, key: &[u8]) -> Uuid {
        let id = match (self.sealed_by(), self.owner_place()) {
            (SealedBy::Tenant, Key(0)) if self != Self::TokenNames => key.last_chunk::<16>(),
            (SealedBy::Tenant, Key(16)) => key.first_chunk::<16>(),
            _ => None,
        };
        id.map_or(Uuid::nil(), |id| Uuid::from_bytes(*id))
    }

    #[expect(clippy::as_conversions, reason = "the tables are listed in the order of declaration")]
    pub(in crate::store) const fn index(self) -> usize {
        self as usize
    }

    pub(in crate::store) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|table| table.number() == number)
    }
}

/// A scope is the tenant's id.
pub const fn tenant_of_scope(scope: &[u8; 16]) -> TenantId {
    TenantId::new(Uuid::from_bytes(*scope))
}

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
