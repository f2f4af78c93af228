//! Keys of tokens, token intents, their codes, and the lists that find tokens.

use std::ops::Bound;

use uuid::Uuid;

use crate::bounds::LIST_KEY_TAIL_BYTES;
use crate::domain::container::Container;
use crate::domain::id::{TenantId, TokenId};
use crate::domain::time::Timestamp;
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, micros, two_ids};

/// The filter that lists every token. It is the same under every index key.
pub const EVERYTHING: [u8; 16] = [0; 16];
/// The first filter after [`EVERYTHING`] in key order.
const FIRST_BLINDED: [u8; 16] = 1_u128.to_be_bytes();
/// The byte before the path in keys of [`ListForm::Lowered`]. No path starts with it.
const LOWERED: u8 = 1;

/// A list of tokens. All its keys start with the tenant, the blinded filter and the form.
#[derive(Debug, Clone, Copy)]
pub struct TokenList {
    tenant: TenantId,
    filter: [u8; 16],
    form: ListForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListForm {
    /// The tokens have exactly the filter's value.
    Exact,
    /// The filter is a metadata entry in lower case; the tokens have it only in another spelling.
    Lowered,
}

#[derive(Debug, Clone, Copy)]
pub struct ListKey<'a> {
    pub tenant: TenantId,
    pub token: TokenId,
    pub position: ListPosition<'a>,
}

/// A position in a list: an entry's key without tenant, filter and form. It is the same in every
/// list that has the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPosition<'a> {
    pub path: &'a str,
    pub rank: ListRank,
}

/// The inverted time and the id of a token: orders a container's entries, newest first.
pub type ListRank = [u8; LIST_KEY_TAIL_BYTES - 1];

/// The key of a token's or intent's card verification code. It starts with the minute in which the
/// code expires, so that one range removes expired codes and new ones are inserted side by side.
pub fn cvcs(expires_at: Timestamp, tenant: TenantId, id: Uuid) -> [u8; 40] {
    let mut place = [0; 40];
    let (minute, rest) = place.split_at_mut(8);
    minute.copy_from_slice(&cvc_minute(expires_at).to_be_bytes());
    rest.copy_from_slice(&cvc_identity(tenant, id));
    place
}

pub fn cvc_minute(at: Timestamp) -> u64 {
    u64::try_from(at.seconds()).unwrap_or(0).div_euclid(60)
}

pub fn cvcs_before(minute: u64) -> KeyRange {
    let to = Bound::Excluded(minute.to_be_bytes().to_vec());
    KeyRange::new(Table::Cvcs, Bound::Unbounded, to)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CvcEntry {
    pub tenant: TenantId,
    /// A token or a token intent.
    pub id: Uuid,
}

pub fn cvc_of_key(key: &[u8]) -> Option<CvcEntry> {
    let (tenant, id) = two_ids(key.get(8..)?)?;
    Some(CvcEntry { tenant: TenantId::new(tenant), id })
}

/// The end of the minute in a key of [`Table::Cvcs`].
pub fn cvc_due_at(key: &[u8]) -> Option<Timestamp> {
    let minute = u64::from_be_bytes(*key.first_chunk()?);
    let end = minute.checked_add(1)?.checked_mul(60)?;
    i64::try_from(end).ok().map(Timestamp::from_seconds)
}

/// The key in the identity of a sealed code: the row's key without the minute.
pub fn cvc_identity(tenant: TenantId, id: Uuid) -> [u8; 32] {
    token_place(tenant, TokenId::new(id))
}

/// The key of a token in [`Table::Tokens`], without an allocation.
pub fn token_place(tenant: TenantId, id: TokenId) -> [u8; 32] {
    let mut place = [0; 32];
    let (of_tenant, of_id) = place.split_at_mut(16);
    of_tenant.copy_from_slice(tenant.bytes());
    of_id.copy_from_slice(id.bytes());
    place
}

pub fn token_names(tenant: TenantId, blinded: &[u8; 16]) -> Vec<u8> {
    join(&[tenant.bytes(), blinded])
}

pub fn token_names_of(tenant: TenantId) -> KeyRange {
    KeyRange::prefix(Table::TokenNames, tenant.bytes().to_vec())
}

pub fn tenant_of_name_key(key: &[u8]) -> Option<TenantId> {
    two_ids(key).map(|(tenant, _)| TenantId::new(tenant))
}

/// The entries whose keys depend on an index key: all except those under [`EVERYTHING`].
pub fn blinded_token_lists_of(tenant: TenantId) -> KeyRange {
    let all = KeyRange::prefix(Table::TokenLists, tenant.bytes().to_vec());
    all.starting_at(&join(&[tenant.bytes(), &FIRST_BLINDED]))
}

/// Returns true if the key depends on an index key. Keys under [`EVERYTHING`] do not.
pub fn is_blinded_list_key(key: &[u8]) -> bool {
    key.get(16..32).is_some_and(|filter| filter != EVERYTHING)
}

/// The key without tenant and filter: the position in a list, which cursors carry.
pub fn list_position(key: &[u8]) -> Option<&[u8]> {
    key.get(32..)
}

pub fn token_of_list_key(key: &[u8]) -> Option<TokenId> {
    key.last_chunk().map(|bytes| TokenId::new(Uuid::from_bytes(*bytes)))
}

/// Returns `None` for a key that is too short or whose path is not text.
pub fn list_key(key: &[u8]) -> Option<ListKey<'_>> {
    let tenant: &[u8; 16] = key.first_chunk()?;
    let position = key.get(32..)?;
    let position = position.strip_prefix(&[LOWERED]).unwrap_or(position);
    Some(ListKey {
        tenant: TenantId::new(Uuid::from_bytes(*tenant)),
        token: token_of_list_key(key)?,
        position: ListPosition::decode(position)?,
    })
}

