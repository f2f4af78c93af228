//! Rows at one moment, read in a transaction.

use std::sync::Arc;

use tokio_postgres::Error;

use crate::lock::Lock;
use crate::store::engine::postgres::faults::{Fault, Refusal};
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::shared::{Lease, Shared};
use crate::store::engine::{KeySet, Moment, Order, Page, Read, ValueSets};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};

/// A transaction that begins with its first statement.
pub(super) trait Ask: Send + Sync {
    fn ask<T>(
        &self,
        statement: impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<T, StorageFailure>;

    /// See [`Read::refuses_rows_that_exist`].
    fn refuses_rows_that_exist(&self) -> bool {
        false
    }

    /// Called for each row that was read.
    fn note(&self, _table: Table, _key: &[u8]) {}
}

pub(super) struct Rows<A>(pub(super) A);

impl<A: Ask> Read for Rows<A> {
    fn refuses_rows_that_exist(&self) -> bool {
        self.0.refuses_rows_that_exist()
    }

    fn moment(&self) -> Result<Moment, StorageFailure> {
        let moment = self.0.ask(async |it| it.statements.moment(&it.client).await)?;
        let (timeline, sequence) = moment.ok_or(Fault::Refused(Refusal::NoTables))?;
        Ok(Moment { timeline, sequence, digest: [0; 32] })
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        let value = self.0.ask(async |it| it.statements.get(&it.client, table, key).await)?;
        if value.is_some() {
            self.0.note(table, key);
        }
        Ok(value)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Vec<u8>>>, StorageFailure> {
        let nothing = || (Vec::new(), None);
        let [values, ..] = self.get_sets(&[(keys.to_vec(), None), nothing(), nothing()])?;
        Ok(values)
    }

    fn get_sets(&self, sets: &[KeySet<'_>; 3]) -> Result<ValueSets, StorageFailure> {
        if sets.iter().all(|(keys, _)| keys.is_empty()) {
            return Ok(ValueSets::default());
        }
        let values = self.0.ask(async |it| it.statements.get_sets(&it.client, sets).await)?;
        for ((keys, _), values) in sets.iter().zip(&values) {
            for ((table, key), _) in keys.iter().zip(values).filter(|(_, value)| value.is_some()) {
                self.0.note(*table, key);
            }
        }
        Ok(values)
    }

    fn page(
        &self,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, StorageFailure> {
        if range.is_empty() {
            return Ok(Page { rows: Vec::new(), is_last: true });
        }
        let page = async |it: &PreparedClient| {
            it.statements.page(&it.client, range, order, count_max).await
        };
        let page = self.0.ask(page)?;
        page.rows.iter().for_each(|(key, _)| self.0.note(range.table(), key));
        Ok(page)
    }
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A snapshot. It takes a connection for its first read and returns it when it is dropped.
pub(super) struct View {
    shared: Arc<Shared>,
    reading: Lock<Reading>,
}

enum Reading {
    NotBegun,
    Begun(Transaction),
    /// The connection ended, and the snapshot with it.
    Lost(&'static str),
}

/// A read transaction. It ends when it is dropped.
struct Transaction(Lease);

impl View {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared, reading: Lock::new(Reading::NotBegun) }
    }

    /// Begins the transaction with this statement. If the pooled connection has ended while idle, a
    /// new one is opened.
    fn begin<T>(
        &self,
        statement: &impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<(Transaction, T), Fault> {
        let first = self.try_begin(statement);
        if let Err(Fault::Lost(_)) = first {
            self.shared.drop_idle();
            return self.try_begin(statement);
        }
        first
    }

    fn try_begin<T>(
        &self,
        statement: &impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<(Transaction, T), Fault> {
        let lease = self.shared.lease()?;
        let session = lease.session()?;
        let output = session.run(async {
            let beginning = session.client.batch_execute(BEGIN);
            let (begun, output) = tokio::join!(biased; beginning, statement(session));
            begun?;
            output
        });
        // The session may or may not be in a transaction.
        let output = output.inspect_err(|_| session.give_up())?;
        Ok((Transaction(lease), output))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Ok(session) = self.0.session() {
            session.roll_back();
        }
    }
}

impl Ask for View {
    fn ask<T>(
        &self,
        statement: impl AsyncFn(&PreparedClient) -> Result<T, Error>,
    ) -> Result<T, StorageFailure> {
        let mut reading = self.reading.lock();
        let asked = match &*reading {
            Reading::NotBegun => {
                let (transaction, output) = self.begin(&statement)?;
                *reading = Reading::Begun(transaction);
                return Ok(output);
            }
            Reading::Begun(Transaction(lease)) => {
                lease.session().and_then(|session| session.run(statement(session)))
            }
            Reading::Lost(why) => return Err(StorageFailure::Unavailable(why)),
        };
        // After a refusal, the transaction answers nothing more either.
        asked.map_err(|fault| {
            let failure = fault.failure();
            if let StorageFailure::Unavailable(why) = failure {
                *reading = Reading::Lost(why);
            }
            failure
        })
    }
}
