//! Carries out an operator's command, by the running server or on the data file itself.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::app::{Error, RotationProgress, Step, Vault, Walk};
use crate::bounds::ROTATION_WAIT;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{refused, unreachable_server};
use crate::cli::support::membership::{as_member, find_living};
use crate::cli::support::open_vault;
use crate::cli::support::output::{complain, say};
use crate::cli::support::progress::{Label, ProgressBar};
use crate::cli::support::runtime::block_on;
use crate::cli::support::vault_home::VaultHome;
use crate::cli::support::vault_place::VaultPlace;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::size;
use crate::operator::{ClockControl, Command, CommandAnswer, CommandExchange, ask};

pub(in crate::cli) fn carry_out(
    vault: &VaultPlace,
    command: Command,
) -> Result<CommandAnswer, Failure> {
    order(&vault.home, || vault.master(), command)
}

/// As [`carry_out`], with a progress bar for the work of this name ([`Command::Progress`]).
pub(in crate::cli) fn carry_out_shown(
    vault: &VaultPlace,
    command: Command,
    shown: &ShownWork,
) -> Result<CommandAnswer, Failure> {
    let open = || open_vault::open(&vault.home, &vault.master()?, Clock::new());
    order_shown(vault.directory(), open, command, Some(shown))
}

/// Work that a progress bar shows while a command runs.
#[derive(Debug)]
pub(in crate::cli) struct ShownWork {
    pub(in crate::cli) label: Label,
    pub(in crate::cli) json: bool,
    pub(in crate::cli) job: String,
}

impl ShownWork {
    /// Asks the server.
    pub(in crate::cli) fn in_server(&self, directory: &Path) -> ProgressBar {
        let (directory, job) = (directory.to_path_buf(), self.job.clone());
        ProgressBar::show(self.label, self.json, move || {
            match ask(&directory, &Command::Progress { job: job.clone() }) {
                CommandExchange::Answered(CommandAnswer::Done(progress)) => {
                    Some((progress.get("done")?.as_u64()?, progress.get("total")?.as_u64()?))
                }
                CommandExchange::Answered(
                    CommandAnswer::ReadOnly { .. } | CommandAnswer::Refused(_),
                )
                | CommandExchange::Failed(_)
                | CommandExchange::NoServer => None,
            }
        })
    }

    /// Asks the vault that this process has open.
    fn in_process(&self, vault: &Vault) -> ProgressBar {
        let (jobs, job) = (Arc::clone(vault.upkeep().jobs()), self.job.clone());
        ProgressBar::show(self.label, self.json, move || jobs.progress(&job))
    }
}

/// Sends the command to the running server. Without a server it opens the data file, which needs
/// the master key, and finishes a rotation of keys, because no background task does.
pub(in crate::cli) fn order(
    home: &VaultHome,
    master: impl FnOnce() -> Result<MasterKeySource, Failure>,
    command: Command,
) -> Result<CommandAnswer, Failure> {
    let open = || open_vault::open(home, &master()?, Clock::new());
    order_shown(&home.directory, open, command, None)
}

/// As [`order`], for a caller that opens the data file in its own way.
pub(in crate::cli) fn order_opening(
    directory: &Path,
    open: impl FnOnce() -> Result<Vault, Failure>,
    command: Command,
) -> Result<CommandAnswer, Failure> {
    order_shown(directory, open, command, None)
}

fn order_shown(
    directory: &Path,
    open: impl FnOnce() -> Result<Vault, Failure>,
    command: Command,
    shown: Option<&ShownWork>,
) -> Result<CommandAnswer, Failure> {
    let bar = shown.map(|shown| shown.in_server(directory));
    let exchange = ask(directory, &command);
    drop(bar);
    match exchange {
        CommandExchange::Answered(answer) => with_space(directory, answer),
        CommandExchange::Failed(error) => Err(unreachable_server(directory, &error)),
        CommandExchange::NoServer => {
            let vault = open()?;
            let bar = shown.map(|shown| shown.in_process(&vault));
            let answer = as_member(&vault, || block_on(run_alone(&vault, command, bar)));
            vault.close();
            answer
        }
    }
}

