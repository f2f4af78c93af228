//! `GET /logs` and `GET /logs/entity-types`.
//!
//! The published documentation pages by cursor; the published clients page by number until a page
//! is empty. Both work: `start` continues from a `next`; without it `page` counts.

use uuid::Uuid;

use crate::app::{LogPage, LogQuery, LogStart};
use crate::bounds::LOG_PAGE_SIZE_MAX;
use crate::domain::audit::{AuditEntry, EntityKind};
use crate::domain::expires_at::parse_time;
use crate::domain::id::TenantId;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::http::wire::json::list;
use crate::http::wire::{Json, Object, OffsetPage, Query, cursor};

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

/// There are no totals: counting would open every entry of the log.
pub(crate) fn render_page(tenant: TenantId, request: &LogRequest, page: &LogPage) -> Json {
    let items: Vec<_> = page.entries.iter().map(|(id, entry)| render(tenant, *id, entry)).collect();
    let mut object = Object::new();
    object.object("pagination", |pagination| {
        pagination.count("page_number", request.page.number);
        pagination.count("page_size", request.page.size);
        pagination.optional_text("next", page.next.as_deref().map(cursor::render).as_deref());
    });
    object.list("data", &items);
    object.close()
}

fn render(tenant: TenantId, id: Uuid, entry: &AuditEntry) -> Json {
    let mut object = Object::new();
    object.display("id", id);
    object.display("tenant_id", tenant);
    object.optional_display("actor_id", entry.actor.id());
    object.text("actor_type", entry.actor.kind());
    object.text("entity_type", entry.entity.kind.as_str());
    object.text("entity_id", &entry.entity.public_id());
    object.text("operation", entry.act.as_str());
    object.text("message", &entry.message());
    object.time("created_at", entry.at);
    object.text("outcome", entry.outcome());
    // The user who ran an operator's command is not shown to tenants.
    if let Some(origin) = &entry.origin {
        object.optional_display("address", origin.address);
        object.optional_display("key_id", origin.key());
        object.optional_display("trace_id", origin.trace.as_ref());
        if let Some(person) = &origin.person {
            object.text("person", &person.name);
            object.text("sign_on", person.way.as_str());
        }
    }
    if let Some(refusals) = &entry.refusals {
        object.text("reason", refusals.reason.as_str());
        object.number("count", refusals.count);
        object.time("first_at", refusals.first_at);
        object.time("last_at", refusals.last_at);
    }
    object.close()
}

pub(crate) fn render_kinds() -> Json {
    let render = |kind: &EntityKind| {
        let mut object = Object::new();
        object.text("display_name", kind.shown());
        object.text("value", kind.as_str());
        object.close()
    };
    list(&EntityKind::OF_TENANTS.iter().map(render).collect::<Vec<_>>())
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
