//! Looking at a running server: `strongroom status`.

use std::path::PathBuf;

use argh::FromArgs;

/// Show the state of a running server: readiness and the reason if it is not ready, contents,
/// latency, disk and certificate. Exits with 69 when the server is not ready or not running.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "status")]
pub(in crate::cli) struct StatusCommand {
    /// settings file of the server
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, instead of the one in the settings
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// print JSON instead of text
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}
