//! The audit chain as the file has it: rows that each carry on the link of the one before, its two
//! ends, and the signed checkpoints in between.
//!
//! A row stands under its tenant, so that a tenant's entries are one range; its number says where
//! it stands in the one chain of all. A row is `time (8), number of entries (2), sealed entries`.
//! Its link is SHA-256 over the previous link, scope, number, time, number of entries and the
//! sealed entries ([`crate::crypto::Link`]); the first row follows 32 zeros.
//!
//! A checkpoint says that the link was this when there were so many entries, what the checkpoint
//! before it was, so that one that is gone is missed by the next, and what the live records were. It is
//! signed ([`checkpoint`]). When old entries are removed, the place where the chain starts from then on
//! is signed in the same way. The keys that sign, one after the other, are [`signers`].
pub mod checkpoint;
mod inspect;
pub(in crate::store) mod row;
pub(in crate::store) mod rows;
pub mod signers;

pub use checkpoint::{Checkpoint, Extent, Receipt, RecordState, SignatureKind, Statement};
pub use inspect::{ChainReport, Inspection, TrustAnchors};
pub use row::{AuditRow, Head};
pub use rows::{ChainRows, scopes};
pub use signers::{Handover, Signer, Signers};
