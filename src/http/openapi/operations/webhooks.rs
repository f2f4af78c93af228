//! Webhooks, and the key that verifies their signatures.

use crate::bounds::{EMAIL_CHARS_MAX, NAME_CHARS_MAX, WEBHOOK_EVENTS_MAX, WEBHOOKS_MAX};
use crate::domain::https_url::URL_CHARS_MAX;
use crate::domain::webhook::{EventKind, WebhookStatus};
use crate::http::openapi::description::Description;
use crate::http::openapi::headers::LOCATION;
use crate::http::openapi::operations::shared::{by_cursor, cursor_page, cursor_page_of};
use crate::http::openapi::tags::Tag;
use crate::http::schema::Schema;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::webhook::{EventAnswer, WebhookAnswer};

const CREATE: &str = r#"{"name":"Orders","url":"https://shop.example/hooks",
    "events":["token.created","token.deleted"]}"#;
const UPDATE: &str = r#"{"name":"Orders","url":"https://shop.example/hooks",
    "events":["token.created"],"status":"disabled"}"#;
const WEBHOOK: &str = r#"{"id":"01a1dd3c-5a60-4c9d-a7e1-2b3c4d5e6f70",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","status":"enabled","name":"Orders",
    "url":"https://shop.example/hooks","events":["token.created","token.deleted"],
    "created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;

pub(super) fn operations() -> Vec<Description> {
    let webhook = || Schema::reference("Webhook");
    vec![
        Description::new("CreateWebhook", Tag::Webhooks, "Create a webhook")
            .takes(Schema::reference("WebhookRequest"))
            .sends("tokens", "Two events of tokens", CREATE)
            .answers(201, "The webhook.", webhook())
            .with_header(LOCATION)
            .shows("tokens", "A webhook", WEBHOOK)
            .fails(422, "The tenant has five webhooks already."),
        by_cursor(Description::new("ListWebhooks", Tag::Webhooks, "List webhooks"))
            .answers(
                200,
                "A page of webhooks.",
                cursor_page(webhook()).about(&format!("A tenant has at most {WEBHOOKS_MAX}.")),
            )
            .shows("tokens", "A webhook", cursor_page_of(WEBHOOK)),
        Description::new("ListWebhookEventTypes", Tag::Webhooks, "List event types")
            .answers(200, "The names of all events.", Schema::list(event()))
            .shows("some", "Some of them", r#"["token.created","token.read","token.deleted"]"#),
        Description::new("ReadWebhook", Tag::Webhooks, "Read a webhook")
            .answers(200, "The webhook.", webhook())
            .shows("tokens", "A webhook", WEBHOOK),
        Description::new("UpdateWebhook", Tag::Webhooks, "Change a webhook")
            .about(
                "Replaces name, URL, events and e-mail address. Without `status` the \
                 webhook stays enabled or disabled.",
            )
            .takes(Schema::reference("UpdateWebhookRequest"))
            .sends("disable", "One event, and no deliveries for now", UPDATE)
            .answers(200, "The webhook.", webhook())
            .shows("tokens", "A webhook", WEBHOOK),
        Description::new("DeleteWebhook", Tag::Webhooks, "Delete a webhook")
            .about("Events that wait for it are not sent.")
            .answers_nothing(204, "The webhook is deleted."),
        Description::new("TestWebhook", Tag::Webhooks, "Send a test event")
            .about(
                "Sends an event of type `webhook.test` to this webhook, whatever it subscribes to. It is \
                 signed, delivered and repeated as other events are. Each request sends another one. \
                 The published interface does not have this operation.",
            )
            .answers(202, "The event waits for its delivery.", EventAnswer::schema())
            .shows("event", "An event", r#"{"id":"01a1dd3c-7b12-4d3e-9f45-6a7b8c9d0e1f"}"#)
            .fails(422, "The webhook is disabled, or too many events wait for webhooks."),
        Description::new("WebhookKey", Tag::Webhooks, "Read the public key of webhooks")
            .about("Receivers verify the signatures of deliveries with it.")
            .answers_as(200, "The key in PEM.", "application/x-pem-file", Schema::text())
            .fails(404, "There is no such key: it is made when the first webhook is created.")
            .fails(503, "The key cannot be read now."),
    ]
}

fn event() -> Schema {
    Schema::reference("EventType")
}

fn status() -> Schema {
    Schema::word(WebhookStatus::ALL.map(WebhookStatus::as_str))
}

fn request() -> Schema {
    Schema::object()
        .has("name", Schema::text().chars(1, NAME_CHARS_MAX))
        .has(
            "url",
            Schema::text().about("An https URL.").chars(1, URL_CHARS_MAX).pattern("^https://"),
        )
        .has("events", Schema::list(event()).at_least_items(1).up_to_items(WEBHOOK_EVENTS_MAX))
        .takes(
            "notify_email",
            Schema::text()
                .about("Kept and shown; this server sends no e-mail.")
                .chars(3, EMAIL_CHARS_MAX),
        )
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("EventType", Schema::word(EventKind::published().map(EventKind::as_str))),
        ("Webhook", WebhookAnswer::schema()),
        ("WebhookRequest", request()),
        ("UpdateWebhookRequest", request().takes("status", status())),
    ]
}
