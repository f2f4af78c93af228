//! `strongroom dev-clock`: moves the clock of a running development server.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::command::command;
use crate::cli::support::{Exit, Failure, Result, ask_server, show_json};
use crate::domain::duration;
use crate::operator::Command;

command! {
    /// Move the clock of a running development server ahead, and remove everything that has expired.
    "dev-clock" DevClockCommand {
        /// directory of the running development server (default ./strongroom-dev)
        data: PathBuf = option(default = "PathBuf::from(\"strongroom-dev\")"),
        action: Action = subcommand,
    } => |it| move_clock(&it)
}

#[derive(argh::ArgsInfo, argh::FromArgs, Debug)]
#[argh(subcommand)]
pub enum Action {
    Advance(Advance),
}

command! {
    /// Move the clock ahead. Returns when everything that has expired by the new time is removed.
    "advance" Advance {
        /// a duration such as 30s, 15m, 24h or 90d, or a number of seconds
        duration: String = positional(arg_name = "DURATION"),
    }
}

fn move_clock(command: &DevClockCommand) -> Result<()> {
    let Action::Advance(advance) = &command.action;
    let seconds = seconds(&advance.duration)?;
    let moved = ask_server(&command.data, &Command::AdvanceClock { seconds })?;
    show_json(&moved.ok_or_else(|| {
        Failure::new(Exit::Unavailable, "no development server is running")
            .file(&command.data)
            .try_this("strongroom dev --data DIR, and give this command the same DIR")
    })?);
    Ok(())
}

fn seconds(text: &str) -> Result<u64> {
    let length = duration::parse_from(text, Duration::ZERO, Duration::MAX);
    length.filter(|length| length.subsec_millis() == 0).map(|length| length.as_secs()).ok_or_else(
        || {
            Failure::new(Exit::Usage, "the duration is wrong")
                .why("it must be a number with s, m, h or d")
                .try_this("strongroom dev-clock advance 24h")
        },
    )
}
