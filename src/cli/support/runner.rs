//! Runs several commands one after the other.

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::app::Vault;
use crate::cli::support::{
    Exit, Failure, Result, VaultPlace, accepted, as_member, ask_server, complain,
    refuse_without_space, refused, runtime, sign,
};
use crate::operator::{ClockControl, Command};

/// Runs commands through the running server, or else on the data file, which it opens once.
#[derive(Debug)]
pub struct CommandRunner {
    place: VaultPlace,
    alone: Option<(Vault, Runtime)>,
    /// True after a server has answered a command.
    is_served: bool,
}

impl CommandRunner {
    pub const fn of(place: VaultPlace) -> Self {
        Self { place, alone: None, is_served: false }
    }

    pub fn carry_out(&mut self, command: Command) -> Result<Value> {
        let directory = self.place.directory();
        if self.alone.is_none() {
            if let Some(answer) = ask_server(directory, &command)? {
                self.is_served = true;
                return Ok(answer);
            }
            // The service manager is about to start the server again: leave the data file to it.
            if self.is_served {
                return Err(Failure::new(Exit::Unavailable, "the server has stopped meanwhile")
                    .file(directory)
                    .try_this("start the server, and run the same command again"));
            }
        }
        let opened = match self.alone.take() {
            Some(opened) => opened,
            None => (self.place.open()?, runtime()?),
        };
        let (vault, runtime) = self.alone.insert(opened);
        let answer =
            as_member(vault, || Ok(runtime.block_on(command.run(vault, ClockControl::Fixed))))?;
        refuse_without_space(self.place.directory(), answer).and_then(accepted)
    }
}

/// A command that is refused or not confirmed must not leave a file that needs recovery.
impl Drop for CommandRunner {
    fn drop(&mut self) {
        if let Some((vault, runtime)) = self.alone.take() {
            // Without a server, no task writes the number of values that each key has sealed.
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
