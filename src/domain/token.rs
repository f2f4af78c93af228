//! A token: a sensitive value and its attributes.

use serde_json::Value;

use crate::bounds::{TOKEN_NAME_CHARS_MAX, TOKEN_NAME_CHARS_MIN};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::card::in_text::{
    has_digits_of_card_number, holds_card_number, repeats_card_number,
};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Containers;
use crate::domain::data::Data;
use crate::domain::id::{ApplicationId, TenantId, TokenId};
use crate::domain::metadata::Metadata;
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

pub struct Token {
    pub id: TokenId,
    /// The id that its creator chose. If set, callers use only this id.
    pub name: Option<TokenName>,
    pub tenant: TenantId,
    pub kind: TokenType,
    /// Without the card verification code, which is stored separately.
    pub data: Data,
    /// The code, while it is stored, if the reader requested it.
    pub cvc: Option<Secret<String>>,
    pub cvc_expires_at: Option<Timestamp>,
    /// The token's mask as JSON text; without one the type's mask applies.
    pub mask: Option<String>,
    /// In order, without repetition, at least one.
    pub containers: Containers,
    pub metadata: Metadata,
    /// The token's index expressions; without them the type's apply.
    pub search_indexes: Option<Vec<String>>,
    /// The values of the index expressions. They are part of the sealed record, so that its index
    /// entries can be found without evaluating anything.
    pub search_terms: Vec<String>,
    /// The token's expression; without one the type's applies.
    pub fingerprint_expression: Option<String>,
    pub fingerprint: String,
    pub expires_at: Option<Timestamp>,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    pub answer_seed: AnswerSeed,
    /// The blinded idempotency key of its creation, until a client changes it. So long the kept
    /// answer is rendered from this token.
    pub created_under: Option<[u8; 16]>,
}

/// Prints only the assigned id: search terms and metadata come from the caller.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({})", self.id)
    }
}

/// An id that the creator of a token chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidTokenName {
    /// Logs, URLs and events contain ids.
    CardNumber,
    Character,
    Length,
    /// The shape of the ids that the vault assigns.
    Uuid,
}

impl Token {
    /// A token counts as deleted from its expiry on, even while its record exists.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }

    /// The id that callers use.
    pub fn public_id(&self) -> String {
        self.name.as_ref().map_or_else(|| self.id.to_string(), |name| name.0.clone())
    }

    /// The token as access rules see it.
    pub fn target(&self) -> Target<'_> {
        let assigned = TargetId::Assigned(self.id.uuid());
        let id = self.name.as_ref().map_or(assigned, |name| TargetId::Name(name.as_str()));
        Target { containers: &self.containers, id }
    }

    pub fn whole_data(&self) -> Secret<Value> {
        self.data.with(self.cvc.as_ref())
    }

    /// Its approximate size in an answer.
    pub fn bytes(&self) -> usize {
        let metadata =
            self.metadata.iter().map(|(key, value)| key.len().saturating_add(value.len()));
        let metadata = metadata.fold(0, usize::saturating_add);
        let mask = self.mask.as_ref().map_or(0, String::len);
        self.data.json().len().saturating_add(mask).saturating_add(metadata)
    }

    pub fn effective_mask(&self) -> Option<&str> {
        self.mask.as_deref().or(self.kind.default_mask())
    }

    pub fn effective_search_indexes(&self) -> Vec<&str> {
        match &self.search_indexes {
            Some(own) => own.iter().map(String::as_str).collect(),
            None => self.kind.default_search_indexes().to_vec(),
        }
    }

    pub fn effective_fingerprint_expression(&self) -> &str {
        self.fingerprint_expression
            .as_deref()
            .unwrap_or_else(|| self.kind.default_fingerprint_expression())
    }
}

