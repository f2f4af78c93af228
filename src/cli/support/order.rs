//! Carries out an operator's command, through the running server or on the data file.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::app::{Authority, Error, RotationProgress, Step, Vault, Walk};
use crate::bounds::ROTATION_WAIT;
use crate::cli::support::{
    Exit, Failure, Label, ProgressBar, Result, VaultPlace, as_member, block_on, complain,
    find_living, not_accepted, unreachable_server,
};
use crate::domain::size;
use crate::operator::{ClockControl, Command, CommandAnswer, CommandExchange, ask};

/// The result of a command, or the reasons for its refusal as sentences.
pub type Outcome = Result<Value, Vec<String>>;

pub fn carry_out(vault: &VaultPlace, command: Command) -> Result<Value> {
    order(vault.directory(), || vault.open(), command, None).and_then(accepted)
}

/// As [`carry_out`], with a progress bar for the work of this name ([`Command::Progress`]).
pub fn carry_out_shown(vault: &VaultPlace, command: Command, shown: &ShownWork) -> Result<Outcome> {
    order(vault.directory(), || vault.open(), command, Some(shown))
}

/// Sends the command to the running server. `None` if no server is running.
pub fn ask_server(directory: &Path, command: &Command) -> Result<Option<Value>> {
    outcome(directory, ask(directory, command))?.map(accepted).transpose()
}

fn outcome(directory: &Path, exchange: CommandExchange) -> Result<Option<Outcome>> {
    match exchange {
        CommandExchange::Answered(answer) => refuse_without_space(directory, answer).map(Some),
        CommandExchange::Failed(error) => Err(unreachable_server(directory, &error)),
        CommandExchange::NoServer => Ok(None),
    }
}

#[derive(Debug)]
pub struct ShownWork {
    pub label: Label,
    pub json: bool,
    pub job: String,
}

impl ShownWork {
    pub fn in_server(&self, directory: &Path) -> ProgressBar {
        let (directory, job) = (directory.to_path_buf(), self.job.clone());
        ProgressBar::show(self.label, self.json, move || {
            let progress =
                ask_server(&directory, &Command::Progress { job: job.clone() }).ok()??;
            Some((progress.get("done")?.as_u64()?, progress.get("total")?.as_u64()?))
        })
    }

    /// Reads the progress from the vault that this process has open.
    fn in_process(&self, vault: &Vault) -> ProgressBar {
        let (jobs, job) = (Arc::clone(vault.upkeep().jobs()), self.job.clone());
        ProgressBar::show(self.label, self.json, move || jobs.progress(&job))
    }
}

/// Sends the command to the running server. Without a server it opens the data file, which needs
/// the master key, and finishes a rotation of keys, because no background task does.
pub fn order(
    directory: &Path,
    open: impl FnOnce() -> Result<Vault>,
    command: Command,
    shown: Option<&ShownWork>,
) -> Result<Outcome> {
    let bar = shown.map(|shown| shown.in_server(directory));
    let exchange = ask(directory, &command);
    drop(bar);
    if let Some(outcome) = outcome(directory, exchange)? {
        return Ok(outcome);
    }
    let vault = open()?;
    let bar = shown.map(|shown| shown.in_process(&vault));
    let answer = as_member(&vault, || block_on(run_alone(&vault, command, bar)));
    vault.close();
    refuse_without_space(directory, answer?)
}

/// Runs the command, and the work that the tasks of a server would do after it.
async fn run_alone(
    vault: &Vault,
    command: Command,
    bar: Option<ProgressBar>,
) -> Result<CommandAnswer> {
    let rotates = matches!(command, Command::VaultKeyRotate { .. });
    let answer = command.run(vault, ClockControl::Fixed).await;
    if rotates {
        rotate_unless_led(vault).await?;
    }
    drop(bar);
    vault.rotation().write_uses().await?;
    sign(vault).await;
    Ok(answer)
}

/// The result of the command, or a failure if it was refused.
pub fn accepted(outcome: Outcome) -> Result<Value> {
    outcome.map_err(|why| not_accepted("the command was refused", &why))
}

/// Names the directory whose disk is full. The answer itself does not.
pub fn refuse_without_space(directory: &Path, answer: CommandAnswer) -> Result<Outcome> {
    match answer {
        CommandAnswer::Done(value) => Ok(Ok(value)),
        CommandAnswer::Refused(why) => Ok(Err(why)),
        CommandAnswer::ReadOnly { why, free_bytes, floor_bytes } => {
            Err(no_space(&why, free_bytes, floor_bytes).file(directory))
        }
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

/// Signs the audit chain after a command that ran without a server. The command is done already, so
/// a failure is only a warning.
pub async fn sign(vault: &Vault) {
    if vault.audit().sign().await.is_err() {
        complain(
            "strongroom: warning: the last entries of the audit chain are not signed; the next \
             command or the server signs them",
        );
    }
}

/// If a server on another host leads, it continues the rotations.
async fn rotate_unless_led(vault: &Vault) -> Result<(), Error> {
    find_living(vault).await?;
    if vault.processes().is_led_by_other()? { Ok(()) } else { rotate_to_the_end(vault).await }
}

/// Finishes all rotations without pauses, because there are no requests to slow down.
async fn rotate_to_the_end(vault: &Vault) -> Result<(), Error> {
    let job = vault.upkeep().jobs().begin(String::from("rotation"));
    let mut walk = Walk::default();
    // No other process leads.
    let rotation = vault.rotation().by(Authority::Anyone);
    loop {
        let step = rotation.rotate_step(&mut walk).await?;
        if step == Step::Idle {
            return Ok(());
        }
        // The rotation waits for another process, or for the next heartbeat of this one.
        if step == Step::Waiting {
            tokio::time::sleep(ROTATION_WAIT).await;
        }
        let RotationProgress { done, total, .. } = vault.rotation().progress()?;
        job.set_done(done);
        job.set_total(total);
    }
}
