//! Retention: the stored data, its retention periods, and its age.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::app::{CodeEnd, Error, Holding, KeyInventory, StoredCodes, Vault};
use crate::bounds::{CVC_RETENTION_IN_PRODUCTION, REPORT_SWEEP_LAG_MAX};
use crate::domain::counted::counted;
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
            "{} in the data file, all counted; each is sealed (AES-256-GCM) under a key of the \
             chapter on encryption keys.",
            counted(sealed, "record", "records")
        )),
        count => chapter.attention(format!(
            "{} sealed under no key of this vault: run strongroom verify.",
            counted(count, "record is", "records are")
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
    let count = counted(count, "token has", "tokens have");
    chapter = chapter.good(format!("{count} no time of expiry."));
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
    vault: &Vault,
    holdings: &[Holding],
    stored: &BTreeMap<TenantId, StoredCodes>,
    now: Timestamp,
) -> Chapter {
    let mut chapter = Chapter::new("Card verification codes", CODES);
    let production = || holdings.iter().filter(|it| it.tenant.kind == TenantKind::Production);
    if let Some(longest) = production().map(|it| vault.cvc_retention(&it.tenant)).max() {
        chapter = chapter.good(format!(
            "A code that a production tenant stores from now on is kept for at most {}.",
            span(longest)
        ));
    }
    if vault.cvc_retention_max() > CVC_RETENTION_IN_PRODUCTION {
        chapter = chapter.attention(format!(
            "The setting cvc.retention_max lets production tenants keep codes for up to {}; without \
             it they keep them for an hour at most.",
            span(vault.cvc_retention_max())
        ));
    }
    chapter = after_use(chapter, holdings, stored);
    let count = stored.values().fold(0_u64, |sum, it| sum.saturating_add(it.count));
    chapter = match stored.values().map(|it| it.last_ends_at).max() {
        None => chapter.good("No code is stored."),
        Some(at) => chapter.good(format!(
            "{} stored; the last of them ends by {}.",
            counted(count, "code is", "codes are"),
            moment(at)
        )),
    };
    for it in holdings {
        let Some(codes) = stored.get(&it.tenant.id) else { continue };
        let retention = vault.cvc_retention(&it.tenant);
        if codes.last_ends_at.since(now) > retention.saturating_add(MINUTE) {
            chapter = chapter.attention(format!(
                "Codes of {} were stored before its retention was shortened, and are kept until {}.",
                it.tenant.name,
                moment(codes.last_ends_at)
            ));
        }
    }
    let row = |it: &Holding| {
        let codes = stored.get(&it.tenant.id);
        let mut cells = vec![
            it.tenant.name.clone(),
            span(vault.cvc_retention(&it.tenant)),
            String::from(if destroys_after_use(it) { "yes" } else { "no" }),
            format!("{} of {}", it.destroying_proxies, it.proxies),
            codes.map_or(0, |codes| codes.count).to_string(),
            codes.map_or_else(|| String::from("-"), |codes| moment(codes.last_ends_at)),
        ];
        cells.extend(ENDS.map(|end| it.code_ends.get(&end).copied().unwrap_or(0).to_string()));
        cells
    };
    let head = [
        "tenant",
        "new codes kept",
        "destroyed after use",
        "proxies that destroy",
        "codes",
        "last ends",
        "used",
        "deleted",
        "expired",
        "with the token",
    ];
    chapter.table(&head, holdings.iter().map(row).collect())
}

/// The last columns of the table.
const ENDS: [CodeEnd; 4] = [CodeEnd::Used, CodeEnd::Deleted, CodeEnd::Expired, CodeEnd::WithToken];

fn destroys_after_use(it: &Holding) -> bool {
    it.tenant.settings.get("destroy_cvc_after_use").is_some_and(|value| value == "true")
}

/// Names the tenants whose codes outlive a successful call through a proxy.
fn after_use(
    chapter: Chapter,
    holdings: &[Holding],
    stored: &BTreeMap<TenantId, StoredCodes>,
) -> Chapter {
    let has_codes = |it: &Holding| {
        stored.contains_key(&it.tenant.id) || it.code_ends.values().any(|count| *count > 0)
    };
    let matters = |it: &&Holding| it.tenant.kind == TenantKind::Production && has_codes(it);
    let names = |of: Vec<&Holding>| {
        of.iter().map(|it| it.tenant.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let off = holdings.iter().filter(|it| !destroys_after_use(it));
    let (in_use, others): (Vec<_>, Vec<_>) = off.partition(matters);
    let mut chapter = chapter;
    if !in_use.is_empty() {
        chapter = chapter.attention(format!(
            "Codes stay until the end of their retention although a call through a proxy has used \
             them, since destroy_cvc_after_use is off (a management key of the tenant switches it \
             on: PUT /tenants/self): {}.",
            names(in_use)
        ));
    }
    if !others.is_empty() {
        chapter = chapter.good(format!(
            "destroy_cvc_after_use is also off for tenants of tests and tenants that have stored no \
             code: {}.",
            names(others)
        ));
    }
    chapter
}
