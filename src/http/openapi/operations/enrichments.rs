//! Details of cards and bank accounts.

use crate::domain::card::brand::{Brand, Funding, Segment};
use crate::http::Schema;
use crate::http::openapi::operations::shared::token_id;
use crate::http::openapi::{Description, Tag};

pub(super) fn operations() -> Vec<Description> {
    let status = Schema::word(["disabled", "enabled", "inconclusive"]);
    let verify = Schema::object()
        .has("token_id", token_id())
        .takes(
            "routing_number",
            Schema::text().about("For a token that holds an account number alone."),
        )
        .takes("country_code", Schema::text());
    vec![
        Description::new("ReadCardDetails", Tag::Enrichments, "Read the details of a BIN")
            .about(
                "The first digits of a card number name its brand and issuer, not the \
                 card. A BIN that no range has is answered without a brand.",
            )
            .required_query(
                "bin",
                Schema::text().about("6 to 11 digits.").pattern("^[0-9]{6,11}$").example("424242"),
            )
            .answers(200, "The known details.", details())
            .shows("visa", "A range of Visa", VISA),
        Description::new("VerifyBankAccount", Tag::Enrichments, "Verify a bank account")
            .about(
                "The vault has no connection to a bank: test accounts of test tenants \
                 have documented answers, and every other account is inconclusive.",
            )
            .takes(verify)
            .sends(
                "account",
                "A token of the type bank",
                r#"{"token_id":"01a1dd38-4eda-4df5-855c-ecae962e987a",
                "country_code":"US"}"#,
            )
            .answers(
                200,
                "The state of the account.",
                Schema::object().has("status", status).closed(),
            )
            .shows("inconclusive", "An account that is not known", r#"{"status":"inconclusive"}"#),
    ]
}

const VISA: &str = r#"{"brand":"Visa","binRange":[{"binMin":"424242","binMax":"424242"}],
    "additional":[]}"#;

fn details() -> Schema {
    let digits = || Schema::text().pattern("^[0-9]{6,19}$");
    let range = || Schema::object().has("binMin", digits()).has("binMax", digits()).closed();
    let ranges = || {
        Schema::list(range())
            .up_to_items(1)
            .about("The numbers that begin with the asked digits and have these details.")
    };
    let issuer = || {
        Schema::object()
            .may_have("country", Schema::text())
            .may_have("name", Schema::text())
            .closed()
    };
    let additional = Schema::object()
        .has("brand", Schema::text())
        .may_have("funding", Schema::word(Funding::ALL.map(Funding::as_str)))
        .may_have("authentication", Schema::text())
        .may_have("issuer", issuer())
        .has("binRange", ranges())
        .closed();
    Schema::object()
        .may_have("brand", Schema::word(Brand::ALL.map(Brand::display_name)))
        .may_have("funding", Schema::word(Funding::ALL.map(Funding::display_name)))
        .may_have("issuer", issuer())
        .may_have("segment", Schema::word(Segment::ALL.map(Segment::as_str)))
        .has("binRange", ranges())
        .has("additional", Schema::list(additional))
        .closed()
}
