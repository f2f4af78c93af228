//! The audit log of a tenant.

use crate::bounds::LOG_PAGE_SIZE_MAX;
use crate::http::Schema;
use crate::http::openapi::operations::shared::{page_number, size, start};
use crate::http::openapi::{Description, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::log::{LogEntityType, LogEntry, LogPageAnswer, entity_type};

const LOGS: &str = r#"{"pagination":{"page_number":1,"page_size":20},
    "data":[{"id":"17d58254-35f8-4edc-8e8c-37a6388ee7f8",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e",
    "actor_id":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10","actor_type":"application",
    "entity_type":"token","entity_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","operation":"read",
    "message":"Token retrieved","created_at":"2026-01-31T09:30:00.1234560+00:00",
    "outcome":"success","address":"192.0.2.17","key_id":"01a1dd38-4d59-4b27-8c1e-5a9f3e7d6c40",
    "trace_id":"9b2e4c1a-7f60-4d3b-8a5e-c0d1e2f3a4b5"}]}"#;

pub(super) fn operations() -> Vec<Description> {
    let date = |about| Schema::text().about(about).example("2026-01-31");
    vec![
        Description::new("ListLogs", Tag::Logs, "List log entries")
            .about("The newest entry comes first, as far back as the tenant's quota allows.")
            .query("entity_type", entity_type())
            .query("entity_id", Schema::text())
            .query("start_date", date("An ISO 8601 date or time, inclusive."))
            .query("end_date", date("An ISO 8601 date or time, exclusive."))
            .query("start", start())
            .query("page", page_number().about("Without effect if there is a `start`."))
            .query("size", size().between(1, LOG_PAGE_SIZE_MAX))
            .answers(200, "A page of entries.", Schema::reference("LogPage"))
            .shows("read", "A token was read", LOGS)
            .fails(422, "The page number is too high: continue with `start`."),
        Description::new("ListLogEntityTypes", Tag::Logs, "List entity types")
            .answers(200, "The values of `entity_type`.", Schema::list(LogEntityType::schema()))
            .shows("token", "One of them", r#"[{"display_name":"Token","value":"token"}]"#),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![("LogEntry", LogEntry::schema()), ("LogPage", LogPageAnswer::schema())]
}
