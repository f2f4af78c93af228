//! `strongroom application`: applications and their keys.

use std::io::Read as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::bounds::KEY_TEXT_BYTES_MAX;
use crate::cli::command::{OnVault as _, command, group};
use crate::cli::operate::{name_of, send};
use crate::cli::support::table::{cell, table};
use crate::cli::support::{
    CommandRunner, Confirmation, Exit, Failure, Form, Result, carry_out, say, tell,
};
use crate::domain::nearest::nearest;
use crate::domain::permission::Permission;
use crate::operator::Command;

group! {
    /// Create, list, change and delete applications and their keys, with or without a running server.
    "application" ApplicationCommand: ApplicationCreate, ApplicationDelete, ApplicationKeyCreate,
    ApplicationKeyDelete, ApplicationKeyImport, ApplicationList, ApplicationSet
}

command! {
    #[expect(clippy::doc_link_with_quotes, reason = "these are help texts, shown as they are")]
    /// Create an application with a first key, whose text is shown only once.
    "create" ApplicationCreate on tenant {
        /// display name
        name: String = option,
        /// type: private, public or management
        kind: String = option(long = "type"),
        /// a permission, such as token:create; may be repeated
        permission: Vec<String> = option,
        /// an access rule as JSON, such as {"priority":1,"container":"/","transform":"mask",
        /// "permissions":["token:read"]}; may be repeated
        rule: Vec<String> = option,
        /// an origin of pages that may use the keys in hosted card fields, such as
        /// `https://shop.example`, for a public application; may be repeated
        origin: Vec<String> = option,
        /// create no first key, if keys will be imported
        no_key: bool = switch,
    } => |it| {
        let (vault, application) = (it.vault()?, body(&it)?);
        send(&vault, Command::ApplicationCreate { tenant: it.tenant, application })
    }
}

command! {
    /// Change an application; options that are not given change nothing. The type never changes.
    "set" ApplicationSet on application {
        /// new name
        name: Option<String> = option,
        /// a permission; may be repeated, and replaces all permissions
        permission: Vec<String> = option,
        /// remove all permissions
        no_permission: bool = switch,
        /// an access rule as JSON; may be repeated, and replaces all rules
        rule: Vec<String> = option,
        /// remove all rules
        no_rule: bool = switch,
        /// an origin of pages, for a public application; may be repeated, and replaces all origins
        origin: Vec<String> = option,
        /// remove all origins
        no_origin: bool = switch,
    } => set
}

command! {
    /// Delete an application with its keys, which are refused from then on.
    "delete" ApplicationDelete on application {
        /// ask for no confirmation
        yes: bool = switch,
    } => delete
}

command! {
    /// List a tenant's applications and their keys, without the texts of the keys.
    "list" ApplicationList on tenant {} => list
}

command! {
    /// Create another key for an application, whose text is shown only once.
    "key-create" ApplicationKeyCreate on application {} => |it| {
        let (vault, tenant, application) = (it.vault()?, it.tenant, it.application);
        send(&vault, Command::KeyCreate { tenant, application })
    }
}

command! {
    /// Import a key that programs already use. Reads its text from standard input.
    "key-import" ApplicationKeyImport on application {} => |it| {
        let (vault, tenant, application) = (it.vault()?, it.tenant, it.application);
        send(&vault, Command::KeyImport { tenant, application, text: read_key_text()? })
    }
}

command! {
    /// Delete a key; it is refused from then on.
    "key-delete" ApplicationKeyDelete on application {
        /// the key's id, as `application list` shows it
        key: String = option,
    } => |it| {
        let (vault, tenant, application) = (it.vault()?, it.tenant, it.application);
        send(&vault, Command::KeyDelete { tenant, application, key: it.key })
    }
}

fn list(it: ApplicationList) -> Result<()> {
    let (vault, json) = (it.vault()?, it.json());
    let all = carry_out(&vault, Command::ApplicationList { tenant: it.tenant })?;
    tell(Form::of(json), || all.clone(), || application_table(&all));
    Ok(())
}

/// A row for each key, and one for an application without keys.
fn application_table(all: &Value) -> String {
    let mut rows = Vec::new();
    for application in all.as_array().into_iter().flatten() {
        let own = ["id", "type", "name"].map(|name| cell(application.get(name)));
        let keys = application.get("keys").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if keys.is_empty() {
            rows.push([&own[..], &["-", "-", "-"].map(String::from)].concat());
        }
        for key in keys {
            let of_key = ["id", "created_at", "last_used_at"].map(|name| cell(key.get(name)));
            rows.push([&own[..], &of_key].concat());
        }
    }
    table(&["ID", "TYPE", "NAME", "KEY", "KEY MADE", "LAST USED"], &rows)
}

