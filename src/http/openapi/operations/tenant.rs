//! The caller's own tenant.

use crate::bounds::{NAME_CHARS_MAX, SETTING_BYTES_MAX, SETTINGS_MAX};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{by_number, offset_page};
use crate::http::openapi::{Description, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::tenant::{TenantAnswer, Usage};

const TENANT: &str = r#"{"id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e",
    "owner_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","name":"Shop","type":"test",
    "created_at":"2026-01-31T09:30:00.1234560+00:00","settings":{"deduplicate_tokens":"true",
    "tokenize_limit":"5","detokenize_limit":"5","cvc_retention":"3600","token_intent_retention":"86400",
    "log_retention":"86400","rate_limit":"default","token_limit":"unlimited"}}"#;
const EMPTY: &str = r#"{"pagination":{"total_items":0,"page_number":1,"page_size":20,
    "total_pages":0},"data":[]}"#;

pub(super) fn operations() -> Vec<Description> {
    let tenant = || Schema::reference("Tenant");
    let no_one = || offset_page(Schema::object());
    let role = Schema::object().has("name", Schema::text()).closed();
    vec![
        Description::new("ReadTenant", Tag::Tenant, "Read the tenant")
            .answers(200, "The tenant, with its settings and its quotas among them.", tenant())
            .shows("test", "A test tenant", TENANT),
        Description::new("UpdateTenant", Tag::Tenant, "Change the tenant")
            .about(
                "Replaces the name and, if given, all settings. The operator sets the \
                 quotas, which are shown among the settings.",
            )
            .takes(Schema::reference("UpdateTenantRequest"))
            .sends(
                "deduplicate",
                "Deduplication for all tokens",
                r#"{"name":"Shop",
                "settings":{"deduplicate_tokens":"true",
                "token_deduplication_behavior":"read_existing"}}"#,
            )
            .answers(200, "The tenant.", tenant())
            .shows("test", "A test tenant", TENANT),
        Description::new("DeleteTenant", Tag::Tenant, "Delete the tenant")
            .about(
                "Deletes the tenant with everything that it has: tokens, token intents, \
                 applications, keys, sessions, proxies, webhooks and events that wait. There is no \
                 way back. With the answer, the encryption keys of the tenant are destroyed and all \
                 its API keys are refused, also that of this request. The server removes the \
                 unreadable rest in the background. Webhooks do not hear of it.",
            )
            .answers_nothing(204, "The tenant is deleted."),
        Description::new("ReadTenantUsage", Tag::Tenant, "Count the tokens")
            .about(
                "The tokens of each type are counted for tenants with up to 250,000 \
                 tokens; beyond that there is the total alone.",
            )
            .answers(200, "The numbers of tokens.", Schema::reference("Usage"))
            .shows(
                "cards",
                "Two tokens",
                r#"{"token_report":{"metrics_by_type":{"card":{"count":2,
                "last_created_at":"2026-01-31T09:30:00.1234560+00:00"}},"total_tokens":2},
                "total_tokens":2}"#,
            ),
        by_number(Description::new("ListTenantMembers", Tag::Tenant, "List members"))
            .answers(200, "An empty page: this server has no users.", no_one())
            .shows("empty", "An empty page", EMPTY),
        by_number(Description::new("ListTenantInvitations", Tag::Tenant, "List invitations"))
            .answers(200, "An empty page: this server has no users.", no_one())
            .shows("empty", "An empty page", EMPTY),
        Description::new("ListRoles", Tag::Tenant, "List roles")
            .answers(200, "The roles of the published interface.", Schema::list(role))
            .shows(
                "roles",
                "All roles",
                r#"[{"name":"OWNER"},{"name":"ADMIN"},{"name":"READ_ONLY"}]"#,
            ),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let tenant = TenantAnswer::schema().has("settings", Schema::map(Schema::text()));
    let request = Schema::object()
        .has("name", Schema::text().chars(1, NAME_CHARS_MAX))
        .takes("settings", settings());
    vec![("Tenant", tenant), ("UpdateTenantRequest", request), ("Usage", Usage::schema())]
}

/// All values are texts, even of settings that are on or off.
fn settings() -> Schema {
    let flag = || Schema::word(["true", "false"]);
    Schema::map(Schema::text().chars(0, SETTING_BYTES_MAX).or_null())
        .up_to_members(SETTINGS_MAX)
        .names_up_to(SETTING_BYTES_MAX)
        .takes(
            "deduplicate_tokens",
            flag().about("Deduplicates tokens whose request does not say."),
        )
        .takes("fingerprint_tokens", flag())
        .takes("disable_ephemeral_proxy", flag().about("Allows pre-configured proxies only."))
        .takes(
            "destroy_cvc_after_use",
            flag().about(
                "Destroys a card verification code after the first successful call through a \
                 proxy, or of a reactor, that used it.",
            ),
        )
        .takes("token_deduplication_behavior", Schema::word(["read_existing", "update_existing"]))
}
