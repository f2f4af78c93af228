//! `strongroom verify`: checks a stopped vault or a backup.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::app::{Error, ProofFailure, Report, Vault, VaultFailure, prove};
use crate::cli::command::{OnVault as _, command};
use crate::cli::offline::restore::explain_restore;
use crate::cli::operate::backup::{manifest_json, manifest_text};
use crate::cli::support::estimate::{Work, announce_data, announce_file};
use crate::cli::support::{
    Exit, Failure, Form, Label, ProgressBar, Result, Unit, cannot, catch_damage, complain, explain,
    explain_backup, open_vault, read_master_key, storage, tell,
};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::counted::counted;
use crate::store::Store;
use crate::store::backup::{Manifest, Reader};

command! {
    /// Check the data file of a stopped vault: records open, index entries and counts agree, the audit
    /// chain is intact. Or check a backup: manifest, digests and order of its rows; with --key also its
    /// signature and every record, in a scratch directory beside the backup.
    "verify" VerifyCommand on vault {
        /// master key file, to open every record of a backup
        key: Option<PathBuf> = option,
        /// a backup, instead of a vault
        file: Option<PathBuf> = positional(arg_name = "FILE"),
    } => |it| verify(&it)
}

const VERIFY: Label = Label { work: "verify", unit: Unit::Rows };

fn verify(command: &VerifyCommand) -> Result<()> {
    match &command.file {
        Some(file) => {
            let form = Form::of(command.json());
            verify_backup(file, key_of_backup(command)?.as_ref(), form)
        }
        None => verify_vault(command),
    }
}

/// The master key that an option names. Without an option the backup is checked without a key; the
/// default settings are not read for it.
fn key_of_backup(command: &VerifyCommand) -> Result<Option<MasterKeySource>> {
    let named = command.config.as_ref().or(command.data.as_ref()).or(command.master_key.as_ref());
    match &command.key {
        Some(path) => Ok(Some(MasterKeySource::File(path.clone()))),
        None if named.is_some() => command.vault()?.master().map(Some),
        None => Ok(None),
    }
}

fn verify_vault(command: &VerifyCommand) -> Result<()> {
    let place = command.vault()?;
    let (directory, master) = (place.directory(), place.master()?);
    if place.home.is_local() {
        announce_data(Work::Verify, directory, command.json());
    }
    let vault = open_vault::open_unwritten(&place.home, &master)?;
    mention_cut_off(&vault);
    let progress = Arc::default();
    let bar = ProgressBar::of(VERIFY, command.json(), &progress);
    let report = catch_damage(directory, || vault.verification().verify_counted(&progress))?;
    drop(bar);
    // redb reads its pages once more when it is dropped.
    catch_damage(directory, move || {
        vault.close();
        drop(vault);
    })?;
    let mut report = report.map_err(|error| unreadable(&error, directory))?;
    if place.home.is_local() {
        check_pages(directory, &mut report)?;
    }
    let form = Form::of(command.json());
    print_report(report, None, form, "the data file is inconsistent", directory)
}

/// Adds a finding if a page of the data file is damaged, even if no record is in it: the page may
/// hold index entries or data of redb itself.
fn check_pages(directory: &Path, report: &mut Report) -> Result<()> {
    let explained = |failure| explain(VaultFailure::File(failure), directory);
    if !Store::has_sound_pages(directory).map_err(explained)? {
        report.findings.push(String::from("data file: the checksum of a page is wrong"));
    }
    Ok(())
}

/// Reports that the log ends in an incomplete entry.
fn mention_cut_off(vault: &Vault) {
    if vault.store().health().is_cut_off {
        complain(
            "strongroom: the last entry of the log is not whole and is left out. A loss of power \
             leaves this when it cuts off a write, which was then not answered. Without a loss of \
             power it is damage.",
        );
    }
}

