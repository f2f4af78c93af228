//! Standbys: `strongroom follow` and `promote`.

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

/// Keep a standby: restore the archive of another vault continuously into the data directory of the
/// settings. Serves no clients, only `strongroom status` and metrics. SIGTERM stops it, and the next
/// start goes on from there.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "follow")]
pub(in crate::cli) struct FollowCommand {
    /// settings file, which names the data directory and the master key (default: that of the
    /// variable `STRONGROOM_CONFIG`, else /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// archive directory of the other vault (default: that of the settings)
    #[argh(option)]
    pub(in crate::cli) archive: Option<PathBuf>,
    /// file of a master key, besides the one in the settings or in place of a credential; may be
    /// repeated, if the master key was replaced
    #[argh(option)]
    pub(in crate::cli) key: Vec<PathBuf>,
    /// the backup to begin with; only for the first start
    #[argh(positional, arg_name = "BACKUP")]
    pub(in crate::cli) backup: Option<PathBuf>,
}

/// Make a vault of a stopped standby: apply the rest of the archive, mark the end of the old vault's
/// timeline there, and begin a new one. Start it with `strongroom serve`. Stop the old vault first.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "promote")]
pub(in crate::cli) struct PromoteCommand {
    /// settings file, which names the data directory and the master key (default: that of the
    /// variable `STRONGROOM_CONFIG`, else /etc/strongroom/strongroom.toml)
    #[argh(option)]
    pub(in crate::cli) config: Option<PathBuf>,
    /// archive directory of the old vault (default: that of the settings)
    #[argh(option)]
    pub(in crate::cli) archive: Option<PathBuf>,
    /// file of a master key, besides the one in the settings or in place of a credential; may be
    /// repeated, if the master key was replaced
    #[argh(option)]
    pub(in crate::cli) key: Vec<PathBuf>,
    /// the archive directory is lost: promote without it, and without a mark for the old vault
    #[argh(switch)]
    pub(in crate::cli) without_archive: bool,
    /// print JSON
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}
