//! The operations, one file each. An operation reads a snapshot, decides, and commits a change.
//!
//! Nothing here knows of HTTP. The commit is the only await of an operation that has a lasting
//! effect. If the client disconnects before the commit, nothing has changed. If it disconnects
//! later, the writer completes the change without it.

mod access;
mod audit;
mod blocking;
mod client_keys;
mod commit;
mod console;
mod deletion;
mod erasure;
mod error;
mod jobs;
mod keys;
mod origin;
mod outbound;
mod processes;
mod proxies;
mod proxy_calls;
#[cfg(test)]
mod tests;
mod threeds;
mod tokens;
mod transfer;
mod upkeep;
mod vault;
mod webhooks;

pub use crate::store::backup::BackupFailure;
pub use crate::store::record::{SignedErasure, decode_erasure, encode_erasure};
pub use access::api_keys::NewKey;
pub use access::applications::{ApplicationChange, ApplicationDraft, ApplicationQuery, FirstKey};
pub use access::caller::Caller;
pub use access::sessions::{NewSession, SessionAuthorization};
pub use access::tenants::{TenantChange, TenantDraft};
pub use audit::{
    AuditPolicy, AuditReads, AuditScope, AuditStatus, ChainReport, ExportQuery, ExportedEntry,
    LogPage, LogQuery, LogStart, Receipt, RefusalPace, RefusedAttempt, TrustAnchors,
    WrittenRefusals, decode_receipt, digest_of, encode_receipt,
};
pub use client_keys::ClientKeyView;
#[cfg(any(fuzzing, test))]
pub(crate) use client_keys::fuzz as jwe_fuzz;
pub use commit::commit_loop::Write;
pub use commit::disk::{DiskEvent, DiskState};
pub use commit::idempotency::Guard;
pub use console::{Console, KeyOverview, TenantCount};
pub use deletion::DeletionStep;
pub use erasure::{Erasure, MatchingRecords};
pub use error::{Error, Fault, Upstream};
pub use keys::open::VaultFailure;
pub use keys::rotation::{
    KeyInventory, KeyState, ListedKey, ListedRotation, MasterRotation, NewSigner, RotationProgress,
    Step, Walk,
};
pub use keys::share_sets::ChainWord;
pub use outbound::{
    ClientIdentity, Outbound, OutboundFailure, OutboundRequest, OutboundResponse, Sending,
};
pub use processes::Beat;
pub use proxies::expressions::check_expressions;
pub use proxies::manage::ProxyQuery;
pub use proxies::transforms::TransformFailure;
#[cfg(any(fuzzing, test))]
pub(crate) use proxy_calls::fuzz as proxy_fuzz;
pub use proxy_calls::{CalledProxy, ChosenProxy, ProxyCall, ProxyFailure};
pub use threeds::{
    Asking, ChallengeQuestion, ChallengeReply, Client, DirectoryFailure, DirectoryServers,
    Introduction, ListedSession, RangesRefresh, Reply, ResponseKind, SessionDraft, SessionPage,
};
pub use tokens::draft::{Deduplicate, TokenDraft};
pub use tokens::intents::{TokenIntentDraft, TokenIntentView};
pub use tokens::lists::cursor::CursorStart;
pub use tokens::lists::numbered::PageRange;
pub use tokens::patch::TokenPatch;
pub use tokens::read::{DataView, TokenView};
pub use tokens::tokenize::{Part, Piece, Place, TokenizeDraft, TokenizeOutcome, leaf};
pub use tokens::usage::TokenUsage;
pub use tokens::written::{TokenOrigin, WriteOutcome};
pub use upkeep::archive::{ArchiveCondition, ArchiveState, Archiver};
pub use upkeep::backups::clear_leftovers;
pub use upkeep::holdings::{Holding, StoredCodes};
pub use upkeep::proof::{ProofFailure, prove};
pub use upkeep::scrub::{ScrubProgress, ScrubWalk};

pub use crate::crypto::KeyPurpose;

/// The version of the format of the data file.
pub use crate::store::FORMAT;
pub use origin::{originated, originated_by_process};
pub use transfer::{
    ApplicationRow, ExportFailure, ExportItem, ExportTarget, ImportMode, ImportPage, ImportRow,
    ImportSummary, RowDraft, Transfer,
};
pub use upkeep::verify::Report;
pub use vault::{Vault, configure_outbound};
pub use webhooks::{ListedWebhook, PendingEvent, WebhookChange, WebhookDraft, WebhookNews};
