//! The operations, one file each: they read a snapshot, decide, and hand over a change.
//!
//! Nothing here knows of HTTP. Exactly one await of an operation changes the world, and it is the
//! commit; a client that leaves before it leaves nothing, after it the writer finishes alone.

mod applications;
mod audit;
mod authenticate;
mod backups;
mod callers;
mod create_token;
mod cvc;
mod damage;
mod delete_token;
mod detokenize;
mod duplicates;
mod error;
mod evaluations;
mod floor;
mod holdings;
mod instrument;
mod keys;
mod legacy_tokens;
mod list_tokens;
mod listed;
mod masters;
mod once;
mod outside;
mod read_token;
mod rotation;
mod scan;
mod scrub;
mod share_sets;
mod sweep;
mod tenants;
#[cfg(test)]
mod tests;
mod threeds;
mod timeline;
mod token_draft;
mod token_intents;
mod token_quota;
mod token_rows;
mod tokenize;
mod turns;
mod update_token;
mod vault;
mod verify;

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
pub use applications::{ApplicationDraft, ApplicationPage, ApplicationQuery, FirstKey};
pub use audit::{
    AuditFinding, AuditPolicy, AuditReads, AuditScope, AuditStatus, ChainReport, Expected,
    ExportPage, ExportQuery, Exported, LogPage, LogQuery, LogStart, Receipt, decode_receipt,
    encode_receipt,
};
pub use authenticate::Caller;
pub use backups::{Proof, ProofFailure, clear_leftovers, prove};
pub use create_token::{Origin, Written};
pub use damage::DamagedRow;
pub use error::{Error, Fault, TokenFault, Upstream};
pub use floor::{DiskNews, Room};
pub use holdings::Holding;
pub use keys::NewKey;
pub use legacy_tokens::{LegacyTokenPage, Stretch};
pub use list_tokens::{CursorStart, TokenPage};
pub use once::{Once, Write};
pub use read_token::{Shown, ShownData};
pub use rotation::{
    KeyInventory, KeyState, ListedKey, ListedRotation, MasterEntry, NewSigner, Rotated, Step, Walk,
};
pub use scrub::{ScrubWalk, Scrubbed};
pub use share_sets::ChainWord;
pub use sweep::Swept;
pub use tenants::{TenantChange, TenantDraft};
pub use threeds::{
    Asking, Awaited, ChallengeReply, Challenged, Client, DirectoryServers, Introduction,
    RangesRefreshed, Reply, SessionDraft, Unanswered, Visitor,
};
pub use token_draft::{Deduplicate, TokenDraft};
pub use token_intents::{ShownIntent, TokenIntentDraft};
pub use tokenize::{Part, Piece, Place, TokenizeDraft, Tokenized, leaf};
pub use update_token::TokenPatch;
pub use vault::VaultFailure;

pub use crate::crypto::KeyPurpose;

/// The version of the data file and of everything in it.
pub use crate::store::FORMAT;
pub use verify::Report;

/// Everything an operation needs.
#[derive(Debug)]
pub struct App {
    store: Store,
    masters: masters::Masters,
    system: RwLock<Arc<SystemKeys>>,
    uses: Uses,
    rotations: rotation::Rotations,
    clock: Clock,
    random: Random,
    callers: callers::Callers,
    evaluations: evaluations::Evaluations,
    turns: turns::Turns,
    flights: Arc<once::Flights>,
    cvc_keys: CvcKeys,
    bins: RwLock<Arc<BinTable>>,
    /// Reads on their way into the audit chain.
    reads: audit::Reads,
    audit_retention: Duration,
    audit_watch: audit::Watch,
    migrated: Option<Migrated>,
    floor: Option<floor::Floor>,
    /// As microseconds: when everything that was due had been removed.
    swept_at: AtomicI64,
    threeds: threeds::ThreedsState,
    /// Rows that cannot be used.
    damage: damage::Damage,
    scrubs: scrub::ScrubWatch,
}

impl App {
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
