//! Creates a vault's tables in a database, and opens the engine on them.

use std::fmt;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::Client;

use crate::bounds::{DATABASE_ANSWER_MAX, DATABASE_THREADS, SHARDS_DEFAULT};
use crate::crypto::Random;
use crate::store::engine::RowChange;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::Access;
use crate::store::engine::postgres::dial::{Dialed, Dialer, Use};
use crate::store::engine::postgres::faults::{Fault, LATE};
use crate::store::engine::postgres::schema;
use crate::store::engine::postgres::statements::{RowSets, Statements};
use crate::store::engine::postgres::tls::client_config;
use crate::store::engine::postgres::url::{DatabaseUrl, InvalidUrl};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::shards::Shards;

/// Clones share the dialer.
#[derive(Clone)]
pub struct Database {
    dialer: Arc<Dialer>,
    /// The number of shards for tenants, for a vault that is created here.
    shards: u16,
}

impl Database {
    /// `authorities` is a PEM bundle of the CAs that may have signed the database's certificate. A
    /// database on this machine needs none.
    pub fn new(url: DatabaseUrl, authorities: Option<&[u8]>) -> Result<Self, InvalidUrl> {
        let tls = authorities.map(|bundle| {
            client_config(bundle)
                .ok_or(InvalidUrl("the file of certificate authorities has no usable certificate"))
        });
        let tls = tls.transpose()?;
        if tls.is_none() && url.needs_tls() {
            return Err(InvalidUrl("its host needs TLS, and no certificate authority is known"));
        }
        Ok(Self { dialer: Arc::new(Dialer::new(url, tls)), shards: SHARDS_DEFAULT })
    }

    /// Sets the number of shards for a vault that is created here. A vault that exists keeps its
    /// own.
    #[must_use]
    pub const fn with_shards(mut self, shards: u16) -> Self {
        self.shards = shards;
        self
    }

    pub(in crate::store) fn new_shards(&self) -> Shards {
        Shards::new(self.shards)
    }

    pub(super) fn dialer(&self) -> Arc<Dialer> {
        Arc::clone(&self.dialer)
    }

    /// Creates the tables with these rows in one transaction. Without `complete` the vault
    /// cannot be opened before [`Self::complete`].
    pub(in crate::store) fn create(
        &self,
        origin: Origin,
        rows: &[RowChange],
        complete: Option<Shards>,
    ) -> Result<(), OpenFailure> {
        let timeline: [u8; 16] = Random::new().bytes();
        self.run(async |client| {
            if schema::exists(client).await.map_err(failed)? {
                return Err(OpenFailure::Exists);
            }
            client.batch_execute("BEGIN").await.map_err(failed)?;
            schema::create(client, &timeline, origin).await.map_err(failed)?;
            let statements = Statements::prepare(client).await.map_err(failed)?;
            statements
                .write(client, &RowSets::new(rows.to_vec(), |_| true))
                .await
                .map_err(failed)?;
            if let Some(shards) = complete {
                schema::complete(client, shards).await.map_err(failed)?;
            }
            client.batch_execute("COMMIT").await.map_err(failed)
        })
    }

    /// Makes an incomplete vault usable.
    pub(in crate::store) fn complete(&self, shards: Shards) -> Result<(), OpenFailure> {
        self.run(async |client| {
            client.batch_execute("BEGIN").await.map_err(failed)?;
            schema::complete(client, shards).await.map_err(failed)?;
            client.batch_execute("COMMIT").await.map_err(failed)
        })
    }

    /// Removes the tables of an incomplete vault.
    pub(in crate::store) fn remove_incomplete(&self) -> Result<(), OpenFailure> {
        self.run(async |client| {
            let summary = schema::read(client).await.map_err(failed)?;
            summary.ok_or(OpenFailure::NotOurs)?.checked(Access::Loading)?;
            client.batch_execute(schema::REMOVE).await.map_err(failed)
        })
    }

    /// Checks that the tables belong to a complete vault of a version that this program knows.
    pub(in crate::store) fn check(&self, access: Access) -> Result<schema::Summary, OpenFailure> {
        self.run(async |client| {
            if !schema::exists(client).await.map_err(failed)? {
                return Err(OpenFailure::Missing);
            }
            let summary = schema::read(client).await.map_err(failed)?;
            summary.ok_or(OpenFailure::NotOurs)?.checked(access)
        })
    }

    /// Removes the rows of processes that have ended.
    pub(super) fn tidy(&self) -> Result<(), OpenFailure> {
        self.run(async |client| client.batch_execute(schema::FORGET_WRITERS).await.map_err(failed))
    }

    /// Runs statements on a separate connection and a separate runtime.
    fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, OpenFailure>,
    ) -> Result<T, OpenFailure> {
        let runtime = Network::start()?;
        let connected = self.dialer.dial(runtime.handle(), Use::Writing);
        let connected = connected.map_err(|fault| OpenFailure::Storage(fault.failure()));
        let Dialed { client, mut wire, .. } = connected?;
        let late = || OpenFailure::Storage(StorageFailure::Unavailable(LATE));
        wire.run(work(&client), DATABASE_ANSWER_MAX).ok_or_else(late)?
    }
}

/// The runtime for name lookups and connection attempts.
pub(super) struct Network(Option<Runtime>, Handle);

impl Network {
    pub(super) fn start() -> Result<Self, OpenFailure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(DATABASE_THREADS)
            .thread_name("database")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    pub(super) const fn handle(&self) -> &Handle {
        &self.1
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A worker of the server's runtime may drop it, and must not block on other threads.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives the error away")]
pub(super) fn failed(error: tokio_postgres::Error) -> OpenFailure {
    if error.code() == Some(&tokio_postgres::error::SqlState::DUPLICATE_TABLE) {
        return OpenFailure::Exists;
    }
    OpenFailure::Storage(Fault::of(&error).failure())
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dialer)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.dialer)
    }
}
