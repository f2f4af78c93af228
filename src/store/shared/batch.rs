//! The part of a batch that only a shared store has.

use std::collections::{BTreeMap, BTreeSet};

use crate::store::authority::Authority;
use crate::store::batch::Batch;
use crate::store::change::{Change, Expect, Write};
use crate::store::closed::scope_of;
use crate::store::engine::{Hold, Turns};
use crate::store::failure::StorageFailure;
use crate::store::shared::generations::{Generation, Generations};
use crate::store::shared::process::Process;
use crate::store::shared::rows::{LEASE, Lease, place};
use crate::store::tables::{self, GENERATIONS, Table, meta, tenant_of_scope};

/// The scope of the server's own rows, which cannot be closed.
const SERVER: [u8; 16] = [0; 16];

type Places = BTreeSet<(Table, Vec<u8>)>;

pub(in crate::store) struct SharedBatch<'t> {
    process: &'t Process,
    /// The shards whose turns the batch has.
    turns: &'t Turns,
    /// The new generations, once a change has advanced one.
    generations: Option<Generations>,
}

impl<'t> SharedBatch<'t> {
    pub(in crate::store) const fn turns(&self) -> &'t Turns {
        self.turns
    }
}

impl<'t> Batch<'t> {
    pub(in crate::store) fn sharing(
        mut self,
        process: Option<&'t Process>,
        turns: &'t Turns,
    ) -> Self {
        self.shared = process.map(|process| SharedBatch { process, turns, generations: None });
        self
    }

    /// In a shared store, reads nearly all rows that the changes need in one round trip or two: only
    /// the places of audit rows depend on another row. Other rows are read one by one. Rows that are
    /// most likely new are not read, if the engine refuses them should they exist. Rows of shards
    /// whose turn the batch does not have are held as they are, so that the decision is still right
    /// when the batch is written.
    pub(in crate::store) fn read_ahead(
        &mut self,
        changes: &[Change],
    ) -> Result<(), StorageFailure> {
        let Some(SharedBatch { process, turns, .. }) = self.shared else { return Ok(()) };
        let shards = self.shards();
        let heads = turns.iter().map(|shard| (Table::Meta, meta::audit_head(*shard)));
        let mut places: Places = heads.collect();
        let (mut present, mut unchanged) = (Places::new(), Places::new());
        if process.is_member() {
            present.insert((Table::Processes, place(process.id)));
        }
        for change in changes {
            places_of(change, &mut places, &mut present, &mut unchanged);
        }
        if self.digests.is_some() {
            places_of_digests(changes, &mut places);
            places.extend(turns.iter().map(|it| (Table::Meta, meta::audit_records(*it))));
        }
        let is_ours = |(table, key): &(Table, Vec<u8>)| {
            shards.of_row(*table, key).is_none_or(|it| turns.contains(&it))
        };
        for held in [&mut present, &mut unchanged] {
            places.extend(held.extract_if(.., |it| is_ours(it)));
        }
        present.retain(|place| !unchanged.contains(place));
        places.retain(|place| !unchanged.contains(place) && !present.contains(place));
        let may_assume = self.stored.refuses_rows_that_exist();
        if may_assume {
            let new = likely_new(changes);
            places.retain(|place| !new.contains(place));
            for (table, key) in new {
                self.know(table, key, None);
            }
        }
        self.read_places([
            (places, None),
            (present, Some(Hold::Delete)),
            (unchanged, Some(Hold::Change)),
        ])?;
        let mut next = BTreeMap::new();
        for shard in turns {
            next.insert(*shard, self.head(*shard)?.next);
        }
        let mut rows = Places::new();
        for write in changes.iter().flat_map(|change| &change.writes) {
            let Write::Audit(entries) = write else { continue };
            let Some(next) = next.get_mut(&shards.of_scope(&entries.scope)) else { continue };
            rows.insert((Table::Audit, tables::audit(&entries.scope, *next)));
            *next = next.saturating_add(u64::from(entries.count));
        }
        if may_assume {
            for (table, key) in rows {
                self.know(table, key, None);
            }
            return Ok(());
        }
        self.read_places([(rows, None), Default::default(), Default::default()])
    }

