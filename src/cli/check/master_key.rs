//! The master key. Its file is parsed, and none of its content is shown.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::check::files::file;
use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::check::user::owner_and_mode;
use crate::cli::support::{ADVICE, WHY, key_place, master_key_command, read_master_key};
use crate::config::{Config, MasterKeySource};
use crate::store::Store;

pub(super) fn check(findings: &mut Findings, config: &Config) {
    match &config.master_key {
        MasterKeySource::Command(command) => {
            let place = SettingPath { setting: "master_key.command", path: &command.program };
            match master_key_command::check(command) {
                Ok(_) => findings.ok(place, "only its owner can change it; it was not run"),
                Err(failure) => {
                    let advice = "name a program that only root or the service's user can change";
                    findings.not_permitted(place, failure.reason(), advice);
                }
            }
        }
        MasterKeySource::Credential(_) => findings.plain(
            "master_key.credential",
            State::Unknown,
            "systemd gives it to the service alone: it cannot be checked outside of the service",
            Some("systemctl cat strongroom.service shows the file that systemd reads it from"),
        ),
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
        Ok(_) => {
            findings.ok(place, format!("it is a master key; owner {}", owner_and_mode(&found)));
        }
        Err(failure) => {
            let advice = format!("chmod 0400 {}, or put the right file back", path.display());
            findings.not_permitted(place, failure.reason(), &advice);
        }
    }
}
