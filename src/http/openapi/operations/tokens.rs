//! Tokens: create, read, list, search, change, delete, and in bulk.

use crate::bounds::{LIST_IDS_MAX, SEARCH_QUERY_CHARS_MAX};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    by_cursor, by_number, container, cursor_page_of, offset_page_of, page_number, size, start,
    token_id, token_type,
};
use crate::http::openapi::{Description, LOCATION, Tag};

const CARD: &str = r#"{"type":"card","data":{"number":"4242424242424242","expiration_month":12,
    "expiration_year":2030,"cvc":"123"},"metadata":{"order":"1001"}}"#;
const SSN: &str = r#"{"id":"{{ data | alias_preserve_length: 2, 4 }}",
    "type":"social_security_number","data":"123-45-6789","containers":["/pii/high/"],
    "search_indexes":["{{ data | last4 }}"],"deduplicate_token":false}"#;
const ANY: &str = r#"{"type":"token","data":{"name":"Ada Lovelace","notes":["any","JSON"]},
    "mask":{"name":"{{ data.name | reveal_last: 4 }}"},"expires_at":"2035-01-31T00:00:00Z"}"#;
const CARD_ANSWER: &str = r#"{"id":"01a1dd38-4eda-4df5-855c-ecae962e987a",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","type":"card",
    "data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,
    "cvc":"123"},"card":{"authentication":null,"bin":"42424242","brand":"visa",
    "expiration_month":12,"expiration_year":2030,"funding":"credit","last4":"4242"},
    "fingerprint":"87B3RNqLbxBQQeb528JxtQXUVDH7EVKAw8Z2SPMihLsi","containers":["/pci/high/"],
    "privacy":{"classification":"pci","impact_level":"high","restriction_policy":"mask"},
    "mask":{"number":"{{ data.number | reveal_last: 4 }}",
    "expiration_month":"{{ data.expiration_month }}",
    "expiration_year":"{{ data.expiration_year }}"},"metadata":{"order":"1001"},
    "search_indexes":[],"fingerprint_expression":"{{ data.number }}",
    "created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10",
    "created_at":"2026-01-31T09:30:00.1234560+00:00","_extras":{"deduplicated":false}}"#;
const MASKED: &str = r#"{"id":"01a1dd38-4eda-4df5-855c-ecae962e987a",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","type":"card",
    "data":{"number":"XXXXXXXXXXXX4242","expiration_month":12,"expiration_year":2030},
    "containers":["/pci/high/"],"metadata":{"order":"1001"},"search_indexes":[],
    "fingerprint_expression":"{{ data.number }}",
    "created_by":"01a1dd38-4d58-4f19-9d0b-6f8a7d3c2b10",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;
