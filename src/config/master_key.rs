//! `[master_key]`: the source of the master key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::reader::SettingsReader;
use crate::bounds::{
    MASTER_KEY_COMMAND_DEADLINE, MASTER_KEY_COMMAND_DEADLINE_MAX, MASTER_KEY_COMMAND_WORDS_MAX,
};

const COMMAND: &str = "master_key.command";
const COMMAND_TIMEOUT: &str = "master_key.command_timeout";
const CREDENTIAL: &str = "master_key.credential";
const FILE: &str = "master_key.file";
const KEPT_IN: &str = "master_key.kept_in";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MasterKeySource {
    /// A program that prints the key, such as the client of an HSM or a KMS.
    Command(KeyCommand),
    Credential(String),
    File(PathBuf),
}

/// The device or service behind a credential or a command, for the report: the server cannot see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKeeper {
    Hsm,
    Kms,
    Tpm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The program is killed when it runs longer.
    pub deadline: Duration,
}

impl SettingsReader {
    pub(super) fn master_key(&mut self) -> MasterKeySource {
        let named = [COMMAND, CREDENTIAL, FILE].into_iter().filter(|name| self.has(name)).count();
        if named != 1 {
            self.wrong("master_key", "must have exactly one of command, credential and file");
            for name in [COMMAND, COMMAND_TIMEOUT, CREDENTIAL, FILE, KEPT_IN] {
                self.take(name);
            }
            return MasterKeySource::File(PathBuf::new());
        }
        if self.has(COMMAND) {
            return MasterKeySource::Command(self.key_command());
        }
        if self.has(FILE) {
            return MasterKeySource::File(self.path(FILE));
        }
        MasterKeySource::Credential(self.credential(CREDENTIAL))
    }

    /// Before [`Self::master_key`]. A file has no keeper: the setting is then left, and refused as an
    /// unknown name.
    pub(super) fn key_keeper(&mut self) -> Option<KeyKeeper> {
        if self.has(FILE) {
            return None;
        }
        self.parsed(KEPT_IN, None, "must be \"tpm\", \"hsm\" or \"kms\"", |value| {
            match value.as_str() {
                Some("hsm") => Some(Some(KeyKeeper::Hsm)),
                Some("kms") => Some(Some(KeyKeeper::Kms)),
                Some("tpm") => Some(Some(KeyKeeper::Tpm)),
                Some(_) | None => None,
            }
        })
    }

    fn key_command(&mut self) -> KeyCommand {
        let mut words = self.texts(COMMAND).unwrap_or_else(|| vec![String::from("/")]);
        if words.len() > MASTER_KEY_COMMAND_WORDS_MAX {
            self.wrong(COMMAND, &format!("must have at most {MASTER_KEY_COMMAND_WORDS_MAX} words"));
        }
        if words.iter().any(|word| word.contains('\0')) {
            self.wrong(COMMAND, "must not contain a NUL character");
        }
        // A name without a path would be looked up in directories that the settings do not name.
        if words.first().is_none_or(|program| !Path::new(program).is_absolute()) {
            self.wrong(COMMAND, "must begin with the absolute path of a program");
        }
        let program = if words.is_empty() { PathBuf::new() } else { words.remove(0).into() };
        let (default, max) = (MASTER_KEY_COMMAND_DEADLINE, MASTER_KEY_COMMAND_DEADLINE_MAX);
        let wanted = "must be a duration up to ten minutes, such as \"60s\"";
        let deadline = self.duration(COMMAND_TIMEOUT, default, max, wanted);
        KeyCommand { program, arguments: words, deadline }
    }
}
