//! Every command, in the order of the help.

use crate::cli::check::CheckCommand;
use crate::cli::command::{actions, command};
use crate::cli::dev::DevCommand;
use crate::cli::dev::clock::DevClockCommand;
use crate::cli::dev::preload::DevPreloadCommand;
use crate::cli::offline::compact::CompactCommand;
use crate::cli::offline::restore::RestoreCommand;
use crate::cli::offline::standby::{FollowCommand, PromoteCommand};
use crate::cli::offline::timeline::NewTimelineCommand;
use crate::cli::offline::verify::VerifyCommand;
use crate::cli::operate::application::ApplicationCommand;
use crate::cli::operate::audit::AuditCommand;
use crate::cli::operate::backup::BackupCommand;
use crate::cli::operate::erase::EraseCommand;
use crate::cli::operate::export::ExportCommand;
use crate::cli::operate::import::ImportCommand;
use crate::cli::operate::key::KeyCommand;
use crate::cli::operate::report::ReportCommand;
use crate::cli::operate::status::StatusCommand;
use crate::cli::operate::tenant::TenantCommand;
use crate::cli::operate::webhook::WebhookCommand;
use crate::cli::serve::{InitCommand, ServeCommand};
use crate::cli::support::{Form, tell};

/// A vault for card and personal data: programs send sensitive values over HTTPS and get tokens.
/// Try it with `strongroom dev`; run it with `strongroom init` and `strongroom serve`.
#[derive(argh::ArgsInfo, argh::FromArgs, Debug)]
#[argh(
    note = "Exit codes: 0 success, 64 wrong usage, 65 bad data or refused, 69 something needed is \
            in use or missing, 70 a bug, 74 the disk, 77 a key or a permission, 78 settings."
)]
pub(super) struct Strongroom {
    #[argh(subcommand)]
    pub(super) command: Action,
}

actions! {
    #[expect(clippy::enum_variant_names, reason = "the names of the types of the commands")]
    ApplicationCommand, AuditCommand, BackupCommand, CheckCommand, CompactCommand, DevCommand,
    DevClockCommand, DevPreloadCommand, EraseCommand, ExportCommand, FollowCommand, ImportCommand,
    InitCommand, KeyCommand, NewTimelineCommand, PromoteCommand, ReportCommand, RestoreCommand,
    ServeCommand, StatusCommand, TenantCommand, VerifyCommand, VersionCommand, WebhookCommand,
}

command! {
    /// Print the version.
    "version" VersionCommand {
        /// print JSON
        json: bool = switch,
    } => |it| {
        let version = env!("CARGO_PKG_VERSION");
        let facts = || serde_json::json!({"version": version});
        tell(Form::of(it.json), facts, || format!("strongroom {version}"));
        Ok(())
    }
}
