//! Operator's commands: tenants, applications, keys, backups, reports and the audit chain.
//!
//! While a server runs, the command line sends commands to it through a Unix socket in the data
//! directory. Otherwise the command line opens the data file itself. Both call [`Command::run`], so
//! both give the same answers.

mod access;
mod audit;
mod client;
mod command;
mod compliance_report;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod lifecycle;
mod progress;
mod socket;
mod transfer;
mod user;
mod vault_keys;
mod webhooks;

pub use audit::render_report;
pub use client::{CommandExchange, ask};
pub use command::{ClockControl, Command, CommandAnswer, sentences};
pub use compliance_report::{
    CheckedThing, ClockFacts, ComplianceReportSettings, KnownSettings, TlsFacts,
};
pub use socket::{Socket, SocketFailure};
pub use transfer::ImportRows;
pub use user::{user_of, user_of_process};

use std::path::{Path, PathBuf};

use crate::app::Error;

/// The JSON of an answer to a command.
type Answer = Result<Vec<u8>, Error>;

pub fn socket_path(data_directory: &Path) -> PathBuf {
    data_directory.join("operator.sock")
}

/// The path of the HTTP socket for metrics, probes and `status`. It is separate from the socket for
/// commands, whose number is limited: long commands must not delay monitoring.
pub fn metrics_socket_path(data_directory: &Path) -> PathBuf {
    data_directory.join("metrics.sock")
}
