//! `strongroom backup`, and the text of a manifest.

use serde_json::Value;

use crate::cli::commands::BackupCommand;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::cannot;
use crate::cli::support::order::order;
use crate::cli::support::output::say;
use crate::cli::support::settings::{needed, place};
use crate::operator::{Command, CommandAnswer};
use crate::store::backup::Manifest;

pub(in crate::cli) fn backup(command: &BackupCommand) -> Result<(), Failure> {
    let (directory, master) =
        place(command.config.as_deref(), command.data.as_deref(), command.master_key.as_deref())?;
    let file = std::path::absolute(&command.file)
        .map_err(|error| cannot("write the backup", &command.file, &error))?;
    if file.to_str().is_none() {
        return Err(Failure::new(Exit::Usage, "the name of the backup is not UTF-8").file(&file));
    }
    let command = Command::Backup { file: file.clone() };
    match order(&directory, || needed(master), command)? {
        CommandAnswer::Done(result) => {
            say(&format!(
                "The backup is written.\n  file:          {}\n{}",
                file.display(),
                result_text(&result)
            ));
            Ok(())
        }
        CommandAnswer::Refused(why) => Err(Failure::new(Exit::Data, "no backup was written")
            .file(&file)
            .why(why.join("\n"))
            .try_this(
                "name a file that does not exist yet, where there is space and the server may write",
            )),
    }
}

/// Renders the answer of the process that wrote the backup.
fn result_text(result: &Value) -> String {
    let manifest = serde_json::from_value::<Manifest>(result["manifest"].clone());
    let text = manifest.map(|manifest| manifest_text(&manifest)).unwrap_or_default();
    let number = |name: &str| result[name].as_u64().unwrap_or(0);
    format!(
        "{text}\n  size:          {} bytes\n  took:          {} ms",
        number("file_bytes"),
        number("took_ms")
    )
}

pub(in crate::cli) fn manifest_text(manifest: &Manifest) -> String {
    let id = manifest.file_id.as_deref().unwrap_or("none (format 1)");
    // The number of entries and the last link.
    let chain = manifest.audit_head.as_deref().unwrap_or("none");
    format!(
        "  shows:         {}\n  written by:    strongroom {}, data file's format {}\n  vault:         {id}\n  master key:    {}\n  \
         tokens:        {}\n  audit chain:   {chain}\n  rows:          {} ({} bytes)\n  digest:        {}",
        manifest.created_at().to_wire(),
        manifest.program,
        manifest.file_format,
        manifest.master_key,
        manifest.count("tokens"),
        manifest.rows,
        manifest.bytes,
        manifest.digest
    )
}
