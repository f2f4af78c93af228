//! Reading settings out of a table one by one, so that every mistake is found in one go.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of any other type is a mistake")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{AuditReads, MasterKeySource, Switch};
use crate::limits::Network;

const SECTIONS: &[&str] = &["audit", "connections", "keys", "log", "master_key", "tls"];

/// Takes keys out of the table one by one; what is left over at the end is unknown.
pub(super) struct Reader {
    pub(super) table: Table,
    pub(super) mistakes: Vec<String>,
}

impl Reader {
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        match name.split_once('.') {
            None => self.table.remove(name),
            Some((section, key)) => match self.table.get_mut(section) {
                Some(Value::Table(section)) => section.remove(key),
                Some(_) | None => None,
            },
        }
    }

    pub(super) fn wrong(&mut self, name: &str, wanted: &str) {
        self.mistakes.push(format!("{name}: {wanted}"));
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => {
                self.wrong(name, "must be a text that is not empty");
                None
            }
        }
    }

    /// An absolute path: a service has no directory of its own to start from.
    pub(super) fn path(&mut self, name: &str) -> PathBuf {
        let before = self.mistakes.len();
        match self.text(name) {
            Some(text) if Path::new(&text).is_absolute() => PathBuf::from(text),
            Some(_) => {
                self.wrong(name, "must be an absolute path, one that begins with a slash");
                PathBuf::new()
            }
            None => {
                if self.mistakes.len() == before {
                    self.wrong(name, "is required");
                }
                PathBuf::new()
            }
        }
    }

    pub(super) fn optional_path(&mut self, name: &str) -> Option<PathBuf> {
        self.table.contains_key(name).then(|| self.path(name))
    }

    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let Value::Array(items) = self.take(name)? else {
            self.wrong(name, "must be a list of texts");
            return None;
        };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Some(text),
            _ => None,
        });
        let texts: Option<Vec<_>> = texts.collect();
        if texts.is_none() {
            self.wrong(name, "must be a list of texts");
        }
        texts
    }

    pub(super) fn addresses(&mut self, name: &str) -> Vec<SocketAddr> {
        let texts = self.texts(name).unwrap_or_else(|| vec![String::from("[::]:8443")]);
        if texts.is_empty() {
            self.wrong(name, "must name at least one address, such as \"127.0.0.1:8443\"");
        }
        let mut addresses = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            match text.parse() {
                Ok(address) => addresses.push(address),
                Err(_) => self.wrong(
                    &format!("{name}[{at}]"),
                    "must be an address and a port, such as \"127.0.0.1:8443\" or \"[::]:8443\"",
                ),
            }
        }
        addresses
    }

    pub(super) fn networks(&mut self, name: &str) -> Vec<Network> {
        let mut networks = Vec::new();
        for (at, text) in self.texts(name).unwrap_or_default().iter().enumerate() {
            match text.parse::<Network>() {
                Ok(network) => networks.push(network),
                Err(invalid) => self.wrong(&format!("{name}[{at}]"), &invalid.to_string()),
            }
        }
        networks
    }

    pub(super) fn master_key(&mut self) -> MasterKeySource {
        const FILE: &str = "master_key.file";
        const CREDENTIAL: &str = "master_key.credential";
        let has_file = matches!(self.table.get("master_key"), Some(Value::Table(section)) if section.contains_key("file"));
        let credential = self.text(CREDENTIAL);
        match (has_file, credential) {
            (false, Some(name)) if !name.contains('/') => MasterKeySource::Credential(name),
            (false, Some(_)) => {
                self.wrong(CREDENTIAL, "must be the name of a credential, without slashes");
                MasterKeySource::File(PathBuf::new())
            }
            (true, Some(_)) => {
                self.wrong("master_key", "takes a file or a credential, not both");
                MasterKeySource::File(self.path(FILE))
            }
            (true, None) => MasterKeySource::File(self.path(FILE)),
            (false, None) => {
                self.wrong("master_key", "needs a file or a credential");
                MasterKeySource::File(PathBuf::new())
            }
        }
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.take(name) {
            None => default,
            Some(Value::Boolean(flag)) => flag,
            Some(_) => {
                self.wrong(name, "must be true or false");
                default
            }
        }
    }

    /// On unless it is turned off.
    pub(super) fn switch(&mut self, name: &str) -> Switch {
        if self.flag(name, true) { Switch::On } else { Switch::Off }
    }

    pub(super) fn audit_reads(&mut self, name: &str) -> AuditReads {
        match self.take(name).as_ref().map(Value::as_str) {
            None | Some(Some("batched")) => AuditReads::Batched,
            Some(Some("strict")) => AuditReads::Strict,
            Some(_) => {
                self.wrong(name, "must be \"batched\" or \"strict\"");
                AuditReads::Batched
            }
        }
    }

    /// From 1 to what the program can bear.
    pub(super) fn count(&mut self, name: &str, default: usize) -> usize {
        const MOST: usize = 1_000_000;
        let Some(value) = self.take(name) else {
            return default;
        };
        let count = value.as_integer().and_then(|number| usize::try_from(number).ok());
        count.filter(|count| (1..=MOST).contains(count)).unwrap_or_else(|| {
            self.wrong(name, &format!("must be a whole number from 1 to {MOST}"));
            default
        })
    }

    pub(super) fn refuse_the_rest(&mut self) {
        for (name, value) in std::mem::take(&mut self.table) {
            match value {
                Value::Table(section) if SECTIONS.contains(&name.as_str()) => {
                    for key in section.keys() {
                        self.wrong(&format!("{name}.{key}"), "is not a setting");
                    }
                }
                _ => self.wrong(&name, "is not a setting"),
            }
        }
    }
}
