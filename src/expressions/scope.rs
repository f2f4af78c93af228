//! Scopes: the values that an expression can name.

use std::fmt;

use serde_json::Value;

/// The values that an expression can name.
pub trait Scope {
    /// `None` for an unknown name, which evaluates to null.
    fn variable(&self, name: &str) -> Option<&Value>;

    /// `None` for a token or intent that does not exist, which fails the evaluation.
    fn reference(&self, _reference: &Reference) -> Option<&Value> {
        None
    }
}

/// The scope of masks, ids and search indexes.
#[derive(Clone, Copy)]
pub struct Data<'a>(pub &'a Value);

impl Scope for Data<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        (name == "data").then_some(self.0)
    }
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Data(..)")
    }
}

/// The scope of fingerprint expressions.
#[derive(Clone, Copy)]
pub struct DataAndMetadata<'a> {
    pub data: &'a Value,
    pub metadata: &'a Value,
}

impl Scope for DataAndMetadata<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        match name {
            "data" => Some(self.data),
            "metadata" => Some(self.metadata),
            _ => None,
        }
    }
}

impl fmt::Debug for DataAndMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataAndMetadata(..)")
    }
}

/// The token or intent that a detokenization expression names.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `{{ id }}`: the token's data.
    TokenData(String),
    /// `{{ token: id }}`: the whole token.
    Token(String),
    /// `{{ token_intent: id }}`: the whole intent.
    TokenIntent(String),
}

impl Reference {
    pub fn id(&self) -> &str {
        match self {
            Self::TokenData(id) | Self::Token(id) | Self::TokenIntent(id) => id,
        }
    }
}

/// Prints no id: callers choose them and may put sensitive values into them.
impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TokenData(_) => "TokenData(..)",
            Self::Token(_) => "Token(..)",
            Self::TokenIntent(_) => "TokenIntent(..)",
        })
    }
}
