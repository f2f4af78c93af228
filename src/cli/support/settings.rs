//! Finds and reads the settings file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::bounds::SETTINGS_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::misconfigured;
use crate::config::{Config, InvalidConfig, ThreedsSettings};

/// Names the settings file for commands without `--config`.
const VARIABLE: &str = "STRONGROOM_CONFIG";

/// The settings file that the package installs.
const OF_PACKAGE: &str = "/etc/strongroom/strongroom.toml";

pub(in crate::cli) fn read_config(path: &Path) -> Result<Config, Failure> {
    parse(path, Config::parse)
}

/// Reads the settings also if there are mistakes in them, which it returns.
pub(in crate::cli) fn read_all(path: &Path) -> Result<(Config, Vec<String>), Failure> {
    parse(path, Config::parse_all)
}

/// Reads the `[threeds]` section of a file that need not have other sections.
pub(in crate::cli) fn read_threeds(path: &Path) -> Result<ThreedsSettings, Failure> {
    parse(path, Config::parse_threeds)
}

fn parse<T>(path: &Path, parse: impl Fn(&str) -> Result<T, InvalidConfig>) -> Result<T, Failure> {
    let failed = |error: &io::Error| misconfigured("read the settings", path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    // Read one byte more to notice a file that is too large.
    let most = SETTINGS_BYTES_MAX.saturating_add(1);
    let read = file.take(most).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if u64::try_from(read).is_ok_and(|read| read == most) {
        let why = format!("it has more than {SETTINGS_BYTES_MAX} bytes");
        return Err(Failure::new(Exit::Config, "the settings are too large").file(path).why(why));
    }
    parse(&text).map_err(|InvalidConfig(mistakes)| {
        Failure::new(Exit::Config, "the settings are wrong")
            .file(path)
            .why(mistakes.join("\n"))
            .try_this("compare it with the commented file that is shipped with strongroom")
    })
}

/// The settings file for a command: the given one, else that of the variable, else that of the
/// package.
pub(in crate::cli) fn path(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.to_path_buf());
    }
    match std::env::var_os(VARIABLE) {
        Some(path) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ if Path::new(OF_PACKAGE).exists() => Ok(PathBuf::from(OF_PACKAGE)),
        _ => Err(Failure::new(Exit::Usage, "no vault is named")
            .why(format!("there is no {OF_PACKAGE}, and {VARIABLE} is not set"))
            .try_this("--config FILE; for a vault of strongroom dev: --data DIR")),
    }
}
