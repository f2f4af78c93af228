//! The schemas of tokens, and of the bodies that make and change them.

use crate::bounds::{
    CONTAINERS_MAX, EXPRESSION_CHARS_MAX, METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX,
    SEARCH_INDEXES_MAX, TOKEN_NAME_CHARS_MAX, TOKEN_NAME_CHARS_MIN,
};
use crate::domain::privacy::{CLASSIFICATIONS, IMPACT_LEVELS};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    container, cursor_page, expires_at, offset_page, token_type,
};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::card::CardAnswer;
use crate::http::wire::privacy::PrivacyAnswer;

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let token = || Schema::reference("Token");
    vec![
        ("Token", token_schema()),
        ("TokenPage", cursor_page(token())),
        ("TokenNumberedPage", offset_page(token())),
        ("CardDetails", CardAnswer::schema()),
        ("BankDetails", bank_details()),
        ("CreateTokenRequest", create_request()),
        ("UpdateTokenRequest", update_request()),
    ]
}

fn token_schema() -> Schema {
    Schema::object()
        .about("A token, as far as the caller may see it.")
        .has("id", Schema::text().about("A UUID, or the id that the caller chose."))
        .has("tenant_id", Schema::uuid())
        .has("type", token_type())
        .may_have(
            "data",
            Schema::any()
                .about("The value, in plain or masked; absent if the caller may not see it."),
        )
        .may_have("card", Schema::reference("CardDetails"))
        .may_have("network_token", Schema::reference("CardDetails"))
        .may_have("bank", Schema::reference("BankDetails"))
        .may_have(
            "fingerprint",
            Schema::text()
                .about("A keyed hash of the value: equal values have equal fingerprints."),
        )
        .has("containers", Schema::list(container()))
        .may_have("privacy", PrivacyAnswer::schema().deprecated())
        .may_have("mask", Schema::any().about("Expressions that select what a masked read shows."))
        .may_have("metadata", Schema::map(Schema::text()))
        .may_have("search_indexes", Schema::list(Schema::text()))
        .may_have("fingerprint_expression", Schema::text())
        .may_have("expires_at", Schema::time())
        .may_have("created_by", Schema::uuid())
        .may_have("created_at", Schema::time())
        .may_have("modified_by", Schema::uuid())
        .may_have("modified_at", Schema::time())
        .may_have("_extras", extras())
        .closed()
}

fn extras() -> Schema {
    let behavior = Schema::word(["read_existing", "update_existing"]);
    Schema::object()
        .about("In answers to writes.")
        .has("deduplicated", Schema::flag().about("True if the token existed before."))
        .may_have("deduplication_behavior", behavior)
        .closed()
}

fn bank_details() -> Schema {
    Schema::object()
        .has("routing_number", Schema::text())
        .may_have("account_number_last4", Schema::text())
        .closed()
}

fn create_request() -> Schema {
    let privacy = Schema::object()
        .takes("classification", Schema::word(CLASSIFICATIONS))
        .takes("impact_level", Schema::word(IMPACT_LEVELS))
        .deprecated();
    Schema::object()
        .about(
            "A value to store (`type`, and `data` or `encrypted`), or a token intent to convert.",
        )
        .with_one_of(&[&["type", "data"], &["type", "encrypted"], &["token_intent_id"]])
        .takes(
            "id",
            Schema::text()
                .about("An id of the caller's choice, or an expression that makes one.")
                .chars(TOKEN_NAME_CHARS_MIN, TOKEN_NAME_CHARS_MAX),
        )
        .takes("type", token_type())
        .takes("data", data())
        .takes(
            "encrypted",
            Schema::text().about("The value as a JWE, encrypted with a client encryption key."),
        )
        .takes(
            "token_intent_id",
            Schema::text().about("The intent to convert; then type and data are its own."),
        )
        .takes("privacy", privacy)
        .takes("containers", containers())
        .takes("mask", mask())
        .takes("metadata", metadata())
        .takes("search_indexes", search_indexes())
        .takes("fingerprint_expression", fingerprint_expression())
        .takes("deduplicate_token", deduplicate())
        .takes("expires_at", expires_at())
}

fn update_request() -> Schema {
    Schema::object()
        .takes("data", data().about("Members to change; the form is that of the type."))
        .takes("containers", containers())
        .takes("mask", mask())
        .takes("metadata", Schema::map(Schema::text().or_null()))
        .takes("search_indexes", search_indexes())
        .takes("fingerprint_expression", fingerprint_expression())
        .takes("deduplicate_token", deduplicate())
        .takes("expires_at", expires_at())
}

fn data() -> Schema {
    Schema::any().about(
        "The value. `card` and `network_token`: an object with `number`, and optional \
         `expiration_month`, `expiration_year` and `cvc`. `bank`: an object with `routing_number` and \
         `account_number`. `token`: any JSON. All other types: a text.",
    )
}

fn containers() -> Schema {
    Schema::list(container()).up_to_items(CONTAINERS_MAX).about(
        "The places of the token, to which access rules apply. Without them it is in the container \
         of its type, such as `/pci/high/` for a card.",
    )
}

fn mask() -> Schema {
    Schema::any().about(
        "A text or an object with expressions, such as `{{ data.number | reveal_last: 4 }}`.",
    )
}

fn metadata() -> Schema {
    Schema::map(Schema::text().or_null())
        .about("Texts that are not secret, to search by. A key has at most 100 bytes.")
        .up_to_members(METADATA_COUNT_MAX)
        .names_up_to(METADATA_KEY_BYTES_MAX)
}

fn search_indexes() -> Schema {
    Schema::list(Schema::text().chars(0, EXPRESSION_CHARS_MAX)).up_to_items(SEARCH_INDEXES_MAX).about(
        "Expressions over the data, such as `{{ data.number | last4 }}`. A search finds the token by \
         their results.",
    )
}

fn fingerprint_expression() -> Schema {
    Schema::text().chars(0, EXPRESSION_CHARS_MAX).about(
        "An expression over the data. Tokens with the same result have the same fingerprint.",
    )
}

fn deduplicate() -> Schema {
    Schema::flag().about(
        "Answers with an existing token of the same value. The tenant's \
         setting decides if it is absent.",
    )
}
