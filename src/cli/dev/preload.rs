//! `strongroom dev-preload`: fills a development vault by the operation that clients use. Many
//! requests run concurrently, so that they share commits.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::app::{TokenDraft, Vault, Write};
use crate::bounds::BATCH_CHANGES_MAX;
use crate::cli::commands::DevPreloadCommand;
use crate::cli::dev::{master_key_path, read_tenant};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::refused;
use crate::cli::support::open_vault;
use crate::cli::support::output::say;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::key_text::KeyText;
use crate::domain::luhn;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::server::tasks::Tasks;

/// The number of ids to print, spread evenly over all tokens.
const SAMPLE: u64 = 10_000;

pub(in crate::cli) fn preload(command: &DevPreloadCommand) -> Result<(), Failure> {
    let value = match command.kind.as_str() {
        "token" => Sample::Text,
        "card" => Sample::Card,
        _ => return Err(Failure::new(Exit::Usage, "--kind takes token or card")),
    };
    let tenant = read_tenant(&command.data)?;
    let master = MasterKeySource::File(master_key_path(&command.data));
    let vault = Arc::new(open_vault::open(&command.data, &master, Clock::new())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Exit::Unavailable, "cannot start").why(error))?;
    let filled = runtime.block_on(fill(&vault, &tenant.keys.private, command.tokens, value));
    let filled = filled
        .and_then(|()| runtime.block_on(vault.audit().sign()).map_err(|error| refused(&error)));
    let counted = runtime.block_on(vault.rotation().write_uses()).map_err(|error| refused(&error));
    vault.close();
    filled.and(counted)
}

async fn fill(vault: &Arc<Vault>, key: &str, tokens: u64, value: Sample) -> Result<(), Failure> {
    let every = tokens.div_ceil(SAMPLE).max(1);
    let tasks = Tasks::new();
    let lanes = u64::try_from(BATCH_CHANGES_MAX).unwrap_or(1);
    let (failed, mut failures) = tokio::sync::mpsc::unbounded_channel();
    for lane in 0..lanes {
        let (vault, key, failed) = (Arc::clone(vault), String::from(key), failed.clone());
        tasks.spawn(async move {
            let mut number = lane;
            while number < tokens {
                match create(&vault, &key, value.draft(number)).await {
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

/// The content of the tokens.
#[derive(Clone, Copy)]
enum Sample {
    Card,
    Text,
}

impl Sample {
    /// Makes a different value for every number.
    fn draft(self, number: u64) -> TokenDraft {
        let (kind, data) = match self {
            Self::Card => (
                TokenType::Card,
                json!({
                    "number": card_number(number),
                    "expiration_month": 12,
                    "expiration_year": 2040,
                }),
            ),
            Self::Text => (TokenType::Token, Value::from(format!("preloaded value {number}"))),
        };
        TokenDraft { kind: Some(kind), data: Some(Secret::new(data)), ..TokenDraft::default() }
    }
}

/// A Visa card number of sixteen digits with a valid check digit.
fn card_number(number: u64) -> String {
    let candidates = (0..10).map(|check| format!("4{number:014}{check}"));
    candidates.into_iter().find(|digits| luhn::passes(digits)).unwrap_or_default()
}

async fn create(vault: &Vault, key: &str, draft: TokenDraft) -> Result<String, Failure> {
    let key = KeyText::parse(key)
        .ok_or_else(|| Failure::new(Exit::Data, "the keys of this directory are damaged"))?;
    let caller = vault.access().authenticate(&key).map_err(|error| refused(&error))?;
    let created = vault
        .tokens(&caller)
        .create(draft, &Write::plain())
        .await
        .map_err(|error| refused(&error))?;
    Ok(created.outcome.shown.token.public_id())
}
