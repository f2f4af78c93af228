//! `GET /logs` and `GET /logs/entity-types`.
//!
//! The published documentation pages by cursor; the published clients page by number until a page
//! is empty. Both work: `start` continues from a `next`; without it `page` counts.

use uuid::Uuid;

use crate::app::{LogPage, LogQuery, LogStart};
use crate::bounds::LOG_PAGE_SIZE_MAX;
use crate::domain::audit::{Act, AuditEntry, EntityKind, RefusalReason};
use crate::domain::expires_at::parse_time;
use crate::domain::id::TenantId;
use crate::domain::mistakes::Mistakes;
use crate::domain::person::{Person, SignOnWay};
use crate::domain::time::Timestamp;
use crate::http::Schema;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::json::list;
use crate::http::wire::{Json, OffsetPage, Query, cursor};

#[derive(Debug)]
pub(crate) struct LogRequest {
    pub(crate) query: LogQuery,
    pub(crate) start: LogStart,
    pub(crate) page: OffsetPage,
}

pub(crate) fn parse(query: &Query) -> Result<LogRequest, Mistakes> {
    let mut mistakes = Mistakes::new();
    let text = |name| query.first(name).filter(|text| !text.is_empty());
    let kind = text("entity_type").map(EntityKind::parse);
    if kind == Some(None) {
        mistakes.add("entity_type", "The type is one of GET /logs/entity-types.");
    }
    let entity_id = text("entity_id").map(String::from);
    let from = time(text("start_date"), "start_date", &mut mistakes);
    let to = time(text("end_date"), "end_date", &mut mistakes);
    let page = OffsetPage::parse_up_to(query, LOG_PAGE_SIZE_MAX, &mut mistakes);
    let after = cursor::parse(text("start"), &mut mistakes);
    mistakes.into_result()?;
    let start = match after {
        None if page.number > 1 => LogStart::Skip(page.skip()),
        after => LogStart::After(after),
    };
    let query = LogQuery { kind: kind.flatten(), entity_id, act: None, from, to };
    Ok(LogRequest { query, start, page })
}

fn time(text: Option<&str>, name: &str, mistakes: &mut Mistakes) -> Option<Timestamp> {
    let text = text?;
    let at = parse_time(text);
    if at.is_none() {
        mistakes.add(name, format!("The {name} must be an ISO 8601 date or date-time."));
    }
    at
}

answer! {
    /// There are no totals: counting would open every entry of the log.
    pub(crate) LogPageAnswer<'a>(it: (TenantId, &'a LogRequest, &'a LogPage)) {
        has pagination: object(Pagination) = (it.1, it.2);
        has data: list(LogEntry "LogEntry")
            = it.2.entries.iter().map(|(id, entry)| (it.0, *id, entry));
    }

    Pagination<'a>(it: (&'a LogRequest, &'a LogPage)) {
        has page_number: count.at_least(1) = it.0.page.number;
        has page_size: count.at_least(1) = it.0.page.size;
        may_have next: text = it.1.next.as_deref().map(cursor::render).as_deref();
    }

    /// The user who ran an operator's command is not shown to tenants.
    pub(crate) LogEntry<'a>(it: (TenantId, Uuid, &'a AuditEntry)) {
        has id: id = it.1;
        has tenant_id: id = it.0;
        may_have actor_id: id = it.2.actor.id(), "The application, if one acted.";
        has actor_type: word([
            "application", "cardholder", "directory_server", "operator", "person", "proxy_caller",
            "system", "unknown",
        ]) = it.2.actor.kind();
        has entity_type: word(EntityKind::ALL.iter().map(|it| it.as_str()))
            = it.2.entity.kind.as_str();
        has entity_id: text = &it.2.entity.public_id();
        has operation: word(Act::texts()) = it.2.act.as_str();
        has message: text = &it.2.message();
        has created_at: time = it.2.at;
        has outcome: word(["success", "failure"]) = it.2.outcome();
        may_have address: display(Schema::text())
            = it.2.origin.as_ref().and_then(|it| it.address), "The client's address.";
        may_have key_id: id = it.2.origin.as_ref().and_then(|it| it.key()),
            "The API key of the request.";
        may_have trace_id: display(Schema::text())
            = it.2.origin.as_ref().and_then(|it| it.trace.as_ref()),
            "The `BT-TRACE-ID` of the request.";
        may_have person: text = person(it.2).map(|it| &*it.name),
            "The person at the console, as the sign-on named it.";
        may_have sign_on: word(SignOnWay::ALL.iter().map(|it| it.as_str()))
            = person(it.2).map(|it| it.way.as_str()), "How the person signed on.";
        may_have reason: word(RefusalReason::ALL.iter().map(|it| it.as_str()))
            = it.2.refusals.as_ref().map(|it| it.reason.as_str()), "Of refused requests.";
        may_have count: number.at_least(1) = it.2.refusals.as_ref().map(|it| it.count),
            "Of refused requests.";
        may_have first_at: time = it.2.refusals.as_ref().map(|it| it.first_at),
            "Of the first refused request.";
        may_have last_at: time = it.2.refusals.as_ref().map(|it| it.last_at),
            "Of the last refused request.";
    }

    pub(crate) LogEntityType<'a>(it: EntityKind) {
        has display_name: text = it.shown();
        has value: text(entity_type()) = it.as_str();
    }
}

pub(crate) fn entity_type() -> Schema {
    Schema::word(EntityKind::OF_TENANTS.map(EntityKind::as_str))
}

fn person(entry: &AuditEntry) -> Option<&Person> {
    entry.origin.as_ref()?.person.as_ref()
}

pub(crate) fn render_kinds() -> Json {
    list(&EntityKind::OF_TENANTS.map(LogEntityType::render))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mistaken(query: &str) -> Vec<String> {
        let found = parse(&Query::parse(query).unwrap()).map(|_| ());
        found.err().map_or_else(Vec::new, |it| it.by_path().keys().cloned().collect())
    }

    #[test]
    fn queries() {
        for good in [
            "",
            "entity_type=token&entity_id=any+text&start_date=2026-01-01&end_date=2026-01-02",
            "page=7&size=5000",
            "entity_type=&start=&start_date=",
        ] {
            assert_eq!(mistaken(good), Vec::<String>::new(), "{good}");
        }
        for (bad, name) in [
            ("entity_type=card", "entity_type"),
            ("start_date=yesterday", "start_date"),
            ("end_date=1", "end_date"),
            ("size=5001", "size"),
            ("page=0", "page"),
            ("start=z", "start"),
        ] {
            assert_eq!(mistaken(bad), [name], "{bad}");
        }
    }

    #[test]
    fn a_cursor_wins_over_a_page_number() {
        let start = |query: &str| parse(&Query::parse(query).unwrap()).unwrap().start;
        assert!(matches!(start("page=3&start=AA"), LogStart::After(Some(_))));
        assert!(matches!(start("page=3&size=10"), LogStart::Skip(20)));
        assert!(matches!(start("page=1"), LogStart::After(None)));
    }
}
