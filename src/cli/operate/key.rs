//! `strongroom key`: the keys that seal the data.

use serde_json::Value;

use crate::cli::command::{OnVault as _, command, group};
use crate::cli::offline::recover::KeyRecover;
use crate::cli::operate::{master_key, send};
use crate::cli::support::estimate::{Work, announce_served};
use crate::cli::support::shares::{self, KeyAtHand};
use crate::cli::support::table::{self, cell};
use crate::cli::support::{
    Exit, Failure, Form, Label, Result, ShownWork, Unit, VaultPlace, accepted, ask_server,
    carry_out, carry_out_shown, complain, not_understood, show_json, tell,
};
use crate::domain::duration;
use crate::operator::Command;
use std::path::PathBuf;

group! {
    /// List, rotate, destroy and recover the keys that seal the data. (For API keys see strongroom
    /// application.)
    "key" KeyCommand: KeyDestroy, KeyList, KeyRecover, KeyRotate, KeyShares
}

command! {
    /// List every key with its age, the number of values that it has sealed, and the number of records
    /// and index entries under it.
    "list" KeyList on vault {} => |it| list(&it)
}

command! {
    /// Make new keys, with or without a running server. A running server re-encrypts the records under
    /// the old keys in the background; without a server the command does so before it ends.
    "rotate" KeyRotate on vault {
        /// the master key
        master: bool = switch,
        /// the keys of this tenant
        tenant: Option<String> = option,
        /// the keys of every tenant
        all_tenants: bool = switch,
        /// the keys that seal the server's own records, and the index key of API keys
        server: bool = switch,
        /// the keys that seal and sign the audit chain
        audit: bool = switch,
        /// wait until all records are under the new keys
        wait: bool = switch,
        /// with --master: file for the new key; required if the settings name a systemd credential or a
        /// command
        out: Option<PathBuf> = option,
    } => |it| rotate(&it)
}

command! {
    /// Destroy a key under which no record is left. Index entries count as records.
    "destroy" KeyDestroy on vault {
        /// the tenant of the key
        tenant: Option<String> = option,
        /// a key of the server
        server: bool = switch,
        /// a key that sealed entries of the audit chain
        audit: bool = switch,
        /// the key's number
        number: u32 = option,
    } => destroy
}

command! {
    /// Make a set of recovery shares of the master key, and check that they recover it.
    "shares" KeyShares on vault {
        /// number of shares needed and in total, such as 3-of-5
        scheme: String = option,
        /// keeper of a share as NAME=age1...: the share is written only sealed to this age key;
        /// given once for each share
        share_to: Vec<String> = option,
        /// directory for the shares, one file each; without it they are printed
        directory: Option<PathBuf> = option,
    } => |it| make_shares(&it)
}

fn list(it: &KeyList) -> Result<()> {
    let inventory = carry_out(&it.vault()?, Command::VaultKeyList)?;
    tell(Form::of(it.json()), || inventory.clone(), || listed(&inventory));
    Ok(())
}

fn rotate(it: &KeyRotate) -> Result<()> {
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
        ["master"] if it.master => {
            return master_key::rotate(&vault, it.out.as_deref(), Form::of(it.json()));
        }
        [one] => *one,
        named => {
            let options = "one of --master, --tenant ID, --all-tenants, --server and --audit";
            return Err(not_one(named.len(), "no keys are named", options));
        }
    };
    let scope = String::from(scope);
    if matches!(scope.as_str(), "tenants") || it.tenant.is_some() {
        announce_served(Work::Rotation, vault.directory(), "/vault/tokens", it.json());
    }
    let label = Label { work: "rotate", unit: Unit::Records };
    let shown = ShownWork { label, json: it.json(), job: String::from("rotation") };
    let command = Command::VaultKeyRotate { scope: scope.clone() };
    let mut begun = carry_out_shown(&vault, command, &shown).and_then(accepted)?;
    if !it.wait {
        show_json(&begun);
        return Ok(());
    }
    let waited = wait(&vault, &scope, &shown);
    if waited.is_ok()
        && let Some(members) = begun.as_object_mut()
        && let Some(keys) = members.remove("rotating")
    {
        members.insert(String::from("rotated"), keys);
    }
    show_json(&begun);
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

/// Waits until the server has rotated the keys. Without a server the command has already rotated
/// them.
fn wait(vault: &VaultPlace, scope: &str, shown: &ShownWork) -> Result<()> {
    let _bar = shown.in_server(vault.directory());
    let mut is_served = false;
    loop {
        let scope = String::from(scope);
        let Some(left) = ask_server(vault.directory(), &Command::VaultKeyWait { scope })? else {
            if is_served {
                return Err(Failure::new(Exit::Unavailable, "the server has stopped meanwhile")
                    .try_this("start it: the rotation goes on by itself"));
            }
            return Ok(());
        };
        is_served = true;
        match left.get("left").and_then(Value::as_u64) {
            Some(0) => return Ok(()),
            Some(_) => (),
            None => return Err(not_understood()),
        }
    }
}

fn destroy(it: KeyDestroy) -> Result<()> {
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
    send(&vault, Command::VaultKeyDestroy { scope, number: it.number })?;
    complain(
        "Older backups still contain this key, sealed under the master key of their time; it \
         exists until they are deleted.",
    );
    Ok(())
}

fn make_shares(it: &KeyShares) -> Result<()> {
    let scheme = shares::parse_scheme(&it.scheme)?;
    let (form, out) = (Form::of(it.json()), it.directory.as_deref());
    shares::check_form(form, out)?;
    let keepers = shares::parse_keepers(&it.share_to, Some(scheme), out)?;
    let vault = it.vault()?;
    let at_hand = KeyAtHand::read(vault.master()?)?;
    let made = shares::make(&vault.home, &at_hand, scheme, out, &keepers, form)?;
    if form == Form::Json {
        show_json(&made);
    }
    Ok(())
}

fn listed(inventory: &Value) -> String {
    let master = &inventory["master"];
    let mut lines = vec![
        format!("master key {}  age {}", cell(Some(&master["id"])), age(&master["age_days"])),
        String::new(),
    ];
    let row = |key: &Value| {
        let mut row: Vec<_> =
            ["scope", "purpose", "number", "state"].map(|name| cell(key.get(name))).to_vec();
        row.push(age(&key["age_days"]));
        let counts = ["uses", "records", "index_entries", "doubled_entries"];
        row.extend(counts.map(|name| cell(key.get(name))));
        row
    };
    let rows: Vec<_> = inventory["keys"].as_array().into_iter().flatten().map(row).collect();
    let head =
        ["SCOPE", "PURPOSE", "NO", "STATE", "AGE", "USES", "RECORDS", "INDEX ENTRIES", "DOUBLED"];
    lines.push(table::table(&head, &rows));
    for rotation in inventory["rotations"].as_array().into_iter().flatten() {
        let (scope, phase) = (cell(Some(&rotation["scope"])), cell(Some(&rotation["phase"])));
        let percent = rotation["percent"].as_u64();
        let done = percent.map_or_else(String::new, |percent| format!(", {percent} % done"));
        let left = rotation["left_s"].as_u64().map(duration::render_seconds);
        let left = left.map_or_else(String::new, |left| format!(", about {left} left"));
        lines.push(format!("\nrotation in progress: {scope} ({phase}{done}{left})"));
    }
    lines.push(format!("\ncounted in {} ms", cell(Some(&inventory["counted_in_ms"]))));
    lines.join("\n")
}

fn age(days: &Value) -> String {
    days.as_u64().map_or_else(|| String::from("unknown"), |days| format!("{days} d"))
}
