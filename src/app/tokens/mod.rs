//! Tokens and token intents: create, read, update, delete, tokenize, detokenize and lists.

pub(in crate::app) mod bank_check;
pub(in crate::app) mod create;
pub(in crate::app) mod delete;
pub(in crate::app) mod detokenize;
pub(in crate::app) mod draft;
pub(in crate::app) mod duplicates;
pub(in crate::app) mod evaluating;
pub(in crate::app) mod evaluations;
pub(in crate::app) mod host;
pub(in crate::app) mod intents;
pub(in crate::app) mod lists;
pub(in crate::app) mod patch;
pub(in crate::app) mod quota;
pub(in crate::app) mod read;
pub(in crate::app) mod references;
pub(in crate::app) mod rows;
pub(in crate::app) mod tokenize;
pub(in crate::app) mod update;
pub(in crate::app) mod usage;
pub(in crate::app) mod written;
use crate::app::access::caller::Caller;
use crate::app::vault::Vault;

/// Operations of one caller on tokens.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    pub(in crate::app) vault: &'a Vault,
    pub(in crate::app) caller: &'a Caller,
}

impl Vault {
    pub const fn tokens<'a>(&'a self, caller: &'a Caller) -> Tokens<'a> {
        Tokens { vault: self, caller }
    }
}
