//! Probes.

use crate::http::Schema;
use crate::http::openapi::{Description, Tag};

pub(super) fn operations() -> Vec<Description> {
    let status = |word| Schema::object().has("status", Schema::word([word])).closed();
    let ready = || {
        Schema::object()
            .has("status", Schema::word(["ready", "not_ready"]))
            .may_have(
                "checks",
                Schema::map(Schema::text())
                    .about("For management keys: each check with its reason."),
            )
            .closed()
    };
    vec![
        Description::new("Healthz", Tag::Health, "Is the server alive?")
            .answers(200, "The server answers.", status("alive"))
            .shows("alive", "Alive", r#"{"status":"alive"}"#),
        Description::new("Readyz", Tag::Health, "Is the server ready?")
            .about(
                "For load balancers. With a management key the answer has each check \
                 with its reason. With `for=reads` the server is ready while reads work, also when \
                 its disk is nearly full and it refuses changes.",
            )
            .query(
                "for",
                Schema::word(["reads", "writes"])
                    .about("The requests that the server must be ready for; else both."),
            )
            .header("BT-API-KEY", Schema::text().about("A management key, to see the checks."))
            .answers(200, "The server is ready.", ready())
            .shows("ready", "Ready", r#"{"status":"ready"}"#)
            .answers(503, "The server is not ready.", ready()),
        Description::new("Ping", Tag::Health, "Ping")
            .about("For clients of the published interface that look for the server.")
            .answers(200, "The server answers.", status("ok"))
            .shows("ok", "It answers", r#"{"status":"ok"}"#),
        Description::new("SecurityText", Tag::Health, "Whom to tell about a weakness")
            .about("The file of RFC 9116, from the settings of the operator.")
            .answers_as(200, "The file.", "text/plain; charset=utf-8", Schema::text())
            .fails(404, "The settings name no contact."),
    ]
}
