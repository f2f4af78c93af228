//! Commands of the operator that a running server carries out: `strongroom tenant`, `application`
//! and `dev-clock`, and those in the submodules.

pub(in crate::cli) mod audit;
pub(in crate::cli) mod backup;
pub(in crate::cli) mod key;
pub(in crate::cli) mod master_key;
pub(in crate::cli) mod report;
pub(in crate::cli) mod status;
pub(in crate::cli) mod webhook;

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::bounds::KEY_TEXT_BYTES_MAX;
use crate::cli::commands::{
    ApplicationAction, ApplicationCommand, ApplicationCreate, DevClockAction, DevClockCommand,
    TenantAction, TenantCommand,
};
use crate::cli::support::arguments::{quotas, switch};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::unreachable_server;
use crate::cli::support::order::{carry_out, show};
use crate::cli::support::settings::read_config;
use crate::operator::{Command, CommandExchange, ask};

pub(in crate::cli) fn tenant(command: TenantCommand) -> Result<(), Failure> {
    match command.action {
        TenantAction::Create(it) => {
            let quotas = quotas(&it.quota)?;
            let (name, threeds) = (it.name, it.threeds);
            let command = Command::TenantCreate { name, r#type: it.kind, threeds, quotas };
            with_config(&it.config, command)
        }
        TenantAction::List(it) => with_config(&it.config, Command::TenantList),
        TenantAction::Set(it) => {
            let quotas = quotas(&it.quota)?;
            let threeds =
                it.threeds.as_deref().map(|text| switch("--threeds", text)).transpose()?;
            let (tenant, name) = (it.tenant, it.name);
            with_config(&it.config, Command::TenantSet { tenant, name, threeds, quotas })
        }
    }
}

pub(in crate::cli) fn application(command: ApplicationCommand) -> Result<(), Failure> {
    match command.action {
        ApplicationAction::Create(it) => {
            let application = application_body(&it)?;
            let tenant = it.tenant;
            with_config(&it.config, Command::ApplicationCreate { tenant, application })
        }
        ApplicationAction::List(it) => {
            with_config(&it.config, Command::ApplicationList { tenant: it.tenant })
        }
        ApplicationAction::KeyCreate(it) => {
            let (tenant, application) = (it.tenant, it.application);
            with_config(&it.config, Command::KeyCreate { tenant, application })
        }
        ApplicationAction::KeyImport(it) => {
            let (tenant, application, text) = (it.tenant, it.application, read_key_text()?);
            with_config(&it.config, Command::KeyImport { tenant, application, text })
        }
        ApplicationAction::KeyDelete(it) => {
            let (tenant, application, key) = (it.tenant, it.application, it.key);
            with_config(&it.config, Command::KeyDelete { tenant, application, key })
        }
    }
}

pub(in crate::cli) fn dev_clock(command: &DevClockCommand) -> Result<(), Failure> {
    let DevClockAction::Advance(advance) = &command.action;
    match ask(&command.data, &Command::AdvanceClock { seconds: advance.seconds }) {
        CommandExchange::Answered(answer) => show(answer),
        CommandExchange::Failed(error) => Err(unreachable_server(&command.data, &error)),
        CommandExchange::NoServer => {
            Err(Failure::new(Exit::Unavailable, "no development server is running")
                .file(&command.data)
                .try_this("strongroom dev --data DIR, and give this command the same DIR"))
        }
    }
}

fn with_config(config: &Path, command: Command) -> Result<(), Failure> {
    carry_out(&read_config(config)?, command).and_then(show)
}

fn application_body(it: &ApplicationCreate) -> Result<Value, Failure> {
    let rules: Vec<Value> = it
        .rule
        .iter()
        .map(|text| serde_json::from_str(text))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::new(Exit::Usage, "a --rule is not JSON").why(error))?;
    Ok(json!({
        "name": it.name,
        "type": it.kind,
        "permissions": it.permission,
        "rules": rules,
        "allowed_origins": it.origin,
        "create_key": !it.no_key,
    }))
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
