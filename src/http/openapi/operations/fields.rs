//! Hosted card fields.

use crate::bounds::ELEMENTS_HOSTS_MAX;
use crate::http::Schema;
use crate::http::openapi::{Description, Tag};

pub(super) fn operations() -> Vec<Description> {
    let allowed = Schema::object()
        .has("allowed", Schema::flag())
        .has("tenant_id", Schema::uuid().about("The frames send values to this tenant alone."))
        .may_have(
            "elements_hosts",
            Schema::list(Schema::text()).up_to_items(ELEMENTS_HOSTS_MAX).about(
                "The origins of `pages.elements_hosts`: frames of Elements may send values to them.",
            ),
        )
        .may_have(
            "public_key_pem",
            Schema::text().about("The public half of the key of `key_id`, if the tenant has it."),
        )
        .closed();
    vec![
        Description::new("ReadFieldsAccess", Tag::Fields, "Ask if a page may show card fields")
            .with_public_key()
            .about("The hidden frame of the card fields asks with the key of the page. The key is that of a public application or of a session.")
            .required_query("origin", Schema::text().about("The origin of the page, as the browser names it.").example("https://shop.example"))
            .query("key_id", Schema::uuid().about("The id of a client encryption key that the page encrypts to."))
            .answers(200, "The page may show the fields.", allowed)
            .shows("allowed", "A page of an allowed origin", r#"{"allowed":true,"tenant_id":"5a1f7a3e-6f0c-4a57-9a3b-2f6d0d8e9b11"}"#)
            .fails(403, "The origin is not one of the `allowed_origins` of the key's application, or the key does not belong into a page."),
    ]
}
