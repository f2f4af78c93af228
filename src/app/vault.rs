//! The state of an open vault. Operations are in types that borrow it.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use crate::app::error::Error;
use crate::clock::Clock;
use crate::crypto::{Random, SystemKeys, Uses};
use crate::domain::card::bin_table::BinTable;
use crate::domain::id::assigned;
use crate::domain::time::Timestamp;
use crate::store::{CvcKeys, MigrationSummary, Snapshot, Store};

/// The store, the keys and the shared state that operations work on.
#[derive(Debug)]
pub struct Vault {
    pub(in crate::app) store: Store,
    pub(in crate::app) masters: crate::app::keys::masters::Masters,
    pub(in crate::app) system: RwLock<Arc<SystemKeys>>,
    pub(in crate::app) uses: Uses,
    pub(in crate::app) rotations: crate::app::keys::rotation::state::Rotations,
    pub(in crate::app) clock: Clock,
    pub(in crate::app) random: Random,
    pub(in crate::app) callers: crate::app::access::callers::Callers,
    pub(in crate::app) last_uses: crate::app::access::last_uses::LastUses,
    /// Walks of requests: pages of logs and of numbered lists.
    pub(in crate::app) walks: crate::app::blocking::BlockingPool,
    /// Walks of the console, which take no place of other requests.
    pub(in crate::app) console_walks: crate::app::blocking::BlockingPool,
    /// Walks of the operator: exports, inventories, inspections. They may take minutes, so that
    /// requests do not wait for them.
    pub(in crate::app) operator_walks: crate::app::blocking::BlockingPool,
    pub(in crate::app) evaluations: crate::app::tokens::evaluations::Evaluations,
    pub(in crate::app) lanes: crate::app::commit::lanes::Lanes,
    pub(in crate::app) in_flight: Arc<crate::app::commit::idempotency::in_flight::InFlight>,
    pub(in crate::app) cvc_keys: Arc<CvcKeys>,
    pub(in crate::app) open_cvc_keys: crate::app::keys::open_cvc_keys::OpenCvcKeys,
    pub(in crate::app) received_cvc_keys: crate::app::keys::received_cvc_keys::ReceivedCvcKeys,
    pub(in crate::app) bins: RwLock<Arc<BinTable>>,
    /// Entries of reads that are queued for the audit chain.
    pub(in crate::app) reads: crate::app::audit::read_queue::ReadQueue,
    /// Refused attempts that are not in the audit chain yet.
    pub(in crate::app) refusals: crate::app::audit::refusals::RefusalTable,
    pub(in crate::app) audit_retention: Duration,
    pub(in crate::app) audit_watch: crate::app::audit::watch::ChainWatch,
    pub(in crate::app) migrated: Option<MigrationSummary>,
    pub(in crate::app) floor: Option<crate::app::commit::disk::DiskFloor>,
    /// The last time at which a sweep had removed everything that was due, in microseconds.
    pub(in crate::app) swept_at: AtomicI64,
    pub(in crate::app) threeds: crate::app::threeds::state::ThreedsState,
    pub(in crate::app) outbound: OnceLock<Arc<dyn crate::app::outbound::Outbound>>,
    pub(in crate::app) proxy_calls: crate::app::proxy_calls::counts::CallCounts,
    pub(in crate::app) webhooks: crate::app::webhooks::state::WebhookState,
    /// The known damaged rows.
    pub(in crate::app) damage: crate::app::upkeep::damage::Damage,
    pub(in crate::app) archive: crate::app::upkeep::archive::ArchiveWatch,
    /// Long work that is under way.
    pub(in crate::app) jobs: Arc<crate::app::jobs::Jobs>,
    pub(in crate::app) scrubs: crate::app::upkeep::scrub::watch::ScrubWatch,
    pub(in crate::app) deletions: crate::app::deletion::state::Deletions,
    pub(in crate::app) processes: crate::app::processes::state::ProcessState,
}

impl Vault {
    pub const fn store(&self) -> &Store {
        &self.store
    }

    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    pub const fn random(&self) -> &Random {
        &self.random
    }

    /// The table of card number ranges: issuers, countries and products.
    pub fn bins(&self) -> Arc<BinTable> {
        Arc::clone(&self.bins.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn replace_bins(&self, bins: BinTable) {
        *self.bins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(bins);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(in crate::app) fn next_id(&self, now: Timestamp) -> uuid::Uuid {
        assigned(now, self.random.bytes())
    }

    pub(in crate::app) fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.store.snapshot()?)
    }
}

/// Called at most once, before the first request. Without it nothing can be sent to destinations.
pub fn configure_outbound(vault: &Vault, outbound: Arc<dyn crate::app::outbound::Outbound>) {
    vault.outbound.get_or_init(|| outbound);
}
