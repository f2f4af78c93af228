//! The client of a running vault for destinations outside.

use std::sync::Arc;

use crate::app::{Vault, configure_outbound};
use crate::cli::support::{Exit, Failure, Result};
use crate::config::OutboundSettings;
use crate::log::Log;
use crate::outbound::{OutboundClient, Scope};
use crate::server::tasks::Tasks;

/// Configures the vault's client. The server starts without the system's certificate authorities,
/// but not with a file of the settings that cannot be used.
pub fn set_up(
    vault: &Vault,
    scope: Scope,
    settings: &OutboundSettings,
    tasks: &Tasks,
    log: &Log,
) -> Result<Arc<OutboundClient>> {
    let (allowed, ca_file) = (settings.allow.clone(), settings.ca_file.as_deref());
    let client = OutboundClient::new(scope, allowed, ca_file, tasks, log).map_err(|problem| {
        let source = std::error::Error::source(&problem).map(|source| format!("\n{source}"));
        Failure::new(Exit::Config, "cannot use the certificate authorities of destinations")
            .why(format!("{problem}{}", source.unwrap_or_default()))
            .try_this(problem.advice())
    })?;
    let client = Arc::new(client);
    configure_outbound(vault, Arc::<OutboundClient>::clone(&client));
    Ok(client)
}
