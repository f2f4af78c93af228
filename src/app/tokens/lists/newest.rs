//! The walk over the tokens of all containers, newest first, under one filter or several.
//!
//! The entries of a list are ordered by container, and by time only within a container. So the walk
//! visits every container that the caller may see and keeps the newest tokens found so far. Once it
//! has enough of them, it leaves each container at the first entry that is older, with a seek to
//! the next container. Tokens that come later in the order are found by a further pass that starts
//! behind the last token of the previous one. Memory does not depend on the number of containers or
//! tokens.
//!
//! Several filters are walked together: a token has an entry at the same position in each list.

use std::collections::{BinaryHeap, VecDeque};

use uuid::Uuid;

use crate::app::damage::Damage;
use crate::app::error::{Error, Fault};
use crate::app::tokens::lists::entry::ListEntry;
use crate::app::tokens::rows::Filter;
use crate::bounds::LIST_CHUNK_MAX;
use crate::crypto::TenantKeys;
use crate::domain::container::Container;
use crate::domain::id::{TenantId, TokenId};
use crate::domain::time::Timestamp;
use crate::store::tables::{self, ListPosition, ListRank, TokenList};
use crate::store::{Snapshot, Table};

/// The number of entries read after a seek. It doubles while they are used one by one.
const FIRST_CHUNK: usize = 8;

const TOO_MANY: &str = "These tokens are in too many containers for numbered pages; use GET \
                        /v2/tokens or POST /v2/tokens/search.";

pub(in crate::app) struct NewestTokens<'a> {
    pub(in crate::app) snapshot: &'a Snapshot,
    /// For each filter, the lists that a token may be in.
    pub(in crate::app) filters: Vec<Vec<TokenList>>,
    /// The outermost containers, sorted.
    pub(in crate::app) reach: &'a [Container],
    pub(in crate::app) tenant: TenantId,
    pub(in crate::app) damage: &'a Damage,
    pub(in crate::app) now: Timestamp,
    /// A walk over more containers fails.
    pub(in crate::app) containers_max: usize,
}

#[derive(Clone, Copy)]
pub(in crate::app) struct Pass {
    /// The last token of the previous pass.
    pub(in crate::app) after: Option<ListRank>,
    pub(in crate::app) count_max: usize,
    pub(in crate::app) total: Total,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Total {
    /// Reads every entry.
    Counted,
    /// Seeks past older entries.
    NotNeeded,
}

pub(in crate::app) struct PassResult {
    /// Newest first.
    pub(in crate::app) newest: Vec<ListRank>,
    /// The number of tokens that the pass found: all of them if it counted.
    pub(in crate::app) met: usize,
}

/// The position and the value.
type Entry = (Vec<u8>, Vec<u8>);

/// The lists that hold the tokens of a filter. Metadata is found in every spelling.
pub(in crate::app) fn lists_of(
    filter: Filter<'_>,
    keys: &TenantKeys,
    tenant: TenantId,
) -> Vec<TokenList> {
    let blinded = filter.blinded(keys.index());
    let mut lists = vec![TokenList::new(tenant, blinded)];
    if matches!(filter, Filter::Metadata(..)) {
        lists.push(TokenList::lowered(tenant, blinded));
    }
    lists
}

impl NewestTokens<'_> {
    pub(in crate::app) fn pass(&self, pass: Pass) -> Result<PassResult, Error> {
        let mut newest = BinaryHeap::new();
        let (mut met, mut containers): (usize, usize) = (0, 0);
        for outermost in self.reach {
            let mut walk = CommonEntries::new(self.snapshot, &self.filters, outermost);
            let (mut from, mut container) = (Vec::new(), String::new());
            while let Some((position, value)) = walk.first_from(from)? {
                let Some(at) = ListPosition::decode(&position) else {
                    self.note_damaged(&position);
                    from = after(position);
                    continue;
                };
                if at.path != container {
                    container = String::from(at.path);
                    containers = containers.saturating_add(1);
                    if containers > self.containers_max {
                        return Err(Error::invalid("page", String::from(TOO_MANY)));
                    }
                }
                if let Some(last) = pass.after.filter(|last| at.rank <= *last) {
                    from = at.after_rank(&last);
                    continue;
                }
                let is_full = newest.len() >= pass.count_max;
                let is_older = is_full && newest.peek().is_none_or(|oldest| at.rank > *oldest);
                if is_older && pass.total == Total::NotNeeded {
                    from = at.after_container();
                    continue;
                }
                if self.is_shown(&position, at.path, &value) {
                    met = met.saturating_add(1);
                    if !is_older {
                        newest.push(at.rank);
                    }
                    if newest.len() > pass.count_max {
                        newest.pop();
                    }
                }
                from = after(position);
            }
        }
        Ok(PassResult { newest: newest.into_sorted_vec(), met })
    }

