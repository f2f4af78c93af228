//! `strongroom webhook`.

use crate::cli::commands::{WebhookAction, WebhookCommand};
use crate::cli::operate::with_config;
use crate::cli::support::failure::Failure;
use crate::operator::Command;

pub(in crate::cli) fn webhook(command: WebhookCommand) -> Result<(), Failure> {
    match command.action {
        WebhookAction::Events(it) => {
            let (tenant, webhook) = (it.tenant, it.webhook);
            with_config(&it.config, Command::WebhookEvents { tenant, webhook })
        }
        WebhookAction::List(it) => {
            with_config(&it.config, Command::WebhookList { tenant: it.tenant })
        }
        WebhookAction::Retry(it) => {
            let (tenant, webhook) = (it.tenant, it.webhook);
            with_config(&it.config, Command::WebhookRetry { tenant, webhook })
        }
        WebhookAction::RotateKey(it) => with_config(&it.config, Command::WebhookRotateKey),
    }
}
