//! The answer to a write, in parts.
//!
//! Each part has a lifetime. Some parts are kept as long as the answer is remembered. A part that
//! shows a token, token intent or API key is kept only while that exists, and a part with a card
//! verification code no longer than the code. A repetition leaves out the parts that are no longer
//! kept. The rest is still valid JSON, because a part holds whole members and the comma before
//! them.

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::Entity;
use crate::domain::container::{Container, Containers};
use crate::domain::exposure::{Exposure, Right, ValueOrigin};
use crate::domain::id::{ApplicationId, KeyId, ProxyId, ReactorId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::secret::{Secret, SecretBuffer};

/// An answer as it is first sent, with everything that its repetition depends on.
#[derive(Debug)]
pub struct RememberedAnswer {
    pub status: AnswerStatus,
    /// The path of the created resource.
    pub location: Option<String>,
    /// Set if a program wrote the answer. It stands in place of the status.
    pub head: Option<OwnHead>,
    /// A repetition is refused if the caller may no longer see these.
    pub disclosures: Vec<Disclosure>,
    /// The tokens, intents and keys that the body shows, each once.
    pub subjects: Vec<Subject>,
    /// Set if the answer shows one new token, created at this time, and everything that is not
    /// always kept can be rendered again from the token.
    pub as_created: Option<Timestamp>,
    /// Set if a program wrote the answer and may have put values into it.
    pub sources: Option<Sources>,
    /// JSON text, unless a program wrote it, and the parts that it consists of.
    text: SecretBuffer,
    parts: Vec<AnswerPart>,
}

/// The status and the headers of an answer that a program wrote. They are checked when they are sent.
#[derive(Debug)]
pub struct OwnHead {
    pub status: u16,
    pub headers: Vec<(String, Secret<String>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerStatus {
    /// The request is carried out later.
    Accepted,
    Created,
    Ok,
}

/// The part of a token that an answer shows, and the right that allowed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disclosure {
    pub right: Right,
    pub value: ValueOrigin,
    pub containers: Containers,
    pub exposure: Exposure,
}

/// The tokens and intents whose values a program got. Its answer may repeat them in any form, so it
/// is kept no longer than all of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Sources {
    pub all: Vec<Source>,
    /// The earliest end of the retention of a code among the values.
    pub codes_until: Option<Timestamp>,
}

impl Sources {
    /// False if nothing ends the answer before its time.
    pub const fn bind(&self) -> bool {
        !self.all.is_empty() || self.codes_until.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub id: SubjectId,
    /// The program got the value by its arguments, with the rights of the caller, and not by a
    /// request of its own.
    pub is_callers: bool,
    /// The end of the retention of its code, if the answer holds the code.
    pub code_until: Option<Timestamp>,
}

/// A resource that an answer shows and that can be deleted or expire before the answer.
#[derive(Debug)]
pub struct Subject {
    pub id: SubjectId,
    pub seed: AnswerSeed,
    /// The containers of a token. Empty for other subjects.
    pub containers: Containers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectId {
    ApiKey {
        application: ApplicationId,
        id: KeyId,
    },
    Proxy(ProxyId),
    Reactor(ReactorId),
    Token {
        id: TokenId,
        /// The predefined id, if the caller chose one.
        name: Option<String>,
    },
    TokenIntent(TokenIntentId),
}

/// A part of the text, after the parts before it.
#[derive(Debug)]
struct AnswerPart {
    bytes: usize,
    lifetime: PartLifetime,
}

/// The lifetime of a part. Numbers are indexes into the answer's subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartLifetime {
    /// As long as the answer is remembered.
    Always,
    /// Sent once and never kept.
    Once,
    /// As long as this subject exists.
    With(usize),
    /// As long as this subject exists and the code in it may be kept.
    WithCvc(usize, Timestamp),
}

#[derive(Debug)]
pub struct Replay {
    pub status: AnswerStatus,
    pub location: Option<String>,
    pub head: Option<OwnHead>,
    /// JSON text, unless a program wrote it.
    pub body: Secret<Vec<u8>>,
    /// The tokens, intents, API keys, proxies and reactors that the body may show again.
    pub shown: Vec<Entity>,
}

impl RememberedAnswer {
    /// An answer whose whole body is kept as long as it is remembered.
    pub fn new(status: AnswerStatus, body: Secret<Vec<u8>>) -> Self {
        let mut answer = Self::empty(status);
        answer.append(body, &[(0, PartLifetime::Always)]);
        answer
    }

    pub fn empty(status: AnswerStatus) -> Self {
        Self {
            status,
            location: None,
            head: None,
            disclosures: Vec::new(),
            subjects: Vec::new(),
            as_created: None,
            sources: None,
            text: SecretBuffer::with_capacity(0),
            parts: Vec::new(),
        }
    }

    /// An answer that a program wrote.
    pub fn of_program(head: OwnHead, body: &[u8]) -> Self {
        let mut answer = Self::empty(AnswerStatus::Ok);
        answer.push(body, PartLifetime::Always);
        answer.head = Some(head);
        answer
    }

    #[must_use]
    pub fn at(mut self, location: String) -> Self {
        self.location = Some(location);
        self
    }

    pub fn disclose(&mut self, disclosure: Disclosure) {
        if !self.disclosures.contains(&disclosure) {
            self.disclosures.push(disclosure);
        }
    }

    /// Returns the index of this subject and adds it if it is new. An answer can show a token both
    /// before and after its change, which keeps the seed.
    pub fn subject(&mut self, id: SubjectId, seed: &AnswerSeed, containers: &[Container]) -> usize {
        let known = self.subjects.iter().position(|subject| subject.id == id);
        known.unwrap_or_else(|| {
            let (seed, containers) = (seed.duplicate(), containers.iter().cloned().collect());
            self.subjects.push(Subject { id, seed, containers });
            self.subjects.len().saturating_sub(1)
        })
    }

    pub fn push(&mut self, text: &[u8], lifetime: PartLifetime) {
        self.text.extend(text);
        self.add_part(text.len(), lifetime);
    }

    /// Appends a text whose lifetime changes at the marks, which are offsets in order. The text
    /// before the first mark is always kept.
    pub fn append(&mut self, text: Secret<Vec<u8>>, marks: &[(usize, PartLifetime)]) {
        let bytes = text.expose().len();
        self.parts.reserve(marks.len().saturating_add(1));
        self.text.append(text);
        let (mut at, mut lifetime) = (0, PartLifetime::Always);
        for (next, lifetime_next) in marks.iter().copied().chain([(bytes, lifetime)]) {
            let next = next.clamp(at, bytes);
            self.add_part(next.saturating_sub(at), lifetime);
            (at, lifetime) = (next, lifetime_next);
        }
    }

    fn add_part(&mut self, bytes: usize, lifetime: PartLifetime) {
        match self.parts.last_mut() {
            Some(last) if last.lifetime == lifetime && lifetime == PartLifetime::Always => {
                last.bytes = last.bytes.saturating_add(bytes);
            }
            Some(_) | None if bytes == 0 => (),
            Some(_) | None => self.parts.push(AnswerPart { bytes, lifetime }),
        }
    }

    /// The texts of the parts, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], PartLifetime)> {
        let mut rest = self.text.bytes();
        self.parts.iter().map(move |part| {
            let (text, after) = rest.split_at_checked(part.bytes).unwrap_or((rest, &[]));
            rest = after;
            (text, part.lifetime)
        })
    }

    /// True if the word is in the body or in a header, and is no part of a longer word or number.
    pub fn holds_word(&self, word: &str) -> bool {
        let headers = self.head.iter().flat_map(|head| &head.headers);
        let headers = headers.map(|(_, value)| value.expose().as_bytes());
        headers.chain([self.text.bytes()]).any(|text| {
            let is_apart = |byte: Option<&u8>| !byte.is_some_and(u8::is_ascii_alphanumeric);
            let (word, length) = (word.as_bytes(), word.len());
            (0..).zip(text.windows(length.max(1))).any(|(at, found): (usize, _)| {
                let before = at.checked_sub(1).and_then(|at| text.get(at));
                found == word && is_apart(before) && is_apart(text.get(at.saturating_add(length)))
            })
        })
    }

    /// The length of the whole body.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The whole body, as sent to the first request.
    pub fn into_body(self) -> Secret<Vec<u8>> {
        self.text.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Transform;
    use crate::domain::exposure::{Extent, Fingerprint};

    fn text(bytes: &[u8]) -> Secret<Vec<u8>> {
        Secret::new(bytes.to_vec())
    }

    fn parts(answer: &RememberedAnswer) -> Vec<(String, PartLifetime)> {
        let part =
            |(bytes, lifetime): (&[u8], _)| (String::from_utf8(bytes.to_vec()).unwrap(), lifetime);
        answer.parts().map(part).collect()
    }

    #[track_caller]
    fn check(answer: &RememberedAnswer, expected: &[(&str, PartLifetime)]) {
        let expected: Vec<_> =
            expected.iter().map(|(text, lifetime)| (String::from(*text), *lifetime)).collect();
        assert_eq!(parts(answer), expected);
    }

    use PartLifetime::{Always, Once, With};

    #[test]
    fn a_text_is_cut_at_its_marks_and_kept_before_the_first() {
        let mut answer = RememberedAnswer::empty(AnswerStatus::Ok);
        answer.append(text(b"abcdef"), &[(1, With(0)), (3, Once), (3, Always), (9, Once)]);
        check(&answer, &[("a", Always), ("bc", With(0)), ("def", Always)]);
        answer.append(text(b"ghi"), &[(2, Once)]);
        check(&answer, &[("a", Always), ("bc", With(0)), ("defgh", Always), ("i", Once)]);
        assert_eq!(answer.into_body().expose(), b"abcdefghi");
    }

    /// Only parts that are always kept are joined: two subjects can end at different times, and a
    /// part that is sent once must not take a kept one with it.
    #[test]
    fn parts_of_different_lifetimes_stay_apart() {
        let mut answer = RememberedAnswer::new(AnswerStatus::Created, text(b"a"));
        for (text, lifetime) in
            [("b", Always), ("", With(0)), ("c", With(0)), ("d", With(0)), ("e", With(1))]
        {
            answer.push(text.as_bytes(), lifetime);
        }
        answer.push(b"f", Once);
        answer.push(b"", Always);
        answer.push(b"g", Once);
        let expected = [
            ("ab", Always),
            ("c", With(0)),
            ("d", With(0)),
            ("e", With(1)),
            ("f", Once),
            ("g", Once),
        ];
        check(&answer, &expected);
        assert_eq!(answer.into_body().expose(), b"abcdefg");
    }

    #[test]
    fn a_subject_and_a_disclosure_are_kept_once() {
        let mut answer = RememberedAnswer::empty(AnswerStatus::Ok).at(String::from("/tokens/1"));
        assert_eq!(answer.location.as_deref(), Some("/tokens/1"));
        let intent =
            |number| SubjectId::TokenIntent(TokenIntentId::new(uuid::Uuid::from_u128(number)));
        let places = [1, 2, 1, 3, 2]
            .map(|number| answer.subject(intent(number), &AnswerSeed::new([7; 16]), &[]));
        assert_eq!((places, answer.subjects.len()), ([0, 1, 0, 2, 1], 3));
        let disclosure = |right| Disclosure {
            right,
            value: ValueOrigin::Own,
            containers: Containers::new(),
            exposure: Exposure {
                extent: Extent::Full,
                transform: Transform::Mask,
                fingerprint: Fingerprint::Shown,
            },
        };
        for right in [Right::Read, Right::Use, Right::Read] {
            answer.disclose(disclosure(right));
        }
        assert_eq!(answer.disclosures, [disclosure(Right::Read), disclosure(Right::Use)]);
    }
}
