//! Sessions of public applications.

use crate::bounds::{CONDITIONS_MAX, RULES_MAX, TOKEN_NAME_CHARS_MAX};
use crate::domain::condition::{Attribute, Operator};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    container, expires_at, permissions_request, rule_request,
};
use crate::http::openapi::{Description, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::session::SessionAnswer;

const SESSION: &str = r#"{"session_key":"key_test_self_sess_VFTqoYWFg1HDfwhV9GPVCA.b1ed5fa978c845ff3542452a9746c5d1",
    "nonce":"VHCu87x3hRnXCQ4jDAAQWn","expires_at":"2026-01-31T09:33:00.1234560+00:00"}"#;
const AUTHORIZE: &str = r#"{"nonce":"VHCu87x3hRnXCQ4jDAAQWn","rules":[{"priority":1,
    "transform":"reveal","conditions":[{"attribute":"id","operator":"equals",
    "value":"01a1dd38-4eda-4df5-855c-ecae962e987a"}],"permissions":["token:read"]}]}"#;

pub(super) fn operations() -> Vec<Description> {
    vec![
        Description::new("CreateSession", Tag::Sessions, "Create a session")
            .with_public_key()
            .about(
                "For keys of public applications. The session has no rights until a \
                 private key authorizes it.",
            )
            .answers(
                201,
                "The key of the session, and its nonce for the authorization.",
                Schema::reference("Session"),
            )
            .shows("session", "A session", SESSION)
            .fails(403, "The key is not one of a public application, or is one of a session.")
            .fails(503, "The vault is busy, or the tenant has as many sessions as it can."),
        Description::new("AuthorizeSession", Tag::Sessions, "Authorize a session")
            .about(
                "For keys of private applications, which can give no more rights than they have.",
            )
            .takes(Schema::reference("AuthorizeSessionRequest"))
            .sends("card", "The right to read one token in plain", AUTHORIZE)
            .answers_nothing(200, "The session is authorized. The answer has no body.")
            .fails(
                403,
                "The key is not one of a private application, or does not have these rights.",
            )
            .fails(404, "There is no session with this nonce.")
            .fails(409, "The session is authorized already."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let condition = Schema::object()
        .has("attribute", Schema::word(Attribute::ALL.iter().map(|it| it.as_str())))
        .has("operator", Schema::word(Operator::ALL.iter().map(|it| it.as_str())))
        .has("value", Schema::text().chars(1, TOKEN_NAME_CHARS_MAX));
    let rule = rule_request()
        .about("A rule has a container or conditions, all of which must hold.")
        .takes("container", container())
        .takes("conditions", Schema::list(condition).up_to_items(CONDITIONS_MAX));
    let authorize = Schema::object()
        .about("There must be permissions or rules.")
        .has("nonce", Schema::text().chars(1, 100))
        .takes("permissions", permissions_request())
        .takes("rules", Schema::list(rule).up_to_items(RULES_MAX))
        .takes("expires_at", expires_at().about("The end of the session, at most 24 hours ahead."));
    vec![("Session", SessionAnswer::schema()), ("AuthorizeSessionRequest", authorize)]
}
