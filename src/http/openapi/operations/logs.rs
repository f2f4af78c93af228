//! The audit log of a tenant.

use crate::bounds::LOG_PAGE_SIZE_MAX;
use crate::domain::audit::{Act, EntityKind, RefusalReason};
use crate::domain::person::SignOnWay;
use crate::http::Schema;
use crate::http::openapi::operations::shared::{page_number, size, start};
use crate::http::openapi::{Description, Tag};

const LOGS: &str = r#"{"pagination":{"page_number":1,"page_size":20},
    "data":[{"id":"17d58254-35f8-4edc-8e8c-37a6388ee7f8",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e",
    "actor_id":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10","actor_type":"application",
    "entity_type":"token","entity_id":"01a1dd38-4eda-4df5-855c-ecae962e987a","operation":"read",
    "message":"Token retrieved","created_at":"2026-01-31T09:30:00.1234560+00:00",
    "outcome":"success","address":"192.0.2.17","key_id":"01a1dd38-4d59-4b27-8c1e-5a9f3e7d6c40",
    "trace_id":"9b2e4c1a-7f60-4d3b-8a5e-c0d1e2f3a4b5"}]}"#;

pub(super) fn operations() -> Vec<Description> {
    let kind =
        Schema::object().has("display_name", Schema::text()).has("value", entity_type()).closed();
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
            .answers(200, "The values of `entity_type`.", Schema::list(kind))
            .shows("token", "One of them", r#"[{"display_name":"Token","value":"token"}]"#),
    ]
}

fn entity_type() -> Schema {
    Schema::word(EntityKind::OF_TENANTS.map(EntityKind::as_str))
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let pagination = Schema::object()
        .has("page_number", Schema::integer().at_least(1))
        .has("page_size", Schema::integer().at_least(1))
        .may_have("next", Schema::text())
        .closed();
    let actors = [
        "application",
        "cardholder",
        "directory_server",
        "operator",
        "person",
        "proxy_caller",
        "system",
        "unknown",
    ];
    let reasons = RefusalReason::ALL.iter().map(|it| it.as_str());
    let entry = Schema::object()
        .has("id", Schema::uuid())
        .has("tenant_id", Schema::uuid())
        .may_have("actor_id", Schema::uuid().about("The application, if one acted."))
        .has("actor_type", Schema::word(actors))
        .has("entity_type", Schema::word(EntityKind::ALL.iter().map(|it| it.as_str())))
        .has("entity_id", Schema::text())
        .has("operation", Schema::word(Act::texts()))
        .has("message", Schema::text())
        .has("created_at", Schema::time())
        .has("outcome", Schema::word(["success", "failure"]))
        .may_have("address", Schema::text().about("The client's address."))
        .may_have("key_id", Schema::uuid().about("The API key of the request."))
        .may_have("trace_id", Schema::text().about("The `BT-TRACE-ID` of the request."))
        .may_have(
            "person",
            Schema::text().about("The person at the console, as the sign-on named it."),
        )
        .may_have(
            "sign_on",
            Schema::word(SignOnWay::ALL.iter().map(|it| it.as_str()))
                .about("How the person signed on."),
        )
        .may_have("reason", Schema::word(reasons).about("Of refused requests."))
        .may_have("count", Schema::integer().at_least(1).about("Of refused requests."))
        .may_have("first_at", Schema::time().about("Of the first refused request."))
        .may_have("last_at", Schema::time().about("Of the last refused request."))
        .closed();
    let page = Schema::object()
        .has("pagination", pagination)
        .has("data", Schema::list(Schema::reference("LogEntry")))
        .closed();
    vec![("LogEntry", entry), ("LogPage", page)]
}