const DETOKENIZE: &str = r#"{"amount":1099,
    "number":"{{ 01a1dd38-4eda-4df5-855c-ecae962e987a | json: '$.number' }}"}"#;

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
            .about(
                "Stores a value and answers with its token. With `token_intent_id` it \
                 converts a token intent instead. With deduplication the answer may be an \
                 existing token; `_extras` says so.",
            )
            .takes(Schema::reference("CreateTokenRequest"))
            .sends("card", "A card", CARD)
            .sends("any", "Any JSON, with a mask and an expiry", ANY)
            .sends("id", "A number of a person, with an id of the same form", SSN)
            .answers(201, "The token, as the caller may see it.", token())
            .with_header(LOCATION)
            .shows("card", "A card, for a key that may see it in plain", CARD_ANSWER)
            .fails(
                403,
                "The key may not create tokens in these containers, or not with these members.",
            )
            .fails(409, "A token with the chosen id exists."),
        Description::new("ReadToken", Tag::Tokens, "Read a token")
            .about("The rules of the key decide whether the data is in plain, masked or absent.")
            .answers(200, "The token, as the caller may see it.", token())
            .shows("masked", "A card, for a key with a rule that masks", MASKED),
        Description::new("UpdateToken", Tag::Tokens, "Change a token")
            .about(
                "A merge patch: members that are absent stay as they are. In data, metadata and \
                 mask, `null` removes a member; elsewhere it restores the default of the type.",
            )
            .takes(Schema::reference("UpdateTokenRequest"))
            .sends(
                "expiry",
                "A new expiry date, and one entry of the metadata less",
                r#"{"data":{"expiration_month":6,
                "expiration_year":2032},"metadata":{"order":null}}"#,
            )
            .answers(200, "The token, as the caller may see it.", token())
            .shows("card", "A card, for a key with a rule that masks", MASKED)
            .fails(403, "The key may not change this token, or not these members."),
        Description::new("DeleteToken", Tag::Tokens, "Delete a token")
            .answers_nothing(204, "The token is deleted."),
        Description::new(
            "DeleteTokenCvc",
            Tag::Tokens,
            "Delete the card verification code of a token",
        )
        .answers_nothing(204, "The token has no code: it is deleted, or there was none."),
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
            .about(
                "Tokens come by container, and within a container the newest first. `container` \
                 includes the containers inside it and can be combined with one other filter.",
            )
            .query("container", container())
            .query("type", token_type())
            .query("fingerprint", Schema::text())
            .query("metadata", metadata())
            .answers(200, "A page of tokens.", pages())
            .shows("card", "A card, for a key with a rule that masks", cursor_page_of(MASKED)),
        Description::new("SearchTokens", Tag::Tokens, "Search tokens")
            .about(
                "Finds tokens by the values of their search indexes, by metadata, type, container \
                 or fingerprint: `data:\"6789\"`, `container:\"/pci/\" AND metadata.order:1001`.",
            )
            .takes(search("start", start()))
            .sends(
                "metadata",
                "By an entry of the metadata",
                r#"{"query":"metadata.order:1001",
                "size":10}"#,
            )
            .sends("data", "By a value of a search index", r#"{"query":"data:6789"}"#)
            .answers(200, "A page of tokens.", pages())
            .shows("card", "A card, for a key with a rule that masks", cursor_page_of(MASKED)),
        by_number(Description::new("ListTokensV1", Tag::Tokens, "List tokens by page number"))
            .query("id", Schema::list(token_id()).up_to_items(LIST_IDS_MAX))
            .query("metadata", metadata())
            .answers(200, "A page of tokens.", numbered())
            .shows("card", "A card, for a key with a rule that masks", offset_page_of(MASKED)),
        Description::new("SearchTokensV1", Tag::Tokens, "Search tokens by page number")
            .takes(search("page", page_number()))
            .sends(
                "data",
                "By a value of a search index",
                r#"{"query":"data:6789","page":1,"size":10}"#,
            )
            .answers(200, "A page of tokens.", numbered())
            .shows("card", "A card, for a key with a rule that masks", offset_page_of(MASKED)),
    ]
}

fn bulk() -> Vec<Description> {
    vec![
        Description::new("Tokenize", Tag::Tokens, "Create tokens in a document")
            .about(
                "Takes any JSON. Each object that is a request for a token (`type` and \
                 `data`, `token_intent_id` or `encrypted`) becomes the token, and each other \
                 value becomes a token of the type `token` and is replaced by its id.",
            )
            .takes(Schema::any())
            .sends("plain", "A plain value", r#"{"name":"Ada Lovelace"}"#)
            .sends(
                "mixed",
                "A card, and a plain value",
                r#"{"card":{"type":"card",
                "data":{"number":"4242424242424242","expiration_month":12,
                "expiration_year":2030}},"name":"Ada Lovelace"}"#,
            )
            .answers(
                200,
                "The same document, with tokens and ids in place of values.",
                Schema::any(),
            )
            .shows("plain", "A plain value", r#"{"name":"01a1dd3f-0a91-4c43-9e6f-7a8b9c0d1e2f"}"#)
            .fails(403, "The key may not create tokens in these containers.")
            .fails(409, "A token with a chosen id exists."),
        Description::new("Detokenize", Tag::Tokens, "Fill values into a document")
            .about(
                "Takes any JSON with expressions in its texts, such as `{{ \
                 01a1dd38-4eda-4df5-855c-ecae962e987a | json: '$.number' }}`, and answers with \
                 their values in place.",
            )
            .takes(Schema::any())
            .sends("card", "The number of a card", DETOKENIZE)
            .answers(200, "The same document, with values in place of expressions.", Schema::any())
            .shows(
                "card",
                "The number of a card",
                r#"{"amount":1099,"number":"4242424242424242"}"#,
            ),
    ]
}
