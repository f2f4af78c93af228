//! `strongroom audit`: checks, exports and signs the audit chain.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::app::{Receipt, VaultFailure, decode_receipt};
use crate::bounds::RECEIPT_BYTES_MAX;
use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::commands::{AuditAction, AuditCommand, AuditExport, AuditVerify};
use crate::cli::support::database_failures::explain_at;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, not_understood, storage, unreachable_server};
use crate::cli::support::files::check_directory;
use crate::cli::support::open_vault::{catch_damage, mention_recovery};
use crate::cli::support::order::{done, with_space};
use crate::cli::support::output::{Form, say, show_json};
use crate::cli::support::runner::CommandRunner;
use crate::cli::support::vault_home::VaultHome;
use crate::clock::Clock;
use crate::domain::expires_at::parse_time;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::operator::{Command, CommandAnswer, CommandExchange, ask, render_report};
use crate::store::chain::{ChainReport, Inspection, TrustAnchors};
use crate::store::{Cleanliness, Store, StorePlace};

pub(in crate::cli) fn audit(command: AuditCommand) -> Result<(), Failure> {
    match command.action {
        AuditAction::Export(it) => export(&it),
        AuditAction::Receipt(it) => {
            let mut runner = CommandRunner::of(it.vault()?);
            say(&runner.carry_out(Command::AuditReceipt)?.to_string());
            runner.close();
            Ok(())
        }
        AuditAction::Verify(it) => verify(&it),
    }
}

fn export(it: &AuditExport) -> Result<(), Failure> {
    check_period(it)?;
    let mut runner = CommandRunner::of(it.vault()?);
    let mut out: Box<dyn Write> = match &it.out {
        None => Box::new(io::stdout().lock()),
        Some(path) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            Box::new(file.map_err(|error| cannot("write the export", path, &error))?)
        }
    };
    let place = it.out.clone().unwrap_or_else(|| PathBuf::from("standard output"));
    let mut next = None;
    loop {
        let (from, to) = (it.from.clone(), it.to.clone());
        let page = runner.carry_out(Command::AuditExport { next, from, to })?;
        let entries = page.get("entries").and_then(Value::as_array).ok_or_else(not_understood)?;
        let mut lines = String::new();
        for entry in entries {
            lines.push_str(&entry.to_string());
            lines.push('\n');
        }
        let written = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| cannot("write the export", &place, &error))?;
        // An export that ends early looks complete, so only an explicit null ends it.
        match page.get("next") {
            Some(Value::Null) => break,
            Some(number) => next = Some(number.as_u64().ok_or_else(not_understood)?),
            None => return Err(not_understood()),
        }
    }
    runner.close();
    Ok(())
}

fn check_period(it: &AuditExport) -> Result<(), Failure> {
    let (from, to) = (time_of("--from", it.from.as_deref())?, time_of("--to", it.to.as_deref())?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::new(Exit::Usage, "the period ends before it begins")
            .try_this("give --from a time before --to"));
    }
    Ok(())
}

/// The time of an option.
pub(super) fn time_of(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("{name} takes a date or a time"))
            .try_this(format!("{name} 2026-11-14, or {name} 2026-11-14T09:30:00Z"))
    };
    text.map(|text| parse_time(text).ok_or_else(wrong)).transpose()
}

fn verify(it: &AuditVerify) -> Result<(), Failure> {
    let home = it.vault()?.home;
    let directory = home.directory.clone();
    let since = it.since.as_deref().map(read_receipt).transpose()?;
    let (text, receipt) = since.unzip();
    let public_key = it.public_key.as_deref().map(parse_public_key).transpose()?;
    let mut anchors = Vec::new();
    anchors.extend(receipt.map(|_| "the receipt"));
    anchors.extend(public_key.map(|_| "the given public key"));
    let asked = Command::AuditVerify { since: text, public_key: it.public_key.clone() };
    let report = match ask(&directory, &asked) {
        CommandExchange::Answered(CommandAnswer::Done(report)) => {
            anchors.push("the server's own key");
            report
        }
        CommandExchange::Answered(
            answer @ (CommandAnswer::ReadOnly { .. } | CommandAnswer::Refused(_)),
        ) => with_space(&directory, answer).and_then(done)?,
        CommandExchange::Failed(error) => return Err(unreachable_server(&directory, &error)),
        CommandExchange::NoServer => {
            let expected = TrustAnchors { receipt, public_key, own: None };
            let report = catch_damage(&directory, || inspect(&home, &expected))??;
            render_report(&report)
        }
    };
    if it.json() {
        let mut facts = report.clone();
        if let Some(members) = facts.as_object_mut() {
            members.insert(String::from("checked_with"), Value::from(anchors));
        }
        show_json(&facts);
    } else {
        show(&report, &anchors);
    }
    judge(&directory, &report, Form::of(it.json()))
}

