//! The operations that only the console needs.

use crate::bounds::{
    ACTIVITY_HOURS, ACTIVITY_MINUTES, ACTIVITY_ROUTES_MAX, CALL_FAILURES_KEPT, CONSOLE_NAMES_MAX,
    PERMISSIONS_MAX, PROXIES_MAX, REACTORS_MAX, RULES_MAX, THREEDS_LISTED_MAX, WEBHOOKS_MAX,
};
use crate::domain::application::ApplicationKind;
use crate::domain::person::{ConsoleRole, SignOnWay};
use crate::domain::quota::Quotas;
use crate::domain::tenant::TenantKind;
use crate::domain::webhook::WebhookStatus;
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    container, cursor_page, permissions_request, rule_request, start, transform,
};
use crate::http::openapi::{Description, Tag};

const PREVIEW: &str = r#"{"type":"private","permissions":["proxy:invoke"],
    "rules":[{"priority":1,"container":"/pci/","transform":"mask","permissions":["token:read"]}],
    "container":"/pci/high/"}"#;
const PREVIEWED: &str = r#"{"valid":true,"errors":{},"container":"/pci/high/","reveals":false,
    "token_permissions":[
    {"permission":"token:create","allowed":false,"shows":"nothing"},
    {"permission":"token:read","allowed":true,"by":"rule","rule":0,"transform":"mask",
    "shows":"mask"},
    {"permission":"token:search","allowed":false,"shows":"nothing"},
    {"permission":"token:update","allowed":false,"shows":"nothing"},
    {"permission":"token:delete","allowed":false,"shows":"nothing"},
    {"permission":"token:use","allowed":false,"shows":"nothing"}],
    "other_permissions":["proxy:invoke"]}"#;

pub(super) fn operations() -> Vec<Description> {
    let new = |route, summary| Description::new(route, Tag::Console, summary);
    vec![
        new("ConsoleActivity", "Count requests over time")
            .about(
                "The requests of the tenant's keys by minute for an hour and by hour for a day, since \
                 the start of the server. The counts are in memory.",
            )
            .answers(200, "The counts.", Schema::reference("ConsoleActivity")),
        new("ConsoleKeys", "List API keys with their last use")
            .about("All keys of all applications, without their texts.")
            .answers(200, "The keys.", data(Schema::reference("ConsoleKey"))),
        new("ConsoleLimits", "Show quotas and limits with their use")
            .answers(200, "The limits.", Schema::reference("ConsoleLimits")),
        new("ConsoleProxies", "Count calls through proxies")
            .about("Calls and failures of each proxy since the start of the server, in memory.")
            .answers(200, "The proxies.", called_proxies()),
        new("ConsoleReactors", "Count calls of reactors")
            .about(
                "Calls and last failures of each reactor since the start of the server, in memory, and \
                 whether programs run here. A call counts when its arguments were accepted.",
            )
            .answers(200, "The reactors.", called_reactors()),
        new("ConsoleRulesPreview", "Preview access rules in a container")
            .about(
                "What an application with this type, these permissions and these rules could do with \
                 the tokens of a container. Nothing is stored. Mistakes of the body are in `errors`, as \
                 `POST /applications` would report them.",
            )
            .takes(preview_request())
            .sends("masked", "A rule that masks", PREVIEW)
            .answers(200, "The preview.", Schema::reference("ConsoleRulesPreview"))
            .shows("masked", "A rule that masks", PREVIEWED),
        new("ConsoleSignOn", "Open the console as a person")
            .about(
                "For the console's page, behind the operator's sign-on and without an API key: writes \
                 an audit entry with the person's name. The header `Strongroom-Console` names the \
                 tenant. A call with an API key is answered 403.",
            )
            .without_key()
            .header("Strongroom-Console", Schema::uuid().about("The id of the tenant."))
            .answers(200, "The person.", signed_on())
            .fails(403, "The request has an API key, or comes from another site."),
        new("ConsoleSignOnWays", "How people sign on to the console")
            .about(
                "Whether the console takes management keys, and whether the operator's sign-on stands \
                 in front of it. If it does, a page of this server also gets the person, the role and \
                 the tenants, or the reason of a refusal.",
            )
            .answers(200, "The ways.", sign_on_ways()),
        new("ConsoleThreedsSessions", "List 3DS sessions")
            .about(
                "The newest sessions first, as far back as the tenant's log goes. A page may be short \
                 and still have a next one.",
            )
            .query("start", start())
            .answers(200, "A page of sessions.", cursor_page(Schema::reference("ConsoleThreedsSession")).about(&format!(
                "A page has at most {THREEDS_LISTED_MAX} sessions."
            ))),
        new("ConsoleWebhooks", "Show the queues and failures of webhooks").answers(
            200,
            "The webhooks.",
            Schema::object()
                .has("data", Schema::list(queued_webhook()).up_to_items(WEBHOOKS_MAX))
                .closed(),
        ),
    ]
}

