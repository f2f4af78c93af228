//! Shards: parts of a store whose batches do not wait for each other.
//!
//! Everything that a batch must order lies inside a shard: the end of an audit chain, the digests
//! of records, and counts. The rows of a tenant belong to one shard, by a keyed hash of the
//! tenant's id, so that a chosen id does not decide its shard. The vault's own rows (keys,
//! tenants, processes) are in [`Shard::VAULT`]. A store without the row [`meta::SHARDS`] has only
//! that one: this is so for every vault that was created in a directory.
//!
//! Each shard has its own audit chain. The number of an entry names the shard in its upper bits, so
//! a tenant whose vault moved to a database keeps its earlier entries in the vault's chain.

use std::cell::RefCell;

use crate::bounds::SHARDS_MAX;
use crate::crypto::{Random, hmac_sha256};
use crate::store::failure::StorageFailure;
use crate::store::tables::{self, OwnerPlace, Shard, Table, meta};

/// A batch asks for the shard of each of its rows, and most of them have the same few scopes.
const FOUND_MAX: usize = 32;

thread_local! {
    static FOUND: RefCell<[(Shards, [u8; 16], Shard); FOUND_MAX]> = RefCell::default();
}

/// The assignment of tenants to shards. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shards {
    /// The number of shards for tenants. Zero puts them into [`Shard::VAULT`].
    count: u16,
    key: [u8; 16],
    fingerprint: [u8; 16],
}

impl Shards {
    /// For a new store that several processes share.
    pub(in crate::store) fn new(count: u16) -> Self {
        Self::of(count.min(SHARDS_MAX), Random::new().bytes())
    }

    fn of(count: u16, key: [u8; 16]) -> Self {
        let hash = hmac_sha256(&key, &count.to_be_bytes());
        Self { count, key, fingerprint: hash.first_chunk().copied().unwrap_or_default() }
    }

    pub(in crate::store) fn decode(value: Option<Vec<u8>>) -> Result<Self, StorageFailure> {
        let Some(value) = value else { return Ok(Self::default()) };
        let damaged = || StorageFailure::Damaged(String::from("the number of shards"));
        let (count, key) = value.split_first_chunk().ok_or_else(damaged)?;
        let count = u16::from_be_bytes(*count);
        if !(1..=SHARDS_MAX).contains(&count) {
            return Err(damaged());
        }
        Ok(Self::of(count, key.try_into().map_err(|_length| damaged())?))
    }

    /// The value of the row.
    pub(in crate::store) fn encode(self) -> Vec<u8> {
        [self.count.to_be_bytes().as_slice(), &self.key].concat()
    }

    /// Names this assignment. Different ones have different names.
    pub(in crate::store) const fn fingerprint(self) -> [u8; 16] {
        self.fingerprint
    }

    pub fn all(self) -> impl Iterator<Item = Shard> {
        (0..=self.count).map(Shard::new)
    }

    /// The shard of a tenant; zeros are the server's scope.
    pub fn of_scope(self, scope: &[u8; 16]) -> Shard {
        if self.count == 0 || *scope == [0; 16] {
            return Shard::VAULT;
        }
        let place = usize::from(scope[15]) % FOUND_MAX;
        FOUND.with_borrow_mut(|found| {
            let Some(found) = found.get_mut(place) else { return self.hash(scope) };
            if (found.0, found.1) != (self, *scope) {
                *found = (self, *scope, self.hash(scope));
            }
            found.2
        })
    }

    fn hash(self, scope: &[u8; 16]) -> Shard {
        let hash = hmac_sha256(&self.key, scope);
        let hash = hash.first_chunk().map_or(0, |it| u32::from_be_bytes(*it));
        let place = hash % u32::from(self.count);
        Shard::new(u16::try_from(place).unwrap_or(0).saturating_add(1))
    }

    /// The shard whose turn orders the changes of a row. `None` for a row of a tenant whose key
    /// does not name the tenant: it changes together with a row that does, and no other change
    /// knows its random key.
    pub(in crate::store) fn of_row(self, table: Table, key: &[u8]) -> Option<Shard> {
        if table.owner_place() == OwnerPlace::Value {
            return None;
        }
        if table == Table::Audit {
            return tables::audit_of_key(key).and_then(|(_, number)| Shard::of_entry(number));
        }
        let own = if table == Table::Counts {
            tables::shard_of_count(key)
        } else {
            meta::shard_of_key(key).filter(|_| table == Table::Meta)
        };
        let scope = || {
            if table == Table::Meta {
                meta::import_scope_of_key(key)
            } else if table.is_digested() {
                table.digest_scope(key)
            } else {
                table.scope_in_key(key)
            }
        };
        let by_scope = || scope().map_or(Shard::VAULT, |scope| self.of_scope(&scope));
        Some(own.unwrap_or_else(by_scope))
    }
}
