//! Looking at a running server: `strongroom status`.

use std::path::PathBuf;

use argh::FromArgs;

/// Show how a running server is doing: whether it is ready and why not, what it holds, how fast it
/// answers, its disk and its certificate. Ends with 69 when it is not ready or not running.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "status")]
pub(in crate::cli) struct Status {
    /// settings file of the server
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(in crate::cli) data: Option<PathBuf>,
    /// print JSON instead of text for people
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}
