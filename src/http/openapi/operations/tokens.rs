//! Tokens: create, read, list, search, change, delete, and in bulk.

use crate::bounds::{
    CONTAINERS_MAX, EXPRESSION_CHARS_MAX, LIST_IDS_MAX, METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX,
    SEARCH_INDEXES_MAX, SEARCH_QUERY_CHARS_MAX, TOKEN_NAME_CHARS_MAX, TOKEN_NAME_CHARS_MIN,
};
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::privacy::{CLASSIFICATIONS, IMPACT_LEVELS};
use crate::http::openapi::description::Description;
use crate::http::openapi::headers::LOCATION;
use crate::http::openapi::operations::shared::{
    by_cursor, by_number, container, cursor_page, expires_at, offset_page, page_number, size,
    start, token_id, token_type,
};
use crate::http::openapi::schema::Schema;
use crate::http::openapi::tags::Tag;

const CARD: &str = r#"{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"},"metadata":{"order":"1001"}}"#;
const SSN: &str = r#"{"id":"{{ data | alias_preserve_length: 2, 4 }}","type":"social_security_number","data":"123-45-6789","containers":["/pii/high/"],"search_indexes":["{{ data | last4 }}"],"deduplicate_token":false}"#;
const ANY: &str = r#"{"type":"token","data":{"name":"Ada Lovelace","notes":["any","JSON"]},"mask":{"name":"{{ data.name | reveal_first: 1 }}"},"expires_at":"2035-01-31T00:00:00Z"}"#;
const CARD_ANSWER: &str = r#"{"id":"01a1dd38-4eda-4df5-855c-ecae962e987a","tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"},"card":{"authentication":null,"bin":"42424242","brand":"visa","expiration_month":12,"expiration_year":2030,"funding":"credit","last4":"4242"},"fingerprint":"87B3RNqLbxBQQeb528JxtQXUVDH7EVKAw8Z2SPMihLsi","containers":["/pci/high/"],"privacy":{"classification":"pci","impact_level":"high","restriction_policy":"mask"},"mask":{"number":"{{ data.number | reveal_last: 4 }}","expiration_month":"{{ data.expiration_month }}","expiration_year":"{{ data.expiration_year }}"},"metadata":{"order":"1001"},"search_indexes":[],"fingerprint_expression":"{{ data.number }}","created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10","created_at":"2026-01-31T09:30:00.123456+00:00","_extras":{"deduplicated":false}}"#;
const MASKED: &str = r#"{"id":"01a1dd38-4eda-4df5-855c-ecae962e987a","tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","type":"card","data":{"number":"XXXXXXXXXXXX4242","expiration_month":12,"expiration_year":2030},"containers":["/pci/high/"],"metadata":{"order":"1001"},"search_indexes":[],"fingerprint_expression":"{{ data.number }}","created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10","created_at":"2026-01-31T09:30:00.123456+00:00"}"#;

pub(super) fn operations() -> Vec<Description> {
    let mut all = single();
    all.extend(lists());
    all.extend(bulk());
    all
}

