//! `strongroom audit`: checks, exports and signs the audit chain.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use uuid::Uuid;

use crate::app::{Receipt, VaultFailure, decode_receipt};
use crate::bounds::RECEIPT_BYTES_MAX;
use crate::cli::command::{OnVault as _, command, group};
use crate::cli::operate::audit_follow::AuditFollow;
use crate::cli::support::estimate::{Work, announce, announce_served};
use crate::cli::support::{
    CommandRunner, Exit, Failure, Form, Result, VaultHome, ask_server, cannot, catch_damage,
    check_directory, create_private, explain_at, mention_recovery, not_understood, read_text, say,
    show_json, shown_time, storage,
};
use crate::clock::Clock;
use crate::domain::counted::counted;
use crate::domain::expires_at::parse_time;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::operator::{Command, render_report};
use crate::store::chain::{ChainReport, Heads, Inspection, TrustAnchors};
use crate::store::{Cleanliness, Store, StorePlace};

group! {
    /// Check and export the audit chain, with or without a running server.
    "audit" AuditCommand: AuditExport, AuditFollow, AuditReceipt, AuditVerify
}

command! {
    /// Detect edits, gaps and truncation of the chain. Needs none of the vault's keys.
    "verify" AuditVerify on vault {
        /// a receipt that was kept elsewhere; the chain must contain its checkpoint and be signed by
        /// its key, or by keys that this key introduced
        since: Option<PathBuf> = option,
        /// a public key that was kept elsewhere, 64 hexadecimal digits; the chain must be signed by it,
        /// or by keys that it introduced or that introduced it
        public_key: Option<String> = option,
    } => |it| verify(&it)
}

command! {
    /// Write the entries of the chain in clear, one JSON object per line.
    "export" AuditExport on vault {
        /// only entries from this time on, such as 2026-11-14 or 2026-11-14T09:30:00Z
        from: Option<String> = option,
        /// only entries before this time
        to: Option<String> = option,
        /// new file to write to, instead of standard output
        out: Option<PathBuf> = option,
    } => |it| export(&it)
}

command! {
    /// Sign the current end of the chain and print the signature. Keep it on another machine.
    "receipt" AuditReceipt on vault {} => |it| receipt(&it)
}

fn receipt(it: &AuditReceipt) -> Result<()> {
    let mut runner = CommandRunner::of(it.vault()?);
    say(&runner.carry_out(Command::AuditReceipt)?.to_string());
    Ok(())
}

fn export(it: &AuditExport) -> Result<()> {
    check_period(it)?;
    let mut runner = CommandRunner::of(it.vault()?);
    let mut out: Box<dyn Write> = match &it.out {
        None => Box::new(io::stdout().lock()),
        Some(path) => Box::new(create_private("the export", path)?),
    };
    let place = it.out.clone().unwrap_or_else(|| PathBuf::from("standard output"));
    let (mut next, mut reading) = (None, None);
    loop {
        let (from, to) = (it.from.clone(), it.to.clone());
        let page = runner.carry_out(Command::AuditExport { next, from, to, reading })?;
        reading = reading_of(&page)?;
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
            Some(place) => {
                next = Some(String::from(place.as_str().ok_or_else(not_understood)?));
            }
            None => return Err(not_understood()),
        }
    }
    Ok(())
}

/// The reading of the chain that the next page belongs to.
pub(super) fn reading_of(page: &Value) -> Result<Option<Uuid>> {
    let reading = page.get("reading").and_then(Value::as_str);
    reading.and_then(|text| Uuid::try_parse(text).ok()).ok_or_else(not_understood).map(Some)
}

fn check_period(it: &AuditExport) -> Result<()> {
    let (from, to) = (time_of("--from", it.from.as_deref())?, time_of("--to", it.to.as_deref())?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::new(Exit::Usage, "the period ends before it begins")
            .try_this("give --from a time before --to"));
    }
    Ok(())
}

pub(super) fn time_of(name: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let wrong = || {
        Failure::new(Exit::Usage, format!("{name} takes a date or a time"))
            .try_this(format!("{name} 2026-11-14, or {name} 2026-11-14T09:30:00Z"))
    };
    text.map(|text| parse_time(text).ok_or_else(wrong)).transpose()
}

