//! The deprecated `privacy` of tokens on the wire.

use crate::domain::container::Container;
use crate::domain::privacy::Privacy;
use crate::domain::token::Token;
use crate::http::wire::fields::Fields;
use crate::http::wire::json::Object;

/// The containers and the privacy of a request that names no containers. A wrong `privacy` is an empty
/// list of containers, like a wrong container: the token must not lie elsewhere.
pub(super) fn parse(fields: &mut Fields<'_>) -> (Option<Vec<Container>>, Option<Privacy>) {
    let Some(value) = fields.value("privacy") else { return (None, None) };
    let mut inner = Fields::at(value, fields.path_of("privacy"));
    let classification = inner.text("classification").map(Privacy::parse_classification);
    if classification == Some(None) {
        inner.wrong("classification", "It is general, bank, pci or pii.");
    }
    let impact_level = inner.text("impact_level").map(Privacy::parse_impact_level);
    if impact_level == Some(None) {
        inner.wrong("impact_level", "It is low, moderate or high.");
    }
    if !inner.mistakes.is_empty() {
        fields.mistakes.append(inner.mistakes);
        return (Some(Vec::new()), None);
    }
    let (classification, impact_level) = (classification.flatten(), impact_level.flatten());
    (None, Some(Privacy { classification, impact_level }))
}

/// Derived from the first container. The published clients refuse `null`.
pub(super) fn write(object: &mut Object, token: &Token) {
    let Some((classification, impact_level)) = token.containers.first().and_then(Privacy::of)
    else {
        return;
    };
    object.object("privacy", |privacy| {
        privacy.text("classification", classification);
        privacy.text("impact_level", impact_level);
        privacy.text("restriction_policy", token.kind.restriction_policy());
    });
}
