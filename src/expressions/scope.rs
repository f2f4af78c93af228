//! Scopes: the values that an expression can name.

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

use crate::domain::exposure::Computation;
use crate::domain::metadata::Metadata;

pub trait Scope {
    /// `None` for an unknown name, which evaluates to null.
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>>;

    /// `None` for a token or intent that does not exist, which fails the evaluation.
    fn reference(&self, _reference: &Reference) -> Option<ScopedValue<'_>> {
        None
    }
}

/// A value with the expressions that may read it. The evaluation refuses all others, so that no
/// filter reads a value that the author of the expression may not see.
#[derive(Clone, Copy)]
pub struct ScopedValue<'a> {
    pub value: &'a Value,
    pub computation: Computation,
}

impl<'a> ScopedValue<'a> {
    /// For a value that the author of the expressions may see, and for expressions of the tenant.
    pub const fn open(value: &'a Value) -> Self {
        Self { value, computation: Computation::Any }
    }
}

impl fmt::Debug for ScopedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedValue")
            .field("computation", &self.computation)
            .finish_non_exhaustive()
    }
}

/// The scope of masks, ids and search indexes.
#[derive(Clone, Copy)]
pub struct Data<'a>(pub &'a Value);

impl Scope for Data<'_> {
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
        (name == "data").then_some(ScopedValue::open(self.0))
    }
}

opaque_debug!(Data<'_>);
opaque_debug!(DataAndMetadata<'_>);

/// The scope of fingerprint expressions.
pub struct DataAndMetadata<'a> {
    data: &'a Value,
    metadata: &'a Metadata,
    /// The metadata as JSON, once an expression has read it.
    object: OnceLock<Value>,
}

impl<'a> DataAndMetadata<'a> {
    pub const fn new(data: &'a Value, metadata: &'a Metadata) -> Self {
        Self { data, metadata, object: OnceLock::new() }
    }

    fn object(&self) -> &Value {
        self.object.get_or_init(|| self.metadata.to_value())
    }
}

impl Scope for DataAndMetadata<'_> {
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
        match name {
            "data" => Some(ScopedValue::open(self.data)),
            "metadata" => Some(ScopedValue::open(self.object())),
            _ => None,
        }
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

    /// The place of a card verification code in the value that the expression starts from.
    pub(super) const fn code_member(&self) -> &'static [&'static str] {
        match self {
            Self::TokenData(_) => &["cvc"],
            Self::Token(_) | Self::TokenIntent(_) => &["data", "cvc"],
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