fn data(items: Schema) -> Schema {
    Schema::object().has("data", Schema::list(items)).closed()
}

fn of_person(schema: Schema) -> Schema {
    schema
        .may_have("person", Schema::text())
        .may_have("role", Schema::word(ConsoleRole::ALL.iter().map(|it| it.as_str())))
        .may_have("way", Schema::word(SignOnWay::ALL.iter().map(|it| it.as_str())))
}

fn signed_on() -> Schema {
    of_person(Schema::object())
        .may_have("permissions", Schema::list(Schema::text()).up_to_items(PERMISSIONS_MAX))
        .has("tenant_id", Schema::uuid())
        .has("tenant_name", Schema::text())
        .closed()
}

fn sign_on_ways() -> Schema {
    let tenant = Schema::object().has("id", Schema::uuid()).has("name", Schema::text()).closed();
    of_person(Schema::object())
        .has("management_keys", Schema::flag())
        .has("sign_on", Schema::flag())
        .may_have("sign_out", Schema::text().about("The address of the link to sign out."))
        .may_have("tenants", Schema::list(tenant).up_to_items(CONSOLE_NAMES_MAX))
        .may_have("refusal", Schema::text())
        .closed()
}

fn count() -> Schema {
    Schema::integer().at_least(0)
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let key = Schema::object()
        .has("application_id", Schema::uuid())
        .has("key_id", Schema::uuid())
        .has("created_at", Schema::time())
        .may_have("created_by", Schema::uuid())
        .may_have(
            "last_used_at",
            Schema::time().about("The minute in which a request last had the key."),
        )
        .has("is_current", Schema::flag().about("True for the key of this request."));
    vec![
        ("ConsoleActivity", activity()),
        ("ConsoleKey", key.closed()),
        ("ConsoleLimits", limits()),
        ("ConsoleRulesPreview", preview()),
        ("ConsoleThreedsSession", session()),
    ]
}

fn activity() -> Schema {
    let span = || {
        Schema::object()
            .has("at", Schema::time())
            .has("ok", count())
            .has("refused", count().about("4xx without 429."))
            .has("limited", count().about("429."))
            .has("failed", count().about("5xx."))
            .closed()
    };
    let spans = |number| Schema::list(span()).at_least_items(number).up_to_items(number);
    let server = Schema::object()
        .has("version", Schema::text())
        .has("started_at", Schema::time())
        .has("ready", Schema::flag())
        .closed();
    let route = Schema::object().has("route", Schema::text()).has("requests", count()).closed();
    Schema::object()
        .has("now", Schema::time())
        .has("server", server)
        .has("since", Schema::time().about("Requests before this time are not counted."))
        .has("minutes", spans(ACTIVITY_MINUTES))
        .has("hours", spans(ACTIVITY_HOURS))
        .has("routes", Schema::list(route).up_to_items(ACTIVITY_ROUTES_MAX))
        .closed()
}

fn limits() -> Schema {
    let quota = Schema::object()
        .has("name", Schema::word(Quotas::NAMES))
        .has("value", Schema::text())
        .has("unit", Schema::word(["count", "rate", "seconds"]))
        .closed();
    let usage = Schema::object()
        .has("name", Schema::text())
        .has("used", count())
        .may_have("limit", count().about("Absent without a limit."))
        .closed();
    let busiest = Schema::object()
        .has("application_id", Schema::uuid())
        .has("key_id", Schema::uuid())
        .has("used", count())
        .closed();
    let row = Schema::object()
        .has("row", Schema::text())
        .has("title", Schema::text().about("The requests that it counts, in words."))
        .has(
            "counted_by",
            Schema::text().about("The thing that has a counter of its own, in words."),
        )
        .has("requests", count())
        .has("seconds", count())
        .has("action", Schema::word(["block", "throttle"]))
        .may_have("block_seconds", count())
        .may_have("used", count().about("By this key, at this address."))
        .may_have("busiest", busiest.about("The key that has used most."))
        .closed();
    Schema::object()
        .has("quotas", Schema::list(quota))
        .has("usage", Schema::list(usage))
        .has("rate_limit", Schema::text().about("`default`, `unlimited`, or a factor as `10x`."))
        .has("limiter", Schema::word(["off", "on"]))
        .has("rate_limits", Schema::list(row))
        .closed()
}

