//! The database: the file of its URL and its certificate authorities. No part of the URL is shown,
//! and no connection is made.

use std::fs::Metadata;

use crate::cli::check::files::file;
use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::check::user::owner_and_mode;
use crate::cli::support::{key_place, read_url};
use crate::config::{Config, PostgresSettings, UrlSource};

pub(super) fn check(findings: &mut Findings, config: &Config) {
    let Some(database) = config.engine.postgres() else { return };
    match &database.url {
        UrlSource::Credential(_) => findings.plain(
            "engine.url_credential",
            State::Unknown,
            "systemd gives it to the service alone: it cannot be checked outside of the service",
            Some("systemctl cat strongroom.service shows the file that systemd reads it from"),
        ),
        UrlSource::File(path) if path.is_absolute() => {
            let place = SettingPath { setting: "engine.url_file", path };
            if key_place::is_inside(&config.data_directory, path) {
                let found = "it is inside the data directory";
                findings.warning(place, found, "move it to /etc/strongroom");
            }
            if let Some(found) = file(findings, place) {
                url_file(findings, place, database, &found);
            }
        }
        // The check of the settings has reported this mistake already.
        UrlSource::File(_) => (),
    }
}

fn url_file(
    findings: &mut Findings,
    place: SettingPath<'_>,
    database: &PostgresSettings,
    found: &Metadata,
) {
    match read_url(&database.url) {
        Ok(_) => {
            let owner = owner_and_mode(found);
            let found = "it is the URL of a database, which was not asked";
            findings.ok(place, format!("{found}; owner {owner}"));
        }
        Err(failure) => {
            let advice = format!("chmod 0400 {}, or correct its content", place.path.display());
            findings.not_permitted(place, failure.reason(), &advice);
        }
    }
}
