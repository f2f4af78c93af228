//! The operations that only the console needs.

use crate::bounds::{CONSOLE_NAMES_MAX, PERMISSIONS_MAX, RULES_MAX, THREEDS_LISTED_MAX};
use crate::domain::application::ApplicationKind;
use crate::domain::person::{ConsoleRole, SignOnWay};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    container, cursor_page, permissions_request, rule_request, start,
};
use crate::http::openapi::{Description, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::console::activity::Activity;
use crate::http::wire::console::limits::Limits;
use crate::http::wire::console::preview::ConsoleRulesPreview;
use crate::http::wire::console::{
    ConsoleKey, ConsoleKeys, ConsoleProxies, ConsoleReactors, ConsoleThreedsSession,
    ConsoleWebhooks,
};

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
            .answers(200, "The keys.", ConsoleKeys::schema()),
        new("ConsoleLimits", "Show quotas and limits with their use")
            .answers(200, "The limits.", Schema::reference("ConsoleLimits")),
        new("ConsoleProxies", "Count calls through proxies")
            .about("Calls and failures of each proxy since the start of the server, in memory.")
            .answers(200, "The proxies.", ConsoleProxies::schema()),
        new("ConsoleReactors", "Count calls of reactors")
            .about(
                "Calls and last failures of each reactor since the start of the server, in memory, and \
                 whether programs run here. A call counts when its arguments were accepted.",
            )
            .answers(200, "The reactors.", ConsoleReactors::schema()),
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
        new("ConsoleWebhooks", "Show the queues and failures of webhooks")
            .answers(200, "The webhooks.", ConsoleWebhooks::schema()),
    ]
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

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("ConsoleActivity", Activity::schema()),
        ("ConsoleKey", ConsoleKey::schema()),
        ("ConsoleLimits", Limits::schema()),
        ("ConsoleRulesPreview", ConsoleRulesPreview::schema()),
        ("ConsoleThreedsSession", ConsoleThreedsSession::schema()),
    ]
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
