//! Tokens and token intents: create, read, update, delete, tokenize, detokenize and lists.

pub(in crate::app) mod create;
pub(in crate::app) mod delete;
pub(in crate::app) mod detokenize;
pub(in crate::app) mod draft;
pub(in crate::app) mod duplicates;
pub(in crate::app) mod evaluations;
pub(in crate::app) mod host;
pub(in crate::app) mod intents;
pub(in crate::app) mod lists;
pub(in crate::app) mod quota;
pub(in crate::app) mod read;
pub(in crate::app) mod rows;
pub(in crate::app) mod tokenize;
pub(in crate::app) mod update;
