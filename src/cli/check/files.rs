//! Files and directories: existence, owners and modes.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::check::user::{Access, owner_and_mode};
use crate::cli::support::key_place;
use crate::config::{Config, EngineSettings, MasterKeySource};
use crate::files::open_regular;
use crate::store::{Store, free_bytes};

const AS_ROOT: &str = "run strongroom check as root";

/// Checks that a file exists and that the service's user may read it. Returns its metadata if this
/// process can read its content too.
pub(super) fn file(findings: &mut Findings, place: SettingPath<'_>) -> Option<Metadata> {
    let found = look(findings, place)?;
    if !found.is_file() {
        findings.wrong(place, "this is not a file", "correct the path in the settings");
        return None;
    }
    let is_safe = check_writers(findings, place, &found);
    if !check_access(findings, place, Access::Read) || !is_safe {
        return None;
    }
    match open_regular(place.path) {
        Ok(_) => Some(found),
        Err(error) => {
            findings.unknown(place, format!("this process may not read it ({error})"), AS_ROOT);
            None
        }
    }
}

pub(super) fn directory(findings: &mut Findings, place: SettingPath<'_>) -> bool {
    let Some(found) = look(findings, place) else { return false };
    if !found.is_dir() {
        findings.wrong(place, "this is not a directory", "correct the path in the settings");
        return false;
    }
    let is_safe = check_writers(findings, place, &found);
    check_access(findings, place, Access::Change) && is_safe
}

fn look(findings: &mut Findings, place: SettingPath<'_>) -> Option<Metadata> {
    match fs::metadata(place.path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            findings.unknown(place, "this process may not look at it", AS_ROOT);
            None
        }
        Err(error) => {
            let advice = "make it, or correct the path in the settings";
            findings.wrong(place, format!("cannot be found ({error})"), advice);
            None
        }
    }
}

/// A file that every user can write to is a way into the vault, whatever its content.
fn check_writers(findings: &mut Findings, place: SettingPath<'_>, found: &Metadata) -> bool {
    let mode = found.mode() & 0o7777;
    if mode & 0o002 == 0 {
        return true;
    }
    let advice = format!("chmod o-w {}", place.path.display());
    findings.not_permitted(place, format!("every user can write to it (mode {mode:04o})"), &advice);
    false
}

fn check_access(findings: &mut Findings, place: SettingPath<'_>, access: Access) -> bool {
    let Some(user) = &findings.user else { return true };
    let (label, may) = (user.label(), user.may(access, place.path));
    let (verb, what) = match access {
        Access::Change => ("write to", "rwx"),
        Access::Enter | Access::Read => ("read", "r"),
    };
    match may {
        Ok(true) => true,
        Ok(false) => {
            let found = format!("the service's user, {label}, may not {verb} it");
            let advice = format!(
                "let this user enter the directories above it, and give it {what}, by chown or chmod"
            );
            findings.not_permitted(place, found, &advice);
            false
        }
        Err(error) => {
            findings.unknown(place, format!("this process may not look at it ({error})"), AS_ROOT);
            false
        }
    }
}

/// The data directory. Opens none of its data files.
pub(super) fn data(findings: &mut Findings, config: &Config) {
    let path = config.data_directory.as_path();
    let place = SettingPath { setting: "data_directory", path };
    if !path.is_absolute() {
        return;
    }
    if !path.exists() && path.parent().is_some_and(Path::is_dir) {
        let advice = "strongroom init makes it, for the user that runs the command";
        findings.warning(place, "does not exist yet", advice);
        return;
    }
    let Some(found) = look(findings, place) else { return };
    let mode = found.mode() & 0o7777;
    if !found.is_dir() {
        findings.wrong(place, "this is not a directory", "correct the path in the settings");
    } else if mode & 0o077 != 0 {
        let advice = format!("chmod 0700 {}", path.display());
        let found = format!("other users can enter it (mode {mode:04o})");
        findings.not_permitted(place, found, &advice);
    } else if check_access(findings, place, Access::Change) {
        findings.ok(place, format!("belongs to {}", owner_and_mode(&found)));
    }
    if let Some(user) = findings.user.as_ref().filter(|it| it.uid == 0) {
        let found = format!("it belongs to {}: the service would run as root", user.label());
        let advice = "run the service as a user of its own, and chown it to that";
        findings.warning(place, found, advice);
    }
    // A database holds the rows itself and needs its own disk space.
    if config.engine == EngineSettings::Local {
        data_file(findings, config);
        space(findings, config);
    }
}

fn data_file(findings: &mut Findings, config: &Config) {
    let file = config.data_directory.join(Store::FILE);
    let place = SettingPath { setting: "data_directory", path: &file };
    match fs::metadata(&file) {
        Ok(found) => {
            let found = format!("exists, {} bytes; its content was not checked", found.len());
            findings.ok(place, found);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            findings.warning(place, "there is no vault yet", "strongroom init");
        }
        Err(error) => findings.unknown(place, format!("cannot be found out ({error})"), AS_ROOT),
    }
}

fn space(findings: &mut Findings, config: &Config) {
    const MIB: u64 = 1 << 20;
    let place = SettingPath { setting: "disk.floor", path: &config.data_directory };
    let floor = config.disk_floor_bytes;
    match free_bytes(&config.data_directory) {
        Ok(free) if free > floor => {
            let found = format!("{} MiB are free, the floor is {} MiB", free / MIB, floor / MIB);
            findings.ok(place, found);
        }
        Ok(free) => {
            let found = format!(
                "{} MiB are free, less than the floor of {} MiB: changes would be refused",
                free / MIB,
                floor / MIB
            );
            findings.warning(place, found, "free space on this disk, or lower the floor");
        }
        Err(error) => findings.unknown(place, format!("cannot be found out ({error})"), AS_ROOT),
    }
}

pub(super) fn copies(findings: &mut Findings, config: &Config) {
    let backups = config.backup.as_ref().map(|plan| plan.directory.as_path());
    let archive = config.archive.as_ref().map(|plan| plan.directory.as_path());
    if backups.is_none() {
        findings.plain(
            "backup.directory",
            State::Warning,
            "not set: the server takes no backups by itself",
            Some("set it, or see that another schedule runs strongroom backup"),
        );
    }
    for (setting, path) in [("backup.directory", backups), ("archive.directory", archive)] {
        let Some(path) = path.filter(|path| path.is_absolute()) else { continue };
        let place = SettingPath { setting, path };
        if !directory(findings, place) {
            continue;
        }
        let own = &config.data_directory;
        if own.is_absolute() && key_place::is_inside(own, &path.join("file")) {
            let found = "it is inside the data directory: a loss of that would be a loss of both";
            let advice = "name a directory outside, best on another disk";
            if archive == Some(path) {
                findings.wrong(place, found, advice);
            } else {
                findings.warning(place, found, advice);
            }
            continue;
        }
        if let MasterKeySource::File(key) = &config.master_key
            && key_place::is_inside(path, key)
        {
            let found = "the master key is in it: a copy of the one would be a copy of the other";
            findings.warning(place, found, "keep the key apart from every copy of the data");
            continue;
        }
        let found = match &findings.user {
            Some(user) => format!("{} may write to it by its mode", user.label()),
            None => String::from("exists"),
        };
        findings.ok(place, format!("{found}; ReadWritePaths= of the unit was not checked"));
    }
}
