//! The encodings of records: a version byte, then JSON. Tokens, remembered answers and audit
//! entries are binary, because every request reads or writes one. Both encodings are documented and
//! have vectors, so that a customer can read a backup without this program. Released versions stay
//! readable: a new version is added and does not replace them.
//!
//! `shape` declares the members of a record once. The declarations document the versions in use,
//! and `tests/vectors` holds a sample of each.
mod access;
mod answer;
mod audit;
mod audit_origin;
mod backups;
mod binary;
mod client_key;
pub(in crate::store) mod encoding;
mod erasure;
mod hidden_parts;
mod import;
mod leaves;
mod proxy;
mod reactor;
mod shape;
pub(in crate::store) mod share_set;
mod tenant;
mod threeds;
mod threeds_ranges;
mod token;
mod token_intent;
mod webhook;

pub use access::{
    KeyRecord, decode_access_session, decode_api_key, decode_application, encode_access_session,
    encode_api_key, encode_application,
};
#[cfg(any(fuzzing, test))]
pub use answer::encode_stored_again;
pub use answer::{
    AnswerHead, AnswerRecord, BodyPart, SourcedAnswer, StoredAnswer, StoredPart, decode_answer,
    decode_stored_answer, encode_answer, encode_answer_again, encode_reservation, encode_sourced,
};
pub use audit::{decode_audit, encode_audit};
pub use backups::{decode_backups, encode_backups};
pub use client_key::{decode_client_key, encode_client_key};
pub use encoding::{BadRecord, EncodeFailed};
pub use erasure::{ErasureReceipt, SignedErasure, decode_erasure, encode_erasure};
#[cfg(any(fuzzing, test))]
pub use hidden_parts::encode_hidden;
pub use hidden_parts::{HiddenPart, HiddenParts, decode_hidden};
pub use import::{ImportRecord, decode_import, encode_import};
pub use proxy::{decode_proxy, encode_proxy};
pub use reactor::{decode_reactor, decode_reactor_result, encode_reactor, encode_reactor_result};
pub use tenant::{decode_tenant, encode_tenant};
pub use threeds::{decode_session, encode_session};
pub use threeds_ranges::{decode_known_ranges, decode_ranges, encode_known_ranges, encode_ranges};
pub use token::{decode_token, encode_token};
pub use token_intent::{decode_token_intent, encode_token_intent};
pub use webhook::{EventRecord, decode_event, decode_webhook, encode_event, encode_webhook};
