//! Finds and reads the settings file.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::bounds::SETTINGS_BYTES_MAX;
use crate::cli::support::{Exit, Failure, Result, misconfigured};
use crate::config::{Config, ConsoleSettings, InvalidConfig, ThreedsSettings};
use crate::domain::id::TenantId;
use crate::files::open_regular;

/// The environment variable that names the settings file for commands without `--config`.
const VARIABLE: &str = "STRONGROOM_CONFIG";

const OF_PACKAGE: &str = "/etc/strongroom/strongroom.toml";

pub fn read_config(path: &Path) -> Result<Config> {
    parse(path, Config::parse)
}

/// Reads settings even with mistakes, and returns the mistakes.
pub fn read_all(path: &Path) -> Result<(Config, Vec<String>)> {
    parse(path, Config::parse_all)
}

/// Reads the `[threeds]` section of a file that need not have other sections.
pub fn read_threeds(path: &Path) -> Result<ThreedsSettings> {
    parse(path, Config::parse_threeds)
}

/// Reads the `[console]` section of a file that has no other sections.
pub fn read_console(path: &Path, tenant: TenantId) -> Result<ConsoleSettings> {
    parse(path, |text| Config::parse_console(text, tenant))
}

/// Reads a file that the settings or an option name; `what` is its name in messages.
pub fn read_whole(what: &str, path: &Path, most: u64, too_large: Failure) -> Result<String> {
    let failed = |error: &io::Error| misconfigured(&format!("read {what}"), path, error);
    let file = open_regular(path).map_err(|error| failed(&error))?;
    // Read one byte more to detect a file that is too large.
    let text = io::read_to_string(file.take(most.saturating_add(1)));
    let text = text.map_err(|error| failed(&error))?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= most) {
        return Ok(text);
    }
    Err(too_large.file(path).why(format!("it has more than {most} bytes")))
}

fn parse<T>(path: &Path, parse: impl Fn(&str) -> Result<T, InvalidConfig>) -> Result<T> {
    let too_large = Failure::new(Exit::Config, "the settings are too large")
        .try_this("check that --config names the settings file");
    let text = read_whole("the settings", path, SETTINGS_BYTES_MAX, too_large)?;
    parse(&text).map_err(|InvalidConfig(mistakes)| {
        Failure::new(Exit::Config, "the settings are wrong")
            .file(path)
            .why(mistakes.join("\n"))
            .try_this("compare it with the commented file that is shipped with strongroom")
    })
}

/// The settings file of a command that needs one: the given one, the one in the variable, or the
/// package's.
pub fn path(given: Option<&Path>) -> Result<PathBuf> {
    find(given).ok_or_else(|| {
        none("no settings file is named")
            .try_this("--config FILE; the strongroom.toml of the package has every setting")
            .try_this("or strongroom dev, which needs no settings, to try a vault")
    })
}

/// As [`path`], for a command that also takes a data directory.
pub fn path_of_vault(given: Option<&Path>) -> Result<PathBuf> {
    find(given).ok_or_else(|| {
        none("no vault is named")
            .try_this("--config FILE; for a vault of strongroom dev: --data DIR")
    })
}

fn find(given: Option<&Path>) -> Option<PathBuf> {
    let of_variable = || std::env::var_os(VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
    let of_package = || Some(PathBuf::from(OF_PACKAGE)).filter(|it| it.exists());
    given.map(Path::to_path_buf).or_else(of_variable).or_else(of_package)
}

fn none(what: &str) -> Failure {
    let why = format!("there is no {OF_PACKAGE}, and {VARIABLE} is not set");
    let failure = Failure::new(Exit::Usage, what);
    failure.why(why)
}
