//! The whole schema: every table, its number in a sealed value's identity, and how its keys are
//! made. Keys of one tenant start with the tenant's id, so that no look-up can leave it.

mod expiries;
#[cfg(test)]
mod tests;

use redb::TableDefinition;
use uuid::Uuid;

use crate::domain::container::Container;
use crate::domain::id::{ApplicationId, KeyId, SessionId, TenantId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::threeds::scheme::Scheme;

pub use expiries::*;

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

pub type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

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

    /// Whose digest counts the row at this place.
    pub fn digest_scope(self, place: &[u8]) -> Option<[u8; 16]> {
        match self.sealed_by() {
            SealedBy::Server => Some([0; 16]),
            SealedBy::Tenant { at } => place.get(at..)?.first_chunk().copied(),
            SealedBy::Others => self.is_digested().then(|| place.first_chunk().copied())?,
        }
    }

    pub(super) const fn definition(self) -> Definition {
        TableDefinition::new(self.name())
    }
}

/// What stands behind the scope in the key of a digest.
const DIGESTS: u8 = 9;

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

/// What the tables count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountKind {
    TokenIntents,
    Tokens,
}

pub fn audit(scope: &[u8; 16], sequence: u64) -> Vec<u8> {
    join(&[scope, &sequence.to_be_bytes()])
}

/// The scope and the number of the first entry of a key of [`Table::Audit`].
pub fn audit_of_key(key: &[u8]) -> Option<([u8; 16], u64)> {
    let (scope, sequence) = key.split_first_chunk::<16>()?;
    Some((*scope, u64::from_be_bytes(sequence.try_into().ok()?)))
}

pub fn audit_checkpoints(sequence: u64) -> Vec<u8> {
    sequence.to_be_bytes().to_vec()
}

pub fn counts(tenant: TenantId, counted: CountKind) -> Vec<u8> {
    let code = match counted {
        CountKind::Tokens => 1,
        CountKind::TokenIntents => 2,
    };
    join(&[tenant.bytes(), &[code]])
}

/// How often a sealing key has sealed.
pub fn seal_counts(scope: &[u8; 16], number: u32) -> Vec<u8> {
    join(&[scope, &[3], &number.to_be_bytes()])
}

/// The digest of a scope's live records.
pub fn digests(scope: &[u8; 16]) -> Vec<u8> {
    join(&[scope, &[DIGESTS]])
}

/// The scope of such an entry of [`Table::Counts`].
pub fn digest_of_key(place: &[u8]) -> Option<[u8; 16]> {
    let (scope, &[DIGESTS]) = place.split_first_chunk()? else { return None };
    Some(*scope)
}

pub fn keys(scope: &[u8; 16], purpose: u8, number: u32) -> Vec<u8> {
    join(&[scope, &[purpose], &number.to_be_bytes()])
}

/// The start of every key of a purpose.
pub fn keys_of(scope: &[u8; 16], purpose: u8) -> Vec<u8> {
    join(&[scope, &[purpose]])
}

/// Purpose and number of an entry of [`Table::Keys`].
pub fn key_parts(key: &[u8]) -> Option<(u8, u32)> {
    let number = key.get(17..21)?.try_into().ok().map(u32::from_be_bytes)?;
    Some((*key.get(16)?, number))
}

pub fn tenants(tenant: TenantId) -> Vec<u8> {
    tenant.bytes().to_vec()
}

pub fn applications(tenant: TenantId, application: ApplicationId) -> Vec<u8> {
    join(&[tenant.bytes(), application.bytes()])
}

pub fn application_keys(tenant: TenantId, application: ApplicationId, key: KeyId) -> Vec<u8> {
    join(&[tenant.bytes(), application.bytes(), key.bytes()])
}

pub fn tokens(tenant: TenantId, token: TokenId) -> Vec<u8> {
    join(&[tenant.bytes(), token.bytes()])
}

pub fn token_names(tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[tenant.bytes(), blinded])
}

/// The zero byte ends the path: a path's own entries come before those of its children.
pub fn token_lists(
    tenant: TenantId,
    filter: &[u8; 16],
    container: &Container,
    created_at: Timestamp,
    token: TokenId,
) -> Vec<u8> {
    let newest_first = inverted(created_at).to_be_bytes();
    join(&[
        tenant.bytes(),
        filter,
        container.as_str().as_bytes(),
        &[0],
        &newest_first,
        token.bytes(),
    ])
}

/// Entries without a path list all containers together, newest first. Their values are the paths.
pub fn token_timeline(
    tenant: TenantId,
    filter: &[u8; 16],
    created_at: Timestamp,
    token: TokenId,
) -> Vec<u8> {
    join(&[tenant.bytes(), filter, &[0], &inverted(created_at).to_be_bytes(), token.bytes()])
}

pub fn threeds_ranges(scheme: Scheme, part: u32) -> Vec<u8> {
    join(&[scheme.as_str().as_bytes(), &[0], &part.to_be_bytes()])
}

/// Of an entry of [`Table::ThreedsRanges`].
pub fn part_of_ranges_key(key: &[u8]) -> Option<(Scheme, u32)> {
    let (name, part) = key.split_last_chunk::<4>()?;
    let name = name.strip_suffix(&[0])?;
    Some((Scheme::parse(std::str::from_utf8(name).ok()?)?, u32::from_be_bytes(*part)))
}

pub fn threeds_sessions(session: SessionId, tenant: TenantId) -> Vec<u8> {
    join(&[session.bytes(), tenant.bytes()])
}

/// The tenant of an entry of [`Table::ThreedsSessions`].
pub fn tenant_of_session_key(key: &[u8]) -> Option<TenantId> {
    (key.len() == 32).then_some(())?;
    last_uuid(key).map(TenantId::new)
}

pub fn token_intents(tenant: TenantId, intent: TokenIntentId) -> Vec<u8> {
    join(&[tenant.bytes(), intent.bytes()])
}

/// Of a token or an intent.
pub fn cvcs(tenant: TenantId, id: Uuid) -> Vec<u8> {
    join(&[tenant.bytes(), id.as_bytes()])
}

/// Answers of one half-day stand together, so that they can be swept as one range.
pub fn idempotency(half_day: u64, tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[&half_day.to_be_bytes(), tenant.bytes(), blinded])
}

/// The token that an entry of [`Table::TokenLists`] leads to.
pub fn token_of_list_key(key: &[u8]) -> Option<TokenId> {
    last_uuid(key).map(TokenId::new)
}

pub fn token_of_key(key: &[u8]) -> Option<(TenantId, TokenId)> {
    let tenant = key.get(..16).and_then(|bytes| Uuid::from_slice(bytes).ok())?;
    (key.len() == 32).then_some(())?;
    Some((TenantId::new(tenant), TokenId::new(last_uuid(key)?)))
}

fn last_uuid(key: &[u8]) -> Option<Uuid> {
    key.last_chunk::<16>().map(|bytes| Uuid::from_bytes(*bytes))
}

/// Times before 1970 do not occur; they would all be due at once.
fn ordered(at: Timestamp) -> u64 {
    u64::try_from(at.micros()).unwrap_or(0)
}

fn inverted(at: Timestamp) -> u64 {
    u64::MAX.saturating_sub(ordered(at))
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
