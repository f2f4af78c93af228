//! Runs several commands one after the other.

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::app::Vault;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, refused, unreachable_server};
use crate::cli::support::membership::as_member;
use crate::cli::support::open_vault;
use crate::cli::support::order::{done, sign, with_space};
use crate::cli::support::output::complain;
use crate::cli::support::vault_place::VaultPlace;
use crate::clock::Clock;
use crate::operator::{ClockControl, Command, CommandExchange, ask};

/// Runs commands by the running server, or else on the data file, which it opens once.
#[derive(Debug)]
pub(in crate::cli) struct CommandRunner {
    place: VaultPlace,
    alone: Option<(Vault, Runtime)>,
    /// A server has answered a command before.
    is_served: bool,
}

impl CommandRunner {
    pub(in crate::cli) const fn of(place: VaultPlace) -> Self {
        Self { place, alone: None, is_served: false }
    }

    pub(in crate::cli) fn carry_out(&mut self, command: Command) -> Result<Value, Failure> {
        let asked = match &self.alone {
            Some(_) => CommandExchange::NoServer,
            None => ask(self.place.directory(), &command),
        };
        let answer = match asked {
            CommandExchange::Answered(answer) => {
                self.is_served = true;
                with_space(self.place.directory(), answer)?
            }
            CommandExchange::Failed(error) => {
                return Err(unreachable_server(self.place.directory(), &error));
            }
            // The service manager is about to start the server again: leave the data file to it.
            CommandExchange::NoServer if self.is_served => {
                return Err(Failure::new(Exit::Unavailable, "the server has stopped meanwhile")
                    .file(self.place.directory())
                    .try_this("start the server, and run the same command again"));
            }
            CommandExchange::NoServer => {
                let opened = self.alone.take().map_or_else(|| self.open(), Ok)?;
                let (vault, runtime) = self.alone.insert(opened);
                as_member(vault, || Ok(runtime.block_on(command.run(vault, ClockControl::Fixed))))?
            }
        };
        done(answer)
    }

    fn open(&self) -> Result<(Vault, Runtime), Failure> {
        let master = self.place.master()?;
        let vault = open_vault::open(&self.place.home, &master, Clock::new())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| cannot("start", self.place.directory(), &error))?;
        Ok((vault, runtime))
    }

    /// Ends the use of the vault, as dropping the runner does.
    pub(in crate::cli) fn close(self) {
        drop(self);
    }
}

/// A command that is refused or not confirmed must not leave a file that needs recovery.
impl Drop for CommandRunner {
    fn drop(&mut self) {
        if let Some((vault, runtime)) = self.alone.take() {
            // Without a server, no task writes the numbers of values that keys have sealed.
            let written = as_member(&vault, || {
                let written = runtime.block_on(vault.rotation().write_uses());
                runtime.block_on(sign(&vault));
                written.map_err(|error| refused(&error))
            });
            if written.is_err() {
                complain("strongroom: warning: the uses of the keys could not be written");
            }
            vault.close();
        }
    }
}
