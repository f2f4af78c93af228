//! The engine that is a model: rows in a map. It loses everything when it is dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::engine::{
    Decide, Engine, EngineHealth, Moment, Order, Page, Read, RowChange, Upkeep,
};
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Row;
use crate::store::tables::{KeyRange, Table};

/// All rows by table and key.
pub(in crate::store) type Model = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

#[derive(Default)]
pub(in crate::store) struct MemoryEngine(Mutex<State>);

#[derive(Default, Clone)]
struct State {
    rows: Model,
    sequence: u64,
    /// Given to every call while it is set.
    unavailable: Option<&'static str>,
}

impl MemoryEngine {
    /// Makes the engine fail with a transient failure until it is called with `None`.
    pub(in crate::store) fn set_unavailable(&self, why: Option<&'static str>) {
        self.lock().unavailable = why;
    }

    /// Puts rows in place without a batch.
    pub(in crate::store) fn insert(&self, table: Table, rows: Vec<Row>) {
        self.lock().rows.extend(rows.into_iter().map(|(key, value)| ((table, key), value)));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn available(&self) -> Result<MutexGuard<'_, State>, StorageFailure> {
        let state = self.lock();
        state.unavailable.map_or(Ok(()), |why| Err(StorageFailure::Unavailable(why)))?;
        Ok(state)
    }
}

impl Engine for MemoryEngine {
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure> {
        Ok(Arc::new(self.available()?.clone()))
    }

    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        let mut state = self.available()?;
        let changes = decide(&*state)?;
        if changes.is_empty() {
            return Ok(());
        }
        for RowChange { table, key, value } in changes {
            match value {
                Some(value) => drop(state.rows.insert((table, key), value)),
                None => drop(state.rows.remove(&(table, key))),
            }
        }
        state.sequence += 1;
        Ok(())
    }

    fn check_place(&self) -> Result<(), StorageFailure> {
        Ok(())
    }

    fn health(&self) -> EngineHealth {
        EngineHealth { sequence: self.lock().sequence, ..EngineHealth::default() }
    }

    fn set_upkeep(&self, _: Upkeep) {}

    fn close(&self) -> Result<(), StorageFailure> {
        Ok(())
    }
}

impl Read for State {
    fn moment(&self) -> Result<Moment, StorageFailure> {
        Ok(Moment { timeline: [0; 16], sequence: self.sequence })
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        Ok(self.rows.get(&(table, key.to_vec())).cloned())
    }

    fn page(
        &self,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, StorageFailure> {
        let in_range = self
            .rows
            .iter()
            .filter(|((table, key), _)| *table == range.table() && range.contains(key));
        let mut rows: Vec<_> =
            in_range.map(|((_, key), value)| (key.clone(), value.clone())).collect();
        if order == Order::Descending {
            rows.reverse();
        }
        let is_last = rows.len() <= count_max;
        rows.truncate(count_max);
        Ok(Page { rows, is_last })
    }
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryEngine")
    }
}
