//! The operator's hand: tenants, applications, keys and the audit chain from the command line.
//!
//! While a server runs, commands reach it through a Unix socket in the data directory; when none
//! runs, they open the file themselves. Both ways lead to [`Command::run`], so both give the same
//! answers.

mod access;
mod audit;
mod client;
mod command;
mod compliance_report;
mod socket;
mod vault_keys;

pub use audit::render_report;
pub use client::{CommandExchange, ask};
pub use command::{ClockControl, Command, CommandAnswer};
pub use compliance_report::ComplianceReportSettings;
pub use socket::{Socket, SocketFailure};

use std::path::{Path, PathBuf};

/// The socket's place in the data directory.
pub fn socket_path(data_directory: &Path) -> PathBuf {
    data_directory.join("operator.sock")
}

/// The place of the socket that speaks HTTP, for metrics, probes and `status`. It is not the one for
/// commands: those take turns, and a long one must not blind whoever watches.
pub fn metrics_socket_path(data_directory: &Path) -> PathBuf {
    data_directory.join("metrics.sock")
}
