//! Opens the vault for a command: checks the data directory, reads the master key, opens the data
//! file.

use std::path::Path;

use crate::app::Vault;
use crate::cli::support::database_failures::explain_at;
use crate::cli::support::failure::Failure;
use crate::cli::support::files::{check_directory, give_to_owner};
use crate::cli::support::master_key_file::{finish_rotation, left_by_rotation, read_master_key};
use crate::cli::support::output::complain;
use crate::cli::support::panics::damaged_pages;
use crate::cli::support::vault_home::VaultHome;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::crypto::MasterKey;
use crate::store::{Cleanliness, CvcKeys, Store};

pub(in crate::cli) fn open(
    home: &VaultHome,
    master: &MasterKeySource,
    clock: Clock,
) -> Result<Vault, Failure> {
    check_directory(&home.directory)?;
    let opened = read_master_key(master).and_then(|key| open_with(home, key, clock.clone()));
    // An interrupted rotation may have sealed the data file and not yet renamed the new key file.
    match (opened, master) {
        (Err(failure), MasterKeySource::File(path)) => {
            finish_rotation(path, |key| open_with(home, key, clock)).ok_or(failure)
        }
        (opened, _) => opened,
    }
}

/// Opens the vault for reading: writes to none of its files.
pub(in crate::cli) fn open_unwritten(
    home: &VaultHome,
    master: &MasterKeySource,
) -> Result<Vault, Failure> {
    check_directory(&home.directory)?;
    let place = home.place()?;
    let open = |key| {
        let opened =
            catch_damage(&home.directory, || Vault::open_unwritten(&place, key, Clock::new()))?;
        opened.map_err(|failure| explain_at(failure, home))
    };
    let opened = read_master_key(master).and_then(open);
    let (vault, cleanliness) = match (opened, master) {
        (Err(failure), MasterKeySource::File(path)) => {
            let (new, source) = left_by_rotation(path);
            let opened = read_master_key(&source).and_then(open).map_err(|_also| failure)?;
            complain(&format!(
                "strongroom: a rotation of the master key was interrupted; the key that opens the \
                 data file is {}",
                new.display()
            ));
            opened
        }
        (opened, _) => opened?,
    };
    mention_recovery(cleanliness);
    Ok(vault)
}

/// Reports that a data file was recovered in memory because it was not closed.
pub(in crate::cli) fn mention_recovery(cleanliness: Cleanliness) {
    match cleanliness {
        Cleanliness::Clean => (),
        Cleanliness::NeedsRecovery => complain(
            "strongroom: the data file was not closed, as after a crash or a loss of power. It \
             was recovered in memory for this check and is unchanged. The next strongroom serve \
             recovers it permanently.",
        ),
    }
}

pub(in crate::cli) fn open_with(
    home: &VaultHome,
    master: MasterKey,
    clock: Clock,
) -> Result<Vault, Failure> {
    let place = home.place()?;
    let opened = catch_damage(&home.directory, || Vault::open(&place, master, clock))?;
    with_owner(opened.map_err(|failure| explain_at(failure, home))?, home)
}

/// Gives files that root has created to the owner of the directory, who runs the server and could
/// not open them otherwise.
fn with_owner(vault: Vault, home: &VaultHome) -> Result<Vault, Failure> {
    if !home.is_local() {
        return Ok(vault);
    }
    let directory = &home.directory;
    let given = [Store::FILE, CvcKeys::FILE]
        .into_iter()
        .try_for_each(|name| give_to_owner(directory, &directory.join(name)));
    match given {
        Ok(()) => Ok(vault),
        Err(failure) => {
            vault.close();
            Err(failure)
        }
    }
}

/// Reports a panic of the storage engine, which may panic on damaged pages, as damage.
pub(in crate::cli) fn catch_damage<T>(
    directory: &Path,
    read: impl FnOnce() -> T,
) -> Result<T, Failure> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .map_err(|_payload| damaged_pages().file(&directory.join(Store::FILE)))
}

pub(in crate::cli) fn create(
    home: &VaultHome,
    master: &MasterKeySource,
    clock: Clock,
) -> Result<Vault, Failure> {
    check_directory(&home.directory)?;
    create_with(home, read_master_key(master)?, clock)
}

pub(in crate::cli) fn create_with(
    home: &VaultHome,
    master: MasterKey,
    clock: Clock,
) -> Result<Vault, Failure> {
    check_directory(&home.directory)?;
    let vault = Vault::create(&home.place()?, master, clock);
    with_owner(vault.map_err(|failure| explain_at(failure, home))?, home)
}
