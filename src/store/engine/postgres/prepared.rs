//! A connection with its prepared statements.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use tokio::runtime::Handle;
use tokio_postgres::{Client, Error};

use crate::bounds::DATABASE_ANSWER_MAX;
use crate::lock::Lock;
use crate::store::engine::postgres::dial::{Dialed, Dialer, Use};
use crate::store::engine::postgres::faults::{Fault, LATE};
use crate::store::engine::postgres::statements::Statements;
use crate::store::engine::postgres::wait::send;
use crate::store::engine::postgres::wire::Wire;

pub(super) struct PreparedClient {
    pub(super) client: Client,
    pub(super) statements: Box<Statements>,
    wire: Lock<Wire>,
    dialer: Arc<Dialer>,
    /// The timeline of its server's log.
    timeline: u32,
    /// An answer timed out, so the next one would belong to another statement.
    is_given_up: AtomicBool,
}

impl PreparedClient {
    pub(super) fn open(
        runtime: &Handle,
        dialer: &Arc<Dialer>,
        purpose: Use,
    ) -> Result<Self, Fault> {
        let Dialed { client, mut wire, timeline, .. } = dialer.dial(runtime, purpose)?;
        let prepared = wire.run(Statements::prepare(&client), DATABASE_ANSWER_MAX);
        let statements = prepared.ok_or(Fault::Lost(LATE))?;
        let statements = Box::new(statements.map_err(|error| Fault::of(&error))?);
        let is_given_up = AtomicBool::new(false);
        let (wire, dialer) = (Lock::new(wire), Arc::clone(dialer));
        Ok(Self { client, statements, wire, dialer, timeline, is_given_up })
    }

    pub(super) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        let answered = self.wire().run(work, DATABASE_ANSWER_MAX);
        match answered {
            Some(Ok(output)) => Ok(output),
            Some(Err(error)) => Err(Fault::of(&error)),
            None => {
                self.give_up();
                Err(Fault::Lost(LATE))
            }
        }
    }

    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.wire().close();
    }

    /// False for a connection that ended, or whose server was replaced.
    pub(super) fn is_open(&self) -> bool {
        self.dialer.is_newest(self.timeline)
            && !self.is_given_up.load(Ordering::Relaxed)
            && self.wire().is_open()
    }

    /// Ends a transaction without waiting. Later statements queue behind it.
    pub(super) fn roll_back(&self) {
        send(self.client.batch_execute("ROLLBACK"));
        self.wire().push();
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock()
    }
}

opaque_debug!(PreparedClient);
