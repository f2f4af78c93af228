//! Opening the vault for a command: the data directory, the master key, the data file.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown,
};
use std::path::{Path, PathBuf};

use crate::app::{Vault, VaultFailure};
use crate::bounds::MASTER_KEY_FILE_BYTES_MAX;
use crate::cli::complain;
use crate::cli::operate::master_key;
use crate::cli::serve::read_config;
use crate::cli::support::failure::{Exit, Failure};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::crypto::{MasterKey, Random};
use crate::secret::Secret;
use crate::store::{Cleanliness, CvcKeys, FORMAT, OpenFailure, StorageFailure, Store};

/// Where systemd puts the credentials of a service.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

pub(in crate::cli) fn open(
    directory: &Path,
    master: &MasterKeySource,
    clock: Clock,
) -> Result<Vault, Failure> {
    check_directory(directory)?;
    let opened = read_master_key(master).and_then(|key| open_with(directory, key, clock.clone()));
    // A rotation that was cut off between the data file and the key's own file.
    match (opened, master) {
        (Err(failure), MasterKeySource::File(path)) => {
            master_key::finish_rotation(path, |key| open_with(directory, key, clock))
                .unwrap_or(Err(failure))
        }
        (opened, _) => opened,
    }
}

/// For a command that only looks: nothing is written to any file of the vault.
pub(in crate::cli) fn open_unwritten(
    directory: &Path,
    master: &MasterKeySource,
) -> Result<Vault, Failure> {
    check_directory(directory)?;
    let open = |key| {
        let opened =
            catch_damage(directory, || Vault::open_unwritten(directory, key, Clock::new()))?;
        opened.map_err(|failure| explain(failure, directory))
    };
    let opened = read_master_key(master).and_then(open);
    let (app, cleanliness) = match (opened, master) {
        (Err(failure), MasterKeySource::File(path)) => {
            let (new, source) = master_key::left_by_rotation(path);
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
    Ok(app)
}

/// A file that was not closed is recovered in memory, which its owner should know.
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
    directory: &Path,
    master: MasterKey,
    clock: Clock,
) -> Result<Vault, Failure> {
    let opened = catch_damage(directory, || Vault::open(directory, master, clock))?;
    let app = opened.map_err(|failure| explain(failure, directory))?;
    with_owner(app, directory)
}

/// What root has made in the directory belongs to whom the directory belongs to: the server's user,
/// who could not open it otherwise.
fn with_owner(app: Vault, directory: &Path) -> Result<Vault, Failure> {
    let given = [Store::FILE, CvcKeys::FILE]
        .into_iter()
        .try_for_each(|name| give_to_owner(directory, &directory.join(name)));
    match given {
        Ok(()) => Ok(app),
        Err(failure) => {
            app.close();
            Err(failure)
        }
    }
}

pub(in crate::cli) fn give_to_owner(directory: &Path, path: &Path) -> Result<(), Failure> {
    let give = || -> io::Result<()> {
        let owner = fs::metadata(directory)?;
        let file = fs::symlink_metadata(path)?;
        // The owner may be anyone: only a file that is in this directory alone is given away, and
        // no link is followed.
        if file.uid() == owner.uid() || !file.is_file() || file.nlink() != 1 {
            return Ok(());
        }
        lchown(path, Some(owner.uid()), Some(owner.gid()))
    };
    give().map_err(|error| cannot("give a file to the data directory's owner", path, &error))
}

/// The engine may panic on pages that are damaged in ways it does not expect.
pub(in crate::cli) fn catch_damage<T>(
    directory: &Path,
    read: impl FnOnce() -> T,
) -> Result<T, Failure> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).map_err(|_payload| {
        Failure::new(Exit::Data, "the data file is damaged")
            .file(&directory.join(Store::FILE))
            .why("the storage engine found an invalid page")
            .try_this("restore the newest backup and keep this file for examination")
    })
}

pub(in crate::cli) fn create(
    directory: &Path,
    master: &MasterKeySource,
    clock: Clock,
) -> Result<Vault, Failure> {
    check_directory(directory)?;
    let master = read_master_key(master)?;
    let app = Vault::create(directory, master, clock);
    with_owner(app.map_err(|failure| explain(failure, directory))?, directory)
}

/// The data directory, and the master key where one is named.
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

/// The master key of a vault that has to be opened.
pub(in crate::cli) fn needed(master: Option<MasterKeySource>) -> Result<MasterKeySource, Failure> {
    master.ok_or_else(|| {
        Failure::new(Exit::Usage, "no master key is named")
            .why("the command must open the data file")
            .try_this("--config FILE, or --data DIR --master-key FILE")
    })
}