fn verify(it: &AuditVerify) -> Result<()> {
    let home = it.vault()?.home;
    let directory = home.directory.clone();
    let since = it.since.as_deref().map(read_receipt).transpose()?;
    let (text, receipt) = since.unzip();
    let public_key = it.public_key.as_deref().map(parse_public_key).transpose()?;
    let mut anchors = Vec::new();
    anchors.extend(receipt.map(|_| "the receipt"));
    anchors.extend(public_key.map(|_| "the given public key"));
    announce_served(Work::AuditVerify, &directory, "/audit/entries", it.json());
    let asked = Command::AuditVerify { since: text, public_key: it.public_key.clone() };
    let report = if let Some(report) = ask_server(&directory, &asked)? {
        anchors.push("the server's own key");
        report
    } else {
        let expected = TrustAnchors { receipt, public_key, own: None };
        render_report(&catch_damage(&directory, || inspect(&home, &expected, it.json()))??)
    };
    if it.json() {
        let mut facts = report.clone();
        if let Some(members) = facts.as_object_mut() {
            members.insert(String::from("checked_with"), Value::from(anchors.clone()));
        }
        show_json(&facts);
    } else {
        show(&report, &anchors);
    }
    judge(&directory, &report, &anchors, Form::of(it.json()))
}

pub(super) fn parse_public_key(text: &str) -> Result<[u8; 32]> {
    hex::decode(text).ok_or_else(|| {
        Failure::new(Exit::Usage, "a --public-key has 64 hexadecimal digits")
            .try_this("use the key that audit verify or audit receipt printed")
    })
}

/// Checks the chain without any key of the vault.
fn inspect(home: &VaultHome, expected: &TrustAnchors, json: bool) -> Result<ChainReport> {
    let directory = &home.directory;
    check_directory(directory)?;
    let opened = match home.place()? {
        StorePlace::Directory(directory) => Store::open_unwritten(&directory, &Clock::new()),
        StorePlace::Database(database) => {
            database.open_store_unwritten().map(|store| (store, Cleanliness::Clean))
        }
    };
    let (store, cleanliness) =
        opened.map_err(|failure| explain_at(VaultFailure::File(failure), home))?;
    mention_recovery(cleanliness);
    let report = store
        .snapshot()
        .inspect(|snapshot| {
            let entries = Heads::read(snapshot).map_or(0, |heads| heads.position().next);
            announce(Work::AuditVerify, entries, json);
        })
        .and_then(|snapshot| Inspection::new(&snapshot, expected))
        .and_then(|inspection| inspection.run(&mut |_| ()));
    store.close();
    report.map_err(|failure| storage(&failure))
}

/// Prints the report. `anchors` names the sources that the signing key was compared with.
fn show(report: &Value, anchors: &[&str]) {
    let number = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or_default();
    let signed = report.get("last_signed").filter(|it| !it.is_null()).map(|it| {
        let entries = it.get("entries").and_then(Value::as_u64).unwrap_or_default();
        let at = it.get("at").and_then(Value::as_str).unwrap_or_default();
        format!("{}, at {}", counted(entries, "entry", "entries"), shown_time(at))
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

/// Fails if there are findings, or if the report has no list of them.
fn judge(directory: &Path, report: &Value, anchors: &[&str], form: Form) -> Result<()> {
    let number = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or_default();
    let findings = report.get("findings").and_then(Value::as_array).ok_or_else(not_understood)?;
    let findings = findings.iter().map(|it| it.as_str().map(String::from));
    let mut findings: Vec<_> = findings.collect::<Option<_>>().ok_or_else(not_understood)?;
    if findings.is_empty() {
        if form == Form::Text {
            say(match anchors {
                [] => {
                    "The chain is intact in itself. Whether its signing key is the vault's was not \
                       checked."
                }
                _ => "The chain is intact.",
            });
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

fn read_receipt(path: &Path) -> Result<(String, Receipt)> {
    let text = read_text("the receipt", path, RECEIPT_BYTES_MAX)?;
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
        let judge = |report: &Value| judge(Path::new("/data"), report, &[], Form::Text);
        assert!(judge(&json!({"entries": 1, "findings": []})).is_ok());
        for report in [json!({}), json!({"findings": null}), json!({"findings": [1]})] {
            let failure = judge(&report).unwrap_err();
            assert_eq!(failure.exit, Exit::Software, "{failure}");
        }
    }
}
