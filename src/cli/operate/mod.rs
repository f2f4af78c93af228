//! Commands of the operator that a running server carries out: `strongroom tenant`, `application`
//! and `dev-clock`, and those in the submodules.

pub(in crate::cli) mod audit;
pub(in crate::cli) mod backup;
pub(in crate::cli) mod erase;
pub(in crate::cli) mod export;
pub(in crate::cli) mod import;
pub(in crate::cli) mod key;
mod lifecycle;
pub(in crate::cli) mod master_key;
pub(in crate::cli) mod report;
pub(in crate::cli) mod status;
pub(in crate::cli) mod webhook;

use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bounds::KEY_TEXT_BYTES_MAX;
use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::commands::{
    ApplicationAction, ApplicationCommand, ApplicationCreate, DevClockAction, DevClockCommand,
    TenantAction, TenantCommand,
};
use crate::cli::support::arguments::{quotas, switch};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::unreachable_server;
use crate::cli::support::order::{carry_out, show};
use crate::cli::support::vault_place::VaultPlace;
use crate::domain::duration;
use crate::domain::nearest::nearest;
use crate::domain::permission::Permission;
use crate::operator::{Command, CommandExchange, ask};

pub(in crate::cli) fn tenant(command: TenantCommand) -> Result<(), Failure> {
    match command.action {
        TenantAction::Create(it) => {
            let (vault, quotas) = (it.vault()?, quotas(&it.quota)?);
            let (name, threeds) = (it.name, it.threeds);
            let command = Command::TenantCreate { name, r#type: it.kind, threeds, quotas };
            run(&vault, command)
        }
        TenantAction::Delete(it) => lifecycle::delete_tenant(it),
        TenantAction::List(it) => run(&it.vault()?, Command::TenantList),
        TenantAction::Set(it) => {
            let (vault, quotas) = (it.vault()?, quotas(&it.quota)?);
            let threeds =
                it.threeds.as_deref().map(|text| switch("--threeds", text)).transpose()?;
            if it.name.is_none() && threeds.is_none() && quotas.is_empty() {
                return Err(Failure::new(Exit::Usage, "no option says what to change")
                    .try_this("--name, --threeds or --quota"));
            }
            let (tenant, name) = (it.tenant, it.name);
            run(&vault, Command::TenantSet { tenant, name, threeds, quotas })
        }
    }
}

pub(in crate::cli) fn application(command: ApplicationCommand) -> Result<(), Failure> {
    match command.action {
        ApplicationAction::Create(it) => {
            let (vault, application) = (it.vault()?, application_body(&it)?);
            let tenant = it.tenant;
            run(&vault, Command::ApplicationCreate { tenant, application })
        }
        ApplicationAction::Delete(it) => lifecycle::delete_application(it),
        ApplicationAction::Set(it) => lifecycle::set_application(it),
        ApplicationAction::List(it) => {
            let vault = it.vault()?;
            run(&vault, Command::ApplicationList { tenant: it.tenant })
        }
        ApplicationAction::KeyCreate(it) => {
            let vault = it.vault()?;
            let (tenant, application) = (it.tenant, it.application);
            run(&vault, Command::KeyCreate { tenant, application })
        }
        ApplicationAction::KeyImport(it) => {
            let vault = it.vault()?;
            let (tenant, application, text) = (it.tenant, it.application, read_key_text()?);
            run(&vault, Command::KeyImport { tenant, application, text })
        }
        ApplicationAction::KeyDelete(it) => {
            let vault = it.vault()?;
            let (tenant, application, key) = (it.tenant, it.application, it.key);
            run(&vault, Command::KeyDelete { tenant, application, key })
        }
    }
}

pub(in crate::cli) fn dev_clock(command: &DevClockCommand) -> Result<(), Failure> {
    let DevClockAction::Advance(advance) = &command.action;
    let seconds = seconds(&advance.duration)?;
    match ask(&command.data, &Command::AdvanceClock { seconds }) {
        CommandExchange::Answered(answer) => show(answer),
        CommandExchange::Failed(error) => Err(unreachable_server(&command.data, &error)),
        CommandExchange::NoServer => {
            Err(Failure::new(Exit::Unavailable, "no development server is running")
                .file(&command.data)
                .try_this("strongroom dev --data DIR, and give this command the same DIR"))
        }
    }
}

fn seconds(text: &str) -> Result<u64, Failure> {
    let length = duration::parse_from(text, Duration::ZERO, Duration::MAX);
    length.filter(|length| length.subsec_millis() == 0).map(|length| length.as_secs()).ok_or_else(
        || {
            Failure::new(Exit::Usage, "the duration is wrong")
                .why("it must be a number with s, m, h or d")
                .try_this("strongroom dev-clock advance 24h")
        },
    )
}

fn run(vault: &VaultPlace, command: Command) -> Result<(), Failure> {
    carry_out(vault, command).and_then(show)
}

fn application_body(it: &ApplicationCreate) -> Result<Value, Failure> {
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

/// Proposes the nearest permission for a mistyped one. The vault refuses the others.
fn check_permissions(texts: &[String]) -> Result<(), Failure> {
    for text in texts.iter().filter(|text| Permission::parse(text).is_none()) {
        if let Some(meant) = nearest(text, Permission::ALL.iter().map(|it| it.as_str())) {
            return Err(Failure::new(Exit::Data, "there is no such permission")
                .try_this(format!("--permission {meant}")));
        }
    }
    Ok(())
}

fn parse_rules(texts: &[String]) -> Result<Vec<Value>, Failure> {
    let rules = texts.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>();
    rules.map_err(|error| Failure::new(Exit::Usage, "a --rule is not JSON").why(error))
}

/// Reads the key from standard input, because every user of the machine can read arguments.
fn read_key_text() -> Result<String, Failure> {
    let mut text = String::new();
    let most = u64::try_from(KEY_TEXT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(2);
    std::io::stdin().lock().take(most).read_to_string(&mut text).map_err(|error| {
        Failure::new(Exit::Usage, "cannot read the key from standard input").why(error)
    })?;
    Ok(String::from(text.trim()))
}
