//! The operations, one file each. An operation reads a snapshot, decides, and commits a change.
//!
//! Nothing here knows of HTTP. The commit is the only await of an operation that has a lasting
//! effect. If the client disconnects before the commit, nothing has changed. If it disconnects
//! later, the writer completes the change without it.

mod access;
mod audit;
mod blocking;
mod call_counts;
mod caller;
mod client_keys;
mod commit;
mod console;
mod damage;
mod deletion;
mod erasure;
mod error;
mod fair_pool;
mod findings;
mod generation_cache;
mod jobs;
mod keys;
mod named;
mod open;
mod origin;
mod outbound;
mod processes;
mod program_calls;
pub mod programs;
mod proxies;
mod proxy_calls;
mod reactors;
mod records;
mod rotation;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;
mod transfer;
mod upkeep;
mod webhooks;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::bounds::CALLERS_MAX;
use crate::clock::Clock;
use crate::crypto::{QuickHash, Random, SystemKeys, Uses};
use crate::domain::card::bin_table::BinTable;
use crate::domain::hops::HopName;
use crate::domain::id::{ProxyId, ReactorId, assigned};
use crate::domain::tenant::{Tenant, TenantKind};
use crate::domain::time::Timestamp;
use crate::lock::SharedLock;
use crate::store::{CvcKeys, Snapshot, Store};
use programs::Programs;

pub use crate::store::backup::BackupFailure;
pub use crate::store::record::{SignedErasure, decode_erasure, encode_erasure};
pub use access::api_keys::NewKey;
pub use access::applications::{ApplicationChange, ApplicationDraft, ApplicationQuery, FirstKey};
pub use access::people::is_secret_of_sign_on;
pub use access::sessions::{NewSession, SessionAuthorization};
pub use access::tenants::{TenantChange, TenantDraft};
pub use audit::{
    AuditPolicy, AuditScope, AuditStatus, ChainGap, ChainPosition, ChainReport, ExportCursor,
    ExportQuery, ExportedEntry, FollowStep, FollowedItem, LogPage, LogQuery, LogStart, Receipt,
    RefusalPace, RefusedAttempt, TrustAnchors, WrittenRefusals, decode_receipt, digest_of,
    encode_receipt,
};
pub use caller::Caller;
pub use client_keys::ClientKeyView;
#[cfg(any(fuzzing, test))]
pub(crate) use client_keys::fuzz as jwe_fuzz;
pub use commit::commit_loop::Write;
pub use commit::disk::{DiskEvent, DiskState};
pub use commit::idempotency::Guard;
#[cfg(test)]
pub(in crate::app) use commit::idempotency::tests::show_nothing;
pub use console::{Console, KeyOverview, TenantCount};
pub use deletion::DeletionStep;
pub use erasure::{Erasure, MatchingRecords};
pub use error::{Error, Fault, Upstream};
pub use fair_pool::{Counts, Credential, FairPermit, FairPool, Party};
pub use findings::Report;
pub use keys::share_sets::ChainWord;
pub use named::{Named, NamedQuery, Stamps};
pub use open::VaultFailure;
pub use outbound::{
    ClientIdentity, Outbound, OutboundFailure, OutboundRequest, OutboundResponse, Sending,
};
pub use processes::Beat;
pub use program_calls::gathered::Gathered;
pub use program_calls::identity::ProgramIdentity;
pub use program_calls::{HostedCall, ProgramFailure, ProgramHosts, read_result};
pub use proxies::expressions::check_expressions;
pub use proxies::transforms::TransformFailure;
pub use proxies::transforms::code::FailedProgram;
pub use proxy_calls::called::{CallFailure, CalledProxy};
#[cfg(any(fuzzing, test))]
pub(crate) use proxy_calls::fuzz as proxy_fuzz;
pub use proxy_calls::{ChosenProxy, ProxyCall, ProxyFailure};
pub use reactors::called::{CalledReactor, CalledReactors, FailedReaction};
pub use reactors::react::{InvocationKind, PreparedReaction, Reacted};
pub use reactors::results::ResultState;
pub use rotation::{
    KeyInventory, KeyState, ListedKey, ListedRotation, MasterRotation, NewSigner, RotationProgress,
    Step, Walk,
};
pub use threeds::{
    Asking, ChallengeQuestion, ChallengeReply, Client, DirectoryFailure, DirectoryServers,
    Introduction, ListedSession, RangesRefresh, Reply, ResponseKind, SessionDraft, SessionPage,
};
pub use tokens::create::{TokenOrigin, WriteOutcome};
pub use tokens::draft::{DataSource, Deduplicate, TokenDraft};
pub use tokens::intents::{TokenIntentDraft, TokenIntentView};
pub use tokens::lists::cursor::CursorStart;
pub use tokens::lists::numbered::PageRange;
pub use tokens::read::{DataView, TokenView};
pub use tokens::tokenize::{Part, Piece, Replacement, TokenizeDraft, TokenizeOutcome, leaf};
pub use tokens::update::TokenPatch;
pub use tokens::usage::{TokenUsage, TypeUsage};
pub use upkeep::archive::{ArchiveCondition, Archiver};
pub use upkeep::archive_state::ArchiveState;
pub use upkeep::backups::clear_leftovers;
pub use upkeep::holdings::{Holding, StoredCodes};
pub use upkeep::proof::{ProofFailure, prove};
pub use upkeep::scrub::{ScrubProgress, ScrubWalk};