impl TokenName {
    /// A name that a caller chooses for a new token. A name in the form of a UUID is refused:
    /// assigned ids are UUIDs and the ids of deleted tokens are not stored, so references to a
    /// deleted token could reach the new one.
    pub fn choose(text: &str) -> Result<Self, InvalidTokenName> {
        if is_uuid(text) {
            Err(InvalidTokenName::Uuid)
        } else if holds_card_number(text) {
            Err(InvalidTokenName::CardNumber)
        } else {
            Self::parse(text)
        }
    }

    /// Fails if the name contains a card number of the token's own data.
    pub fn require_beside(&self, data: &Data) -> Result<(), InvalidTokenName> {
        let repeats = repeats_card_number(&self.0, data.json());
        if repeats { Err(InvalidTokenName::CardNumber) } else { Ok(()) }
    }

    /// As [`TokenName::require_beside`], for a caller that may not see the data. The name alone
    /// decides: a comparison with the data would confirm guesses of it.
    pub fn require_beside_unseen(&self) -> Result<(), InvalidTokenName> {
        let may_repeat = has_digits_of_card_number(&self.0);
        if may_repeat { Err(InvalidTokenName::CardNumber) } else { Ok(()) }
    }

    /// A name in a record or in a request that looks for it.
    pub fn parse(text: &str) -> Result<Self, InvalidTokenName> {
        let count = text.chars().count();
        if !(TOKEN_NAME_CHARS_MIN..=TOKEN_NAME_CHARS_MAX).contains(&count) {
            Err(InvalidTokenName::Length)
        } else if text
            .chars()
            .any(|letter| letter.is_control() || r"#/\+?[]|&=%<>{}^".contains(letter))
        {
            Err(InvalidTokenName::Character)
        } else {
            Ok(Self(String::from(text)))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Five groups of hexadecimal digits in upper or lower case, with hyphens between them. The form
/// without hyphens is accepted: no assigned id has it, but hashes do.
fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

impl std::fmt::Display for InvalidTokenName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CardNumber => f.write_str(
                "An id may not hold 12 or more digits that could be a card number: ids are in URLs \
                 and logs.",
            ),
            Self::Character => f.write_str(
                r"An id may not hold control characters or any of # / \ + ? [ ] | & = % < > { } ^.",
            ),
            Self::Length => {
                write!(f, "An id has {TOKEN_NAME_CHARS_MIN} to {TOKEN_NAME_CHARS_MAX} characters.")
            }
            Self::Uuid => f.write_str(
                "An id may not have the shape of a UUID: the vault assigns such ids itself.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(), InvalidTokenName>) {
        assert_eq!(TokenName::parse(text).map(drop), expected, "{text}");
    }

    #[test]
    fn predefined_ids_have_3_to_400_characters_and_none_that_urls_reserve() {
        check("abc", Ok(()));
        check(&"x".repeat(400), Ok(()));
        check("user@example.com:$1,00 - \u{fc}", Ok(()));
        check("ab", Err(InvalidTokenName::Length));
        check(&"x".repeat(401), Err(InvalidTokenName::Length));
        for letter in r"#/\+?[]|&=%<>{}^".chars() {
            check(&format!("abc{letter}"), Err(InvalidTokenName::Character));
        }
        check("abc\n", Err(InvalidTokenName::Character));
    }

    #[test]
    fn a_name_in_the_shape_of_a_uuid_is_read_and_not_chosen() {
        let uuid = "018bcfe5-6800-4abc-8abc-0123456789ab";
        for text in [uuid, &uuid.to_uppercase(), "00000000-0000-0000-0000-000000000000"] {
            check(text, Ok(()));
            assert_eq!(TokenName::choose(text), Err(InvalidTokenName::Uuid), "{text}");
        }
        let simple = uuid.replace('-', "");
        for text in [&simple, &format!("x{uuid}"), "018bcfe5-6800-4abc-8abc-0123456789ag"] {
            assert!(TokenName::choose(text).is_ok(), "{text}");
        }
        assert_eq!(TokenName::choose("ab"), Err(InvalidTokenName::Length));
    }
}
