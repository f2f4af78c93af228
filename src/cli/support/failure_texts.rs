//! Messages for failures of the vault, of its files and of the running server.

use std::io;
use std::path::Path;

use crate::app::{Error, VaultFailure};
use crate::cli::support::{Exit, Failure, VaultHome, is_followed};
use crate::operator::{sentences, socket_path};
use crate::server::{BindError, CertificateProblem};
use crate::store::backup::InvalidBackup;
use crate::store::{CvcKeys, FORMAT, OpenFailure, StorageFailure, Store};

/// The failure of an operation on a file that the command line names, with the exit code of its
/// cause.
pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let exit = exit_of(error.kind()).unwrap_or(Exit::Data);
    let failure = Failure::new(exit, format!("cannot {what}")).file(path).why(error);
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty() && !it.is_dir());
    match (error.kind(), parent) {
        (io::ErrorKind::AlreadyExists, _) => {
            failure.try_this("name another file; an existing one is not overwritten")
        }
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(parent)) => failure.try_this(
            format!("there is no directory {}: make it, or name another", parent.display()),
        ),
        (io::ErrorKind::NotFound, None) => {
            failure.try_this("check the name; there is no such file")
        }
        (io::ErrorKind::IsADirectory, _) => failure.try_this("name a file; this is a directory"),
        (kind, _) => failure.try_this(next_step(kind)),
    }
}

/// As [`cannot`], for a file or directory that the settings name.
pub fn misconfigured(what: &str, path: &Path, error: &io::Error) -> Failure {
    let exit = exit_of(error.kind()).unwrap_or(Exit::Config);
    let failure = Failure::new(exit, format!("cannot {what}")).file(path).why(error);
    failure.try_this(if error.kind() == io::ErrorKind::NotFound {
        "correct the path in the settings, or put the file there; strongroom check checks all of them"
    } else {
        next_step(error.kind())
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other error needs a look at the file")]
pub const fn next_step(cause: io::ErrorKind) -> &'static str {
    match cause {
        io::ErrorKind::PermissionDenied => {
            "run this as root or as the user of the service, or change the owner or mode of the file"
        }
        io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
            "free space on this disk, or name a file on another"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount the file system writable, or name a file on another"
        }
        _ => "look at the file and at the messages of the kernel (dmesg), then try again",
    }
}

/// The system refused something that a process needs, such as a thread or a pipe.
pub fn no_resource(what: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::Unavailable, format!("cannot {what}"))
        .why(error)
        .try_this("compare the limits of the process (ulimit -a, systemctl show) with its use")
}

/// The exit code of a cause, where it does not matter if an option or the settings named the file.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other error comes from a wrong path")]
const fn exit_of(cause: io::ErrorKind) -> Option<Exit> {
    match cause {
        io::ErrorKind::AlreadyExists => Some(Exit::Data),
        io::ErrorKind::PermissionDenied => Some(Exit::Permission),
        io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull => Some(Exit::Storage),
        _ => None,
    }
}

const IN_USE: &str = "stop that process, or wait until it has ended; to check a running vault, \
                      write a backup and verify the backup";

pub fn explain(failure: VaultFailure, directory: &Path) -> Failure {
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
                .why(format!("strongroom key rotate --master replaced it at {}", at.shown()))
                .try_this("use the key file that the rotation wrote, and start again")
        }
        VaultFailure::KeysDamaged => {
            Failure::new(Exit::Data, "the keys in the data file do not open")
                .file(&path)
                .try_this("restore the newest backup and keep this file for examination")
        }
        VaultFailure::File(OpenFailure::AlreadyOpen) => in_use(directory).file(&path),
        VaultFailure::File(OpenFailure::Exists) => {
            Failure::new(Exit::Data, "a data file exists already")
                .file(&path)
                .why("a vault is never overwritten")
                .try_this("strongroom serve, or choose another data directory")
        }
        VaultFailure::File(OpenFailure::Missing) => {
            let failure = Failure::new(Exit::Data, "there is no data file").file(&path);
            // A new vault in its place would treat the old log as foreign.
            if directory.join(CvcKeys::FILE).exists() {
                failure.why("the directory has other files of a vault").try_this(
                    "if the file was moved, move it back; otherwise restore the newest backup",
                )
            } else {
                failure.try_this("strongroom init")
            }
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
        VaultFailure::File(failure @ (OpenFailure::NotStandby | OpenFailure::Standby)) => {
            explain_standby_file(&failure).file(&path)
        }
        VaultFailure::File(OpenFailure::Storage(failure)) => storage(&failure).file(&path),
        VaultFailure::File(OpenFailure::Unreleased) => unreleased().file(&path),
    }
}

