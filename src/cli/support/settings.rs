//! Reads the settings file, and finds the vault that the settings or the flags of a command name.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::bounds::SETTINGS_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::cannot;
use crate::config::{Config, InvalidConfig, MasterKeySource, ThreedsSettings};

pub(in crate::cli) fn read_config(path: &Path) -> Result<Config, Failure> {
    parse(path, Config::parse)
}

/// Reads the `[threeds]` section of a file that need not have other sections.
pub(in crate::cli) fn read_threeds(path: &Path) -> Result<ThreedsSettings, Failure> {
    parse(path, Config::parse_threeds)
}

fn parse<T>(path: &Path, parse: impl Fn(&str) -> Result<T, InvalidConfig>) -> Result<T, Failure> {
    let failed = |error: &io::Error| cannot("read the settings", path, error);
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

/// The data directory, and the master key if the settings or a flag name one.
pub(in crate::cli) fn place(
    config: Option<&Path>,
    data: Option<&Path>,
    master_key: Option<&Path>,
) -> Result<(PathBuf, Option<MasterKeySource>), Failure> {
    let named = master_key.map(|path| MasterKeySource::File(path.to_path_buf()));
    match (config, data) {
        (Some(config), data) => {
            let config = read_config(config)?;
            let directory = data.map_or(config.data_directory, Path::to_path_buf);
            Ok((directory, Some(named.unwrap_or(config.master_key))))
        }
        (None, Some(data)) => Ok((data.to_path_buf(), named)),
        (None, None) => Err(Failure::new(Exit::Usage, "no vault is named")
            .try_this("--config FILE, or --data DIR and, if needed, --master-key FILE")),
    }
}

/// The master key for a command that must open the data file.
pub(in crate::cli) fn needed(master: Option<MasterKeySource>) -> Result<MasterKeySource, Failure> {
    master.ok_or_else(|| {
        Failure::new(Exit::Usage, "no master key is named")
            .why("the command must open the data file")
            .try_this("--config FILE, or --data DIR --master-key FILE")
    })
}
