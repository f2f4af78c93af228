//! A token: a sensitive value and all that is known about it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bounds::{TOKEN_NAME_CHARS_MAX, TOKEN_NAME_CHARS_MIN};
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::id::{ApplicationId, TenantId, TokenId};
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

pub struct Token {
    pub id: TokenId,
    /// The id its creator chose; callers know the token by nothing else then.
    pub name: Option<TokenName>,
    pub tenant: TenantId,
    pub kind: TokenType,
    /// Without the card verification code, which is kept apart.
    pub data: Data,
    /// The code, as long as it is kept and where it was asked for.
    pub cvc: Option<Secret<String>>,
    pub cvc_expires_at: Option<Timestamp>,
    /// A mask of its own as JSON text; without one the type's applies.
    pub mask: Option<String>,
    /// In order, without repetition, at least one.
    pub containers: Vec<Container>,
    pub metadata: BTreeMap<String, String>,
    /// Index expressions of its own; without them the type's apply.
    pub search_indexes: Option<Vec<String>>,
    /// What the index expressions gave. Part of the sealed record, so that its index entries can
    /// be named again without evaluating anything.
    pub search_terms: Vec<String>,
    /// An expression of its own; without one the type's applies.
    pub fingerprint_expression: Option<String>,
    pub fingerprint: String,
    pub expires_at: Option<Timestamp>,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
}

/// Search terms and metadata are the caller's; only the assigned id is ours to print.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({})", self.id)
    }
}

/// An id that the creator of a token chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName(String);

/// Why a text cannot be a token's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidTokenName {
    Character,
    Length,
}

impl Token {
    /// An expired token is gone the moment it expires, whenever its record is deleted.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at)
    }

    /// The id that callers know it by.
    pub fn public_id(&self) -> String {
        self.name.as_ref().map_or_else(|| self.id.to_string(), |name| name.0.clone())
    }

    /// The data with the code in its place, if there is one.
    pub fn whole_data(&self) -> Secret<Value> {
        self.data.with(self.cvc.as_ref())
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

impl std::fmt::Display for InvalidTokenName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Character => f.write_str(
                r"An id may not hold control characters or any of # / \ + ? [ ] | & = % < > { } ^.",
            ),
            Self::Length => {
                write!(f, "An id has {TOKEN_NAME_CHARS_MIN} to {TOKEN_NAME_CHARS_MAX} characters.")
            }
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
}
