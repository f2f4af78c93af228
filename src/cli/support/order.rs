//! Carries out an operator's command, by the running server or on the data file itself.

use std::path::Path;

use serde_json::Value;

use crate::app::{Error, Step, Vault, Walk};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{refused, unreachable_server};
use crate::cli::support::open_vault;
use crate::cli::support::output::{complain, say};
use crate::cli::support::runtime::block_on;
use crate::clock::Clock;
use crate::config::{Config, MasterKeySource};
use crate::operator::{ClockControl, Command, CommandAnswer, CommandExchange, ask};

pub(in crate::cli) fn carry_out(
    config: &Config,
    command: Command,
) -> Result<CommandAnswer, Failure> {
    order(&config.data_directory, || Ok(config.master_key.clone()), command)
}

/// Sends the command to the running server. Without a server it opens the data file, which needs
/// the master key, and finishes a rotation of keys, because no background task does.
pub(in crate::cli) fn order(
    directory: &Path,
    master: impl FnOnce() -> Result<MasterKeySource, Failure>,
    command: Command,
) -> Result<CommandAnswer, Failure> {
    match ask(directory, &command) {
        CommandExchange::Answered(answer) => Ok(answer),
        CommandExchange::Failed(error) => Err(unreachable_server(directory, &error)),
        CommandExchange::NoServer => {
            let vault = open_vault::open(directory, &master()?, Clock::new())?;
            let runs_on = matches!(command, Command::VaultKeyRotate { .. });
            let answer = block_on(async {
                let answer = command.run(&vault, ClockControl::Fixed).await;
                if runs_on {
                    rotate_to_the_end(&vault).await.map_err(|error| refused(&error))?;
                }
                vault.rotation().write_uses().await.map_err(|error| refused(&error))?;
                sign(&vault).await;
                Ok(answer)
            });
            vault.close();
            answer
        }
    }
}

/// The result of the command, or a failure if it was refused.
pub(in crate::cli) fn done(answer: CommandAnswer) -> Result<Value, Failure> {
    match answer {
        CommandAnswer::Done(value) => Ok(value),
        CommandAnswer::Refused(why) => {
            Err(Failure::new(Exit::Data, "the command was refused").why(why.join("\n")))
        }
    }
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

/// Finishes all rotations without pauses, because there are no requests to slow down.
async fn rotate_to_the_end(vault: &Vault) -> Result<(), Error> {
    let mut walk = Walk::default();
    while vault.rotation().rotate_step(&mut walk).await? != Step::Idle {}
    Ok(())
}