pub use crate::crypto::KeyPurpose;

pub use crate::store::tables::CodeEnd;
pub use crate::store::{Authority, FORMAT};
pub use origin::{originated, originated_by_process};
pub use transfer::{
    ApplicationRow, ExportFailure, ExportItem, ExportTarget, ImportMode, ImportPage, ImportRow,
    ImportSummary, RowDraft, Transfer,
};
pub use webhooks::{ListedWebhook, PendingEvent, WebhookChange, WebhookDraft, WebhookNews};

/// The store, the keys and the shared state that operations work on.
#[derive(Debug)]
pub struct Vault {
    store: Store,
    masters: keys::masters::Masters,
    system: SharedLock<Arc<SystemKeys>>,
    uses: Uses,
    rotations: rotation::state::Rotations,
    clock: Clock,
    random: Random,
    /// Authenticated callers by the quick hash of their key's text and by its tag, so that most
    /// requests neither compute the tag nor read the data file.
    callers: generation_cache::GenerationCache<[u8; 32], Caller, { 2 * CALLERS_MAX }>,
    key_texts: QuickHash,
    last_uses: caller::last_uses::LastUses,
    /// For pages of logs and of numbered lists.
    walks: FairPool,
    /// Separate, so that the console takes no place of other requests.
    console_walks: FairPool,
    /// For exports, inventories and inspections of the operator. They may take minutes, so requests
    /// must not wait for them.
    operator_walks: blocking::BlockingPool,
    evaluations: tokens::evaluations::Evaluations,
    lanes: commit::lanes::Lanes,
    in_flight: Arc<commit::idempotency::InFlight>,
    cvc_keys: Arc<CvcKeys>,
    open_cvc_keys: keys::cvc::OpenCvcKeys,
    received_cvc_keys: keys::cvc::ReceivedCvcKeys,
    /// The longest retention of a production tenant's codes.
    cvc_retention_max: Duration,
    bins: SharedLock<Arc<BinTable>>,
    /// Entries of reads, queued for the audit chain.
    reads: audit::reads::ReadQueue,
    /// Readings of the audit chain by operators.
    readings: audit::readings::Readings,
    /// Refused attempts that are not in the audit chain yet.
    refusals: audit::refusals::RefusalTable,
    audit_retention: Duration,
    audit_watch: audit::watch::ChainWatch,
    floor: Option<commit::disk::DiskFloor>,
    opened_at: Timestamp,
    /// The last time at which a sweep had removed everything that was due, in microseconds.
    swept_at: AtomicI64,
    threeds: threeds::state::ThreedsState,
    outbound: OnceLock<Arc<dyn Outbound>>,
    programs: OnceLock<Arc<dyn Programs>>,
    hop_name: OnceLock<HopName>,
    proxy_calls: call_counts::CallCounts<ProxyId, CallFailure>,
    reactor_calls: call_counts::CallCounts<ReactorId, FailedReaction>,
    webhooks: webhooks::state::WebhookState,
    damage: damage::Damage,
    archive: upkeep::archive::ArchiveWatch,
    jobs: Arc<jobs::Jobs>,
    scrubs: upkeep::scrub::ScrubWatch,
    deletions: deletion::state::Deletions,
    processes: processes::state::ProcessState,
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