/// Without a key, checks manifest, digests and order. With the key, also opens every record, in a
/// scratch directory beside the backup.
fn verify_backup(file: &Path, key: Option<&MasterKeySource>, form: Form) -> Result<()> {
    let work = if key.is_some() { Work::VerifyRestored } else { Work::VerifyDigests };
    announce_file(work, file, form == Form::Json);
    let progress = Arc::default();
    let bar = ProgressBar::of(VERIFY, form == Form::Json, &progress);
    let Some(key) = key else {
        let mut backup = Reader::open(file).map_err(|it| explain_backup(&it, file))?;
        backup.count(&progress);
        backup.check_rows().map_err(|it| explain_backup(&it, file))?;
        drop(bar);
        let manifest = backup.manifest();
        let rest = "Manifest, digests and order are right. Who wrote it was not checked: with --key \
                    the signature is checked and every record is opened, too.";
        tell(
            form,
            || facts(file, Some(manifest), None),
            || format!("{}\n{rest}", manifest_text(manifest)),
        );
        return Ok(());
    };
    let master = read_master_key(key)?;
    let scratch = scratch(file);
    let keys = (master, Clock::new());
    let proof = catch_damage(&scratch, || prove(file, None, &scratch, keys, &progress))?;
    drop(bar);
    let proof = proof.map_err(|failure| match failure {
        ProofFailure::Backup(invalid) => explain_backup(&invalid, file),
        ProofFailure::Restore(failure) => explain_restore(failure, file, &scratch),
        ProofFailure::Scratch(error) => {
            cannot("use a scratch directory beside the backup", &scratch, &error)
        }
        ProofFailure::Vault(failure) => explain(failure, &scratch),
        ProofFailure::Verify(error) => unreadable(&error, file),
        ProofFailure::NoBackup
        | ProofFailure::NoSpace
        | ProofFailure::Panicked
        | ProofFailure::Unclean => Failure::new(Exit::Data, "the backup is inconsistent")
            .file(file)
            .try_this("use another backup, and keep this one for examination"),
    })?;
    print_report(proof.report, Some(&proof.manifest), form, "the backup is inconsistent", file)
}

/// The name contains the process id, so that concurrent commands use different directories.
fn scratch(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(format!(".{}.scratch", std::process::id()));
    PathBuf::from(name)
}

fn unreadable(error: &Error, place: &Path) -> Failure {
    if let Error::Storage(failure) = error {
        return storage(failure);
    }
    Failure::new(Exit::Data, "the tenants of the data file do not open")
        .file(place)
        .try_this("restore the newest backup and keep this file for examination")
}

/// The result as JSON. Without a report, no record was opened.
fn facts(file: &Path, manifest: Option<&Manifest>, report: Option<&Report>) -> Value {
    json!({
        "file": file.display().to_string(),
        "manifest": manifest.map(manifest_json),
        "records": report.map(|report| json!({
            "tenants": report.tenants,
            "applications": report.applications,
            "api_keys": report.keys,
            "tokens": report.tokens,
            "token_intents": report.token_intents,
            "cvcs": report.cvcs,
            "cvcs_without_key": report.cvcs_gone,
            "threeds_sessions": report.threeds_sessions,
            "index_entries": report.index_entries,
            "audit_entries": report.audit_entries,
            "tenants_under_deletion": report.deletions,
        })),
        "findings": report.map(|report| report.findings.as_slice()).unwrap_or_default(),
        "more_findings": report.map_or(0, |report| report.more),
    })
}

fn print_report(
    report: Report,
    manifest: Option<&Manifest>,
    form: Form,
    unclean: &str,
    place: &Path,
) -> Result<()> {
    let text = || {
        let of_manifest = manifest.map(|manifest| format!("{}\n", manifest_text(manifest)));
        format!("{}{}", of_manifest.unwrap_or_default(), report_text(&report))
    };
    tell(form, || facts(place, manifest, Some(&report)), text);
    if report.is_clean() {
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

fn report_text(report: &Report) -> String {
    format!(
        "tenants:        {}\napplications:   {}\nAPI keys:       {}\ntokens:         {}\ntoken \
         intents:  {}\ncvcs:           {} ({} more without a key: gone)\n3DS sessions:   {}\nindex \
         entries:  {}\naudit entries:  {}{}{}",
        report.tenants,
        report.applications,
        report.keys,
        report.tokens,
        report.token_intents,
        report.cvcs,
        report.cvcs_gone,
        report.threeds_sessions,
        report.index_entries,
        report.audit_entries,
        match report.deletions {
            0 => String::new(),
            count => format!(
                "\nunder deletion: {}, whose remaining rows were not checked; the server \
                 or tenant delete goes on with them",
                counted(count, "tenant", "tenants")
            ),
        },
        if report.is_clean() { "\nNo damage was found." } else { "" }
    )
}
