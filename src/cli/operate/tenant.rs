//! `strongroom tenant`: tenants.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::command::{OnVault as _, command, group};
use crate::cli::operate::{list, name_of, send};
use crate::cli::support::{
    CommandRunner, Confirmation, Exit, Failure, Label, ProgressBar, Result, Unit, complain,
    not_understood, quotas, say, switch,
};
use crate::metrics::Progress;
use crate::operator::Command;

group! {
    /// Create, list, change and delete tenants, with or without a running server.
    "tenant" TenantCommand: TenantCreate, TenantDelete, TenantList, TenantSet
}

command! {
    #[expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]
    /// Create a tenant with its own keys.
    "create" TenantCreate on vault {
        /// display name
        name: String = option,
        /// type: test or production
        kind: String = option(long = "type"),
        /// enable 3-D Secure
        threeds: bool = switch,
        /// a quota as NAME=VALUE, such as cvc_retention=30m; may be repeated
        quota: Vec<String> = option,
    } => |it| {
        let (vault, quotas) = (it.vault()?, quotas(&it.quota)?);
        let (name, threeds) = (it.name, it.threeds);
        send(&vault, Command::TenantCreate { name, r#type: it.kind, threeds, quotas })
    }
}

command! {
    /// Delete a tenant with everything that it has. Its keys are destroyed first.
    "delete" TenantDelete on tenant {
        /// ask for no confirmation
        yes: bool = switch,
    } => delete
}

command! {
    /// List all tenants.
    "list" TenantList on vault {} => |it| {
        let columns = [("ID", "id"), ("TYPE", "type"), ("3DS", "threeds"), ("NAME", "name")];
        list(&it.vault()?, Command::TenantList, it.json(), &columns)
    }
}

command! {
    #[expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]
    /// Change a tenant; options that are not given change nothing.
    "set" TenantSet on tenant {
        /// new name
        name: Option<String> = option,
        /// turn 3-D Secure for the tenant on or off
        threeds: Option<String> = option,
        /// a quota as NAME=VALUE (tokenize_limit, detokenize_limit, cvc_retention,
        /// token_intent_retention, log_retention, rate_limit, token_limit); may be repeated
        quota: Vec<String> = option,
    } => set
}

fn set(it: TenantSet) -> Result<()> {
    let (vault, quotas) = (it.vault()?, quotas(&it.quota)?);
    let threeds = it.threeds.as_deref().map(|text| switch("--threeds", text)).transpose()?;
    if it.name.is_none() && threeds.is_none() && quotas.is_empty() {
        return Err(Failure::new(Exit::Usage, "no option says what to change")
            .try_this("--name, --threeds or --quota"));
    }
    let (tenant, name) = (it.tenant, it.name);
    send(&vault, Command::TenantSet { tenant, name, threeds, quotas })
}

fn delete(it: TenantDelete) -> Result<()> {
    let (confirmation, is_json) = (Confirmation::of(it.yes)?, it.json());
    let mut runner = CommandRunner::of(it.vault()?);
    let id = it.tenant;
    let tenants = runner.carry_out(Command::TenantList)?;
    // A tenant whose deletion was interrupted is not listed; its keys are gone already. Tenants
    // choose their names, so control characters in them must not reach the terminal.
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
        let command = Command::TenantDelete { tenant: id.clone(), go_on };
        let answer = runner.carry_out(command)?;
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
    drop(runner);
    say(&format!("{:#}", json!({"id": id, "deleted": true, "removed_rows": removed})));
    complain(
        "Backups and archives from before still contain the tenant, with its keys sealed under the \
         master key of their time, until they are deleted. So do free pages of the data file, until \
         they are used again; see \"Deleting a tenant\" in the guide.",
    );
    Ok(())
}
