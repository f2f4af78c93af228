//! `strongroom backup`, and the printed form of a manifest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::cli::command::{OnVault as _, command};
use crate::cli::support::estimate::{Work, announce_data};
use crate::cli::support::{
    Exit, Failure, Form, Label, Result, ShownWork, Unit, cannot, carry_out_shown, tell,
};
use crate::domain::duration;
use crate::domain::size;
use crate::operator::Command;
use crate::store::backup::Manifest;

command! {
    /// Write a backup to a new file: one consistent snapshot, sealed like the data file. Works with or
    /// without a running server. A running server continues to serve.
    "backup" BackupCommand on vault {
        /// the file to write; it must not exist yet
        file: PathBuf = positional(arg_name = "FILE"),
    } => |it| backup(&it)
}

fn backup(command: &BackupCommand) -> Result<()> {
    let vault = command.vault()?;
    let file = std::path::absolute(&command.file)
        .map_err(|error| cannot("write the backup", &command.file, &error))?;
    if file.to_str().is_none() {
        return Err(Failure::new(Exit::Usage, "the name of the backup is not UTF-8").file(&file));
    }
    let (json, order) = (command.json(), Command::Backup { file: file.clone() });
    if vault.home.is_local() {
        announce_data(Work::Backup, vault.directory(), json);
    }
    let label = Label { work: "backup", unit: Unit::Rows };
    let shown = ShownWork { label, json, job: format!("backup {}", file.display()) };
    let mut result = carry_out_shown(&vault, order, &shown)?.map_err(|why| {
        Failure::new(Exit::Data, "no backup was written")
            .file(&file)
            .why(why.join("\n"))
            .try_this(where_to_write(&file))
    })?;
    if json && let Some(members) = result.as_object_mut() {
        members.insert(String::from("file"), Value::from(file.display().to_string()));
        if let Some(manifest) = members.get("manifest").and_then(manifest_of) {
            members.insert(String::from("manifest"), manifest_json(&manifest));
        }
    }
    let text = || {
        let shown = result_text(&result);
        format!("The backup is written.\n  file:          {}\n{shown}", file.display())
    };
    tell(Form::of(json), || result.clone(), text);
    Ok(())
}

/// Advice on a file that the server could not write.
pub(super) fn where_to_write(file: &Path) -> String {
    match file.parent().filter(|it| matches!(it.try_exists(), Ok(false))) {
        Some(parent) => format!(
            "there is no directory {}: make it, owned by the server's user, or name another",
            parent.display()
        ),
        None => String::from(
            "name a file that does not exist yet, where there is space and the server may write",
        ),
    }
}

fn manifest_of(value: &Value) -> Option<Manifest> {
    serde_json::from_value(value.clone()).ok()
}

fn result_text(result: &Value) -> String {
    let manifest = manifest_of(&result["manifest"]);
    let text = manifest.map(|manifest| manifest_text(&manifest)).unwrap_or_default();
    let number = |name: &str| result[name].as_u64().unwrap_or(0);
    format!(
        "{text}\n  size:          {}\n  took:          {}",
        size::render(number("file_bytes")),
        duration::render(Duration::from_millis(number("took_ms")))
    )
}

pub fn manifest_text(manifest: &Manifest) -> String {
    let id = manifest.file_id.as_deref().unwrap_or("none");
    // The number of entries and the last link of the audit chain.
    let chain = manifest.audit_head.as_deref().unwrap_or("none");
    let departed = match manifest.departed.as_deref() {
        None => String::new(),
        Some(why) => format!(
            "\n  archive:       {why}: the vault had left its archive, which does not continue this \
             backup"
        ),
    };
    format!(
        "  shows:         {}\n  written by:    strongroom {}, data file's format {}\n  vault:         {id}\n  master key:    {}\n  \
         tokens:        {}\n  audit chain:   {chain}\n  rows:          {} ({})\n  digest:        {}{departed}",
        manifest.created_at().shown(),
        manifest.program,
        manifest.file_format,
        manifest.master_key,
        manifest.count("tokens"),
        manifest.rows,
        size::render(manifest.bytes),
        manifest.digest
    )
}

/// The manifest as it is in the backup, and its time in the form of all other answers.
pub fn manifest_json(manifest: &Manifest) -> Value {
    let mut shown = serde_json::to_value(manifest).unwrap_or_default();
    if let Some(members) = shown.as_object_mut() {
        members.insert(String::from("created_at"), Value::from(manifest.created_at().to_wire()));
    }
    shown
}
