//! `[engine]`: the place of the vault's rows.

use std::path::PathBuf;

use super::Config;
use super::reader::SettingsReader;
use crate::bounds::{SHARDS_DEFAULT, SHARDS_MAX};

const CA_FILE: &str = "engine.ca_file";
const DIVIDE: &str = "engine.divide_rate_limits";
const KIND: &str = "engine.kind";
const SHARDS: &str = "engine.shards";
const URL: &str = "engine.url";
const URL_CREDENTIAL: &str = "engine.url_credential";
const URL_FILE: &str = "engine.url_file";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EngineSettings {
    /// Files in the data directory, for one process.
    #[default]
    Local,
    /// A database, for several processes.
    Postgres(PostgresSettings),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresSettings {
    pub url: UrlSource,
    /// The certificate authorities of the database, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// True if each process applies only its part of the rate limits.
    pub divide_rate_limits: bool,
    /// The number of shards of a vault that is created in the database.
    pub shards: u16,
}

/// The source of the connection URL, which holds a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlSource {
    Credential(String),
    File(PathBuf),
}

impl EngineSettings {
    pub const fn postgres(&self) -> Option<&PostgresSettings> {
        match self {
            Self::Local => None,
            Self::Postgres(settings) => Some(settings),
        }
    }
}

impl SettingsReader {
    pub(super) fn engine(&mut self) -> EngineSettings {
        // The value may hold a password, so the message does not show it.
        if self.take(URL).is_some() {
            self.wrong(
                URL,
                "must not be in the settings, since it holds a password; write it into a file \
                 with mode 0400 and name the file by engine.url_file",
            );
        }
        match self.text(KIND).as_deref() {
            None | Some("local") => local(self),
            Some("postgres") => EngineSettings::Postgres(postgres(self)),
            Some(_) => {
                self.wrong(KIND, "must be \"local\" or \"postgres\"");
                for name in [CA_FILE, DIVIDE, SHARDS, URL_CREDENTIAL, URL_FILE] {
                    self.take(name);
                }
                EngineSettings::Local
            }
        }
    }

    /// The archive copies the log of the local engine; a database has no such log.
    pub(super) fn refuse_archive_of_database(&mut self, config: &Config) {
        if config.engine.postgres().is_some() && config.archive.is_some() {
            self.wrong(
                "archive",
                "is possible only with engine.kind = \"local\"; use the database's own archive",
            );
        }
    }
}

fn local(reader: &mut SettingsReader) -> EngineSettings {
    for name in [CA_FILE, DIVIDE, SHARDS, URL_CREDENTIAL, URL_FILE] {
        if reader.take(name).is_some() {
            reader.wrong(name, "is used only with engine.kind = \"postgres\"");
        }
    }
    EngineSettings::Local
}

fn postgres(reader: &mut SettingsReader) -> PostgresSettings {
    PostgresSettings {
        url: url_source(reader),
        ca_file: reader.optional_path(CA_FILE),
        divide_rate_limits: reader.flag(DIVIDE, false),
        shards: shards(reader),
    }
}

fn shards(reader: &mut SettingsReader) -> u16 {
    let (default, most) = (SHARDS_DEFAULT.into(), SHARDS_MAX.into());
    let count = reader.integer(SHARDS, default, 1..=most);
    u16::try_from(count).unwrap_or(SHARDS_DEFAULT)
}

fn url_source(reader: &mut SettingsReader) -> UrlSource {
    if reader.has(URL_FILE) == reader.has(URL_CREDENTIAL) {
        reader.wrong("engine", "must have exactly one of url_credential and url_file");
        reader.take(URL_FILE);
        reader.take(URL_CREDENTIAL);
        return UrlSource::File(PathBuf::new());
    }
    if reader.has(URL_FILE) {
        return UrlSource::File(reader.path(URL_FILE));
    }
    UrlSource::Credential(reader.credential(URL_CREDENTIAL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::InvalidConfig;
    use crate::config::tests::with as parse;

    #[test]
    fn the_local_engine_is_the_default() {
        for lines in ["", "[engine]", "[engine]\nkind = \"local\""] {
            assert_eq!(parse(lines).unwrap().engine, EngineSettings::Local, "{lines}");
        }
    }

    #[test]
    fn a_database_is_named_by_a_file_or_a_credential() {
        let settings = |lines: &str| {
            let lines = format!("[engine]\nkind = \"postgres\"\n{lines}");
            parse(&lines).unwrap().engine.postgres().cloned().unwrap()
        };
        let file = settings("url_file = \"/u\"");
        assert_eq!(file.url, UrlSource::File(PathBuf::from("/u")));
        assert_eq!((file.ca_file, file.divide_rate_limits), (None, false));
        let credential =
            settings("url_credential = \"u\"\nca_file = \"/ca\"\ndivide_rate_limits = true");
        assert_eq!(credential.url, UrlSource::Credential(String::from("u")));
        assert_eq!(credential.ca_file, Some(PathBuf::from("/ca")));
        assert!(credential.divide_rate_limits);
    }

    #[test]
    fn mistakes_of_the_engine_are_refused_and_show_no_password() {
        for (lines, mistake) in [
            ("kind = \"redb\"", "engine.kind: must be \"local\" or"),
            ("kind = 7", "engine.kind: must be a non-empty"),
            ("url_file = \"/u\"", "engine.url_file: is used only with"),
            ("ca_file = \"/u\"", "engine.ca_file: is used only with"),
            ("divide_rate_limits = false", "engine.divide_rate_limits: is used only with"),
            ("shards = 16", "engine.shards: is used only with"),
            ("kind = \"postgres\"\nurl_file = \"/u\"\nshards = 0", "engine.shards: must be"),
            ("kind = \"postgres\"\nurl_file = \"/u\"\nshards = 256", "engine.shards: must be"),
            ("kind = \"postgres\"", "engine: must have exactly one of"),
            (
                "kind = \"postgres\"\nurl_file = \"/u\"\nurl_credential = \"u\"",
                "engine: must have exactly one of",
            ),
            ("kind = \"postgres\"\nurl_file = \"u\"", "engine.url_file: must be an absolute"),
            ("kind = \"postgres\"\nurl_credential = \"u/v\"", "engine.url_credential: must be"),
            ("kind = \"postgres\"\nurl_file = \"/u\"\nhost = \"h\"", "engine.host: is not a"),
            ("kind = \"postgres\"\nurl = \"postgres://u:hunter2@h/d\"", "engine.url: must not be"),
            (
                "kind = \"postgres\"\nurl_file = \"/u\"\n[archive]\ndirectory = \"/a\"",
                "archive: is possible only with",
            ),
        ] {
            let InvalidConfig(mistakes) = parse(&format!("[engine]\n{lines}")).unwrap_err();
            assert!(mistakes.iter().any(|it| it.starts_with(mistake)), "{lines}: {mistakes:?}");
            assert!(!mistakes.concat().contains("hunter2"), "{mistakes:?}");
        }
    }
}