    /// True for the one entry of a live token at which the list shows the token.
    fn is_shown(&self, position: &[u8], path: &str, value: &[u8]) -> bool {
        if let Ok(listed) = ListEntry::decode(value) {
            return listed.is_live(self.now) && listed.is_shown_at(path, self.reach);
        }
        self.note_damaged(position);
        false
    }

    fn note_damaged(&self, position: &[u8]) {
        let id = tables::token_of_list_key(position).map_or(Uuid::nil(), TokenId::uuid);
        self.damage.note_fault(Table::TokenLists, self.tenant, id, Fault::BadRecord);
    }
}

/// The entries that all filters have in common, inside one container.
struct CommonEntries<'a> {
    /// For each filter, a cursor in each of its lists.
    filters: Vec<Vec<ListCursor<'a>>>,
}

impl<'a> CommonEntries<'a> {
    fn new(snapshot: &'a Snapshot, filters: &[Vec<TokenList>], container: &'a Container) -> Self {
        let cursor = |list: &TokenList| ListCursor::new(snapshot, *list, container);
        let filters = filters.iter().map(|lists| lists.iter().map(cursor).collect());
        Self { filters: filters.collect() }
    }

    /// The first common entry at or after a position. The filters take turns: each seeks the
    /// position of the previous one, until all agree. The number of seeks is at most the number of
    /// lists times the entries of the sparsest filter.
    fn first_from(&mut self, from: Vec<u8>) -> Result<Option<Entry>, Error> {
        let (mut at, mut agreeing) = (from, 0_usize);
        loop {
            let all = self.filters.len();
            for cursors in &mut self.filters {
                let mut first: Option<&Entry> = None;
                for cursor in cursors {
                    let found = cursor.seek(&at)?;
                    first = match (first, found) {
                        (Some(first), Some(found)) if found.0 < first.0 => Some(found),
                        (None, found) => found,
                        (first, _) => first,
                    };
                }
                let Some(entry) = first else { return Ok(None) };
                agreeing = if entry.0 == at { agreeing.saturating_add(1) } else { 1 };
                if agreeing == all {
                    return Ok(Some(entry.clone()));
                }
                at.clone_from(&entry.0);
            }
            if all == 0 {
                return Ok(None);
            }
        }
    }
}

/// A position in one list that only moves forward. Reads entries in chunks.
struct ListCursor<'a> {
    snapshot: &'a Snapshot,
    list: TokenList,
    container: &'a Container,
    ahead: VecDeque<Entry>,
    chunk: usize,
    /// The number of seeks that the current chunk has answered.
    used: usize,
    is_last_chunk: bool,
}

impl<'a> ListCursor<'a> {
    const fn new(snapshot: &'a Snapshot, list: TokenList, container: &'a Container) -> Self {
        let ahead = VecDeque::new();
        Self { snapshot, list, container, ahead, chunk: 0, used: 0, is_last_chunk: false }
    }

    /// The first entry at or after a position, which must not be before the position of an earlier
    /// call.
    fn seek(&mut self, from: &[u8]) -> Result<Option<&Entry>, Error> {
        let passed = self.ahead.partition_point(|(position, _)| position.as_slice() < from);
        self.ahead.drain(..passed);
        if self.ahead.is_empty() && !self.is_last_chunk {
            self.read(from)?;
        }
        self.used = self.used.saturating_add(1);
        Ok(self.ahead.front())
    }

    fn read(&mut self, from: &[u8]) -> Result<(), Error> {
        let is_one_by_one = self.used.saturating_mul(2) > self.chunk && self.chunk > 0;
        let next = if is_one_by_one { self.chunk.saturating_mul(2) } else { FIRST_CHUNK };
        (self.chunk, self.used) = (next.min(LIST_CHUNK_MAX), 0);
        let range = self.list.inside_from(self.container, from);
        for (key, value) in self.snapshot.first(&range, self.chunk)? {
            let position = self.list.position_of(&key).ok_or(Error::Internal(Fault::BadRecord))?;
            self.ahead.push_back((position.to_vec(), value));
        }
        self.is_last_chunk = self.ahead.len() < self.chunk;
        Ok(())
    }
}

/// The first position after this one.
fn after(mut position: Vec<u8>) -> Vec<u8> {
    position.push(0);
    position
}
