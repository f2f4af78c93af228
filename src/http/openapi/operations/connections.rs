//! The catalog of payment connections.

use crate::http::openapi::description::Description;
use crate::http::openapi::headers::ETAG;
use crate::http::openapi::schema::Schema;
use crate::http::openapi::tags::Tag;

pub(super) fn operations() -> Vec<Description> {
    let formula = || Schema::reference("ConnectionFormula");
    let catalog = |described: Description, schema: Schema, about| {
        described
            .header("If-None-Match", Schema::text().about("The `ETag` of the client's copy."))
            .answers(200, about, schema)
            .with_header(ETAG)
            .answers_nothing(304, "The client's copy is current.")
            .with_header(ETAG)
    };
    let list = Description::new("ListFormulas", Tag::Connections, "List connection formulas");
    let read = Description::new("ReadFormula", Tag::Connections, "Read a connection formula")
        .path("id", Schema::text().about("The id of a formula."));
    vec![
        catalog(list, Schema::list(formula()), "All formulas."),
        catalog(read, formula(), "The formula."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    let formula = Schema::object().about("The members that a connection needs, and its features.");
    vec![("ConnectionFormula", formula)]
}