/// A vault from before format 1.
pub fn unreleased() -> Failure {
    Failure::new(Exit::Data, "the vault was made by a version before the first release")
        .why("no released version reads its format; nothing was changed")
        .try_this("strongroom init, in another place")
}

fn in_use(directory: &Path) -> Failure {
    if is_followed(directory) {
        return Failure::new(Exit::Unavailable, "this is a standby; promote it first")
            .why("strongroom follow has the data file open, and a standby takes no commands")
            .try_this(
                "run the command on the vault that it follows; if that is lost, stop follow and \
                 run strongroom promote",
            );
    }
    Failure::new(Exit::Unavailable, "the data file is in use")
        .why("another strongroom process has it open")
        .try_this(IN_USE)
}

fn explain_standby_file(failure: &OpenFailure) -> Failure {
    if matches!(failure, OpenFailure::Standby) {
        return Failure::new(Exit::Data, "the data file is that of a standby")
            .why("it follows the archive of another vault; nothing was changed")
            .try_this("strongroom promote makes a vault of it, strongroom follow goes on");
    }
    Failure::new(Exit::Data, "the data file is not that of a standby")
        .why("it is a vault, or a standby that was promoted; nothing was changed")
        .try_this("strongroom serve, or choose another data directory")
}

pub fn storage(failure: &StorageFailure) -> Failure {
    let exit = if failure.denied().is_some() {
        Exit::Permission
    } else if matches!(failure, StorageFailure::Damaged(_) | StorageFailure::Log(..)) {
        Exit::Data
    } else {
        Exit::Storage
    };
    Failure::new(exit, "the data file failed").why(failure).try_this(failure.advice())
}

pub fn explain_backup(invalid: &InvalidBackup, file: &Path) -> Failure {
    let (exit, advice) = match invalid {
        InvalidBackup::CutShort | InvalidBackup::Damaged(..) => {
            (Exit::Data, "use another backup, and keep this one for examination")
        }
        InvalidBackup::Forged => (Exit::Permission, "use another backup; do not trust this one"),
        InvalidBackup::Io(error) => return cannot("read the backup", file, error),
        InvalidBackup::Newer(_) => (Exit::Data, "use the newer program"),
        InvalidBackup::NotABackup => (Exit::Data, "give a file that strongroom backup wrote"),
        InvalidBackup::Unreleased => (Exit::Data, "give a backup of a released version"),
        InvalidBackup::WrongMasterKey => {
            (Exit::Permission, "use the master key that the vault had when the backup was written")
        }
    };
    Failure::new(exit, "this backup cannot be used").file(file).why(invalid).try_this(advice)
}

pub fn explain_bind(error: &BindError) -> Failure {
    let exit = match error {
        BindError::Address { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            Exit::Unavailable
        }
        BindError::Address { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Exit::Permission
        }
        BindError::Certificate(CertificateProblem::KeyExposed { .. }) => Exit::Permission,
        BindError::Address { .. }
        | BindError::Certificate(_)
        | BindError::Inherited(_)
        | BindError::NoAddress => Exit::Config,
    };
    let advice = error.advice();
    let source = std::error::Error::source(error).map(|source| format!("\n{source}"));
    let why = format!("{error}{}", source.unwrap_or_default());
    Failure::new(exit, "cannot listen").why(why).try_this(advice)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        refused(&error)
    }
}

