//! The master key. Its file is parsed, and none of its content is shown.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::check::files::file;
use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::check::user::owner_and_mode;
use crate::cli::support::{
    ADVICE, WHY, credential, key_place, left_by_rotation, master_key_command, read_master_key,
    read_status,
};
use crate::config::{Config, MasterKeySource};
use crate::crypto::MasterKey;
use crate::domain::hex;
use crate::operator::metrics_socket_path;
use crate::store::Store;

/// `run_command` runs the program that prints the key.
pub(super) fn check(findings: &mut Findings, config: &Config, run_command: bool) {
    match &config.master_key {
        MasterKeySource::Command(command) => {
            let place = SettingPath { setting: "master_key.command", path: &command.program };
            match master_key_command::check(command) {
                Ok(_) if run_command => match read_master_key(&config.master_key) {
                    Ok(key) => compare(findings, place, "it prints", &key, config),
                    Err(failure) => {
                        let advice = "run the program alone, as the user of the service";
                        findings.not_permitted(place, failure.reason(), advice);
                    }
                },
                Ok(_) => findings.unknown(
                    place,
                    "only its owner can change it; it was not run, so that the key which the next \
                     start would get is not known",
                    "strongroom check --run-command runs it and compares its key with the vault's",
                ),
                Err(failure) => {
                    let advice = "name a program that only root or the service's user can change";
                    findings.not_permitted(place, failure.reason(), advice);
                }
            }
        }
        MasterKeySource::Credential(name) => match credential(name) {
            Ok(path) => {
                let place = SettingPath { setting: "master_key.credential", path: &path };
                match read_master_key(&config.master_key) {
                    Ok(key) => compare(findings, place, "this credential has", &key, config),
                    Err(failure) => {
                        let advice = "systemctl cat strongroom.service shows its file";
                        findings.not_permitted(place, failure.reason(), advice);
                    }
                }
            }
            Err(_) => findings.plain(
                "master_key.credential",
                State::Unknown,
                "systemd gives it to the service alone, so that the key which the next start would \
                 get is not known",
                Some(
                    "set CREDENTIALS_DIRECTORY to the directory of its file for this command; \
                     systemctl cat strongroom.service shows the file",
                ),
            ),
        },
        MasterKeySource::File(path) => {
            let place = SettingPath { setting: "master_key.file", path };
            key_file(findings, place, config);
        }
    }
    for path in key_place::keys_in(&config.data_directory) {
        if config.master_key != MasterKeySource::File(path.clone()) {
            let place = SettingPath { setting: "data_directory", path: &path };
            findings.wrong(place, format!("this file holds a master key: {WHY}"), ADVICE);
        }
    }
}

fn key_file(findings: &mut Findings, place: SettingPath<'_>, config: &Config) {
    let path = place.path;
    if !path.is_absolute() {
        return;
    }
    if key_place::is_inside(&config.data_directory, path) {
        findings.wrong(place, format!("it is inside the data directory: {WHY}"), ADVICE);
    }
    let is_absent =
        |path: &Path| fs::metadata(path).is_err_and(|it| it.kind() == io::ErrorKind::NotFound);
    if is_absent(path) {
        if is_absent(&config.data_directory.join(Store::FILE)) {
            findings.warning(place, "does not exist yet", "strongroom init makes it");
        } else {
            let advice = "put the file back, or recover it: strongroom key recover";
            findings.not_permitted(place, "it does not exist, and there is a vault", advice);
        }
        return;
    }
    let Some(found) = file(findings, place) else { return };
    match read_master_key(&config.master_key) {
        Ok(key) => {
            findings.ok(place, format!("it is a master key; owner {}", owner_and_mode(&found)));
            compare(findings, place, "it is", &key, config);
        }
        Err(failure) => {
            let advice = format!("chmod 0400 {}, or put the right file back", path.display());
            findings.not_permitted(place, failure.reason(), &advice);
        }
    }
}

/// Compares the key that the next start would read with the key of the running server. The data
/// file of a stopped one is not opened.
fn compare(
    findings: &mut Findings,
    place: SettingPath<'_>,
    verb: &str,
    key: &MasterKey,
    config: &Config,
) {
    let data = &config.data_directory;
    if !data.join(Store::FILE).exists() && config.engine.postgres().is_none() {
        return;
    }
    let status = read_status(&metrics_socket_path(data)).ok();
    let current = status.as_ref().and_then(|it| it.get("keys")?.get("master_id")?.as_str());
    let id = hex::encode(key.check());
    let left = match &config.master_key {
        MasterKeySource::File(path) => {
            read_master_key(&MasterKeySource::File(left_by_rotation(path))).ok()
        }
        MasterKeySource::Command(_) | MasterKeySource::Credential(_) => None,
    };
    match current {
        None => findings.unknown(
            place,
            format!("{verb} the key {id}; no server is running that would tell the vault's key"),
            "start the server and run this again, or compare the id with strongroom key list",
        ),
        Some(current) if current == id => {
            findings.ok(place, format!("{verb} the vault's current key, {id}"));
        }
        Some(current) if left.is_some_and(|left| hex::encode(left.check()) == current) => findings
            .warning(
                place,
                format!("{verb} the key {id}, but an interrupted rotation has left {current}"),
                "the next start puts it in place, or run strongroom key rotate --master again",
            ),
        Some(current) => findings.not_permitted(
            place,
            format!("{verb} the key {id}, and the vault's current key is {current}"),
            "put the new key where the next start reads it, before the server stops",
        ),
    }
}
