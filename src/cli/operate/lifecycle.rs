//! `strongroom tenant delete`, `application set` and `application delete`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::commands::{ApplicationDelete, ApplicationSet, TenantDelete};
use crate::cli::operate::{check_permissions, parse_rules};
use crate::cli::support::confirm::Confirmation;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::not_understood;
use crate::cli::support::order::{carry_out, show};
use crate::cli::support::output::{complain, say};
use crate::cli::support::progress::{Label, ProgressBar, Unit};
use crate::cli::support::runner::CommandRunner;
use crate::metrics::Progress;
use crate::operator::{Command, LifecycleCommand};

pub(super) fn delete_tenant(it: TenantDelete) -> Result<(), Failure> {
    let (confirmation, is_json) = (Confirmation::of(it.yes)?, it.json());
    let mut runner = CommandRunner::of(it.vault()?);
    let id = it.tenant;
    let tenants = runner.carry_out(Command::TenantList)?;
    // A tenant whose deletion was interrupted is not listed. Its keys are gone already. A tenant
    // chooses its name, so control characters of it must not reach the terminal.
    if let Some(name) = name_of(&tenants, &id) {
        let what = format!(
            "Tenant {} ({id}) will be deleted with all its tokens, applications and keys.",
            name.escape_debug()
        );
        confirmation.ask(&what, &[&name, &id])?;
    }
    let progress: Arc<Progress> = Arc::default();
    let label = Label { work: "delete", unit: Unit::Rows };
    let bar = ProgressBar::of(label, is_json, &progress);
    let mut removed: u64 = 0;
    let mut go_on = false;
    loop {
        let command = LifecycleCommand::TenantDelete { tenant: id.clone(), go_on };
        let answer = runner.carry_out(Command::Lifecycle(command))?;
        let count = answer.get("removed_rows").and_then(Value::as_u64);
        removed = removed.saturating_add(count.ok_or_else(not_understood)?);
        progress.set_done(removed);
        match answer.get("deleted").and_then(Value::as_bool) {
            Some(true) => break,
            Some(false) => go_on = true,
            None => return Err(not_understood()),
        }
    }
    drop(bar);
    runner.close();
    say(&format!("{:#}", json!({"id": id, "deleted": true, "removed_rows": removed})));
    complain(
        "Backups and archives from before still contain the tenant, with its keys sealed under the \
         master key of their time, until they are deleted. So do free pages of the data file, until \
         they are used again; see \"Deleting a tenant\" in the guide.",
    );
    Ok(())
}

pub(super) fn set_application(it: ApplicationSet) -> Result<(), Failure> {
    let vault = it.vault()?;
    check_permissions(&it.permission)?;
    let change = application_change(&it)?;
    if change.is_empty() {
        return Err(Failure::new(Exit::Usage, "no option says what to change")
            .try_this("--name, --permission, --rule or --origin"));
    }
    let (tenant, application) = (it.tenant, it.application);
    let command = LifecycleCommand::ApplicationSet { tenant, application, change };
    carry_out(&vault, Command::Lifecycle(command)).and_then(show)
}

pub(super) fn delete_application(it: ApplicationDelete) -> Result<(), Failure> {
    let confirmation = Confirmation::of(it.yes)?;
    let mut runner = CommandRunner::of(it.vault()?);
    let (tenant, application) = (it.tenant, it.application);
    let all = runner.carry_out(Command::ApplicationList { tenant: tenant.clone() })?;
    // The server refuses an application that is not there.
    if let Some(name) = name_of(&all, &application) {
        let shown = name.escape_debug();
        let what = format!("Application {shown} ({application}) will be deleted with its keys.");
        confirmation.ask(&what, &[&name, &application])?;
    }
    let done = runner
        .carry_out(Command::Lifecycle(LifecycleCommand::ApplicationDelete { tenant, application }));
    runner.close();
    say(&format!("{:#}", done?));
    Ok(())
}

/// The name of the listed item with this id.
fn name_of(list: &Value, id: &str) -> Option<String> {
    let is_it = |item: &&Value| item.get("id").and_then(Value::as_str) == Some(id);
    let found = list.as_array()?.iter().find(is_it)?;
    found.get("name").and_then(Value::as_str).map(String::from)
}

/// Only the options that are given. A list replaces the one that the application has.
fn application_change(it: &ApplicationSet) -> Result<Map<String, Value>, Failure> {
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
                return Err(Failure::new(Exit::Usage, what));
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
