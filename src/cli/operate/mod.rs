//! The operator's commands that a running server carries out.

pub mod application;
pub mod audit;
mod audit_follow;
pub mod backup;
pub mod erase;
pub mod export;
pub mod import;
pub mod key;
mod master_key;
pub mod report;
pub mod status;
pub mod tenant;
pub mod webhook;

use serde_json::Value;

use crate::cli::support::{Form, Result, VaultPlace, carry_out, show_json, table, tell};
use crate::operator::Command;

fn send(vault: &VaultPlace, command: Command) -> Result<()> {
    show_json(&carry_out(vault, command)?);
    Ok(())
}

/// Prints a list as a table of these members, or as JSON. See [`table::rows`].
fn list(vault: &VaultPlace, command: Command, json: bool, columns: &[(&str, &str)]) -> Result<()> {
    let (head, members): (Vec<_>, Vec<_>) = columns.iter().copied().unzip();
    let found = carry_out(vault, command)?;
    tell(Form::of(json), || found.clone(), || table::table(&head, &table::rows(&found, &members)));
    Ok(())
}

fn name_of(list: &Value, id: &str) -> Option<String> {
    let is_it = |item: &&Value| item.get("id").and_then(Value::as_str) == Some(id);
    let found = list.as_array()?.iter().find(is_it)?;
    found.get("name").and_then(Value::as_str).map(String::from)
}
