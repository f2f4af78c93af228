//! `strongroom tenant`, `application` and `dev-clock`: the operator's hand.

pub(in crate::cli) mod audit;
pub(in crate::cli) mod backup;
pub(in crate::cli) mod key;
pub(in crate::cli) mod master_key;
pub(in crate::cli) mod report;
pub(in crate::cli) mod status;

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::bounds::KEY_TEXT_BYTES_MAX;
use crate::cli::commands::{
    ApplicationAction, ApplicationCommand, ApplicationCreate, DevClock, DevClockAction,
    TenantAction, TenantCommand,
};
use crate::cli::dev::{block_on, refused};
use crate::cli::offline::vault;
use crate::cli::say;
use crate::cli::serve::read_config;
use crate::cli::serve::rotation::rotate_to_the_end;
use crate::cli::support::failure::{Exit, Failure};
use crate::clock::Clock;
use crate::config::{Config, MasterKeySource};
use crate::operator::{Answer, Asked, Clockwork, Command, ask};

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

pub(in crate::cli) fn dev_clock(command: &DevClock) -> Result<(), Failure> {
    let DevClockAction::Advance(advance) = &command.action;
    match ask(&command.data, &Command::AdvanceClock { seconds: advance.seconds }) {
        Asked::Answered(answer) => show(answer),
        Asked::Failed(error) => Err(unreachable_server(&command.data, &error)),
        Asked::NobodyThere => {
            Err(Failure::new(Exit::Unavailable, "no development server is running")
                .file(&command.data)
                .try_this("strongroom dev --data DIR, and give this command the same DIR"))
        }
    }
}

fn with_config(config: &Path, command: Command) -> Result<(), Failure> {
    carry_out(&read_config(config)?, command).and_then(show)
}

pub(in crate::cli) fn carry_out(config: &Config, command: Command) -> Result<Answer, Failure> {
    order(&config.data_directory, || Ok(config.master_key.clone()), command)
}

/// Through the running server if there is one, else on the file itself, which takes the master key,
/// and where a rotation of keys has nobody else to bring it to its end.
pub(in crate::cli) fn order(
    directory: &Path,
    master: impl FnOnce() -> Result<MasterKeySource, Failure>,
    command: Command,
) -> Result<Answer, Failure> {
    match ask(directory, &command) {
        Asked::Answered(answer) => Ok(answer),
        Asked::Failed(error) => Err(unreachable_server(directory, &error)),
        Asked::NobodyThere => {
            let app = vault::open(directory, &master()?, Clock::new())?;
            let runs_on = matches!(command, Command::VaultKeyRotate { .. });
            let answer = block_on(async {
                let answer = command.run(&app, Clockwork::Fixed).await;
                if runs_on {
                    rotate_to_the_end(&app).await.map_err(|error| refused(&error))?;
                }
                app.rotation().write_uses().await.map_err(|error| refused(&error))?;
                // What was done alone is signed alone; a failing disk is told by the next command.
                app.audit().sign().await.ok();
                Ok(answer)
            });
            app.close();
            answer
        }
    }
}

/// What was done, or why the command was refused.
pub(in crate::cli) fn done(answer: Answer) -> Result<Value, Failure> {
    match answer {
        Answer::Done(value) => Ok(value),
        Answer::Refused(why) => {
            Err(Failure::new(Exit::Data, "the command was refused").why(why.join("\n")))
        }
    }
}

pub(in crate::cli) fn show(answer: Answer) -> Result<(), Failure> {
    say(&serde_json::to_string_pretty(&done(answer)?).unwrap_or_default());
    Ok(())
}

pub(in crate::cli) fn unreachable_server(directory: &Path, error: &std::io::Error) -> Failure {
    let exit = if error.kind() == ErrorKind::PermissionDenied {
        Exit::Permission
    } else {
        Exit::Unavailable
    };
    if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) {
        return Failure::new(exit, "the server closed the connection before it answered")
            .file(&crate::operator::socket_path(directory))
            .why("the server has ended, or the command took too long; its result is not known")
            .try_this("check with strongroom status, key list or audit export, then try again");
    }
    Failure::new(exit, "cannot reach the running server")
        .file(&crate::operator::socket_path(directory))
        .why(error)
        .try_this("run this as the user that the server runs as")
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
        "create_key": !it.no_key,
    }))
}

pub(in crate::cli) fn quotas(texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        text.split_once('=').map(|(name, value)| (String::from(name), String::from(value)))
    };
    texts.iter().map(pair).collect::<Option<_>>().ok_or_else(|| {
        Failure::new(Exit::Usage, "a --quota is not of the form NAME=VALUE")
            .try_this("--quota tokenize_limit=100")
    })
}

pub(in crate::cli) fn switch(flag: &str, text: &str) -> Result<bool, Failure> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Failure::new(Exit::Usage, format!("{flag} takes on or off"))),
    }
}

/// From standard input: an argument would be seen by every user of the machine.
fn read_key_text() -> Result<String, Failure> {
    let mut text = String::new();
    let most = u64::try_from(KEY_TEXT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(2);
    std::io::stdin().lock().take(most).read_to_string(&mut text).map_err(|error| {
        Failure::new(Exit::Usage, "cannot read the key from standard input").why(error)
    })?;
    Ok(String::from(text.trim()))
}
