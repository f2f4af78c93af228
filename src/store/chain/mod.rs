//! The audit chain in the file: rows that are linked by hashes, the two ends of the chain, and the
//! signed checkpoints.
//!
//! A row's key starts with its scope, so that a tenant's entries are one range. The row's number is
//! its position in the chain of its shard, which several scopes share. Its value is the time (8), the number of
//! entries (2) and the sealed entries. Its link is SHA-256 over the previous link, scope, number,
//! time, number of entries and the sealed entries ([`crate::crypto::Link`]); the first row's
//! previous link is 32 zeros.
//!
//! A checkpoint ([`checkpoint`]) signs the link at a number of entries, the position of the
//! previous checkpoint, so that a missing checkpoint is noticed, and the state of the live records
//! of each shard.
//! When old entries are removed, the new start of the chain is signed in the same way. The signing
//! keys are in [`signers`].
pub mod checkpoint;
mod heads;
mod inspect;
mod receipt;
pub(in crate::store) mod row;
pub(in crate::store) mod rows;
pub mod signers;
mod states;

pub use checkpoint::{Checkpoint, Receipt, RecordState, SignatureKind, Statement};
pub use heads::Heads;
pub use inspect::{ChainReport, Inspection, TrustAnchors};
pub use receipt::{decode_receipt, encode_receipt};
pub use row::{AuditRow, Head};
pub use rows::{ChainRows, MergedRows, scopes_by_shard};
pub use signers::{Handover, Signers};
pub use states::{ShardState, ShardStates};
