//! The walk over tokens of all containers, newest first, under one filter or several.

use crate::app::error::{Error, Fault};
use crate::app::tokens::rows::Filter;
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::store::Snapshot;
use crate::store::tables::{self, TokenList};

/// The intersection of the timelines of several filters.
pub(in crate::app) struct Timelines {
    /// One for each filter.
    lists: Vec<TokenList>,
}

/// The key of an entry without its prefix, which makes it equal in every timeline, and the value.
pub(in crate::app) type Entry = (Vec<u8>, Vec<u8>);

/// A part of a walk.
pub(in crate::app) struct Steps {
    pub(in crate::app) entries: Vec<Entry>,
    /// The position to continue from; `None` at the end.
    pub(in crate::app) from: Option<Vec<u8>>,
}

/// The position before the first entry.
pub(in crate::app) const START: [u8; 0] = [];

impl Timelines {
    pub(in crate::app) fn of(filters: &[Filter<'_>], keys: &TenantKeys, tenant: TenantId) -> Self {
        let list = |filter: &Filter<'_>| TokenList::new(tenant, filter.blinded(keys.index()));
        Self { lists: filters.iter().map(list).collect() }
    }

    /// Continues a walk for `steps_max` steps. With several timelines, `steps_max` must be greater
    /// than their number, or the walk may make no progress.
    pub(in crate::app) fn walk(
        &self,
        snapshot: &Snapshot,
        from: Vec<u8>,
        steps_max: usize,
    ) -> Result<Steps, Error> {
        match self.lists.as_slice() {
            [only] => walk_one(snapshot, only, &from, steps_max),
            several => walk_together(snapshot, several, from, steps_max),
        }
    }
}

fn walk_one(
    snapshot: &Snapshot,
    timeline: &TokenList,
    from: &[u8],
    steps_max: usize,
) -> Result<Steps, Error> {
    let entries = entries(snapshot, timeline, from, steps_max)?;
    let ended = entries.len() < steps_max;
    let last = entries.last().filter(|_| !ended);
    let from = last.map(|(position, _)| after(position.clone()));
    Ok(Steps { entries, from })
}

/// The timelines take turns: each seeks the position of the previous one, until all agree. The
/// number of seeks is at most the number of timelines times the entries of the sparsest one.
fn walk_together(
    snapshot: &Snapshot,
    lists: &[TokenList],
    from: Vec<u8>,
    steps_max: usize,
) -> Result<Steps, Error> {
    let mut found = Vec::new();
    let mut at = from;
    let mut agreeing: usize = 0;
    for list in lists.iter().cycle().take(steps_max) {
        let Some((position, value)) = entries(snapshot, list, &at, 1)?.pop() else {
            return Ok(Steps { entries: found, from: None });
        };
        agreeing = if position == at { agreeing.saturating_add(1) } else { 1 };
        at = position;
        if agreeing == lists.len() {
            let next = after(at.clone());
            found.push((std::mem::replace(&mut at, next), value));
            agreeing = 0;
        }
    }
    Ok(Steps { entries: found, from: (!lists.is_empty()).then_some(at) })
}

/// At most `count_max` entries of one timeline.
fn entries(
    snapshot: &Snapshot,
    list: &TokenList,
    from: &[u8],
    count_max: usize,
) -> Result<Vec<Entry>, Error> {
    let position = |entry| {
        let (key, value): Entry = entry?;
        let position = tables::list_position(&key).ok_or(Error::Internal(Fault::BadRecord))?;
        Ok((position.to_vec(), value))
    };
    snapshot.range(&list.timeline(from))?.take(count_max).map(position).collect()
}

/// The first position after this one.
fn after(mut position: Vec<u8>) -> Vec<u8> {
    position.push(0);
    position
}