fn body(it: &ApplicationCreate) -> Result<Value> {
    check_permissions(&it.permission)?;
    Ok(json!({
        "name": it.name,
        "type": it.kind,
        "permissions": it.permission,
        "rules": parse_rules(&it.rule)?,
        "allowed_origins": it.origin,
        "create_key": !it.no_key,
    }))
}

/// Suggests the nearest permission for a mistyped one. The vault refuses unknown ones.
fn check_permissions(texts: &[String]) -> Result<()> {
    for text in texts.iter().filter(|text| Permission::parse(text).is_none()) {
        if let Some(meant) = nearest(text, Permission::ALL.iter().map(|it| it.as_str())) {
            return Err(Failure::new(Exit::Data, "there is no such permission")
                .try_this(format!("--permission {meant}")));
        }
    }
    Ok(())
}

fn parse_rules(texts: &[String]) -> Result<Vec<Value>> {
    let rules = texts.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>();
    rules.map_err(|error| Failure::new(Exit::Usage, "a --rule is not JSON").why(error))
}

/// Reads the key from standard input, because every user of the machine can read arguments.
fn read_key_text() -> Result<String> {
    let mut text = String::new();
    let most = u64::try_from(KEY_TEXT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(2);
    std::io::stdin().lock().take(most).read_to_string(&mut text).map_err(|error| {
        Failure::new(Exit::Usage, "cannot read the key from standard input").why(error)
    })?;
    Ok(String::from(text.trim()))
}

fn set(it: ApplicationSet) -> Result<()> {
    let vault = it.vault()?;
    check_permissions(&it.permission)?;
    let change = application_change(&it)?;
    if change.is_empty() {
        return Err(Failure::new(Exit::Usage, "no option says what to change")
            .try_this("--name, --permission, --rule or --origin"));
    }
    let (tenant, application) = (it.tenant, it.application);
    let command = Command::ApplicationSet { tenant, application, change };
    send(&vault, command)
}

fn delete(it: ApplicationDelete) -> Result<()> {
    let confirmation = Confirmation::of(it.yes)?;
    let mut runner = CommandRunner::of(it.vault()?);
    let (tenant, application) = (it.tenant, it.application);
    let all = runner.carry_out(Command::ApplicationList { tenant: tenant.clone() })?;
    // The server refuses an application that does not exist.
    if let Some(name) = name_of(&all, &application) {
        let shown = name.escape_debug();
        let what = format!("Application {shown} ({application}) will be deleted with its keys.");
        confirmation.ask(&what, &[&name, &application])?;
    }
    let done = runner.carry_out(Command::ApplicationDelete { tenant, application });
    drop(runner);
    say(&format!("{:#}", done?));
    Ok(())
}

/// Only the given options. A list replaces the list of the application.
fn application_change(it: &ApplicationSet) -> Result<Map<String, Value>> {
    let mut change = Map::new();
    let mut set = |name: &str, value: Value| drop(change.insert(String::from(name), value));
    if let Some(name) = &it.name {
        set("name", json!(name));
    }
    for (name, option, given, none) in [
        ("permissions", "permission", json!(it.permission), it.no_permission),
        ("rules", "rule", json!(parse_rules(&it.rule)?), it.no_rule),
        ("allowed_origins", "origin", json!(it.origin), it.no_origin),
    ] {
        match (given.as_array().is_some_and(|given| !given.is_empty()), none) {
            (true, true) => {
                let what = format!("--{option} and --no-{option} contradict each other");
                return Err(Failure::new(Exit::Usage, what).try_this("give one of them"));
            }
            (true, false) => set(name, given),
            (false, true) => set(name, json!([])),
            (false, false) => (),
        }
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use argh::FromArgs as _;

    use super::*;

    fn change(options: &[&str]) -> Result<Value, Exit> {
        let named = ["--tenant", "t", "--application", "a"];
        let arguments = [named.as_slice(), options].concat();
        let parsed = ApplicationSet::from_args(&["set"], &arguments).unwrap();
        application_change(&parsed).map(Value::Object).map_err(|failure| failure.exit)
    }

    #[test]
    fn only_the_options_that_are_given_change_something() {
        assert_eq!(change(&[]), Ok(json!({})));
        assert_eq!(change(&["--name", "n"]), Ok(json!({"name": "n"})));
        assert_eq!(
            change(&["--permission", "a", "--permission", "b"]),
            Ok(json!({"permissions": ["a", "b"]}))
        );
        assert_eq!(change(&["--no-origin"]), Ok(json!({"allowed_origins": []})));
        assert_eq!(
            change(&["--rule", "{\"priority\":1}"]),
            Ok(json!({"rules": [{"priority": 1}]}))
        );
        assert_eq!(change(&["--rule", "x"]), Err(Exit::Usage));
        assert_eq!(change(&["--rule", "{}", "--no-rule"]), Err(Exit::Usage));
    }
}