/// Makes the directory if it is not there; its parent must be.
pub(in crate::cli) fn make_directory(directory: &Path) -> Result<(), Failure> {
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(cannot("create the data directory", directory, &error)),
    }
}

/// Writes a new master key where none is. An existing one is never touched.
pub(in crate::cli) fn make_master_key(path: &Path) -> Result<(), Failure> {
    let text = MasterKey::generate(&Random::new());
    write_secret(path, text.expose().as_bytes(), 0o400)
}

pub(in crate::cli) fn write_secret(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().map_err(|error| cannot("write a secret to its file", path, &error))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "anything else is a wrong place")]
pub(in crate::cli) fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let exit = match error.kind() {
        io::ErrorKind::PermissionDenied => Exit::Permission,
        io::ErrorKind::StorageFull | io::ErrorKind::ReadOnlyFilesystem => Exit::Storage,
        _ => Exit::Config,
    };
    Failure::new(exit, format!("cannot {what}")).file(path).why(error)
}

pub(in crate::cli) fn check_directory(directory: &Path) -> Result<(), Failure> {
    let metadata = fs::metadata(directory).map_err(|error| {
        cannot("enter the data directory", directory, &error).try_this("strongroom init")
    })?;
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(Failure::new(Exit::Permission, "other users can enter the data directory")
            .file(directory)
            .why(format!("its mode is {mode:04o}"))
            .try_this(format!("chmod 0700 {}", directory.display())));
    }
    Ok(())
}

pub(in crate::cli) fn read_master_key(source: &MasterKeySource) -> Result<MasterKey, Failure> {
    Ok(read_master_text(source)?.0)
}

/// The key and the text that it was read from.
pub(in crate::cli) fn read_master_text(
    source: &MasterKeySource,
) -> Result<(MasterKey, Secret<Vec<u8>>), Failure> {
    let path = match source {
        MasterKeySource::File(path) => path.clone(),
        MasterKeySource::Credential(name) => credential(name)?,
    };
    let failed = |why: String| {
        Failure::new(Exit::Permission, "cannot read the master key").file(&path).why(why)
    };
    let metadata = fs::metadata(&path).map_err(|error| {
        failed(error.to_string()).try_this("strongroom init, or put the key file back")
    })?;
    // systemd gives credentials to the service's user alone, with modes of its own.
    if matches!(source, MasterKeySource::File(_)) && metadata.permissions().mode() & 0o077 != 0 {
        let mode = metadata.permissions().mode() & 0o7777;
        return Err(failed(format!("other users can read it (mode {mode:04o})"))
            .try_this(format!("chmod 0400 {}", path.display())));
    }
    if metadata.len() > MASTER_KEY_FILE_BYTES_MAX {
        return Err(failed(String::from("it is too large to be a master key")));
    }
    let bytes = Secret::new(fs::read(&path).map_err(|error| failed(error.to_string()))?);
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        failed(invalid.to_string()).try_this("restore the file that strongroom init made")
    })?;
    Ok((key, bytes))
}

fn credential(name: &str) -> Result<PathBuf, Failure> {
    std::env::var_os(CREDENTIALS_DIRECTORY)
        .map(|directory| Path::new(&directory).join(name))
        .ok_or_else(|| {
            Failure::new(Exit::Permission, "cannot find the master key's credential")
                .why(format!("{CREDENTIALS_DIRECTORY} is not set: this was not started by systemd"))
                .try_this("start the server first, or set master_key.file in the settings")
        })
}