    fn read_places(&mut self, sets: [(Places, Option<Hold>); 3]) -> Result<(), StorageFailure> {
        let values = {
            let keys = sets.each_ref().map(|(places, hold)| {
                let keys = places.iter().map(|(table, key)| (*table, key.as_slice())).collect();
                (keys, *hold)
            });
            self.stored.get_sets(&keys)?
        };
        for ((places, _), values) in sets.into_iter().zip(values) {
            for ((table, key), value) in places.into_iter().zip(values) {
                self.know(table, key, value);
            }
        }
        Ok(())
    }

    /// Returns true if this process may write the change: the others count it as live, and a change
    /// that needs a leader was decided in the term of the newest lease.
    pub(in crate::store) fn may_write(&mut self, change: &Change) -> Result<bool, StorageFailure> {
        let Some(SharedBatch { process, .. }) = self.shared else { return Ok(true) };
        if process.is_member()
            && !change.is_of_process
            && self.value(Table::Processes, &place(process.id))?.is_none()
        {
            return Ok(false);
        }
        let term = match change.authority {
            Authority::Anyone => return Ok(true),
            Authority::Leader(None) => return Ok(false),
            Authority::Leader(Some(term)) => term,
        };
        let lease = self.value(Table::Processes, LEASE)?;
        let lease = lease.as_deref().map(Lease::decode).transpose()?;
        Ok(lease.is_some_and(|lease| lease.term() == term))
    }

    /// Returns true for the scope of a tenant that another process may have deleted. The change that
    /// closes the tenant's scope deletes the tenant's record.
    pub(in crate::store) fn is_of_deleted_tenant(
        &mut self,
        change: &Change,
        scope: [u8; 16],
    ) -> Result<bool, StorageFailure> {
        if scope == SERVER {
            return Ok(false);
        }
        let tenant = tables::tenants(tenant_of_scope(&scope));
        let creates = change
            .writes
            .iter()
            .any(|write| matches!(write, Write::Put(Table::Tenants, key, _) if *key == tenant));
        Ok(!creates && self.value(Table::Tenants, &tenant)?.is_none())
    }

    /// Advances the generations of the caches that an accepted change invalidates.
    pub(in crate::store) fn advance_generations(
        &mut self,
        change: &Change,
    ) -> Result<(), StorageFailure> {
        let mut kinds = Generation::all_of(change).peekable();
        if kinds.peek().is_none() {
            return Ok(());
        }
        let known = self.shared.as_mut().and_then(|shared| shared.generations.take());
        let mut generations = match known {
            Some(known) => known,
            None => Generations::decode(self.value(Table::Processes, GENERATIONS)?.as_deref()),
        };
        kinds.for_each(|kind| generations.advance(kind));
        if let Some(shared) = &mut self.shared {
            shared.generations = Some(generations);
        }
        Ok(())
    }

    /// Adds the row of the generations, if a change has advanced one.
    pub(in crate::store) fn pend_generations(&mut self) {
        let advanced = self.shared.as_mut().and_then(|shared| shared.generations.take());
        if let Some(generations) = advanced {
            self.pend(Table::Processes, GENERATIONS.to_vec(), Some(generations.encode()));
        }
    }
}

