//! `strongroom verify`.

use crate::app::Error;
use crate::cli::commands::Verify;
use crate::cli::failure::{Exit, Failure};
use crate::cli::serve::read_config;
use crate::cli::{say, vault};
use crate::clock::Clock;
use crate::config::MasterKeySource;

pub(super) fn verify(command: &Verify) -> Result<(), Failure> {
    let (directory, master) = match (&command.config, &command.data, &command.master_key) {
        (None, Some(data), Some(key)) => (data.clone(), MasterKeySource::File(key.clone())),
        (Some(config), data, key) => {
            let config = read_config(config)?;
            let key = key.clone().map_or(config.master_key, MasterKeySource::File);
            (data.clone().unwrap_or(config.data_directory), key)
        }
        (None, _, _) => {
            return Err(Failure::new(Exit::Usage, "which vault, and which master key?")
                .try_this("strongroom verify --config FILE, or --data DIR --master-key FILE"));
        }
    };
    let app = vault::open(&directory, &master, Clock::new())?;
    let report = vault::catch_damage(&directory, || app.verify())?;
    // The engine looks at its own pages once more when it goes.
    vault::catch_damage(&directory, move || {
        app.close();
        drop(app);
    })?;
    let report = report.map_err(|error| match error {
        Error::Storage(failure) => vault::storage(&failure),
        Error::Busy
        | Error::Conflict(_)
        | Error::Forbidden(_)
        | Error::InFlight
        | Error::Internal(_)
        | Error::Invalid(_)
        | Error::NotFound(_)
        | Error::Replayed(_)
        | Error::Stopped
        | Error::Unauthenticated
        | Error::Unprocessable(_)
        | Error::Upstream(_) => {
            Failure::new(Exit::Data, "the tenants of the data file do not open")
                .file(&directory)
                .try_this("restore the newest backup and keep this file for examination")
        }
    })?;
    say(&format!(
        "tenants:        {}\napplications:   {}\nAPI keys:       {}\ntokens:         {}\ntoken \
         intents:  {}\ncvcs:           {} ({} more without a key: gone)\n3DS sessions:   {}\nindex \
         entries:  {}",
        report.tenants,
        report.applications,
        report.keys,
        report.tokens,
        report.token_intents,
        report.cvcs,
        report.cvcs_gone,
        report.threeds_sessions,
        report.index_entries
    ));
    if report.is_clean() {
        say("Everything fits together.");
        return Ok(());
    }
    let mut findings = report.findings;
    if report.more > 0 {
        findings.push(format!("... and {} more", report.more));
    }
    Err(Failure::new(Exit::Data, "the data file does not fit together")
        .file(&directory)
        .why(findings.join("\n"))
        .try_this("restore the newest backup and keep this file for examination"))
}
