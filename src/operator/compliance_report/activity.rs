//! The acts of the report's period, counted from the entries of the audit chain.

use std::collections::BTreeMap;

use crate::app::{Error, ExportCursor, ExportQuery, Vault};
use crate::bounds::REPORT_WRONG_KEYS_MAX;
use crate::domain::audit::{Actor, AuditEntry, RefusalReason};
use crate::domain::counted::counted;
use crate::domain::time::Timestamp;
use crate::operator::compliance_report::ComplianceReportSettings;
use crate::report::{Chapter, Requirement, moment, printable};

const REQUIREMENTS: &[Requirement] = &[
    Requirement("10.2.1", "Access to card data and administrative acts are logged."),
    Requirement(
        "10.2.2",
        "Entries tell who did what to which thing, when, from where, and its outcome.",
    ),
    Requirement("10.4.1", "Logs are reviewed, so that misuse is noticed."),
];

pub(super) async fn chapter(
    vault: &Vault,
    settings: &ComplianceReportSettings,
) -> Result<Chapter, Error> {
    let (from, to) = (Timestamp::from_seconds(settings.from), Timestamp::from_seconds(settings.to));
    let mut counts: BTreeMap<(String, &str, &str, &str), (u64, Timestamp)> = BTreeMap::new();
    let mut total: u64 = 0;
    let mut origins = Origins::default();
    // The report itself is audited, so reading the entries here is not audited as an export.
    let mut next = Some(ExportCursor::default());
    while let Some(at) = next {
        let query = ExportQuery { next: Some(at), from: Some(from), to: Some(to) };
        let page = vault.audit().export(query).await?;
        for exported in &page.entries {
            let entry = &exported.entry;
            let (act, kind) = (entry.act.as_str(), entry.entity.kind.as_str());
            let key = (actor(entry), act, kind, entry.outcome());
            let (count, last) = counts.entry(key).or_insert((0, entry.at));
            *count = count.saturating_add(1);
            *last = (*last).max(entry.at);
            total = total.saturating_add(1);
            origins.count(entry);
        }
        next = page.next;
    }
    let rows = counts.into_iter().map(|((actor, act, entity, outcome), (count, last))| {
        let [act, entity, outcome] = [act, entity, outcome].map(String::from);
        vec![actor, act, entity, outcome, count.to_string(), moment(last)]
    });
    let chapter = Chapter::new("Activity in the period", REQUIREMENTS).good(format!(
        "From {} to {} the chain has {}.",
        moment(from),
        moment(to),
        counted(total, "entry", "entries")
    ));
    Ok(origins
        .state(chapter)
        .table(&["actor", "operation", "on", "outcome", "entries", "last"], rows.collect()))
}

/// The kind of the actor. A user of the machine and a person at the console are named, so that each
/// act of an administrator has a person.
fn actor(entry: &AuditEntry) -> String {
    let kind = entry.actor.kind();
    let origin = entry.origin.as_deref();
    if let Some(person) = origin.and_then(|origin| origin.person.as_ref()) {
        return format!("{kind}: {} (by {})", printable(&person.name), person.way.as_str());
    }
    let user = origin.and_then(|origin| origin.user.as_ref());
    user.map_or_else(
        || String::from(kind),
        |user| {
            let uid = match &user.name {
                Some(name) => format!("{kind}: {} (uid {})", printable(name), user.uid),
                None => format!("{kind}: uid {}", user.uid),
            };
            // The same user may have become another one with su or sudo.
            user.login.map_or_else(|| uid.clone(), |login| format!("{uid}, login uid {login}"))
        },
    )
}

/// The origins of entries, and the refused attempts.
#[derive(Debug, Default)]
struct Origins {
    /// Entries that must have an origin. The server's own acts have none.
    expected: u64,
    missing: u64,
    refused: u64,
    wrong_keys: u64,
}

impl Origins {
    fn count(&mut self, entry: &AuditEntry) {
        let (has_address, has_user) = entry
            .origin
            .as_deref()
            .map_or((false, false), |it| (it.address.is_some(), it.user.is_some()));
        let has_origin = match entry.actor {
            Actor::System => return,
            Actor::Operator => has_user,
            Actor::Unknown => has_address || has_user,
            Actor::Application(_)
            | Actor::Cardholder
            | Actor::DirectoryServer
            | Actor::Person
            | Actor::ProxyCaller => has_address,
        };
        self.expected = self.expected.saturating_add(1);
        self.missing = self.missing.saturating_add(u64::from(!has_origin));
        if let Some(refusals) = &entry.refusals {
            self.refused = self.refused.saturating_add(refusals.count);
            if refusals.reason == RefusalReason::WrongKey {
                self.wrong_keys = self.wrong_keys.saturating_add(refusals.count);
            }
        }
    }

    fn state(&self, chapter: Chapter) -> Chapter {
        let Self { expected, missing, refused, wrong_keys } = self;
        let chapter = if *missing == 0 {
            chapter.good(format!(
                "All entries that are not of the server itself ({expected}) name the client's address \
                 or the operator's user."
            ))
        } else {
            chapter.attention(format!(
                "Of the entries that are not of the server itself, {missing} of {expected} have \
                 neither an address nor a user: they are from before the program noted them, or of \
                 refused attempts in a flood."
            ))
        };
        let attempts = counted(*refused, "attempt was", "attempts were");
        let sentence = format!("{attempts} refused, {wrong_keys} for a wrong key.");
        if *wrong_keys > REPORT_WRONG_KEYS_MAX {
            chapter.attention(format!("{sentence} Was somebody guessing keys?"))
        } else {
            chapter.good(sentence)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::audit::{Act, Entity, EntityKind, Refusals};
    use crate::domain::origin::{Origin, SystemUser};
    use crate::report::Standing;

    #[test]
    fn entries_without_an_origin_and_many_wrong_keys_need_attention() {
        let at = Timestamp::from_seconds(1);
        let entity = || Entity::of_server(EntityKind::Request);
        let entry = |actor| AuditEntry::new(at, actor, Act::Read, entity());
        let by_user = || {
            let user = SystemUser { uid: 0, name: None, login: None };
            let origin = Some(Arc::new(Origin::of_user(user)));
            AuditEntry { origin, ..entry(Actor::Operator) }
        };
        let wrong = |count| {
            let refusals =
                Refusals { reason: RefusalReason::WrongKey, count, first_at: at, last_at: at };
            let origin = Some(Arc::new(Origin::of_request(Some([192, 0, 2, 1].into()), "t")));
            AuditEntry::of_refusals(at, Actor::Unknown, entity(), origin, refusals)
        };
        for (entries, origins, keys) in [
            (vec![entry(Actor::System), by_user(), wrong(1)], Standing::Good, Standing::Good),
            (vec![entry(Actor::Operator), wrong(1)], Standing::Attention, Standing::Good),
            (vec![entry(Actor::Cardholder)], Standing::Attention, Standing::Good),
            (vec![wrong(REPORT_WRONG_KEYS_MAX), wrong(1)], Standing::Good, Standing::Attention),
        ] {
            let mut counted = Origins::default();
            for entry in &entries {
                counted.count(entry);
            }
            let chapter = counted.state(Chapter::new("t", &[]));
            let told: Vec<_> = chapter.findings.iter().map(|it| it.standing).collect();
            assert_eq!(told, [origins, keys], "{entries:?}");
        }
    }
}
