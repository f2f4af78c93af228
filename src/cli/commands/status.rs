//! Looking at a running server: `strongroom status`.

use super::vault::vault_command;

vault_command! {
    /// Show the state of a running server: readiness and the reason if it is not ready, contents,
    /// latency, disk and certificate. Exits with 69 when the server is not ready or not running.
    #[argh(subcommand, name = "status")]
    pub(in crate::cli) struct StatusCommand {}
}
