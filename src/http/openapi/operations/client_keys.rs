//! Client encryption keys.

use crate::http::Schema;
use crate::http::openapi::operations::shared::{expires_at, list_of, without};
use crate::http::openapi::{Description, LOCATION, Tag};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::client_key::ClientKeyAnswer;

const ANSWER: &str = r#"{"key_id":"01a1dd3b-2e41-4f7a-b8c2-9d0e1f2a3b4c",
    "id":"01a1dd3b-2e41-4f7a-b8c2-9d0e1f2a3b4c","expires_at":"2027-01-31T09:30:00.1234560+00:00",
    "public_key_pem":"-----BEGIN PUBLIC KEY-----\n3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\n-----END PUBLIC KEY-----\n",
    "publicKeyPEM":"-----BEGIN PUBLIC KEY-----\n3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\n-----END PUBLIC KEY-----\n"}"#;

/// The key as answers show it after its creation.
fn read() -> String {
    without(ANSWER, &["public_key_pem", "publicKeyPEM"])
}

pub(super) fn operations() -> Vec<Description> {
    let key = || Schema::reference("ClientKey");
    vec![
        Description::new("CreateClientKey", Tag::ClientKeys, "Create a client encryption key")
            .about(
                "The private half never leaves the vault. Without `expires_at` the key \
                 lives for a year, which is the maximum.",
            )
            .takes(Schema::object().takes("expires_at", expires_at()))
            .sends("year", "A key for a year", "{}")
            .answers(201, "The key, with its public half.", key())
            .with_header(LOCATION)
            .shows("key", "A key", ANSWER)
            .fails(422, "The tenant has as many keys as it may have."),
        Description::new("ListClientKeys", Tag::ClientKeys, "List client encryption keys")
            .answers(200, "All keys.", Schema::list(key()))
            .shows("key", "A key", list_of(&read())),
        Description::new("ReadClientKey", Tag::ClientKeys, "Read a client encryption key")
            .answers(200, "The key.", key())
            .shows("key", "A key", read()),
        Description::new("DeleteClientKey", Tag::ClientKeys, "Delete a client encryption key")
            .about("Values that were encrypted with it cannot be opened any more.")
            .answers_nothing(204, "The key is deleted."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![("ClientKey", ClientKeyAnswer::schema())]
}
