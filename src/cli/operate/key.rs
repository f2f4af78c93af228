//! `strongroom key`: the keys that seal the data.

use serde_json::Value;

use crate::cli::commands::{KeyAction, KeyCommand, KeyDestroy, KeyRotate, KeyShares};
use crate::cli::offline::recover;
use crate::cli::offline::shares;
use crate::cli::operate::master_key;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::order::{carry_out, show};
use crate::cli::support::output::{complain, say};
use crate::cli::support::settings::read_config;
use crate::config::MasterKeySource;
use crate::operator::{Command, CommandAnswer};

pub(in crate::cli) fn key(command: KeyCommand) -> Result<(), Failure> {
    match command.action {
        KeyAction::Destroy(it) => destroy(it),
        KeyAction::List(it) => {
            let answer = carry_out(&read_config(&it.config)?, Command::VaultKeyList)?;
            if let CommandAnswer::Done(inventory) = &answer
                && !it.json
            {
                say(&table(inventory));
                return Ok(());
            }
            show(answer)
        }
        KeyAction::Recover(it) => recover::recover(&it),
        KeyAction::Rotate(it) => rotate(&it),
        KeyAction::Shares(it) => make_shares(&it),
    }
}

fn rotate(it: &KeyRotate) -> Result<(), Failure> {
    let config = read_config(&it.config)?;
    let named = [
        it.master.then_some("master"),
        it.tenant.as_deref(),
        it.all_tenants.then_some("tenants"),
        it.server.then_some("server"),
        it.audit.then_some("audit"),
    ];
    let scope = match named.into_iter().flatten().collect::<Vec<_>>().as_slice() {
        ["master"] if it.master => return master_key::rotate(&config, it),
        [one] => *one,
        _ => {
            return Err(Failure::new(Exit::Usage, "no keys are named")
                .try_this("one of --master, --tenant ID, --all-tenants, --server and --audit"));
        }
    };
    let scope = String::from(scope);
    carry_out(&config, Command::VaultKeyRotate { scope }).and_then(show)
}

fn destroy(it: KeyDestroy) -> Result<(), Failure> {
    let scope = match (it.tenant, it.server, it.audit) {
        (Some(tenant), false, false) => tenant,
        (None, true, false) => String::from("server"),
        (None, false, true) => String::from("audit"),
        _ => {
            return Err(Failure::new(Exit::Usage, "no owner of the key is named")
                .try_this("one of --tenant ID, --server and --audit"));
        }
    };
    let config = read_config(&it.config)?;
    carry_out(&config, Command::VaultKeyDestroy { scope, number: it.number }).and_then(show)?;
    complain(
        "Older backups still contain this key, sealed under the master key of their time; it \
         exists until they are deleted.",
    );
    Ok(())
}

fn make_shares(it: &KeyShares) -> Result<(), Failure> {
    let scheme = shares::parse_scheme(&it.scheme)?;
    let config = read_config(&it.config)?;
    let source = it.master_key.clone().map_or(config.master_key, MasterKeySource::File);
    shares::make(&config.data_directory, &source, scheme, it.directory.as_deref())
}

/// Renders the inventory as a table with one line for each key.
fn table(inventory: &Value) -> String {
    let master = &inventory["master"];
    let mut lines = vec![
        format!("master key {}  age {}", text(&master["id"]), age(&master["age_days"])),
        String::new(),
        row(["SCOPE", "PURPOSE", "NO", "STATE", "AGE", "USES", "RECORDS", "INDEX ENTRIES"]),
    ];
    for key in inventory["keys"].as_array().into_iter().flatten() {
        lines.push(row([
            &text(&key["scope"]),
            &text(&key["purpose"]),
            &text(&key["number"]),
            &text(&key["state"]),
            &age(&key["age_days"]),
            &text(&key["uses"]),
            &text(&key["records"]),
            &text(&key["index_entries"]),
        ]));
    }
    for rotation in inventory["rotations"].as_array().into_iter().flatten() {
        let (scope, phase) = (text(&rotation["scope"]), text(&rotation["phase"]));
        lines.push(format!("\nrotation in progress: {scope} ({phase})"));
    }
    lines.push(format!("\ncounted in {} ms", text(&inventory["counted_in_ms"])));
    lines.join("\n")
}

fn row([scope, purpose, number, state, age, uses, records, entries]: [&str; 8]) -> String {
    format!(
        "{scope:<36}  {purpose:<11}  {number:>3}  {state:<9}  {age:>8}  {uses:>10}  {records:>10}  \
         {entries:>13}"
    )
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::from("-"),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

fn age(days: &Value) -> String {
    days.as_u64().map_or_else(|| String::from("unknown"), |days| format!("{days} d"))
}