pub fn refused(error: &Error) -> Failure {
    if let Error::Storage(failed) = error {
        return storage(failed);
    }
    not_accepted("the vault refused", &sentences(error))
}

/// For a command that the vault has refused, with the reasons that it gave. Most of them name what
/// to change.
pub fn not_accepted(what: &str, why: &[String]) -> Failure {
    let failure = Failure::new(Exit::Data, what).why(why.join("\n"));
    let list = |of: &str| format!("strongroom {of} shows them");
    match why.first().map(String::as_str) {
        Some("There is no such tenant.") => failure.try_this(list("tenant list")),
        Some("There is no such application.") => {
            failure.try_this(list("application list --tenant ID"))
        }
        Some("There is no such webhook.") => failure.try_this(list("webhook list --tenant ID")),
        Some("There is no such key.") => {
            failure.try_this(list("key list, or application list for API keys,"))
        }
        Some(_) | None => failure,
    }
}

pub fn unreachable_server(directory: &Path, error: &io::Error) -> Failure {
    let exit = if error.kind() == io::ErrorKind::PermissionDenied {
        Exit::Permission
    } else {
        Exit::Unavailable
    };
    if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
        return Failure::new(exit, "the server closed the connection before it answered")
            .file(&socket_path(directory))
            .why("the server has ended, or the command took too long; its result is not known")
            .try_this("check with strongroom status, key list or audit export, then try again");
    }
    let socket = socket_path(directory);
    let advice = if exit == Exit::Permission {
        run_as_owner(&socket)
    } else {
        String::from("wait until the server has started or ended, and look into its log")
    };
    Failure::new(exit, "cannot reach the running server").file(&socket).why(error).try_this(advice)
}

/// Names the user that may use a socket: the owner of the socket or of the nearest directory that
/// can be read.
pub fn run_as_owner(socket: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let owner = socket.ancestors().take(2).find_map(|path| std::fs::metadata(path).ok());
    match owner.map(|metadata| metadata.uid()) {
        Some(uid) => format!("run this as root or as the server's user, whose uid is {uid}"),
        None => String::from("run this as root or as the user that the server runs as"),
    }
}

/// For an answer that lacks a member which this version of the program expects.
pub fn not_understood() -> Failure {
    Failure::new(Exit::Software, "the server and this program have different versions")
        .try_this("restart the server, so that both have the same version")
}

/// As [`explain`], also for rows in a database.
pub fn explain_at(failure: VaultFailure, home: &VaultHome) -> Failure {
    if home.is_local() {
        return explain(failure, &home.directory);
    }
    let failure = match failure {
        VaultFailure::File(OpenFailure::Exists) => {
            Failure::new(Exit::Data, "the database has a vault already")
                .why("a vault is never overwritten, nor the tables of a restore that was ended")
                .try_this(
                    "strongroom serve; or name another database; or delete the tables \
                     strongroom_* of the restore that was ended",
                )
        }
        VaultFailure::File(OpenFailure::Missing) => {
            Failure::new(Exit::Data, "there is no vault in the database")
                .try_this("strongroom init")
        }
        VaultFailure::File(OpenFailure::Newer(format, program)) => {
            let by = program.map(|version| format!(", of strongroom {version}"));
            let by = by.unwrap_or_default();
            Failure::new(Exit::Data, "the vault was written by a newer version of strongroom")
                .why(format!("its format is {format}{by}; this program supports up to {FORMAT}"))
                .try_this("use the newer program; nothing was changed")
        }
        VaultFailure::File(OpenFailure::Unreleased) => unreleased(),
        VaultFailure::File(OpenFailure::NotOurs) => {
            Failure::new(Exit::Data, "the tables in the database are not those of a vault")
                .why("nothing was changed")
                .try_this("name a database of the vault's own")
        }
        VaultFailure::File(OpenFailure::Storage(failure)) => database_failed(&failure),
        VaultFailure::WrongMasterKey => {
            Failure::new(Exit::Permission, "this master key belongs to another vault")
                .why("the rows were sealed under a different key; nothing was changed")
                .try_this("use the master key that belongs to this database")
        }
        other @ (VaultFailure::File(
            OpenFailure::AlreadyOpen | OpenFailure::NotStandby | OpenFailure::Standby,
        )
        | VaultFailure::KeysDamaged
        | VaultFailure::ReplacedMasterKey(_)) => return explain(other, &home.directory),
    };
    failure.line("vault", home)
}

