//! The operations, one file each: they read a snapshot, decide, and hand over a change.
//!
//! Nothing here knows of HTTP. Exactly one await of an operation changes the world, and it is the
//! commit; a client that leaves before it leaves nothing, after it the writer finishes alone.

mod access;
mod audit;
mod commit;
mod error;
mod keys;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;
mod upkeep;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::clock::Clock;
use crate::crypto::{Random, SystemKeys, Uses};
use crate::domain::card::bin_table::BinTable;
use crate::domain::id::assigned;
use crate::domain::time::Timestamp;
use crate::store::{Change, CvcKeys, Migrated, Snapshot, Store, Verdict};

pub use crate::store::backup::BackupFailure;
pub use access::AccessControl;
pub use access::api_keys::NewKey;
pub use access::applications::{ApplicationDraft, ApplicationPage, ApplicationQuery, FirstKey};
pub use access::authenticate::Caller;
pub use access::tenants::{TenantChange, TenantDraft};
pub use audit::Audit;
pub use audit::{
    AuditFinding, AuditPolicy, AuditReads, AuditScope, AuditStatus, ChainReport, Expected,
    ExportPage, ExportQuery, Exported, LogPage, LogQuery, LogStart, Receipt, decode_receipt,
    encode_receipt,
};
pub use commit::disk::{DiskNews, Room};
pub use commit::idempotency::Idempotency;
pub use commit::idempotency::{Once, Write};
pub use error::{Error, Fault, TokenFault, Upstream};
pub use keys::KeyRing;
pub use keys::open::VaultFailure;
pub use keys::rotation::KeyRotation;
pub use keys::rotation::{
    KeyInventory, KeyState, ListedKey, ListedRotation, MasterEntry, NewSigner, Rotated, Step, Walk,
};
pub use keys::share_sets::ChainWord;
pub use threeds::ThreedsSessions;
pub use threeds::ranges::CardRanges;
pub use threeds::{
    Asking, Awaited, ChallengeReply, Challenged, Client, DirectoryServers, Introduction,
    RangesRefreshed, Reply, SessionDraft, Unanswered, Visitor,
};
pub use tokens::Tokens;
pub use tokens::create::{Origin, Written};
pub use tokens::draft::{Deduplicate, TokenDraft};
pub use tokens::intents::TokenIntents;
pub use tokens::intents::{ShownIntent, TokenIntentDraft};
pub use tokens::lists::cursor::{CursorStart, TokenPage};
pub use tokens::lists::numbered::{LegacyTokenPage, Stretch};
pub use tokens::read::{Shown, ShownData};
pub use tokens::tokenize::{Part, Piece, Place, TokenizeDraft, Tokenized, leaf};
pub use tokens::update::TokenPatch;
pub use upkeep::Upkeep;
pub use upkeep::backups::Backups;
pub use upkeep::backups::{Proof, ProofFailure, clear_leftovers, prove};
pub use upkeep::damage::DamagedRow;
pub use upkeep::holdings::Holding;
pub use upkeep::scrub::{ScrubWalk, Scrubbed};
pub use upkeep::sweep::Swept;
pub use upkeep::verify::Verification;

pub use crate::crypto::KeyPurpose;

/// The version of the data file and of everything in it.
pub use crate::store::FORMAT;
pub use upkeep::verify::Report;

/// Everything an operation needs.
#[derive(Debug)]
pub struct Vault {
    store: Store,
    masters: keys::masters::Masters,
    system: RwLock<Arc<SystemKeys>>,
    uses: Uses,
    rotations: keys::rotation::Rotations,
    clock: Clock,
    random: Random,
    callers: access::callers::Callers,
    evaluations: tokens::evaluations::Evaluations,
    turns: commit::lanes::Turns,
    flights: Arc<commit::idempotency::Flights>,
    cvc_keys: CvcKeys,
    bins: RwLock<Arc<BinTable>>,
    /// Reads on their way into the audit chain.
    reads: audit::Reads,
    audit_retention: Duration,
    audit_watch: audit::Watch,
    migrated: Option<Migrated>,
    floor: Option<commit::disk::Floor>,
    /// As microseconds: when everything that was due had been removed.
    swept_at: AtomicI64,
    threeds: threeds::ThreedsState,
    /// Rows that cannot be used.
    damage: upkeep::damage::Damage,
    scrubs: upkeep::scrub::ScrubWatch,
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

    /// What is known about card numbers beyond their brands.
    pub fn bins(&self) -> Arc<BinTable> {
        Arc::clone(&self.bins.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn replace_bins(&self, bins: BinTable) {
        *self.bins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(bins);
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn next_id(&self, now: Timestamp) -> uuid::Uuid {
        assigned(now, self.random.bytes())
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.store.snapshot()?)
    }

    /// Commits what `decide` makes of a fresh snapshot, and decides again when others changed in
    /// the meantime what the decision rested on.
    async fn settle<T>(
        &self,
        decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error>,
    ) -> Result<T, Error> {
        self.require_room_for_changes()?;
        self.settle_upkeep(decide).await
    }

    /// The same for what goes on when the disk is nearly full: what reads need, what removes things,
    /// what takes access away, what brings to its end something that was begun.
    async fn settle_upkeep<T>(
        &self,
        mut decide: impl FnMut(&Snapshot) -> Result<(Change, T), Error>,
    ) -> Result<T, Error> {
        self.require_room_for_traces()?;
        for _ in 0..crate::bounds::DECISIONS_MAX {
            let snapshot = self.snapshot()?;
            let (change, outcome) = decide(&snapshot)?;
            // Until it is queued, a rotation of keys must wait for it.
            let _era = snapshot.era();
            drop(snapshot);
            match self.store.commit(change).await? {
                Verdict::Applied => return Ok(outcome),
                Verdict::Refused => (),
            }
        }
        Err(Error::Busy)
    }
}
