//! The URL of the database, which holds a password: read from its file or credential.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::bounds::DATABASE_URL_FILE_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::misconfigured;
use crate::cli::support::master_key_file::CREDENTIALS_DIRECTORY;
use crate::config::{PostgresSettings, UrlSource};
use crate::outbound::system_bundle;
use crate::secret::Secret;
use crate::store::{Database, DatabaseUrl};

const EXAMPLE: &str = "write one line such as postgres://USER:PASSWORD@HOST/DATABASE";

/// No failure shows any of the URL.
pub(in crate::cli) fn read_url(source: &UrlSource) -> Result<DatabaseUrl, Failure> {
    let path = path(source)?;
    let failed = |why: String| {
        Failure::new(Exit::Permission, "cannot read the URL of the database").file(&path).why(why)
    };
    let metadata = fs::metadata(&path).map_err(|error| {
        failed(error.to_string()).try_this("make the file, or correct the settings")
    })?;
    if !metadata.is_file() {
        return Err(failed(String::from("it is not a file")).try_this(EXAMPLE));
    }
    // systemd makes credentials readable only for the service's user, with its own modes.
    if matches!(source, UrlSource::File(_)) && metadata.permissions().mode() & 0o077 != 0 {
        let mode = metadata.permissions().mode() & 0o7777;
        return Err(failed(format!("other users can read it (mode {mode:04o})"))
            .try_this(format!("chmod 0400 {}", path.display())));
    }
    if metadata.len() > DATABASE_URL_FILE_BYTES_MAX {
        return Err(failed(String::from("it is too large to be a URL")).try_this(EXAMPLE));
    }
    let bytes = Secret::new(fs::read(&path).map_err(|error| failed(error.to_string()))?);
    let text = std::str::from_utf8(bytes.expose()).map(str::trim).unwrap_or_default();
    if text.contains(char::is_whitespace) {
        return Err(failed(String::from("it has more than one line or word")).try_this(EXAMPLE));
    }
    DatabaseUrl::parse(text).map_err(|invalid| failed(invalid.to_string()).try_this(EXAMPLE))
}

/// The database of these settings. Makes no connection.
pub(in crate::cli) fn database(settings: &PostgresSettings) -> Result<Database, Failure> {
    let url = read_url(&settings.url)?;
    let of_system = || url.needs_tls().then(system_bundle).flatten();
    let file = settings.ca_file.as_deref().or_else(of_system);
    let authorities = file.map(|path| {
        let read = fs::read(path);
        read.map_err(|error| misconfigured("read the authorities of the database", path, &error))
    });
    Database::new(url, authorities.transpose()?.as_deref()).map_err(|invalid| {
        Failure::new(Exit::Config, "the database cannot be used")
            .why(invalid)
            .try_this("correct the URL, or set engine.ca_file")
    })
}

fn path(source: &UrlSource) -> Result<PathBuf, Failure> {
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