    /// Card number ranges with their issuers, countries and products.
    pub fn bins(&self) -> Arc<BinTable> {
        Arc::clone(&self.bins.read())
    }

    pub fn replace_bins(&self, bins: BinTable) {
        *self.bins.write() = Arc::new(bins);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets production tenants keep card verification codes for up to this time.
    #[must_use]
    pub const fn with_cvc_retention_max(mut self, max: Duration) -> Self {
        self.cvc_retention_max = max;
        self
    }

    pub const fn cvc_retention_max(&self) -> Duration {
        self.cvc_retention_max
    }

    /// The retention of a new code. A quota from before the operator's setting does not exceed it.
    pub fn cvc_retention(&self, tenant: &Tenant) -> Duration {
        match tenant.kind {
            TenantKind::Production => tenant.quotas.cvc_retention.min(self.cvc_retention_max),
            TenantKind::Test => tenant.quotas.cvc_retention,
        }
    }

    fn next_id(&self, now: Timestamp) -> uuid::Uuid {
        assigned(now, self.random.bytes())
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.store.snapshot()?)
    }
}

/// Call it at most once, before the first request. Without it nothing can be sent to destinations.
pub fn configure_outbound(vault: &Vault, outbound: Arc<dyn Outbound>) {
    vault.outbound.get_or_init(|| outbound);
}

/// Call it at most once, before the first request. Without it no program runs.
pub fn configure_programs(vault: &Vault, programs: Arc<dyn Programs>) {
    vault.programs.get_or_init(|| programs);
}

/// Declares the parts of the operations. Each borrows the vault; its operations are in its folder.
macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a> {
            vault: &'a Vault,
        }

        impl Vault {
            pub const fn $part(&self) -> $name<'_> {
                $name { vault: self }
            }
        }
    )+};
}

parts! {
    /// Tenants, applications, their API keys, and the callers that the keys stand for.
    access AccessControl;
    /// The audit chain: writing entries, checkpoints, listing, export and inspection.
    audit Audit;
    client_keys ClientKeys;
    /// Storing, reading and destroying card verification codes.
    cvcs Cvcs;
    /// Idempotency keys and their remembered answers.
    idempotency Idempotency;
    /// The keys of the server and of tenants, opened with the master key.
    keys KeyRing;
    /// This process and the others.
    processes Processes;
    proxies Proxies;
    /// Programs of the tenant that callers run.
    reactors Reactors;
    threeds ThreedsSessions;
    /// Writes the rows of a token: its record and its index entries.
    token_rows TokenRows;
    /// Checks every record and index entry of the vault.
    verification Verification;
}

/// As [`parts`], for work that only the leader does if several processes share the store.
macro_rules! parts_of_leader {
    ($($(#[$doc:meta])* $part:ident $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a> {
            vault: &'a Vault,
            /// The processes that may do this work.
            by: Authority,
        }

        impl Vault {
            pub const fn $part(&self) -> $name<'_> {
                $name { vault: self, by: Authority::Leader(None) }
            }
        }

        impl $name<'_> {
            /// Names the processes that may do this work in a shared store. By default only a vault
            /// that is alone does it.
            #[must_use]
            pub const fn by(mut self, authority: Authority) -> Self {
                self.by = authority;
                self
            }
        }
    )+};
}

parts_of_leader! {
    /// Takes and proves backups while the vault is in use.
    backups Backups;
    /// Card ranges that the directory servers publish.
    card_ranges CardRanges;
    deletion TenantDeletion;
    /// Replacing keys while the vault is in use.
    rotation KeyRotation;
    /// Removes expired records, looks for damage, and counts records.
    upkeep Upkeep;
    /// A tenant's webhooks, the events that wait for them, and their delivery.
    webhooks Webhooks;
}
