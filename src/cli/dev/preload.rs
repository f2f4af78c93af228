//! `strongroom dev-preload`: fills a development vault through the operation that clients use. Many
//! requests run concurrently, so that they share commits.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::app::{TokenDraft, Vault, Write, WriteOutcome};
use crate::bounds::BATCH_CHANGES_MAX;
use crate::cli::command::command;
use crate::cli::dev::{damaged_keys, master_key_path, read_tenant};
use crate::cli::support::{
    Exit, Failure, Result, VaultHome, as_member, no_resource, open_vault, refused, say,
};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::key_text::KeyText;
use crate::domain::luhn;
use crate::domain::metadata::Metadata;
use crate::domain::token_type::TokenType;
use crate::http::{created_token, show_again};
use crate::secret::Secret;
use crate::server::tasks::Tasks;
use std::path::PathBuf;

command! {
    /// Fill a stopped development vault with tokens, for benchmarks. Prints some of their ids.
    "dev-preload" DevPreloadCommand {
        /// directory that `strongroom dev` made (default ./strongroom-dev)
        data: PathBuf = option(default = "PathBuf::from(\"strongroom-dev\")"),
        /// number of tokens to create
        tokens: u64 = option,
        /// content of the tokens: token (a short text) or card (default token)
        kind: String = option(default = "String::from(\"token\")"),
    } => |it| preload(&it)
}

/// The number of ids to print, spread evenly over all tokens.
const SAMPLE: u64 = 100_000;
/// Cards that share a customer in their metadata.
const CARDS_OF_CUSTOMER: u64 = 4;
/// Values of the metadata entry that many cards share.
const CHANNELS: u64 = 4;

fn preload(command: &DevPreloadCommand) -> Result<()> {
    let value = match command.kind.as_str() {
        "token" => Sample::Text,
        "card" => Sample::Card,
        _ => return Err(Failure::new(Exit::Usage, "--kind takes token or card")),
    };
    let tenant = read_tenant(&command.data)?;
    let master = MasterKeySource::File(master_key_path(&command.data));
    let home = VaultHome::without_settings(&command.data);
    let vault = Arc::new(open_vault::open(&home, &master, Clock::new())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build();
    let runtime = runtime.map_err(|error| no_resource("start", &error))?;
    let filled = as_member(&vault, || {
        let filled = runtime.block_on(fill(&vault, &tenant.keys.private, command.tokens, value));
        let filled = filled
            .and_then(|()| runtime.block_on(vault.audit().sign()).map_err(|error| refused(&error)));
        let counted = runtime.block_on(vault.rotation().write_uses());
        filled.and(counted.map_err(|error| refused(&error)))
    });
    vault.close();
    filled
}

async fn fill(vault: &Arc<Vault>, key: &str, tokens: u64, value: Sample) -> Result<()> {
    let every = tokens.div_ceil(SAMPLE).max(1);
    let tasks = Tasks::new();
    let lanes = u64::try_from(BATCH_CHANGES_MAX).unwrap_or(1);
    let (failed, mut failures) = tokio::sync::mpsc::unbounded_channel();
    for lane in 0..lanes {
        let (vault, key, failed) = (Arc::clone(vault), String::from(key), failed.clone());
        tasks.spawn(async move {
            let mut number = lane;
            while number < tokens {
                match create(&vault, &key, value, number).await {
                    Ok(id) if number.is_multiple_of(every) => say(&id),
                    Ok(_) => (),
                    Err(failure) => {
                        failed.send(failure).ok();
                        return;
                    }
                }
                number = number.saturating_add(lanes);
            }
        });
    }
    drop(failed);
    // The channel closes when the last task ends.
    failures.recv().await.map_or(Ok(()), Err)
}

#[derive(Clone, Copy)]
enum Sample {
    Card,
    Text,
}

impl Sample {
    /// Makes a different value for every number. A card has a code and three metadata entries.
    fn draft(self, number: u64) -> TokenDraft {
        let (kind, data, metadata) = match self {
            Self::Card => (
                TokenType::Card,
                json!({
                    "number": card_number(number),
                    "expiration_month": 12,
                    "expiration_year": 2040,
                    "cvc": "123",
                }),
                [
                    ("channel", format!("channel {}", number.rem_euclid(CHANNELS))),
                    ("customer", format!("customer {:08}", number.div_euclid(CARDS_OF_CUSTOMER))),
                    ("order", format!("order {number:016}")),
                ]
                .into_iter()
                .collect(),
            ),
            Self::Text => {
                let data = Value::from(format!("preloaded value {number}"));
                (TokenType::Token, data, Metadata::default())
            }
        };
        let (kind, data) = (Some(kind), Some(Secret::new(data)));
        TokenDraft { kind, data, metadata, ..TokenDraft::default() }
    }
}

/// A Visa card number of sixteen digits with a valid check digit.
fn card_number(number: u64) -> String {
    let candidates = (0..10).map(|check| format!("4{number:014}{check}"));
    candidates.into_iter().find(|digits| luhn::passes(digits)).unwrap_or_default()
}

/// Creates a token under an idempotency key, as clients do.
async fn create(vault: &Vault, key: &str, value: Sample, number: u64) -> Result<String> {
    let key = KeyText::parse(key).ok_or_else(damaged_keys)?;
    let caller = vault.access().authenticate(&key)?;
    let key = format!("preload {number}");
    let guard = vault.idempotency().begin(&caller, ("POST", "/tokens", &key), show_again).await?;
    let render = |written: &WriteOutcome| created_token(written);
    let write = Write { guard: Some(&guard), render: &render };
    let created = vault.tokens(&caller).create(value.draft(number), &write).await?;
    Ok(created.outcome.shown.token.public_id())
}