pub(super) fn parse_public_key(text: &str) -> Result<[u8; 32], Failure> {
    hex::decode(text).ok_or_else(|| {
        Failure::new(Exit::Usage, "a --public-key has 64 hexadecimal digits")
            .try_this("use the key that audit verify or audit receipt printed")
    })
}

/// Checks the chain without any key of the vault.
fn inspect(home: &VaultHome, expected: &TrustAnchors) -> Result<ChainReport, Failure> {
    let directory = &home.directory;
    check_directory(directory)?;
    let opened = match home.place()? {
        StorePlace::Directory(directory) => Store::open_unwritten(&directory, &Clock::new(), None),
        StorePlace::Database(database) => {
            database.open_store_unwritten().map(|store| (store, Cleanliness::Clean))
        }
    };
    let (store, cleanliness) =
        opened.map_err(|failure| explain_at(VaultFailure::File(failure), home))?;
    mention_recovery(cleanliness);
    let report = store
        .snapshot()
        .and_then(|snapshot| Inspection::new(&snapshot, expected))
        .and_then(|inspection| inspection.run(&mut |_| ()));
    store.close();
    report.map_err(|failure| storage(&failure))
}

/// Prints the report. `anchors` name the sources that the signing key was compared with.
fn show(report: &Value, anchors: &[&str]) {
    let number = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or_default();
    let signed = report.get("last_signed").filter(|it| !it.is_null()).map(|it| {
        let entries = it.get("entries").and_then(Value::as_u64).unwrap_or_default();
        let at = it.get("at").and_then(Value::as_str).unwrap_or_default();
        format!("{entries} entries, at {at}")
    });
    say(&format!(
        "entries:      {} (from number {})\ncheckpoints:  {}\nlast signed:  {}\nunanchored:   {} \
         (after the last checkpoint)",
        number("entries"),
        number("first"),
        number("checkpoints"),
        signed.as_deref().unwrap_or("never"),
        number("unanchored"),
    ));
    if let Some(after) = report.get("after_receipt").and_then(Value::as_u64) {
        say(&format!("unanchored:   {after} (after the receipt)"));
    }
    if let Some(key) = report.get("public_key").and_then(Value::as_str) {
        say(&format!("signing key:  {key} (number {})", number("key_number")));
    }
    say(&format!(
        "checked with: {}",
        match anchors {
            [] => String::from(
                "only the key in the file itself, which anyone who can write the file can \
                 replace; compare the signing key with the one that you keep, or give \
                 --public-key or --since"
            ),
            anchors => anchors.join(", "),
        }
    ));
}

/// Fails if there are findings, or no list of them.
fn judge(directory: &Path, report: &Value, form: Form) -> Result<(), Failure> {
    let number = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or_default();
    let findings = report.get("findings").and_then(Value::as_array).ok_or_else(not_understood)?;
    let findings = findings.iter().map(|it| it.as_str().map(String::from));
    let mut findings: Vec<_> = findings.collect::<Option<_>>().ok_or_else(not_understood)?;
    if findings.is_empty() {
        if form == Form::Text {
            say("The chain is intact.");
        }
        return Ok(());
    }
    match number("more_findings") {
        0 => (),
        more => findings.push(format!("... and {more} more")),
    }
    Err(Failure::new(Exit::Data, "the audit chain was tampered with or is damaged")
        .file(&directory.join(Store::FILE))
        .why(findings.join("\n"))
        .try_this("keep this file for examination, and compare it with an older backup"))
}

/// Reads a receipt as text and parses it.
fn read_receipt(path: &Path) -> Result<(String, Receipt), Failure> {
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(RECEIPT_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| cannot("read the receipt", path, &error))?;
    match decode_receipt(&text) {
        Ok(receipt) => Ok((text, receipt)),
        Err(_bad) => Err(Failure::new(Exit::Data, "this is not a receipt")
            .file(path)
            .try_this("use an unchanged file that strongroom audit receipt wrote")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_report_with_an_empty_list_of_findings_is_an_intact_chain() {
        let judge = |report: &Value| judge(Path::new("/data"), report, Form::Text);
        assert!(judge(&json!({"entries": 1, "findings": []})).is_ok());
        for report in [json!({}), json!({"findings": null}), json!({"findings": [1]})] {
            let failure = judge(&report).unwrap_err();
            assert_eq!(failure.exit, Exit::Software, "{failure}");
        }
    }
}
