//! Engines for tests of many cases: a new database for each case would take most of their time.

use std::sync::{Arc, Mutex};

use crate::store::engine::Engine as _;
use crate::store::engine::postgres::PostgresEngine;
use crate::store::engine::postgres::tests::server;
use crate::store::engine::{Order, RowChange};
use crate::store::tables::Table;

static IDLE: Mutex<Vec<Arc<PostgresEngine>>> = Mutex::new(Vec::new());

pub(in crate::store) struct ReusedEngine(Arc<PostgresEngine>);

impl ReusedEngine {
    /// Returns `None` if PostgreSQL is not installed.
    pub(in crate::store) fn take() -> Option<Self> {
        let idle = IDLE.lock().unwrap().pop();
        let engine = match idle {
            Some(engine) => engine,
            None => Arc::new(server::engine("conformance")?),
        };
        engine
            .apply(&mut |newest| {
                let mut rows = Vec::new();
                for table in Table::ALL.iter().copied() {
                    let page = newest.page(&table.whole(), Order::Ascending, usize::MAX)?;
                    let gone = |(key, _)| RowChange { table, key, value: None };
                    rows.extend(page.rows.into_iter().map(gone));
                }
                Ok(rows)
            })
            .unwrap();
        Some(Self(engine))
    }

    pub(in crate::store) fn engine(&self) -> &Arc<PostgresEngine> {
        &self.0
    }
}

impl Drop for ReusedEngine {
    fn drop(&mut self) {
        // After a failed test the lock is poisoned; other tests must fail for their own reasons
        // only.
        if let Ok(mut idle) = IDLE.lock() {
            idle.push(Arc::clone(&self.0));
        }
    }
}
