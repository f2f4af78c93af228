//! `strongroom backup`, and the text of a manifest.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::cli::commands::BackupCommand;
use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::cannot;
use crate::cli::support::order::{ShownWork, carry_out_shown, done};
use crate::cli::support::output::{say, show_json};
use crate::cli::support::progress::{Label, Unit};
use crate::domain::duration;
use crate::domain::size;
use crate::operator::{Command, CommandAnswer};
use crate::store::backup::Manifest;

pub(in crate::cli) fn backup(command: &BackupCommand) -> Result<(), Failure> {
    let vault = command.vault()?;
    let file = std::path::absolute(&command.file)
        .map_err(|error| cannot("write the backup", &command.file, &error))?;
    if file.to_str().is_none() {
        return Err(Failure::new(Exit::Usage, "the name of the backup is not UTF-8").file(&file));
    }
    let json = command.json();
    let command = Command::Backup { file: file.clone() };
    let label = Label { work: "backup", unit: Unit::Rows };
    let shown = ShownWork { label, json, job: format!("backup {}", file.display()) };
    match carry_out_shown(&vault, command, &shown)? {
        CommandAnswer::Done(mut result) if json => {
            if let Some(members) = result.as_object_mut() {
                members.insert(String::from("file"), Value::from(file.display().to_string()));
            }
            show_json(&result);
            Ok(())
        }
        CommandAnswer::Done(result) => {
            say(&format!(
                "The backup is written.\n  file:          {}\n{}",
                file.display(),
                result_text(&result)
            ));
            Ok(())
        }
        answer @ CommandAnswer::ReadOnly { .. } => done(answer).map(drop),
        CommandAnswer::Refused(why) => Err(Failure::new(Exit::Data, "no backup was written")
            .file(&file)
            .why(why.join("\n"))
            .try_this(where_to_write(&file))),
    }
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

/// Renders the answer of the process that wrote the backup.
fn result_text(result: &Value) -> String {
    let manifest = serde_json::from_value::<Manifest>(result["manifest"].clone());
    let text = manifest.map(|manifest| manifest_text(&manifest)).unwrap_or_default();
    let number = |name: &str| result[name].as_u64().unwrap_or(0);
    format!(
        "{text}\n  size:          {}\n  took:          {}",
        size::render(number("file_bytes")),
        duration::render(Duration::from_millis(number("took_ms")))
    )
}

pub(in crate::cli) fn manifest_text(manifest: &Manifest) -> String {
    let id = manifest.file_id.as_deref().unwrap_or("none (format 1)");
    // The number of entries and the last link.
    let chain = manifest.audit_head.as_deref().unwrap_or("none");
    format!(
        "  shows:         {}\n  written by:    strongroom {}, data file's format {}\n  vault:         {id}\n  master key:    {}\n  \
         tokens:        {}\n  audit chain:   {chain}\n  rows:          {} ({})\n  digest:        {}",
        manifest.created_at().to_wire(),
        manifest.program,
        manifest.file_format,
        manifest.master_key,
        manifest.count("tokens"),
        manifest.rows,
        size::render(manifest.bytes),
        manifest.digest
    )
}

/// The members of a manifest, for a command with `--json`.
pub(in crate::cli) fn manifest_json(manifest: &Manifest) -> Value {
    serde_json::to_value(manifest).unwrap_or_default()
}
