//! The errors of the interface: their causes, and the reaction that a client should have.

use serde_json::{Map, Value, json};

use crate::http::openapi::headers;
use crate::http::route::{BodyKind, Handler, Idempotency, Presence, Route};
use crate::http::{Problem, Schema};

const PROBLEM: &str = "Problem";
const PROXY_FAILURE: &str = "ProxyFailure";

struct ErrorKind {
    status: u16,
    when: &'static str,
    what_to_do: &'static str,
}

const fn kind(status: u16, when: &'static str, what_to_do: &'static str) -> ErrorKind {
    ErrorKind { status, when, what_to_do }
}

const ERRORS: &[ErrorKind] = &[
    kind(
        400,
        "The body is not JSON, or the body, the query or a header has mistakes. `errors` \
             lists all mistakes of a body by their paths.",
        "Correct the request. A repetition gets the same answer.",
    ),
    kind(
        401,
        "The key is missing, unknown or deleted, or its session is not authorized or has ended.",
        "Check the header BT-API-KEY; let a page ask for a new session.",
    ),
    kind(
        403,
        "The key has the permission in no container, or not in the containers of this request.",
        "Give the application the permission, or a rule for the container.",
    ),
    kind(
        404,
        "The path or the resource does not exist. A resource of another tenant counts as \
             not existing.",
        "Check the id and the tenant of the key.",
    ),
    kind(405, "The path does not have this method.", "Use a method that the header Allow lists."),
    kind(408, "The body arrived too slowly.", "Repeat the request, with an idempotency key."),
    kind(
        409,
        "A token with the chosen id exists, the session is authorized already, or a \
             request with the same idempotency key is under way.",
        "With Retry-After, repeat the same request after that time; else choose another id \
             or use the existing resource.",
    ),
    kind(
        410,
        "The operation was shut down or turned off, or the kept answer of a program ended with a \
             value that it was made of.",
        "Use the operation that the detail names. A program is not run again for the same \
             idempotency key.",
    ),
    kind(413, "The body is too large.", "Send less in one request."),
    kind(414, "The path is too long.", "Shorten the path."),
    kind(
        415,
        "The Content-Type is not JSON, or not a merge patch.",
        "Send the Content-Type of the operation.",
    ),
    kind(
        422,
        "The request is valid, but the state or the limits of its target forbid it.",
        "Read the detail: remove something first, or use another operation.",
    ),
    kind(
        424,
        "A server that takes part in 3-D Secure failed; `error` names it.",
        "Create a new session, or go on without authentication.",
    ),
    kind(
        429,
        "There were too many requests.",
        "Wait as long as Retry-After says, then send fewer at a time.",
    ),
    kind(431, "The headers are too large.", "Send fewer or shorter headers."),
    kind(
        500,
        "An error inside the vault; its log has the cause under the trace id.",
        "Give the trace id to the operator. Repeat a write only with the same idempotency key.",
    ),
    kind(
        501,
        "This server does not have the feature, which `feature` names; or it runs no programs; or the \
             Transfer-Encoding is not `chunked`.",
        "Do what `instead` says, and read the `chapter`; send Content-Length or `chunked`.",
    ),
    kind(
        502,
        "The destination of a proxy gave no answer that can be used, or a program failed.",
        "Ask the destination whether it got the request before sending it again.",
    ),
    kind(
        503,
        "The vault is busy, stopping, or read-only because the disk is nearly full.",
        "Repeat the request after Retry-After, a write with the same idempotency key.",
    ),
];

/// No operation has a response for these: they are answered before the operation is known.
const OF_NO_OPERATION: &[u16] = &[405];

/// The layer below the routes answers these to every request, including pages and proxies. A query
/// or a header that an operation describes can be too large in total.
const OF_EVERY_OPERATION: &[u16] = &[414, 431];

fn title(status: u16) -> &'static str {
    match status {
        // The layer below the routes answers it.
        414 => "URI Too Long",
        _ => Problem::new(status, "").title(),
    }
}

/// `x-errors`.
pub(super) fn table() -> Value {
    let row = |kind: &ErrorKind| {
        json!({
            "status": kind.status, "title": title(kind.status),
            "when": kind.when, "what_to_do": kind.what_to_do,
        })
    };
    ERRORS.iter().map(row).collect()
}

