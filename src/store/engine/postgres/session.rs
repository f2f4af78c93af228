//! A connection with its prepared statements.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_postgres::{Client, Error};

use crate::bounds::DATABASE_ANSWER_MAX;
use crate::store::engine::postgres::dial::{Dialed, Dialer, Use};
use crate::store::engine::postgres::faults::{Fault, LATE};
use crate::store::engine::postgres::statements::Statements;
use crate::store::engine::postgres::wait::{send, wait};

pub(super) struct Session {
    pub(super) client: Client,
    pub(super) statements: Statements,
    driver: tokio::task::AbortHandle,
    /// An answer did not come in time, so the next one would belong to another statement.
    is_given_up: AtomicBool,
}

impl Session {
    /// Connects, on the runtime of the engine.
    pub(super) async fn open(dialer: &Dialer, purpose: Use) -> Result<Self, Fault> {
        let Dialed { client, driver } = dialer.dial(purpose).await?;
        let statements = Statements::prepare(&client).await.map_err(|error| Fault::of(&error))?;
        Ok(Self { client, statements, driver, is_given_up: AtomicBool::new(false) })
    }

    /// Waits for the answers of the server.
    pub(super) fn run<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Fault> {
        match wait(work, DATABASE_ANSWER_MAX) {
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
        self.driver.abort();
    }

    pub(super) fn is_open(&self) -> bool {
        !self.is_given_up.load(Ordering::Relaxed) && !self.client.is_closed()
    }

    /// Ends a transaction without a wait. The next statement comes behind it.
    pub(super) fn roll_back(&self) {
        send(self.client.batch_execute("ROLLBACK"));
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
