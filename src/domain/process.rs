//! One of the processes that share a store, as `strongroom` lists it for the operator.

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
    /// Each start of a process gets a new id.
    pub id: Uuid,
    pub host: String,
    pub version: String,
    pub started_at: Timestamp,
    /// The last heartbeat, on the clock of that process.
    pub beat_at: Timestamp,
    pub role: ProcessRole,
    /// The leader runs the background tasks of the vault.
    pub is_leader: bool,
    /// True for the process that made the list.
    pub is_own: bool,
}