/// `components.responses`.
pub(super) fn components() -> Value {
    let mut responses = Map::new();
    for kind in ERRORS.iter().filter(|kind| !OF_NO_OPERATION.contains(&kind.status)) {
        let mut names = vec![headers::TRACE];
        if [409, 429, 503].contains(&kind.status) {
            names.push(headers::RETRY_AFTER);
        }
        if kind.status == 429 {
            names.extend(headers::RATE_LIMIT);
        }
        let schema = Schema::reference(PROBLEM).into_value();
        let response = json!({
            "description": kind.when,
            "headers": headers::references(names),
            "content": {
                "application/json": {"schema": schema},
                "application/problem+json": {"schema": schema},
            },
        });
        responses.insert(format!("{PROBLEM}{}", kind.status), response);
    }
    let trace = || headers::references([headers::TRACE, headers::RETRY_AFTER]);
    let failure = Schema::reference(PROXY_FAILURE).into_value();
    responses.insert(
        String::from(PROXY_FAILURE),
        json!({
            "description": "The vault's own failure, without BT-PROXY-DESTINATION-STATUS.",
            "headers": trace(),
            "content": {"application/json": {"schema": failure}},
        }),
    );
    responses.insert(
        String::from("PageFailure"),
        json!({
            "description": "A page that says what failed; a problem if the server is without the path.",
            "headers": trace(),
            "content": {
                "text/html": {"schema": {"type": "string"}},
                "application/json": {"schema": Schema::reference(PROBLEM).into_value()},
            },
        }),
    );
    Value::Object(responses)
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let mistakes = || {
        Schema::map(Schema::list(Schema::text()))
            .about("All mistakes of the body or the query, by their paths.")
    };
    let upstream = Schema::object()
        .about("The server of 3-D Secure that failed, for 424.")
        .has("service_status", Schema::text())
        .may_have("session_id", Schema::uuid())
        .has("error_source", Schema::text())
        .has("message", Schema::text())
        .has("detail", Schema::text())
        .has("details", Schema::text().about("The same as `detail`."))
        .closed();
    let status = || Schema::integer().between(400, 599);
    let problem = Schema::object()
        .about("Problem details by RFC 9457. They never repeat a value of the request.")
        .may_have("errors", mistakes())
        .may_have(
            "type",
            Schema::text().about("`about:blank`, or `urn:strongroom:absent-feature`."),
        )
        .has("title", Schema::text())
        .has("status", status())
        .has("detail", Schema::text())
        .may_have("trace_id", Schema::text().about("The same as BT-TRACE-ID."))
        .may_have("error", upstream)
        .may_have(
            "feature",
            Schema::text().about("The feature that this server does not have, for 501."),
        )
        .may_have("instead", Schema::text().about("What to use in its place."))
        .may_have(
            "chapter",
            Schema::text().about("The chapter about it, as a path of this server."),
        )
        .closed();
    let error = Schema::object()
        .has("errors", mistakes())
        .has("title", Schema::text())
        .has("status", status())
        .has("detail", Schema::text())
        .closed();
    let failure = Schema::object()
        .about("A failure of the vault in a call through a proxy.")
        .has("proxy_error", error)
        .closed();
    vec![(PROBLEM, problem), (PROXY_FAILURE, failure)]
}

/// The failure statuses that follow from a row.
pub(super) fn statuses(route: &Route) -> Vec<u16> {
    let mut statuses = match &route.handler {
        Handler::Operation(operation) => {
            let mut statuses = vec![400, 401, 429, 500, 503];
            if !operation.permissions.is_empty() {
                statuses.push(403);
            }
            if operation.idempotency == Idempotency::Once {
                statuses.push(409);
            }
            if operation.successor.is_some() {
                statuses.push(410);
            }
            statuses
        }
        Handler::Page(_) => vec![400, 408, 413, 429, 500, 503],
        Handler::Proxy => vec![400, 401, 403, 404, 408, 413, 429, 500, 502, 503],
        Handler::Asset(_) | Handler::Folder(_) | Handler::Probe(_) => vec![400, 429],
        Handler::Operator(_) | Handler::Preflight | Handler::Results(_) => Vec::new(),
    };
    if matches!(route.body, BodyKind::Arguments | BodyKind::Json | BodyKind::MergePatch) {
        statuses.extend([408, 413, 415]);
    }
    // The server may not have the path.
    if route.path.contains('{') || route.presence != Presence::All {
        statuses.push(404);
    }
    statuses.extend(OF_EVERY_OPERATION);
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// A reference to the response of a failure, with its own description if there is one.
pub(super) fn reference(route: &Route, status: u16, about: Option<&str>) -> Value {
    let problem = || format!("{PROBLEM}{status}");
    let name = match &route.handler {
        _ if OF_EVERY_OPERATION.contains(&status) => problem(),
        Handler::Page(_) => String::from("PageFailure"),
        Handler::Proxy => String::from(PROXY_FAILURE),
        Handler::Asset(_)
        | Handler::Folder(_)
        | Handler::Operation(_)
        | Handler::Operator(_)
        | Handler::Preflight
        | Handler::Probe(_)
        | Handler::Results(_) => problem(),
    };
    let path = format!("#/components/responses/{name}");
    match about {
        Some(about) => json!({"$ref": path, "description": about}),
        None => json!({"$ref": path}),
    }
}
