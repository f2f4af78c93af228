//! The deprecated `privacy` of tokens on the wire.

use crate::domain::container::Container;
use crate::domain::privacy::{CLASSIFICATIONS, IMPACT_LEVELS, Privacy};
use crate::domain::token::Token;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Fields, Object};

/// The containers and the privacy of a request without containers. A wrong `privacy` gives an empty
/// list of containers, like a wrong container: the token must not be stored elsewhere.
pub(super) fn parse(fields: &mut Fields<'_>) -> (Option<Vec<Container>>, Option<Privacy>) {
    let Some(value) = fields.value("privacy") else { return (None, None) };
    let mut inner = Fields::at(value, fields.path_of("privacy"));
    let parse = Privacy::parse_classification;
    let classification = inner.parsed("classification", parse, "It is general, bank, pci or pii.");
    let parse = Privacy::parse_impact_level;
    let impact_level = inner.parsed("impact_level", parse, "It is low, moderate or high.");
    if !inner.mistakes.is_empty() {
        fields.mistakes.append(inner.mistakes);
        return (Some(Vec::new()), None);
    }
    (None, Some(Privacy { classification, impact_level }))
}

/// Derived from the first container. The published clients refuse `null`.
pub(super) fn write(object: &mut Object, token: &Token) {
    let Some((classification, impact_level)) = token.containers.first().and_then(Privacy::of)
    else {
        return;
    };
    let shown = (classification, impact_level, token.kind.restriction_policy());
    object.object("privacy", |privacy| PrivacyAnswer::fill(privacy, shown));
}

answer! {
    pub(in crate::http) PrivacyAnswer<'a>(it: (&'a str, &'a str, &'a str)):
        "Derived from the first container."
    {
        has classification: word(CLASSIFICATIONS) = it.0;
        has impact_level: word(IMPACT_LEVELS) = it.1;
        has restriction_policy: word(["mask", "redact"]) = it.2;
    }
}
