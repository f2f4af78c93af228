//! Queries of lists and searches, independent of their spelling.

use crate::domain::container::Container;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

/// The query of a list or a search with a cursor.
#[derive(Debug)]
pub struct TokenQuery {
    /// Only tokens in this container or inside it; without one, all tokens that the caller may see.
    pub container: Option<Container>,
    pub filter: TokenFilter,
}

/// Compared exactly, with case.
#[derive(Debug)]
pub enum TokenFilter {
    Everything,
    Fingerprint(String),
    Metadata(String, String),
    /// The value of an index expression, which may be a card number.
    SearchTerm(Secret<String>),
    Type(TokenType),
}

/// The query of a deprecated list or search: all conditions must hold.
#[derive(Debug, Default)]
pub struct LegacyTokenQuery {
    /// One of these ids; any when absent.
    pub ids: Option<Vec<String>>,
    /// Keys and values, compared without case.
    pub metadata: Vec<(String, String)>,
    pub search_term: Option<Secret<String>>,
}

impl Default for TokenQuery {
    fn default() -> Self {
        Self { container: None, filter: TokenFilter::Everything }
    }
}
