//! Opens the vault for a command: checks the data directory, reads the master key, opens the data
//! file.

use std::path::Path;

use crate::app::Vault;
use crate::cli::support::{
    Result, VaultHome, check_directory, complain, damaged_pages, explain_at, finish_rotation,
    give_to_owner, left_by_rotation, read_master_key,
};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::crypto::MasterKey;
use crate::store::{Cleanliness, CvcKeys, Store};

pub fn open(home: &VaultHome, master: &MasterKeySource, clock: Clock) -> Result<Vault> {
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

/// Opens the vault for reading. Writes to none of its files.
pub fn open_unwritten(home: &VaultHome, master: &MasterKeySource) -> Result<Vault> {
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
            let new = left_by_rotation(path);
            let left = MasterKeySource::File(new.clone());
            let opened = read_master_key(&left).and_then(open).map_err(|_also| failure)?;
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
pub fn mention_recovery(cleanliness: Cleanliness) {
    match cleanliness {
        Cleanliness::Clean => (),
        Cleanliness::NeedsRecovery => complain(
            "strongroom: the data file was not closed, as after a crash or a loss of power. It \
             was recovered in memory for this check and is unchanged. The next strongroom serve \
             recovers it permanently.",
        ),
    }
}

pub fn open_with(home: &VaultHome, master: MasterKey, clock: Clock) -> Result<Vault> {
    let place = home.place()?;
    let opened = catch_damage(&home.directory, || Vault::open(&place, master, clock))?;
    with_owner(opened.map_err(|failure| explain_at(failure, home))?, home)
}

/// Gives files that root has created to the owner of the directory, who runs the server and could
/// otherwise not open them.
fn with_owner(vault: Vault, home: &VaultHome) -> Result<Vault> {
    if !home.is_local() {
        return Ok(vault);
    }
    let directory = &home.directory;
    let given = [Store::FILE, CvcKeys::FILE]
        .into_iter()
        .try_for_each(|name| give_to_owner(directory, &directory.join(name)));
    or_close(given, vault).map(|(vault, ())| vault)
}

/// Closes the vault if the work on it failed.
pub fn or_close<T>(done: Result<T>, vault: Vault) -> Result<(Vault, T)> {
    match done {
        Ok(value) => Ok((vault, value)),
        Err(failure) => {
            vault.close();
            Err(failure)
        }
    }
}

/// Reports a panic of redb, which may panic on damaged pages, as damage.
pub fn catch_damage<T>(directory: &Path, read: impl FnOnce() -> T) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .map_err(|_payload| damaged_pages().file(&directory.join(Store::FILE)))
}

pub fn create(home: &VaultHome, master: &MasterKeySource, clock: Clock) -> Result<Vault> {
    check_directory(&home.directory)?;
    create_with(home, read_master_key(master)?, clock)
}

pub fn create_with(home: &VaultHome, master: MasterKey, clock: Clock) -> Result<Vault> {
    check_directory(&home.directory)?;
    let vault = Vault::create(&home.place()?, master, clock);
    with_owner(vault.map_err(|failure| explain_at(failure, home))?, home)
}
