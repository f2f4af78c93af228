//! The catalog of payment connections.

use crate::http::Schema;
use crate::http::openapi::operations::shared::list_of;
use crate::http::openapi::{Description, ETAG, Tag};

const FORMULA: &str = r#"{"id":"adyen-card","display_name":"Adyen","method":"card","fields":[
    {"key":"api_key","display_name":"API Key","required":true,"format":"text","secret":true}],
    "supported_currencies":["EUR","USD"],"supported_countries":["DE","US"],
    "supported_features":{"refunds":true,"void":true}}"#;

pub(super) fn operations() -> Vec<Description> {
    let formula = || Schema::reference("ConnectionFormula");
    let catalog = |described: Description, schema: Schema, about, example: String| {
        described
            .header("If-None-Match", Schema::text().about("The `ETag` of the client's copy."))
            .answers(200, about, schema)
            .shows("adyen", "A connection to Adyen, shortened", example)
            .with_header(ETAG)
            .answers_nothing(304, "The client's copy is current.")
            .with_header(ETAG)
    };
    let list = Description::new("ListFormulas", Tag::Connections, "List connection formulas");
    let read = Description::new("ReadFormula", Tag::Connections, "Read a connection formula");
    vec![
        catalog(list, Schema::list(formula()), "All formulas.", list_of(FORMULA)),
        catalog(read, formula(), "The formula.", String::from(FORMULA)),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let field = Schema::object()
        .has("key", Schema::text())
        .has("display_name", Schema::text())
        .has("required", Schema::flag())
        .has("format", Schema::text())
        .has("secret", Schema::flag())
        .closed();
    let formula = Schema::object()
        .about("The members that a connection needs, and its features.")
        .has("id", Schema::text())
        .has("display_name", Schema::text())
        .has("method", Schema::text())
        .has("fields", Schema::list(field))
        .has("supported_currencies", Schema::list(Schema::text()))
        .has("supported_countries", Schema::list(Schema::text()))
        .has("supported_features", Schema::map(Schema::flag()))
        .closed();
    vec![("ConnectionFormula", formula)]
}
