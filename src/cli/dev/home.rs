//! The database of a development vault, if it has one.

use crate::cli::commands::DevCommand;
use crate::cli::dev::tenant_path;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::cannot;
use crate::cli::support::vault_home::{VaultHome, dev_url, over_database};
use crate::config::UrlSource;

/// The directory, and the database of the flag or of an earlier start.
pub(super) fn home(command: &DevCommand) -> Result<VaultHome, Failure> {
    let found = VaultHome::without_settings(&command.data);
    let Some(file) = &command.engine_url_file else { return Ok(found) };
    let file = std::path::absolute(file)
        .map_err(|error| cannot("find the URL of the database", file, &error))?;
    if found.is_local() && tenant_path(&command.data).exists() {
        return Err(Failure::new(Exit::Data, "the vault of this directory has a data file")
            .file(&command.data)
            .try_this("omit --engine-url-file, or use another --data directory"));
    }
    Ok(VaultHome { engine: over_database(file), ..found })
}

/// Leaves a link to the file of the URL for the commands on this directory, which has no settings.
pub(super) fn link_url(home: &VaultHome) -> Result<(), Failure> {
    let Some(UrlSource::File(file)) = home.engine.postgres().map(|it| &it.url) else {
        return Ok(());
    };
    let link = dev_url(&home.directory);
    std::os::unix::fs::symlink(file, &link)
        .map_err(|error| cannot("name the database in the directory", &link, &error))
}