fn preview_request() -> Schema {
    let kinds = [ApplicationKind::Management, ApplicationKind::Private, ApplicationKind::Public];
    Schema::object()
        .has("type", Schema::word(kinds.map(ApplicationKind::as_str)))
        .takes("permissions", permissions_request())
        .takes(
            "rules",
            Schema::list(rule_request().has("container", container())).up_to_items(RULES_MAX),
        )
        .has("container", container())
}

fn preview() -> Schema {
    let permission = Schema::object()
        .has("permission", Schema::reference("Permission"))
        .has("allowed", Schema::flag())
        .may_have("by", Schema::word(["permission", "rule"]))
        .may_have("rule", count().about("The place of the rule in the body's `rules`."))
        .may_have("transform", transform())
        .has(
            "shows",
            Schema::word(["mask", "nothing", "outline", "redact", "reveal"])
                .about("The part of a token that the answer of such a request shows."),
        )
        .closed();
    let errors = Schema::map(Schema::list(Schema::text()));
    Schema::object()
        .has("valid", Schema::flag())
        .has("errors", errors.about("Messages by the path of the member."))
        .may_have("container", container())
        .has("reveals", Schema::flag().about("Some right shows values in plain."))
        .has("token_permissions", Schema::list(permission))
        .has(
            "other_permissions",
            Schema::list(Schema::reference("Permission")).up_to_items(PERMISSIONS_MAX),
        )
        .closed()
}

fn called_proxies() -> Schema {
    let failure = Schema::object()
        .has("at", Schema::time())
        .has(
            "kind",
            Schema::word([
                "answer_transform",
                "broken",
                "destination_status",
                "invalid",
                "program",
                "refused",
                "timed_out",
                "unreachable",
                "vault",
            ]),
        )
        .may_have("destination_status", Schema::integer().between(400, 599))
        .closed();
    let proxy = Schema::object()
        .has("id", Schema::uuid())
        .has("name", Schema::text())
        .has("calls", count())
        .has("failures", count())
        .may_have("last_failure", failure)
        .closed();
    Schema::object()
        .has("since", Schema::time())
        .has("data", Schema::list(proxy).up_to_items(PROXIES_MAX))
        .closed()
}

fn called_reactors() -> Schema {
    let failure = Schema::object()
        .has("at", Schema::time())
        .has("reason", Schema::text().about("A sentence for each kind of failure."))
        .may_have("trace_id", Schema::text())
        .closed();
    let reactor = Schema::object()
        .has("id", Schema::uuid())
        .has("name", Schema::text())
        .has("calls", count())
        .has("failures", count())
        .has(
            "last_failures",
            Schema::list(failure).up_to_items(CALL_FAILURES_KEPT).about("Newest first."),
        )
        .closed();
    Schema::object()
        .has("tenant_type", Schema::word(TenantKind::ALL.map(TenantKind::as_str)))
        .has("runs_programs", Schema::flag())
        .may_have("obstacle", Schema::text().about("The reason for which no program runs."))
        .has("since", Schema::time())
        .has("data", Schema::list(reactor).up_to_items(REACTORS_MAX))
        .closed()
}

fn queued_webhook() -> Schema {
    let failure = Schema::object()
        .has("at", Schema::time())
        .has("kind", Schema::word(["broken", "refused", "status", "timed_out", "unreachable"]))
        .may_have("status", Schema::integer().between(100, 999))
        .closed();
    Schema::object()
        .has("id", Schema::uuid())
        .has("name", Schema::text())
        .has("status", Schema::word(WebhookStatus::ALL.map(WebhookStatus::as_str)))
        .has("waiting", count())
        .may_have("oldest_waiting_at", Schema::time())
        .has("failed_attempts", count().about("Since the last success and since the start."))
        .may_have("failing_since", Schema::time())
        .may_have("last_failure", failure)
        .may_have("disabled_since", Schema::time())
        .closed()
}

fn session() -> Schema {
    let steps = [
        "challenged",
        "created",
        "decided",
        "decoupled",
        "expired",
        "failed",
        "removed",
        "requested",
        "timed_out",
    ];
    Schema::object()
        .has("id", Schema::uuid())
        .has("created_at", Schema::time())
        .has("step", Schema::word(steps))
        .may_have("created_by", Schema::uuid())
        .may_have("modified_at", Schema::time())
        .may_have("expires_at", Schema::time())
        .may_have("type", Schema::word(["customer", "merchant"]))
        .may_have("device", Schema::word(["browser", "mobile"]))
        .may_have("outcome", Schema::text().about("As `authentication_status` of the session."))
        .closed()
}