/// Runs the command and what the tasks of a server would do after it.
async fn run_alone(
    vault: &Vault,
    command: Command,
    bar: Option<ProgressBar>,
) -> Result<CommandAnswer, Failure> {
    let rotates = matches!(command, Command::VaultKeyRotate { .. });
    let answer = command.run(vault, ClockControl::Fixed).await;
    if rotates {
        rotate_unless_led(vault).await.map_err(|error| refused(&error))?;
    }
    drop(bar);
    vault.rotation().write_uses().await.map_err(|error| refused(&error))?;
    sign(vault).await;
    Ok(answer)
}

/// The result of the command, or a failure if it was refused.
pub(in crate::cli) fn done(answer: CommandAnswer) -> Result<Value, Failure> {
    match answer {
        CommandAnswer::Done(value) => Ok(value),
        CommandAnswer::ReadOnly { why, free_bytes, floor_bytes } => {
            Err(no_space(&why, free_bytes, floor_bytes))
        }
        CommandAnswer::Refused(why) => {
            let failure = Failure::new(Exit::Data, "the command was refused").why(why.join("\n"));
            Err(match why.first().map(String::as_str) {
                Some("There is no such tenant.") => failure.try_this("strongroom tenant list"),
                Some("There is no such application.") => {
                    failure.try_this("strongroom application list --tenant ID")
                }
                Some(_) | None => failure,
            })
        }
    }
}

/// Names the directory whose disk is full, which the answer itself does not.
pub(in crate::cli) fn with_space(
    directory: &Path,
    answer: CommandAnswer,
) -> Result<CommandAnswer, Failure> {
    match answer {
        CommandAnswer::ReadOnly { why, free_bytes, floor_bytes } => {
            Err(no_space(&why, free_bytes, floor_bytes).file(directory))
        }
        CommandAnswer::Done(_) | CommandAnswer::Refused(_) => Ok(answer),
    }
}

fn no_space(why: &str, free_bytes: Option<u64>, floor_bytes: Option<u64>) -> Failure {
    let shown = |bytes: Option<u64>| bytes.map_or_else(|| String::from("unknown"), size::render);
    Failure::new(Exit::Storage, "the disk of the data directory is nearly full")
        .why(why)
        .line("free", shown(free_bytes))
        .line("floor", format!("{} (disk.floor in the settings)", shown(floor_bytes)))
        .try_this("free space on this disk, or make it larger; the vault goes on by itself")
}

pub(in crate::cli) fn show(answer: CommandAnswer) -> Result<(), Failure> {
    say(&format!("{:#}", done(answer)?));
    Ok(())
}

/// Signs the audit chain after a command that ran without a server. The command is done already, so
/// a failure is only a warning.
pub(in crate::cli) async fn sign(vault: &Vault) {
    if vault.audit().sign().await.is_err() {
        complain(
            "strongroom: warning: the last entries of the audit chain are not signed; the next \
             command or the server signs them",
        );
    }
}

/// A server on another host goes on with the rotations, if one leads.
async fn rotate_unless_led(vault: &Vault) -> Result<(), Error> {
    find_living(vault).await?;
    if vault.processes().is_led_by_other()? { Ok(()) } else { rotate_to_the_end(vault).await }
}

/// Finishes all rotations without pauses, because there are no requests to slow down.
async fn rotate_to_the_end(vault: &Vault) -> Result<(), Error> {
    let job = vault.upkeep().jobs().begin(String::from("rotation"));
    let mut walk = Walk::default();
    loop {
        let step = vault.rotation().rotate_step(&mut walk).await?;
        if step == Step::Idle {
            return Ok(());
        }
        // It waits for another process, or for the next sign of life of this one.
        if step == Step::Waiting {
            tokio::time::sleep(ROTATION_WAIT).await;
        }
        let RotationProgress { done, total, .. } = vault.rotation().progress()?;
        job.set_done(done);
        job.set_total(total);
    }
}