fn database_failed(failure: &StorageFailure) -> Failure {
    let shown = storage(failure);
    Failure::new(shown.exit, "the database failed").why(failure).try_this(failure.advice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_that_refuses_changes_says_so_in_a_sentence() {
        let text = refused(&Error::ReadOnly("Changes are refused.")).to_string();
        assert!(text.contains("Changes are refused.") && !text.contains("ReadOnly"), "{text}");
    }

    #[track_caller]
    fn check(failure: OpenFailure, exit: Exit) {
        let shown = explain(VaultFailure::File(failure), Path::new("/data"));
        assert_eq!(shown.exit, exit, "{shown}");
        let text = shown.to_string();
        assert!(text.contains("/data/strongroom.redb"), "{text}");
        assert!(text.contains("\n  try: "), "{text}");
    }

    #[test]
    fn the_exit_code_of_a_file_depends_on_the_cause() {
        for (cause, code) in [
            (io::ErrorKind::AlreadyExists, 65),
            (io::ErrorKind::PermissionDenied, 77),
            (io::ErrorKind::QuotaExceeded, 74),
            (io::ErrorKind::ReadOnlyFilesystem, 74),
            (io::ErrorKind::StorageFull, 74),
            (io::ErrorKind::InvalidData, 65),
            (io::ErrorKind::IsADirectory, 65),
            (io::ErrorKind::NotADirectory, 65),
            (io::ErrorKind::NotFound, 65),
        ] {
            let (path, error) = (Path::new("/x"), io::Error::from(cause));
            assert_eq!(cannot("write", path, &error).exit.code(), code, "{cause:?}");
        }
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(misconfigured("read", Path::new("/x"), &missing).exit.code(), 78);
        for (path, advice) in [("/none/x", "no directory /none"), ("/x", "no such file")] {
            let text = cannot("read", Path::new(path), &missing).to_string();
            assert!(text.contains(advice), "{text}");
        }
    }

    #[test]
    fn every_failure_to_open_has_its_exit_code_and_says_what_to_do() {
        check(OpenFailure::AlreadyOpen, Exit::Unavailable);
        check(OpenFailure::Exists, Exit::Data);
        check(OpenFailure::Missing, Exit::Data);
        check(OpenFailure::Newer(9, Some(String::from("9.0.0"))), Exit::Data);
        check(OpenFailure::NotOurs, Exit::Data);
        check(OpenFailure::NotStandby, Exit::Data);
        check(OpenFailure::Standby, Exit::Data);
        check(OpenFailure::Unreleased, Exit::Data);
        let disk = OpenFailure::Storage;
        check(disk(StorageFailure::Damaged(String::from("x"))), Exit::Data);
        check(disk(StorageFailure::Full), Exit::Storage);
        check(disk(StorageFailure::ReadOnly), Exit::Storage);
        check(disk(StorageFailure::Removed("/data/cvc.keys".into())), Exit::Storage);
        check(disk(StorageFailure::Stopped), Exit::Storage);
        let broken = io::Error::from(io::ErrorKind::TimedOut);
        check(disk(StorageFailure::Io(broken.into())), Exit::Storage);
    }

    #[test]
    fn a_disk_that_fails_while_serving_ends_with_the_storage_code_and_its_advice() {
        for (failure, advice) in [
            (StorageFailure::Full, "free space"),
            (StorageFailure::ReadOnly, "mount the file system writable"),
            (StorageFailure::Removed("/data/cvc.keys".into()), "/data/cvc.keys was removed"),
            (StorageFailure::Removed("/data/cvc.keys".into()), "move it back"),
        ] {
            let shown = storage(&failure);
            assert_eq!(shown.exit.code(), 74);
            assert!(shown.to_string().contains(advice), "{shown}");
        }
    }
}
