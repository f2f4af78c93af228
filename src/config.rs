//! Settings: one TOML file, read whole before anything is bound, every mistake reported at once.
//!
//! `packaging/strongroom.toml` is the reference: every key, its default and its reason. There is no
//! secret in it, only places where secrets are.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of any other type is a mistake")]

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::bounds::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX};
use crate::limits::Network;
use crate::log::RequestLines;

#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    pub data_directory: PathBuf,
    pub listen: Vec<SocketAddr>,
    pub certificate: PathBuf,
    pub private_key: PathBuf,
    pub master_key: MasterKeySource,
    /// What the operator knows about card numbers beyond their brands.
    pub bin_file: Option<PathBuf>,
    pub trusted_proxies: Vec<Network>,
    pub rate_limits: Switch,
    pub deprecated_operations: Switch,
    pub request_lines: RequestLines,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
}

/// Where the master key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MasterKeySource {
    /// The name of a systemd credential.
    Credential(String),
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    Off,
    On,
}

/// What is wrong with a settings file, line by line.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidConfig(pub Vec<String>);

impl Config {
    pub fn parse(text: &str) -> Result<Self, InvalidConfig> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            InvalidConfig(vec![String::from(error.to_string().trim_end())])
        })?;
        let mut reader = Reader { table, mistakes: Vec::new() };
        let config = Self {
            data_directory: reader.path("data_directory"),
            listen: reader.addresses("listen"),
            certificate: reader.path("tls.certificate"),
            private_key: reader.path("tls.private_key"),
            master_key: reader.master_key(),
            bin_file: reader.optional_path("bin_file"),
            trusted_proxies: reader.networks("trusted_proxies"),
            rate_limits: reader.switch("rate_limits"),
            deprecated_operations: reader.switch("deprecated_operations"),
            request_lines: if reader.flag("log.requests", true) {
                RequestLines::On
            } else {
                RequestLines::Off
            },
            connections_max: reader.count("connections.max", CONNECTIONS_MAX),
            connections_per_address_max: reader
                .count("connections.per_address_max", CONNECTIONS_PER_ADDRESS_MAX),
        };
        reader.refuse_the_rest();
        if reader.mistakes.is_empty() { Ok(config) } else { Err(InvalidConfig(reader.mistakes)) }
    }
}

/// Takes keys out of the table one by one; what is left over at the end is unknown.
struct Reader {
    table: Table,
    mistakes: Vec<String>,
}

impl Reader {
    fn take(&mut self, name: &str) -> Option<Value> {
        match name.split_once('.') {
            None => self.table.remove(name),
            Some((section, key)) => match self.table.get_mut(section) {
                Some(Value::Table(section)) => section.remove(key),
                Some(_) | None => None,
            },
        }
    }

    fn wrong(&mut self, name: &str, wanted: &str) {
        self.mistakes.push(format!("{name}: {wanted}"));
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => {
                self.wrong(name, "must be a text that is not empty");
                None
            }
        }
    }

    /// An absolute path: a service has no directory of its own to start from.
    fn path(&mut self, name: &str) -> PathBuf {
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

    fn optional_path(&mut self, name: &str) -> Option<PathBuf> {
        self.table.contains_key(name).then(|| self.path(name))
    }

    fn texts(&mut self, name: &str) -> Option<Vec<String>> {
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

    fn addresses(&mut self, name: &str) -> Vec<SocketAddr> {
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

    fn networks(&mut self, name: &str) -> Vec<Network> {
        let mut networks = Vec::new();
        for (at, text) in self.texts(name).unwrap_or_default().iter().enumerate() {
            match text.parse::<Network>() {
                Ok(network) => networks.push(network),
                Err(invalid) => self.wrong(&format!("{name}[{at}]"), &invalid.to_string()),
            }
        }
        networks
    }

    fn master_key(&mut self) -> MasterKeySource {
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

    fn flag(&mut self, name: &str, default: bool) -> bool {
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
    fn switch(&mut self, name: &str) -> Switch {
        if self.flag(name, true) { Switch::On } else { Switch::Off }
    }

    /// From 1 to what the program can bear.
    fn count(&mut self, name: &str, default: usize) -> usize {
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

    fn refuse_the_rest(&mut self) {
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

const SECTIONS: [&str; 4] = ["connections", "log", "master_key", "tls"];

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../packaging/strongroom.toml");

    #[test]
    fn the_shipped_file_parses_and_says_what_is_the_default_anyway() {
        let shipped = Config::parse(SHIPPED).unwrap();
        let required = r#"
            data_directory = "/var/lib/strongroom"
            [tls]
            certificate = "/etc/strongroom/tls/certificate.pem"
            private_key = "/etc/strongroom/tls/private_key.pem"
            [master_key]
            credential = "master.key"
        "#;
        assert_eq!(shipped, Config::parse(required).unwrap());
    }

    #[test]
    fn every_setting_stands_in_the_shipped_file() {
        let names = [
            "data_directory",
            "listen",
            "certificate",
            "private_key",
            "file",
            "credential",
            "bin_file",
            "bin_file",
            "trusted_proxies",
            "rate_limits",
            "deprecated_operations",
            "requests",
            "max",
            "per_address_max",
        ];
        for name in names {
            let stands = SHIPPED.lines().any(|line| {
                line.trim_start_matches(['#', ' '])
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(" = "))
            });
            assert!(stands, "{name}");
        }
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let found = Config::parse(
            r#"
            data_directory = "relative"
            listen = ["localhost:1", "127.0.0.1"]
            trusted_proxies = ["10.0.0.0/33"]
            rate_limits = "yes"
            deprecated_operations = 0
            colour = "blue"
            [tls]
            certificate = 7
            [master_key]
            file = "/k"
            credential = "c"
            [connections]
            max = 0
            minimum = 1
            "#,
        );
        let InvalidConfig(mistakes) = found.unwrap_err();
        let places: Vec<_> =
            mistakes.iter().filter_map(|it| it.split_once(": ")).map(|it| it.0).collect();
        assert_eq!(
            places,
            [
                "data_directory",
                "listen[0]",
                "listen[1]",
                "tls.certificate",
                "tls.private_key",
                "master_key",
                "trusted_proxies[0]",
                "rate_limits",
                "deprecated_operations",
                "connections.max",
                "colour",
                "connections.minimum",
            ]
        );
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let InvalidConfig(mistakes) = Config::parse("a = \nb = 1").unwrap_err();
        assert!(mistakes.iter().any(|it| it.contains("line 1")), "{mistakes:?}");
    }
}
