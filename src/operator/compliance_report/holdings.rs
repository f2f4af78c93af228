//! Retention: the stored data, its retention periods, and its age.

use crate::app::{Error, Holding, Vault};
use crate::bounds::REPORT_SWEEP_LAG_MAX;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::report::{Chapter, moment, span};

pub(super) fn chapter(
    vault: &Vault,
    holdings: &[Holding],
    now: Timestamp,
) -> Result<Chapter, Error> {
    let mut chapter = Chapter::new(
        "Retention",
        "Requirement 3.2.1: account data is kept no longer than needed, and what exceeds its \
         retention is deleted. Tokens live until they are deleted or expire, which is for their \
         owners to say; everything else has a time that the vault keeps by itself.",
    );
    chapter = match vault.upkeep().oldest_due()? {
        Some(at) if now.since(at) > REPORT_SWEEP_LAG_MAX => chapter.attention(format!(
            "Something has been due for deletion since {}: the sweep does not keep up.",
            moment(at)
        )),
        Some(_) | None => chapter.good("Nothing is kept past its time."),
    };
    if let Some(at) = vault.upkeep().oldest_threeds_session()? {
        chapter = chapter.good(format!("The oldest 3-D Secure session began {}.", moment(at)));
    }
    let since = |at: Option<Timestamp>| at.map_or_else(|| String::from("-"), moment);
    let row = |it: &Holding| {
        vec![
            it.tenant.name.clone(),
            String::from(it.tenant.kind.as_str()),
            it.tokens.to_string(),
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
        "oldest token",
        "intents",
        "oldest intent",
        "intents kept",
        "logs shown",
    ];
    Ok(chapter.table(&head, holdings.iter().map(row).collect()))
}

/// The chapter on card verification codes, to which a separate requirement applies.
pub(super) fn codes(holdings: &[Holding]) -> Chapter {
    let mut chapter = Chapter::new(
        "Card verification codes",
        "Requirement 3.3: they are not kept after authorization, even encrypted. The vault seals \
         them under keys of a minute, which stand in no backup and are destroyed when their time \
         is over.",
    );
    let longest = holdings
        .iter()
        .filter(|it| it.tenant.kind == TenantKind::Production)
        .map(|it| it.tenant.quotas.cvc_retention)
        .max();
    if let Some(longest) = longest {
        chapter = chapter.good(format!("The longest of a production tenant: {}.", span(longest)));
    }
    let row = |it: &Holding| vec![it.tenant.name.clone(), span(it.tenant.quotas.cvc_retention)];
    chapter.table(&["tenant", "codes kept"], holdings.iter().map(row).collect())
}