fn single() -> Vec<Description> {
    let token = || Schema::reference("Token");
    vec![
        Description::new("CreateToken", Tag::Tokens, "Create a token")
            .about("Stores a value and answers with its token. With `token_intent_id` it converts a token intent instead. With deduplication the answer may be an existing token; `_extras` says so.")
            .takes(Schema::reference("CreateTokenRequest"))
            .sends("card", "A card", CARD)
            .sends("any", "Any JSON, with a mask and an expiry", ANY)
            .sends("id", "A number of a person, with an id of the same form", SSN)
            .answers(201, "The token, as the caller may see it.", token())
            .with_header(LOCATION)
            .shows("card", "A card, for a key that may see it in plain", CARD_ANSWER)
            .fails(403, "The key may not create tokens in these containers, or not with these members.")
            .fails(404, "There is no such token intent.")
            .fails(409, "A token with the chosen id exists, or a request with the same idempotency key is under way."),
        Description::new("ReadToken", Tag::Tokens, "Read a token")
            .about("The rules of the key decide whether the data is in plain, masked or absent.")
            .path("id", token_id())
            .answers(200, "The token, as the caller may see it.", token())
            .shows("masked", "A card, for a key with a rule that masks", MASKED),
        Description::new("UpdateToken", Tag::Tokens, "Change a token")
            .about("A merge patch: members that are absent stay as they are. In data, metadata and mask, `null` removes a member; elsewhere it restores the default of the type.")
            .path("id", token_id())
            .takes(Schema::reference("UpdateTokenRequest"))
            .sends("expiry", "A new expiry date, and one entry of the metadata less", r#"{"data":{"expiration_month":6,"expiration_year":2032},"metadata":{"order":null}}"#)
            .answers(200, "The token, as the caller may see it.", token())
            .fails(403, "The key may not change this token, or not these members.")
            .fails(409, "A token with the new value exists, or a request with the same idempotency key is under way."),
        Description::new("DeleteToken", Tag::Tokens, "Delete a token")
            .path("id", token_id())
            .answers_nothing(204, "The token is deleted."),
    ]
}

fn lists() -> Vec<Description> {
    let pages = || Schema::reference("TokenPage");
    let numbered = || Schema::reference("TokenNumberedPage");
    let search = |position: &'static str, schema: Schema| {
        Schema::object()
            .takes(
                "query",
                Schema::text().about("Terms joined by AND.").chars(0, SEARCH_QUERY_CHARS_MAX),
            )
            .takes(position, schema)
            .takes("size", size())
    };
    let metadata = || {
        Schema::text().about(
            "A JSON object of texts. `metadata.KEY=VALUE` and `metadata[KEY]=VALUE` do the same.",
        )
    };
    vec![
        by_cursor(Description::new("ListTokens", Tag::Tokens, "List tokens"))
            .about("The newest token comes first. `container` includes the containers inside it and can be combined with one other filter.")
            .query("container", container())
            .query("type", token_type())
            .query("fingerprint", Schema::text())
            .query("metadata", metadata())
            .answers(200, "A page of tokens.", pages()),
        Description::new("SearchTokens", Tag::Tokens, "Search tokens")
            .about("Finds tokens by the values of their search indexes, by metadata, type, container or fingerprint: `data:\"6789\"`, `container:\"/pci/\" AND metadata.order:1001`.")
            .takes(search("start", start()))
            .sends("metadata", "By an entry of the metadata", r#"{"query":"metadata.order:1001","size":10}"#)
            .sends("data", "By a value of a search index", r#"{"query":"data:6789"}"#)
            .answers(200, "A page of tokens.", pages()),
        by_number(Description::new("ListTokensV1", Tag::Tokens, "List tokens by page number"))
            .query("id", Schema::list(token_id()).up_to_items(LIST_IDS_MAX))
            .query("metadata", metadata())
            .answers(200, "A page of tokens.", numbered()),
        Description::new("SearchTokensV1", Tag::Tokens, "Search tokens by page number")
            .takes(search("page", page_number()))
            .sends("data", "By a value of a search index", r#"{"query":"data:6789","page":1,"size":10}"#)
            .answers(200, "A page of tokens.", numbered()),
    ]
}

fn bulk() -> Vec<Description> {
    vec![
        Description::new("Tokenize", Tag::Tokens, "Create tokens in a document")
            .about("Takes any JSON. Each object that is a request for a token (`type` and `data`, `token_intent_id` or `encrypted`) becomes the token, and each other value becomes a token of the type `token` and is replaced by its id.")
            .takes(Schema::any())
            .sends("mixed", "A card, and a plain value", r#"{"card":{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030}},"name":"Ada Lovelace"}"#)
            .answers(200, "The same document, with tokens and ids in place of values.", Schema::any())
            .fails(403, "The key may not create tokens in these containers.")
            .fails(404, "There is no such token intent."),
        Description::new("Detokenize", Tag::Tokens, "Fill values into a document")
            .about("Takes any JSON with expressions in its texts, such as `{{ 01a1dd38-4eda-4df5-855c-ecae962e987a | json: '$.number' }}`, and answers with their values in place.")
            .takes(Schema::any())
            .sends("expression", "An expression of a constant", r#"{"text":"{{ 'a' | upcase }}"}"#)
            .answers(200, "The same document, with values in place of expressions.", Schema::any()),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let token = || Schema::reference("Token");
    vec![
        ("Token", token_schema()),
        ("TokenPage", cursor_page(token())),
        ("TokenNumberedPage", offset_page(token())),
        ("CardDetails", card_details()),
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
        .may_have("privacy", privacy_answer())
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

fn privacy_answer() -> Schema {
    Schema::object()
        .about("Derived from the first container.")
        .has("classification", Schema::word(CLASSIFICATIONS))
        .has("impact_level", Schema::word(IMPACT_LEVELS))
        .has("restriction_policy", Schema::word(["mask", "redact"]))
        .closed()
        .deprecated()
}

fn card_details() -> Schema {
    let funding = || Schema::word(Funding::ALL.map(Funding::as_str));
    let authentication = || Schema::word([Authentication::ScaRequired.as_str()]);
    let issuer = || {
        Schema::object()
            .may_have("country", Schema::text())
            .may_have("name", Schema::text())
            .closed()
    };
    let additional = Schema::object()
        .may_have("authentication", authentication())
        .has("brand", Schema::text())
        .may_have("funding", funding())
        .may_have("issuer", issuer())
        .closed();
    let country = Schema::object()
        .has("alpha2", Schema::text())
        .has("name", Schema::text())
        .has("numeric", Schema::text())
        .closed();
    Schema::object()
        .about("Details of a card that need no right to see its number. Brand, funding and authentication are null if they are not known.")
        .may_have("additional", Schema::list(additional))
        .has("authentication", authentication().or_null())
        .has("bin", Schema::text())
        .has("brand", Schema::word(Brand::ALL.map(Brand::as_str)).or_null())
        .may_have("expiration_month", Schema::integer().between(1, 12))
        .may_have("expiration_year", Schema::integer())
        .has("funding", funding().or_null())
        .may_have("issuer", issuer())
        .may_have("issuer_country", country)
        .has("last4", Schema::text())
        .may_have("product", Schema::object().has("code", Schema::text()).closed())
        .may_have("segment", Schema::word(Segment::ALL.map(Segment::as_str)))
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
        .takes("data", Schema::any().about("The value. Its form depends on the type."))
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
        .takes("data", Schema::any())
        .takes("containers", containers())
        .takes("mask", mask())
        .takes("metadata", Schema::map(Schema::text().or_null()))
        .takes("search_indexes", search_indexes())
        .takes("fingerprint_expression", fingerprint_expression())
        .takes("deduplicate_token", deduplicate())
        .takes("expires_at", expires_at())
}

fn containers() -> Schema {
    Schema::list(container()).up_to_items(CONTAINERS_MAX)
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
    Schema::list(Schema::text().chars(0, EXPRESSION_CHARS_MAX)).up_to_items(SEARCH_INDEXES_MAX)
}

fn fingerprint_expression() -> Schema {
    Schema::text().chars(0, EXPRESSION_CHARS_MAX)
}

fn deduplicate() -> Schema {
    Schema::flag().about("Answers with an existing token of the same value. The tenant's setting decides if it is absent.")
}