/// The rows that the change reads, except old values of records: those whose presence it relies on
/// and those whose value it relies on are separate.
fn places_of(change: &Change, places: &mut Places, present: &mut Places, unchanged: &mut Places) {
    for expect in &change.expects {
        match expect {
            Expect::Absent(table, key, _) => drop(places.insert((*table, key.clone()))),
            Expect::Present(table, key) => drop(present.insert((*table, key.clone()))),
            Expect::Is(table, key, _) | Expect::Value(table, key, _) => {
                unchanged.insert((*table, key.clone()));
            }
            Expect::CountsAtMost(keys, _) => {
                places.extend(keys.iter().map(|key| (Table::Counts, key.clone())));
            }
            Expect::Keys(..) | Expect::RowsAtMost(..) => (),
        }
    }
    let mut last = SERVER;
    for write in &change.writes {
        if let Write::Add(key, _) = write {
            places.insert((Table::Counts, key.clone()));
        }
        if let Some(scope) = scope_of(write).filter(|scope| ![SERVER, last].contains(scope)) {
            present.insert((Table::Tenants, tables::tenants(tenant_of_scope(&scope))));
            last = scope;
        }
    }
    if change.authority != Authority::Anyone {
        unchanged.insert((Table::Processes, LEASE.to_vec()));
    }
    if Generation::all_of(change).next().is_some() {
        places.insert((Table::Processes, GENERATIONS.to_vec()));
    }
}

/// The rows that the changes put into tables that grow. A change that has read an old row expects
/// it. Only putting the row proves that it was absent. A change must not rely on the absence
/// without putting the row itself, because the other change that puts it may be refused.
fn likely_new(changes: &[Change]) -> Places {
    let mut new = Places::new();
    for write in changes.iter().flat_map(|change| &change.writes) {
        if let Write::Put(table, key, _) = write
            && table.grows()
        {
            new.insert((*table, key.clone()));
        }
    }
    for change in changes {
        let puts = |table: Table, key: &[u8]| {
            let is_it = |write: &Write| matches!(write, Write::Put(to, place, _) if *to == table && place == key);
            !change.passes_over_closed && change.writes.iter().any(is_it)
        };
        for expect in &change.expects {
            match expect {
                Expect::Absent(table, key, _) if puts(*table, key) => (),
                Expect::Absent(table, key, _)
                | Expect::Is(table, key, _)
                | Expect::Present(table, key)
                | Expect::Value(table, key, _) => drop(new.remove(&(*table, key.clone()))),
                Expect::CountsAtMost(..) | Expect::Keys(..) | Expect::RowsAtMost(..) => (),
            }
        }
        for write in &change.writes {
            if let Write::Delete(table, key) = write {
                new.remove(&(*table, key.clone()));
            }
        }
    }
    new
}

/// The old values of records, which their digests need, and the digests.
fn places_of_digests(changes: &[Change], places: &mut Places) {
    for write in changes.iter().flat_map(|change| &change.writes) {
        let (Write::Delete(table, key) | Write::Put(table, key, _)) = write else { continue };
        if !table.is_digested() {
            continue;
        }
        places.insert((*table, key.clone()));
        if let Some(scope) = table.digest_scope(key) {
            places.insert((Table::Counts, tables::digests(&scope)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_taken_for_new_only_where_its_own_insert_proves_it() {
        let key = || b"key".to_vec();
        let put = |table| Change::new().put(table, key(), vec![1]);
        let absent = || Change::new().expect_absent(Table::Tokens, key());
        let new = |changes: &[Change]| likely_new(changes).len();
        assert_eq!(new(&[put(Table::Tokens)]), 1);
        assert_eq!(new(&[put(Table::Tokens).and(absent())]), 1);
        assert_eq!(new(&[put(Table::Meta).and(absent())]), 0, "its rows are written again");
        assert_eq!(new(&[put(Table::Tokens), absent()]), 0, "the other one may be refused");
        assert_eq!(new(&[put(Table::Tokens).and(absent()).passing_over_closed()]), 0);
        assert_eq!(new(&[put(Table::Tokens).expect_present(Table::Tokens, key())]), 0);
        assert_eq!(new(&[put(Table::Tokens), Change::new().delete(Table::Tokens, key())]), 0);
    }
}
