//! Token intents.

use crate::http::Schema;
use crate::http::openapi::operations::shared::token_type;
use crate::http::openapi::{Description, LOCATION, Tag};

const ANSWER: &str = r#"{"id":"01a1dd39-1b02-4c11-9a3e-5d2b7c9e4f10","type":"card",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e",
    "fingerprint":"87B3RNqLbxBQQeb528JxtQXUVDH7EVKAw8Z2SPMihLsi","card":{"authentication":null,
    "bin":"42424242","brand":"visa","expiration_month":12,"expiration_year":2030,
    "funding":"credit","last4":"4242"},"authentication":null,
    "created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10",
    "created_at":"2026-01-31T09:30:00.1234560+00:00",
    "expires_at":"2026-02-01T09:30:00.1234560+00:00"}"#;

pub(super) fn operations() -> Vec<Description> {
    let intent = || Schema::reference("TokenIntent");
    vec![
        Description::new("CreateTokenIntent", Tag::TokenIntents, "Create a token intent")
            .about("Holds a value until a program converts it. The answer never has the value.")
            .takes(
                Schema::object()
                    .has("type", token_type())
                    .has("data", Schema::any().about("The value. Its form depends on the type.")),
            )
            .sends(
                "card",
                "A card",
                r#"{"type":"card","data":{"number":"4242424242424242",
                "expiration_month":12,"expiration_year":2030,"cvc":"123"}}"#,
            )
            .answers(201, "The token intent.", intent())
            .with_header(LOCATION)
            .shows("card", "A card", ANSWER),
        Description::new("ReadTokenIntent", Tag::TokenIntents, "Read a token intent")
            .answers(200, "The token intent, without its value.", intent())
            .shows("card", "A card", ANSWER),
        Description::new("DeleteTokenIntent", Tag::TokenIntents, "Delete a token intent")
            .answers_nothing(204, "The token intent is deleted."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let intent = Schema::object()
        .has("id", Schema::uuid())
        .has("type", token_type())
        .has("tenant_id", Schema::uuid())
        .may_have("fingerprint", Schema::text())
        .may_have("card", Schema::reference("CardDetails").or_null())
        .may_have("network_token", Schema::reference("CardDetails"))
        .may_have("bank", Schema::reference("BankDetails"))
        .has("authentication", Schema::null())
        .has("created_by", Schema::uuid())
        .has("created_at", Schema::time())
        .has("expires_at", Schema::time())
        .closed();
    vec![("TokenIntent", intent)]
}
