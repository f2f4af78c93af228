//! `strongroom verify`: checks a stopped vault or a backup.

use std::path::{Path, PathBuf};

use crate::app::{Error, ProofFailure, Report, prove};
use crate::cli::commands::VerifyCommand;
use crate::cli::offline::restore::explain_restore;
use crate::cli::operate::backup::manifest_text;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, explain, explain_backup, storage};
use crate::cli::support::master_key_file::read_master_key;
use crate::cli::support::open_vault::{self, catch_damage};
use crate::cli::support::output::say;
use crate::cli::support::settings::{needed, place, read_config};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::store::backup::Reader;

pub(in crate::cli) fn verify(command: &VerifyCommand) -> Result<(), Failure> {
    match &command.file {
        Some(file) => verify_backup(file, key_of_backup(command)?.as_ref()),
        None => verify_vault(command),
    }
}

/// The master key that a flag or the settings name.
fn key_of_backup(command: &VerifyCommand) -> Result<Option<MasterKeySource>, Failure> {
    let named = command.key.as_ref().or(command.master_key.as_ref());
    match (named, &command.config) {
        (Some(path), _) => Ok(Some(MasterKeySource::File(path.clone()))),
        (None, Some(config)) => Ok(Some(read_config(config)?.master_key)),
        (None, None) => Ok(None),
    }
}

fn verify_vault(command: &VerifyCommand) -> Result<(), Failure> {
    let key = command.master_key.as_deref();
    let (directory, master) = place(command.config.as_deref(), command.data.as_deref(), key)?;
    let master = needed(master)?;
    let vault = open_vault::open_unwritten(&directory, &master)?;
    let report = catch_damage(&directory, || vault.verification().verify())?;
    // The storage engine reads its pages once more when it is dropped.
    catch_damage(&directory, move || {
        vault.close();
        drop(vault);
    })?;
    let report = report.map_err(|error| unreadable(error, &directory))?;
    print_report(report, "the data file is inconsistent", &directory)
}

/// Without a key, checks manifest, digests and order. With the key, also opens every record, in a
/// scratch directory beside the backup.
fn verify_backup(file: &Path, key: Option<&MasterKeySource>) -> Result<(), Failure> {
    let Some(key) = key else {
        let mut backup = Reader::open(file).map_err(|it| explain_backup(&it, file))?;
        backup.check_rows().map_err(|it| explain_backup(&it, file))?;
        say(&format!(
            "{}\nManifest, digests and order are right. With --key every record is opened, too.",
            manifest_text(backup.manifest())
        ));
        return Ok(());
    };
    let master = read_master_key(key)?;
    let scratch = scratch(file);
    let proof = catch_damage(&scratch, || prove(file, None, &scratch, master, Clock::new()))?;
    let proof = proof.map_err(|failure| match failure {
        ProofFailure::Backup(invalid) => explain_backup(&invalid, file),
        ProofFailure::Restore(failure) => explain_restore(failure, file, &scratch),
        ProofFailure::Scratch(error) => {
            cannot("use a scratch directory beside the backup", &scratch, &error)
        }
        ProofFailure::Vault(failure) => explain(failure, &scratch),
        ProofFailure::Verify(error) => unreadable(error, file),
        ProofFailure::NoBackup
        | ProofFailure::NoSpace
        | ProofFailure::Panicked
        | ProofFailure::Unclean => {
            Failure::new(Exit::Data, "the backup is inconsistent").file(file)
        }
    })?;
    say(&manifest_text(&proof.manifest));
    print_report(proof.report, "the backup is inconsistent", file)
}

/// A name with the process id, so that two commands at once use different directories.
fn scratch(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(format!(".{}.scratch", std::process::id()));
    PathBuf::from(name)
}

fn unreadable(error: Error, place: &Path) -> Failure {
    match error {
        Error::Storage(failure) => storage(&failure),
        Error::Busy
        | Error::Conflict(_)
        | Error::Forbidden(_)
        | Error::InFlight
        | Error::Internal(_)
        | Error::Invalid(_)
        | Error::NeedsCvcKey(_)
        | Error::NotFound(_)
        | Error::ReadOnly(_)
        | Error::Replayed(_)
        | Error::Stopped
        | Error::Unauthenticated
        | Error::Unprocessable(_)
        | Error::Upstream(_) => {
            Failure::new(Exit::Data, "the tenants of the data file do not open")
                .file(place)
                .try_this("restore the newest backup and keep this file for examination")
        }
    }
}

fn print_report(report: Report, unclean: &str, place: &Path) -> Result<(), Failure> {
    say(&format!(
        "tenants:        {}\napplications:   {}\nAPI keys:       {}\ntokens:         {}\ntoken \
         intents:  {}\ncvcs:           {} ({} more without a key: gone)\n3DS sessions:   {}\nindex \
         entries:  {}\naudit entries:  {}",
        report.tenants,
        report.applications,
        report.keys,
        report.tokens,
        report.token_intents,
        report.cvcs,
        report.cvcs_gone,
        report.threeds_sessions,
        report.index_entries,
        report.audit_entries
    ));
    if report.is_clean() {
        say("No damage was found.");
        return Ok(());
    }
    let mut findings = report.findings;
    if report.more > 0 {
        findings.push(format!("... and {} more", report.more));
    }
    Err(Failure::new(Exit::Data, unclean)
        .file(place)
        .why(findings.join("\n"))
        .try_this("restore the newest backup and keep this file for examination"))
}
