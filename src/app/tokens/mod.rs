//! Tokens and token intents: create, read, update, delete, tokenize, detokenize and lists.

pub(in crate::app) mod bank_check;
pub(in crate::app) mod codes;
pub(in crate::app) mod create;
pub(in crate::app) mod delete;
pub(in crate::app) mod detokenize;
pub(in crate::app) mod draft;
pub(in crate::app) mod duplicates;
pub(in crate::app) mod evaluations;
pub(in crate::app) mod intents;
pub(in crate::app) mod lists;
pub(in crate::app) mod read;
pub(in crate::app) mod references;
pub(in crate::app) mod rows;
pub(in crate::app) mod tokenize;
pub(in crate::app) mod update;
pub(in crate::app) mod usage;
use crate::app::Vault;
use crate::app::caller::Caller;

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
