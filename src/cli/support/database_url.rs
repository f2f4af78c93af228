//! Reads the URL of the database, which holds a password, from its file or credential.

use std::path::{Path, PathBuf};

use crate::bounds::{CERTIFICATE_BYTES_MAX, DATABASE_URL_FILE_BYTES_MAX};
use crate::cli::support::{
    CREDENTIALS_DIRECTORY, Exit, Failure, Result, SecretFile, misconfigured,
};
use crate::config::{PostgresSettings, UrlSource};
use crate::files::{open_regular, read_regular};
use crate::outbound::system_bundle;
use crate::store::{Database, DatabaseUrl};

const EXAMPLE: &str = "write one line such as postgres://USER:PASSWORD@HOST/DATABASE";

const URL_FILE: SecretFile = SecretFile {
    what: "the URL of the database",
    too_large: "it is too large to be a URL",
    if_missing: "make the file, or correct the settings",
    if_other: EXAMPLE,
    bytes_max: DATABASE_URL_FILE_BYTES_MAX,
};

/// No failure shows any part of the URL.
pub fn read_url(source: &UrlSource) -> Result<DatabaseUrl> {
    let path = path(source)?;
    let is_credential = matches!(source, UrlSource::Credential(_));
    let bytes = URL_FILE.read(&path, open_regular(&path), is_credential)?;
    let text = std::str::from_utf8(bytes.expose()).map(str::trim).unwrap_or_default();
    if text.contains(char::is_whitespace) {
        let why = "it has more than one line or word";
        return Err(URL_FILE.failure(&path, why).try_this(EXAMPLE));
    }
    let parsed = DatabaseUrl::parse(text);
    parsed.map_err(|invalid| URL_FILE.failure(&path, invalid).try_this(EXAMPLE))
}

/// The database of these settings. Makes no connection.
pub fn database(settings: &PostgresSettings) -> Result<Database> {
    let url = read_url(&settings.url)?;
    let of_system = || url.needs_tls().then(system_bundle).flatten();
    let file = settings.ca_file.as_deref().or_else(of_system);
    let authorities = file.map(|path| {
        let read = read_regular(path, CERTIFICATE_BYTES_MAX);
        read.map_err(|error| misconfigured("read the authorities of the database", path, &error))
    });
    let database = Database::new(url, authorities.transpose()?.as_deref());
    database.map(|database| database.with_shards(settings.shards)).map_err(|invalid| {
        Failure::new(Exit::Config, "the database cannot be used")
            .why(invalid)
            .try_this("correct the URL, or set engine.ca_file")
    })
}

fn path(source: &UrlSource) -> Result<PathBuf> {
    match source {
        UrlSource::File(path) => Ok(path.clone()),
        UrlSource::Credential(name) => std::env::var_os(CREDENTIALS_DIRECTORY)
            .map(|directory| Path::new(&directory).join(name))
            .ok_or_else(|| {
                Failure::new(Exit::Permission, "cannot find the credential of the database's URL")
                    .why(format!(
                        "the settings name the credential {name}, which only systemd passes to \
                         the server; this was not started by systemd ({CREDENTIALS_DIRECTORY} is \
                         not set)"
                    ))
                    .try_this(
                        "set CREDENTIALS_DIRECTORY=/etc/strongroom for this command, if the file \
                         is there",
                    )
            }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_one_line_with_a_url_in_a_private_file_is_read_and_no_failure_shows_it() {
        let name = format!("strongroom-database-url-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let read = |text: &str, mode| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            read_url(&UrlSource::File(file.clone()))
        };
        for text in ["postgres://u:hunter2@h/d\n", "postgresql://u:hunter2@h/d"] {
            for mode in [0o600, 0o400] {
                fs::remove_file(&file).ok();
                assert_eq!(read(text, mode).unwrap().to_string(), "database d at h port 5432");
            }
        }
        for (text, mode) in [
            ("postgres://u:hunter2@h/d", 0o640),
            ("postgres://u:hunter2@h/d", 0o604),
            ("mysql://u:hunter2@h/d", 0o600),
            ("postgres://u:hunter2@h/d\npostgres://u@h/d", 0o600),
            ("", 0o600),
            (&format!("postgres://u:hunter2@{}/d", "h".repeat(5_000)), 0o600),
        ] {
            fs::remove_file(&file).ok();
            let failure = read(text, mode).unwrap_err();
            assert_eq!(failure.exit, Exit::Permission);
            assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
        }
        fs::remove_file(&file).unwrap();
        assert!(read_url(&UrlSource::File(file)).is_err());
    }
}