pub fn token_of_rank(rank: &ListRank) -> Option<TokenId> {
    token_of_list_key(rank)
}

impl<'a> ListPosition<'a> {
    /// Returns `None` for a position that is too short or whose path is not text.
    pub fn decode(position: &'a [u8]) -> Option<Self> {
        let (path, rank) = position.split_last_chunk()?;
        let path = path.strip_suffix(&[0])?;
        Some(Self { path: std::str::from_utf8(path).ok()?, rank: *rank })
    }

    /// The first position of this container after a rank.
    pub fn after_rank(&self, rank: &ListRank) -> Vec<u8> {
        join(&[self.path.as_bytes(), &[0], rank, &[0]])
    }

    /// The first position after all entries of this container. Its children come later.
    pub fn after_container(&self) -> Vec<u8> {
        join(&[self.path.as_bytes(), &[1]])
    }
}

impl TokenList {
    pub const fn new(tenant: TenantId, filter: [u8; 16]) -> Self {
        Self { tenant, filter, form: ListForm::Exact }
    }

    /// The list of a metadata entry in lower case, for tokens that have it only in another
    /// spelling.
    pub const fn lowered(tenant: TenantId, filter: [u8; 16]) -> Self {
        Self { tenant, filter, form: ListForm::Lowered }
    }

    /// A zero byte ends the path, so that a container's entries come before its children's.
    pub fn in_container(
        &self,
        container: &Container,
        created_at: Timestamp,
        token: TokenId,
    ) -> Vec<u8> {
        let path = container.as_str().as_bytes();
        self.key(&[path, &[0], &inverted(created_at), token.bytes()])
    }

    /// The entries of this container, without its children's.
    pub fn of_container(&self, container: &Container) -> KeyRange {
        KeyRange::prefix(Table::TokenLists, self.key(&[container.as_str().as_bytes(), &[0]]))
    }

    /// The entries of a container and its descendants, after this position.
    pub fn inside(&self, container: &Container, after: Option<&[u8]>) -> KeyRange {
        let all = self.key(&[container.as_str().as_bytes()]);
        let all = KeyRange::prefix(Table::TokenLists, all);
        match after {
            Some(after) => all.starting_after(&self.key(&[after])),
            None => all,
        }
    }

    /// The entries of a container and its descendants, from this position on; an empty position is
    /// the start.
    pub fn inside_from(&self, container: &Container, from: &[u8]) -> KeyRange {
        self.inside(container, None).starting_at(&self.key(&[from]))
    }

    pub fn position_of<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let position = list_position(key)?;
        match self.form {
            ListForm::Exact => Some(position),
            ListForm::Lowered => position.strip_prefix(&[LOWERED]),
        }
    }

    fn key(&self, rest: &[&[u8]]) -> Vec<u8> {
        let form: &[u8] = match self.form {
            ListForm::Exact => &[],
            ListForm::Lowered => &[LOWERED],
        };
        let head: [&[u8]; 3] = [self.tenant.bytes(), &self.filter, form];
        let parts = head.iter().chain(rest);
        let mut key = Vec::with_capacity(parts.clone().map(|part| part.len()).sum());
        parts.for_each(|part| key.extend_from_slice(part));
        key
    }
}

/// Inverts the time, so that the newest sorts first.
fn inverted(at: Timestamp) -> [u8; 8] {
    (!micros(at)).to_be_bytes()
}
