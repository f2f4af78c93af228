//! Retention: the stored data, its retention periods, and its age.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::app::{Error, Holding, KeyInventory, StoredCodes, Vault};
use crate::bounds::REPORT_SWEEP_LAG_MAX;
use crate::domain::id::TenantId;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::report::{Chapter, Requirement, moment, span};

/// The key of a code is destroyed at the end of the minute in which the code expires.
const MINUTE: Duration = Duration::from_mins(1);

const STORED: &[Requirement] = &[
    Requirement("3.2.1", "Account data is kept only as long as it is needed, and then deleted."),
    Requirement("3.5.1", "Card numbers are unreadable wherever they are stored."),
];
const CODES: &[Requirement] = &[
    Requirement("3.3.1", "Card verification codes are not kept after authorization."),
    Requirement("3.3.2", "Until then they are stored encrypted."),
];

pub(super) fn chapter(
    vault: &Vault,
    holdings: &[Holding],
    inventory: &KeyInventory,
    now: Timestamp,
) -> Result<Chapter, Error> {
    let mut chapter = Chapter::new("Stored data", STORED);
    let sealed = inventory.keys.iter().filter_map(|key| key.records);
    let sealed = sealed.fold(0_u64, u64::saturating_add);
    chapter = match inventory.unaccounted_records {
        0 => chapter.good(format!(
            "All {sealed} records of the data file were counted; each is sealed (AES-256-GCM) under \
             a key of the chapter on encryption keys."
        )),
        count => chapter.attention(format!(
            "{count} records are sealed under no key of this vault: run strongroom verify."
        )),
    };
    chapter = match vault.upkeep().oldest_due()? {
        Some(at) if now.since(at) > REPORT_SWEEP_LAG_MAX => chapter.attention(format!(
            "Something has been due for deletion since {}: the sweep does not keep up.",
            moment(at)
        )),
        Some(_) | None => chapter.good("No record is kept past its time."),
    };
    let expiring = vault.upkeep().expiring_tokens()?;
    let lasting =
        |it: &Holding| it.tokens.saturating_sub(expiring.get(&it.tenant.id).copied().unwrap_or(0));
    let count = holdings.iter().map(lasting).fold(0_u64, u64::saturating_add);
    chapter = chapter.good(format!("{count} tokens have no time at which they expire."));
    if let Some(at) = vault.upkeep().oldest_threeds_session()? {
        chapter = chapter.good(format!("The oldest 3-D Secure session began {}.", moment(at)));
    }
    let since = |at: Option<Timestamp>| at.map_or_else(|| String::from("-"), moment);
    let row = |it: &Holding| {
        vec![
            it.tenant.name.clone(),
            String::from(it.tenant.kind.as_str()),
            it.tokens.to_string(),
            lasting(it).to_string(),
            since(it.oldest_token),
            it.token_intents.to_string(),
            since(it.oldest_token_intent),
            span(it.tenant.quotas.token_intent_retention),
            span(it.tenant.quotas.log_retention),
        ]
    };
    let head = [
        "tenant",
        "type",
        "tokens",
        "without expiry",
        "oldest token",
        "intents",
        "oldest intent",
        "intents kept",
        "logs shown",
    ];
    Ok(chapter.table(&head, holdings.iter().map(row).collect()))
}

/// The chapter on card verification codes, which have a separate requirement. The quota applies
/// only to new codes, so the chapter also checks the stored ones.
pub(super) fn codes(
    holdings: &[Holding],
    stored: &BTreeMap<TenantId, StoredCodes>,
    now: Timestamp,
) -> Chapter {
    let mut chapter = Chapter::new("Card verification codes", CODES);
    let longest = holdings
        .iter()
        .filter(|it| it.tenant.kind == TenantKind::Production)
        .map(|it| it.tenant.quotas.cvc_retention)
        .max();
    if let Some(longest) = longest {
        chapter = chapter.good(format!(
            "A code that a production tenant stores from now on is kept for at most {}.",
            span(longest)
        ));
    }
    let count = stored.values().fold(0_u64, |sum, it| sum.saturating_add(it.count));
    chapter = match stored.values().map(|it| it.last_ends_at).max() {
        None => chapter.good("No code is stored."),
        Some(at) => chapter
            .good(format!("{count} codes are stored; the last of them ends by {}.", moment(at))),
    };
    for it in holdings {
        let Some(codes) = stored.get(&it.tenant.id) else { continue };
        if codes.last_ends_at.since(now) > it.tenant.quotas.cvc_retention.saturating_add(MINUTE) {
            chapter = chapter.attention(format!(
                "Codes of {} were stored before its retention was shortened, and are kept until {}.",
                it.tenant.name,
                moment(codes.last_ends_at)
            ));
        }
    }
    let row = |it: &Holding| {
        let codes = stored.get(&it.tenant.id);
        vec![
            it.tenant.name.clone(),
            span(it.tenant.quotas.cvc_retention),
            codes.map_or(0, |codes| codes.count).to_string(),
            codes.map_or_else(|| String::from("-"), |codes| moment(codes.last_ends_at)),
        ]
    };
    let head = ["tenant", "new codes kept", "codes", "last ends"];
    chapter.table(&head, holdings.iter().map(row).collect())
}
