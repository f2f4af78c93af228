//! The bodies of `POST /tokenize`: any JSON that contains token requests and plain values.

use serde_json::{Map, Value};

use crate::app::{Part, Piece, Replacement, TokenOrigin, TokenizeDraft, TokenizeOutcome, leaf};
use crate::bounds::BULK_TOKENS_MAX;
use crate::domain::access::Transform;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right};
use crate::domain::mistakes::deeper;
use crate::http::wire::token;
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer};
use crate::secret::SecretBuffer;

/// The drafts of a body, in the order in which [`answer`] inserts their tokens.
pub(crate) fn parse(body: &Value) -> TokenizeDraft {
    let mut drafts = Vec::new();
    gather(body, "$", &mut drafts);
    TokenizeDraft { drafts }
}

/// Stops at one more than any quota allows: the body may hold a hundred thousand values.
fn gather(value: &Value, path: &str, drafts: &mut Vec<Part>) {
    if drafts.len() > usize::try_from(BULK_TOKENS_MAX).unwrap_or(usize::MAX) {
        return;
    }
    match value {
        Value::Object(members) if is_token_request(members) => {
            let path = String::from(path);
            drafts.push(Part { draft: token::parse_draft(value), place: Replacement::Token, path });
        }
        Value::Object(members) => {
            for (name, member) in members {
                gather(member, &deeper(path, &format!(".{name}")), drafts);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                gather(item, &deeper(path, &format!("[{at}]")), drafts);
            }
        }
        // `null` is nothing to store.
        Value::Null => (),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            drafts.push(Part {
                draft: leaf(value),
                place: Replacement::Id,
                path: String::from(path),
            });
        }
    }
}

fn is_token_request(members: &Map<String, Value>) -> bool {
    let has = |name| members.contains_key(name);
    (has("type") && has("data")) || has("token_intent_id") || has("encrypted")
}

/// The body's own structure, with a token in place of each draft.
pub(crate) fn answer(body: &Value, tokenized: &TokenizeOutcome) -> RememberedAnswer {
    answer_into(body, tokenized, RememberedAnswer::empty(AnswerStatus::Ok))
}

/// As [`answer`], behind the text of another answer.
pub(crate) fn answer_into(
    body: &Value,
    tokenized: &TokenizeOutcome,
    answer: RememberedAnswer,
) -> RememberedAnswer {
    let out = SecretBuffer::with_capacity(0);
    let mut filler = Filler { tokenized, next: 0, out, answer };
    filler.fill(body);
    filler.flush();
    filler.answer
}

struct Filler<'a> {
    tokenized: &'a TokenizeOutcome,
    next: usize,
    /// Text since the last token: names, punctuation and ids.
    out: SecretBuffer,
    answer: RememberedAnswer,
}

impl Filler<'_> {
    fn fill(&mut self, value: &Value) {
        match value {
            Value::Object(members) if is_token_request(members) => self.token(),
            Value::Object(members) => {
                self.out.push(b'{');
                for (at, (name, member)) in members.iter().enumerate() {
                    self.comma(at);
                    self.out.json(&Value::from(name.as_str()));
                    self.out.push(b':');
                    self.fill(member);
                }
                self.out.push(b'}');
            }
            Value::Array(items) => {
                self.out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    self.comma(at);
                    self.fill(item);
                }
                self.out.push(b']');
            }
            Value::Null => self.out.extend(b"null"),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => self.token(),
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.out.push(b',');
        }
    }

    fn token(&mut self) {
        let Some((piece, place)) = self.tokenized.written.get(self.next) else { return };
        self.next = self.next.saturating_add(1);
        let (written, origin) = match piece {
            Piece::Written(written) => (Some(written), written.origin),
            Piece::SameAs(earlier) => match self.tokenized.written.get(*earlier) {
                Some((Piece::Written(written), _)) => (Some(written), TokenOrigin::Read),
                Some((Piece::SameAs(_), _)) | None => (None, TokenOrigin::Read),
            },
        };
        let Some(written) = written else { return };
        match place {
            Replacement::Id => {
                token::name(&mut self.answer, written, Right::Create, AN_ID);
                self.out.json(&Value::from(written.shown.token.public_id()));
            }
            Replacement::Token => {
                self.flush();
                token::write(&mut self.answer, written, origin, Right::Create);
            }
        }
    }

    fn flush(&mut self) {
        let out = std::mem::replace(&mut self.out, SecretBuffer::with_capacity(0));
        self.answer.push(out.finish().expose(), PartLifetime::Always);
    }
}

/// An id alone shows nothing of its token.
const AN_ID: Exposure = Exposure {
    extent: Extent::Outline,
    transform: Transform::Redact,
    fingerprint: Fingerprint::Hidden,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn paths(body: &Value) -> Vec<(String, Replacement)> {
        parse(body).drafts.into_iter().map(|part| (part.path, part.place)).collect()
    }

    #[track_caller]
    fn check(body: &Value, expected: &[(&str, Replacement)]) {
        let expected: Vec<_> =
            expected.iter().map(|(path, place)| (String::from(*path), *place)).collect();
        assert_eq!(paths(body), expected);
    }

    #[test]
    fn values_and_token_requests_are_found_where_they_stand() {
        let request = json!({"type": "token", "data": {"not": "a part"}});
        check(&json!(null), &[]);
        check(&json!(7), &[("$", Replacement::Id)]);
        check(&request, &[("$", Replacement::Token)]);
        check(&json!({"token_intent_id": "x"}), &[("$", Replacement::Token)]);
        check(
            &json!({"a": [request, true, null], "b": {"data": "x"}}),
            &[
                ("$.a[0]", Replacement::Token),
                ("$.a[1]", Replacement::Id),
                ("$.b.data", Replacement::Id),
            ],
        );
    }

    /// Any JSON of moderate size, with token requests in it.
    fn bodies() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,5}".prop_map(Value::from),
            Just(json!({"type": "token", "data": [1, 2]})),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_part_has_a_path_of_its_own(body in bodies()) {
            let paths = paths(&body);
            let distinct: BTreeSet<_> = paths.iter().map(|(path, _)| path).collect();
            prop_assert_eq!(distinct.len(), paths.len());
        }
    }
}
