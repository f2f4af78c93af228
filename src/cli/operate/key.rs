//! `strongroom key`: the keys that seal the data.

use serde_json::Value;

use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::commands::{KeyAction, KeyCommand, KeyDestroy, KeyRotate, KeyShares};
use crate::cli::offline::recover;
use crate::cli::offline::shares::{self, KeyAtHand};
use crate::cli::operate::master_key;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{not_understood, unreachable_server};
use crate::cli::support::order::{ShownWork, carry_out, carry_out_shown, done, show};
use crate::cli::support::output::{Form, complain, say, show_json};
use crate::cli::support::progress::{Label, Unit};
use crate::cli::support::vault_place::VaultPlace;
use crate::operator::{Command, CommandAnswer, CommandExchange, ask};

pub(in crate::cli) fn key(command: KeyCommand) -> Result<(), Failure> {
    match command.action {
        KeyAction::Destroy(it) => destroy(it),
        KeyAction::List(it) => {
            let answer = carry_out(&it.vault()?, Command::VaultKeyList)?;
            if let CommandAnswer::Done(inventory) = &answer
                && !it.json()
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
    let vault = it.vault()?;
    if it.out.is_some() && !it.master {
        return Err(Failure::new(Exit::Usage, "--out without --master")
            .why("only a new master key is written to a file; other keys stay in the vault")
            .try_this("omit --out"));
    }
    let named = [
        it.master.then_some("master"),
        it.tenant.as_deref(),
        it.all_tenants.then_some("tenants"),
        it.server.then_some("server"),
        it.audit.then_some("audit"),
    ];
    let scope = match named.into_iter().flatten().collect::<Vec<_>>().as_slice() {
        ["master"] if it.master => return master_key::rotate(&vault, it),
        [one] => *one,
        named => {
            let options = "one of --master, --tenant ID, --all-tenants, --server and --audit";
            return Err(not_one(named.len(), "no keys are named", options));
        }
    };
    let scope = String::from(scope);
    let label = Label { work: "rotate", unit: Unit::Records };
    let shown = ShownWork { label, json: it.json(), job: String::from("rotation") };
    let command = Command::VaultKeyRotate { scope: scope.clone() };
    let answer = carry_out_shown(&vault, command, &shown)?;
    if !it.wait {
        return show(answer);
    }
    let mut begun = done(answer)?;
    let waited = wait(&vault, &scope, &shown);
    if waited.is_ok()
        && let Some(members) = begun.as_object_mut()
        && let Some(keys) = members.remove("rotating")
    {
        members.insert(String::from("rotated"), keys);
    }
    say(&format!("{begun:#}"));
    waited
}

/// Refuses a command that names no keys, or the keys of several owners.
fn not_one(named: usize, none: &str, options: &str) -> Failure {
    if named == 0 {
        return Failure::new(Exit::Usage, none).try_this(options);
    }
    Failure::new(Exit::Usage, format!("{named} options name keys, and only one may"))
        .try_this(format!("{options}, in a command of its own"))
}

/// Waits until the server has rotated the keys. Without a server the rotation is done already.
fn wait(vault: &VaultPlace, scope: &str, shown: &ShownWork) -> Result<(), Failure> {
    let _bar = shown.in_server(vault.directory());
    let mut is_served = false;
    loop {
        let scope = String::from(scope);
        let left = match ask(vault.directory(), &Command::VaultKeyWait { scope }) {
            CommandExchange::Answered(answer) => done(answer)?,
            CommandExchange::Failed(error) => {
                return Err(unreachable_server(vault.directory(), &error));
            }
            CommandExchange::NoServer if is_served => {
                return Err(Failure::new(Exit::Unavailable, "the server has stopped meanwhile")
                    .try_this("start it: the rotation goes on by itself"));
            }
            CommandExchange::NoServer => return Ok(()),
        };
        is_served = true;
        match left.get("left").and_then(Value::as_u64) {
            Some(0) => return Ok(()),
            Some(_) => (),
            None => return Err(not_understood()),
        }
    }
}

fn destroy(it: KeyDestroy) -> Result<(), Failure> {
    let vault = it.vault()?;
    let scope = match (it.tenant, it.server, it.audit) {
        (Some(tenant), false, false) => tenant,
        (None, true, false) => String::from("server"),
        (None, false, true) => String::from("audit"),
        (tenant, server, audit) => {
            let named = [tenant.is_some(), server, audit].into_iter().filter(|it| *it).count();
            let options = "one of --tenant ID, --server and --audit";
            return Err(not_one(named, "no owner of the key is named", options));
        }
    };
    carry_out(&vault, Command::VaultKeyDestroy { scope, number: it.number }).and_then(show)?;
    complain(
        "Older backups still contain this key, sealed under the master key of their time; it \
         exists until they are deleted.",
    );
    Ok(())
}

fn make_shares(it: &KeyShares) -> Result<(), Failure> {
    let scheme = shares::parse_scheme(&it.scheme)?;
    let (form, out) = (Form::of(it.json()), it.directory.as_deref());
    shares::check_form(form, out)?;
    let vault = it.vault()?;
    let at_hand = KeyAtHand::read(vault.master()?)?;
    let made = shares::make(&vault.home, &at_hand, scheme, out, form)?;
    if form == Form::Json {
        show_json(&made);
    }
    Ok(())
}

/// Renders the inventory as a table with one line for each key.
fn table(inventory: &Value) -> String {
    let master = &inventory["master"];
    let mut lines = vec![
        format!("master key {}  age {}", text(&master["id"]), age(&master["age_days"])),
        String::new(),
        row([
            "SCOPE",
            "PURPOSE",
            "NO",
            "STATE",
            "AGE",
            "USES",
            "RECORDS",
            "INDEX ENTRIES",
            "DOUBLED",
        ]),
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
            &text(&key["doubled_entries"]),
        ]));
    }
    for rotation in inventory["rotations"].as_array().into_iter().flatten() {
        let (scope, phase) = (text(&rotation["scope"]), text(&rotation["phase"]));
        lines.push(format!("\nrotation in progress: {scope} ({phase})"));
    }
    lines.push(format!("\ncounted in {} ms", text(&inventory["counted_in_ms"])));
    lines.join("\n")
}

fn row([scope, purpose, number, state, age, uses, records, entries, doubled]: [&str; 9]) -> String {
    format!(
        "{scope:<36}  {purpose:<11}  {number:>3}  {state:<9}  {age:>8}  {uses:>10}  {records:>10}  \
         {entries:>13}  {doubled:>10}"
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
