//! The master keys of a standby, which may change while it follows.

use std::path::PathBuf;
use std::time::Instant;

use crate::bounds::MASTER_KEY_COMMAND_AGAIN;
use crate::cli::support::archive_keys::read_keys;
use crate::cli::support::failure::Failure;
use crate::config::MasterKeySource;
use crate::crypto::MasterKey;

#[derive(Debug)]
pub(super) struct StandbyKeys {
    source: MasterKeySource,
    further: Vec<PathBuf>,
    held: Vec<MasterKey>,
    read_at: Instant,
}

impl StandbyKeys {
    pub(super) fn read(source: &MasterKeySource, further: &[PathBuf]) -> Result<Self, Failure> {
        let held = read_keys(Some(source), further)?;
        let (source, further) = (source.clone(), further.to_vec());
        Ok(Self { source, further, held, read_at: Instant::now() })
    }

    pub(super) fn held(&self) -> &[MasterKey] {
        &self.held
    }

    /// Reads the keys again: a file may have been replaced, as after a rotation on the other host.
    /// A command runs again only while the standby waits, and not at each of its looks.
    pub(super) fn refresh(&mut self, is_waiting: bool) -> Result<(), Failure> {
        let is_due = match self.source {
            MasterKeySource::Command(_) => {
                is_waiting && self.read_at.elapsed() >= MASTER_KEY_COMMAND_AGAIN
            }
            MasterKeySource::Credential(_) | MasterKeySource::File(_) => true,
        };
        if is_due {
            self.read_at = Instant::now();
            self.held = read_keys(Some(&self.source), &self.further)?;
        }
        Ok(())
    }
}
