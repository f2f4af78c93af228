//! Walking tokens of all containers newest first, under one filter or several at once.

use crate::app::error::{Error, Fault};
use crate::app::tokens::rows::Filter;
use crate::crypto::TenantKeys;
use crate::domain::id::TenantId;
use crate::store::Snapshot;
use crate::store::tables::{self, TokenList};

/// The timelines of all filters together: only what stands in each of them.
pub(in crate::app) struct Timelines {
    /// One for each filter.
    lists: Vec<TokenList>,
}

/// An entry's key behind its prefix, which is the same in every timeline, and its value.
pub(in crate::app) type Entry = (Vec<u8>, Vec<u8>);

/// Some steps of a walk.
pub(in crate::app) struct Steps {
    pub(in crate::app) entries: Vec<Entry>,
    /// Where to go on; `None` at the end.
    pub(in crate::app) from: Option<Vec<u8>>,
}

/// Before the first entry of a walk.
pub(in crate::app) const START: [u8; 0] = [];

impl Timelines {
    pub(in crate::app) fn of(filters: &[Filter<'_>], keys: &TenantKeys, tenant: TenantId) -> Self {
        let list = |filter: &Filter<'_>| TokenList::new(tenant, filter.blinded(keys.index()));
        Self { lists: filters.iter().map(list).collect() }
    }

    /// Goes on from where the walk was, for so many steps: more than there are timelines, or it
    /// might not get on.
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

/// Each timeline in turn seeks the position that the one before it stands at, until all stand at
/// the same. Costs as many seeks as the sparsest timeline has entries, times their number.
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

/// At most so many entries of one timeline.
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

/// The first position behind this one.
fn after(mut position: Vec<u8>) -> Vec<u8> {
    position.push(0);
    position
}
