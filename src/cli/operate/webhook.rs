//! `strongroom webhook`.

use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::commands::{WebhookAction, WebhookCommand};
use crate::cli::operate::run;
use crate::cli::support::failure::Failure;
use crate::operator::Command;

pub(in crate::cli) fn webhook(command: WebhookCommand) -> Result<(), Failure> {
    match command.action {
        WebhookAction::Events(it) => {
            let vault = it.vault()?;
            let (tenant, webhook) = (it.tenant, it.webhook);
            run(&vault, Command::WebhookEvents { tenant, webhook })
        }
        WebhookAction::List(it) => {
            let vault = it.vault()?;
            run(&vault, Command::WebhookList { tenant: it.tenant })
        }
        WebhookAction::Retry(it) => {
            let vault = it.vault()?;
            let (tenant, webhook) = (it.tenant, it.webhook);
            run(&vault, Command::WebhookRetry { tenant, webhook })
        }
        WebhookAction::RotateKey(it) => run(&it.vault()?, Command::WebhookRotateKey),
    }
}
