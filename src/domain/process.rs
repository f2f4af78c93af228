//! A process of those that share a store, as the operator sees it.

use uuid::Uuid;

use crate::domain::time::Timestamp;
use crate::domain::words::words;

words! {
    /// The part of a process among those that share a store.
    #[derive(Default)]
    pub enum ProcessRole {
        #[default]
        Server = "server";
        /// An operator's command that found no server on its host. It never leads.
        Command = "command";
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProcess {
    /// Each start of a process has an id of its own.
    pub id: Uuid,
    pub host: String,
    pub version: String,
    pub started_at: Timestamp,
    /// The last sign of life, on the clock of that process.
    pub beat_at: Timestamp,
    pub role: ProcessRole,
    /// It runs the background tasks of the vault.
    pub is_leader: bool,
    /// It is the process that lists the others.
    pub is_own: bool,
}
