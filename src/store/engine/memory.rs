//! A model engine: rows in a map. Dropping it loses everything.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::lock::Lock;
use crate::store::engine::Row;
use crate::store::engine::{
    Decide, Engine, EngineHealth, Moment, Order, Page, Read, RowChange, Upkeep,
};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};

pub(in crate::store) type Model = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

#[derive(Default)]
pub(in crate::store) struct MemoryEngine(Lock<State>);

#[derive(Default, Clone)]
struct State {
    rows: Model,
    sequence: u64,
    /// Every call fails with this reason while it is set.
    unavailable: Option<&'static str>,
    /// Several stores may use the engine.
    is_shared: bool,
    /// Changes of other processes. One is applied between two decisions.
    between: VecDeque<Vec<RowChange>>,
    /// The next [`Engine::apply`] waits for this.
    turn: Option<Arc<Mutex<Receiver<()>>>>,
}

impl MemoryEngine {
    pub(in crate::store) fn shared() -> Self {
        let engine = Self::default();
        engine.0.lock().is_shared = true;
        engine
    }

    /// Makes the next [`Engine::apply`] decide once more for each of these changes, which are
    /// written between the decisions.
    pub(in crate::store) fn decide_again_after(&self, between: Vec<Vec<RowChange>>) {
        self.0.lock().between.extend(between);
    }

    /// Makes the engine fail with a transient failure until it is called with `None`.
    pub(in crate::store) fn set_unavailable(&self, why: Option<&'static str>) {
        self.0.lock().unavailable = why;
    }

    /// Makes the next [`Engine::apply`] wait as for the turn of its shard, until the sender is dropped.
    pub(in crate::store) fn hold_turn(&self) -> Sender<()> {
        let (sender, turn) = mpsc::channel();
        self.0.lock().turn = Some(Arc::new(Mutex::new(turn)));
        sender
    }

    pub(in crate::store) fn insert(&self, table: Table, rows: Vec<Row>) {
        self.0.lock().rows.extend(rows.into_iter().map(|(key, value)| ((table, key), value)));
    }

    fn available(&self) -> Result<MutexGuard<'_, State>, StorageFailure> {
        let state = self.0.lock();
        state.unavailable.map_or(Ok(()), |why| Err(StorageFailure::Unavailable(why)))?;
        Ok(state)
    }
}

impl Engine for MemoryEngine {
    fn snapshot(&self) -> Result<Arc<dyn Read>, StorageFailure> {
        Ok(Arc::new(self.available()?.clone()))
    }

    fn apply(&self, decide: &mut Decide<'_>) -> Result<(), StorageFailure> {
        let turn = self.available()?.turn.take();
        if let Some(turn) = turn {
            turn.lock().unwrap().recv().ok();
        }
        let mut state = self.available()?;
        let mut changes = decide(&*state)?;
        while let Some(between) = state.between.pop_front() {
            state.write(between);
            changes = decide(&*state)?;
        }
        state.write(changes);
        Ok(())
    }

    fn is_shared(&self) -> bool {
        self.0.lock().is_shared
    }

    fn check_place(&self) -> Result<(), StorageFailure> {
        Ok(())
    }

    fn health(&self) -> EngineHealth {
        EngineHealth { sequence: self.0.lock().sequence, ..EngineHealth::default() }
    }

    fn set_upkeep(&self, _: Upkeep) {}

    fn close(&self) -> Result<(), StorageFailure> {
        Ok(())
    }
}

impl State {
    fn write(&mut self, changes: Vec<RowChange>) {
        if changes.is_empty() {
            return;
        }
        for RowChange { table, key, value } in changes {
            match value {
                Some(value) => drop(self.rows.insert((table, key), value)),
                None => drop(self.rows.remove(&(table, key))),
            }
        }
        self.sequence += 1;
    }
}

impl Read for State {
    fn moment(&self) -> Result<Moment, StorageFailure> {
        Ok(Moment { sequence: self.sequence, ..Moment::default() })
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

opaque_debug!(MemoryEngine);