pub(in crate::cli) fn explain(failure: VaultFailure, directory: &Path) -> Failure {
    let path = directory.join(Store::FILE);
    match failure {
        VaultFailure::WrongMasterKey => {
            Failure::new(Exit::Permission, "this master key belongs to another vault")
                .file(&path)
                .why("the data file was sealed under a different key; nothing was changed")
                .try_this("use the master key that belongs to this data file")
        }
        VaultFailure::ReplacedMasterKey(at) => {
            Failure::new(Exit::Permission, "this master key was replaced by a rotation")
                .file(&path)
                .why(format!("strongroom key rotate --master replaced it at {}", at.to_wire()))
                .try_this("use the key file that the rotation wrote, and start again")
        }
        VaultFailure::KeysDamaged => {
            Failure::new(Exit::Data, "the keys in the data file do not open")
                .file(&path)
                .try_this("restore the newest backup and keep this file for examination")
        }
        VaultFailure::File(OpenFailure::AlreadyOpen) => {
            Failure::new(Exit::Unavailable, "the data file is in use")
                .file(&path)
                .why("another strongroom process has it open")
                .try_this("stop that process, or wait until it has ended")
        }
        VaultFailure::File(OpenFailure::Exists) => {
            Failure::new(Exit::Data, "a data file exists already")
                .file(&path)
                .why("a vault is never overwritten")
                .try_this("strongroom serve, or choose another data directory")
        }
        VaultFailure::File(OpenFailure::Missing) => {
            Failure::new(Exit::Data, "there is no data file")
                .file(&path)
                .try_this("strongroom init")
        }
        VaultFailure::File(OpenFailure::Newer(format, program)) => {
            let by = program.map(|version| format!(", of strongroom {version}"));
            let by = by.unwrap_or_default();
            Failure::new(Exit::Data, "the data file was written by a newer version of strongroom")
                .file(&path)
                .why(format!("its format is {format}{by}; this program supports up to {FORMAT}"))
                .try_this("use the newer program; nothing was changed")
        }
        VaultFailure::File(OpenFailure::NotOurs) => {
            Failure::new(Exit::Data, "this is not a strongroom data file")
                .file(&path)
                .why("it is truncated or belongs to another program; nothing was changed")
                .try_this("restore the newest backup, or correct data_directory")
        }
        VaultFailure::File(OpenFailure::Older(format)) => {
            Failure::new(Exit::Data, "the data file is of an older format")
                .file(&path)
                .why(format!("its format is {format}; this program's is {FORMAT}"))
                .try_this("strongroom serve migrates it")
        }
        VaultFailure::NotMigrated(backup, failure) => Failure::new(
            Exit::Storage,
            "the data file must be migrated, but the backup before it failed",
        )
        .file(&backup)
        .why(failure)
        .try_this("free space beside the data file, then start again; nothing was changed"),
        VaultFailure::File(OpenFailure::Storage(failure)) => storage(&failure).file(&path),
    }
}

pub(in crate::cli) fn storage(failure: &StorageFailure) -> Failure {
    let exit = match failure {
        StorageFailure::Damaged(_) => Exit::Data,
        StorageFailure::Full
        | StorageFailure::Impossible(_)
        | StorageFailure::Io(_)
        | StorageFailure::ReadOnly
        | StorageFailure::Removed(_)
        | StorageFailure::Stopped => Exit::Storage,
    };
    Failure::new(exit, "the data file failed").why(failure).try_this(failure.advice())
}

pub(in crate::cli) fn restrict(path: &Path, mode: u32) -> Result<(), Failure> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| cannot("set the mode of a file", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(failure: OpenFailure, exit: Exit) {
        let told = explain(VaultFailure::File(failure), Path::new("/data"));
        assert_eq!(told.exit, exit, "{told}");
        let text = told.to_string();
        assert!(text.contains("/data/strongroom.redb"), "{text}");
        assert!(text.contains("\n  try: "), "{text}");
    }

    #[test]
    fn every_failure_to_open_has_its_exit_code_and_says_what_to_do() {
        check(OpenFailure::AlreadyOpen, Exit::Unavailable);
        check(OpenFailure::Exists, Exit::Data);
        check(OpenFailure::Missing, Exit::Data);
        check(OpenFailure::Newer(9, Some(String::from("9.0.0"))), Exit::Data);
        check(OpenFailure::NotOurs, Exit::Data);
        check(OpenFailure::Older(1), Exit::Data);
        let disk = OpenFailure::Storage;
        check(disk(StorageFailure::Damaged(String::from("x"))), Exit::Data);
        check(disk(StorageFailure::Full), Exit::Storage);
        check(disk(StorageFailure::ReadOnly), Exit::Storage);
        check(disk(StorageFailure::Removed("/data/cvc.keys".into())), Exit::Storage);
        check(disk(StorageFailure::Stopped), Exit::Storage);
        let broken = io::Error::from(io::ErrorKind::TimedOut);
        check(disk(StorageFailure::Io(broken)), Exit::Storage);
    }

    #[test]
    fn a_disk_that_fails_while_serving_ends_with_the_storage_code_and_its_advice() {
        for (failure, advice) in [
            (StorageFailure::Full, "free space"),
            (StorageFailure::ReadOnly, "mount the file system writable"),
            (StorageFailure::Removed("/data/cvc.keys".into()), "/data/cvc.keys was removed"),
            (StorageFailure::Removed("/data/cvc.keys".into()), "move it back"),
        ] {
            let told = storage(&failure);
            assert_eq!(told.exit.code(), 74);
            assert!(told.to_string().contains(advice), "{told}");
        }
    }
}
