//! The headers of requests and answers that operations share.

use serde_json::{Map, Value, json};

use crate::bounds::{IDEMPOTENCY_KEY_BYTES_MAX, TRACE_BYTES_MAX};
use crate::http::Schema;

pub(super) const TRACE: &str = "BT-TRACE-ID";
pub(super) const REPLAYED: &str = "BT-IDEMPOTENT-REPLAYED";
pub(super) const LOCATION: &str = "Location";
pub(super) const ETAG: &str = "ETag";
pub(super) const DESTINATION_STATUS: &str = "BT-PROXY-DESTINATION-STATUS";
pub(super) const RETRY_AFTER: &str = "Retry-After";
pub(super) const DEPRECATION: &[&str] = &["Deprecation", "Sunset", "Link"];
pub(super) const RATE_LIMIT: &[&str] =
    &["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// `components.headers`.
pub(super) fn components() -> Value {
    let number = || Schema::integer().at_least(0);
    let all = [
        (TRACE, Schema::text(), "The id of the request in the server's log."),
        (
            REPLAYED,
            Schema::word(["true"]),
            "The answer repeats an earlier one with this idempotency key.",
        ),
        (LOCATION, Schema::text(), "The URL of the new resource."),
        (ETAG, Schema::text(), "The version of the content, for `If-None-Match`."),
        (
            DESTINATION_STATUS,
            Schema::text(),
            "The destination's status. The answer is the vault's own if this header is absent.",
        ),
        (RETRY_AFTER, number(), "Seconds to wait before the next try."),
        (
            "Deprecation",
            Schema::text(),
            "The time since which the operation is deprecated (RFC 9745).",
        ),
        ("Sunset", Schema::text(), "The time of the published end of the operation (RFC 8594)."),
        ("Link", Schema::text(), "The operation that replaces it, as `successor-version`."),
        (
            "X-RateLimit-Limit",
            number(),
            "Requests that the counter that refused allows in its period.",
        ),
        ("X-RateLimit-Remaining", number(), "Requests that are left in the period."),
        (
            "X-RateLimit-Reset",
            number(),
            "The time at which the counter is full again, in seconds since 1970.",
        ),
    ];
    let header = |(name, schema, about): (&str, Schema, &str)| {
        let mut header = json!({"description": about, "schema": schema.into_value()});
        if let (TRACE, Some(members)) = (name, header.as_object_mut()) {
            members.insert(String::from("required"), Value::from(true));
        }
        (String::from(name), header)
    };
    Value::Object(all.into_iter().map(header).collect())
}

/// References to headers of this name among the components.
pub(super) fn references<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    let mut headers = Map::new();
    for name in names {
        headers.insert(String::from(name), json!({"$ref": format!("#/components/headers/{name}")}));
    }
    Value::Object(headers)
}

/// `components.parameters`.
pub(super) fn parameters() -> Value {
    let key = Schema::text().chars(1, IDEMPOTENCY_KEY_BYTES_MAX).pattern("^[!-~]+$");
    let trace = format!(
        "An id of the caller's choice, which the answer and the server's log repeat. The server \
         chooses one itself in place of an id that is longer than {TRACE_BYTES_MAX} characters or \
         has others than visible ASCII.",
    );
    json!({
        "IdempotencyKey": {
            "name": "BT-IDEMPOTENCY-KEY", "in": "header", "schema": key.into_value(),
            "description": "Makes a repetition safe: a further request with the same key gets the \
                first answer for 24 hours. It must not be guessable, so use a random UUID.",
        },
        "TraceId": {
            "name": TRACE, "in": "header", "schema": Schema::text().into_value(),
            "description": trace,
        },
    })
}

pub(super) fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}
