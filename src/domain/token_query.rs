//! What lists and searches ask for, however they were spelled.

use crate::domain::container::Container;
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

/// What a list or a search with a cursor asks for.
#[derive(Debug)]
pub struct TokenQuery {
    /// Only tokens in it or inside it; everything that the caller may see when absent.
    pub container: Option<Container>,
    pub filter: TokenFilter,
}

/// Exact, and by case.
#[derive(Debug)]
pub enum TokenFilter {
    Everything,
    Fingerprint(String),
    Metadata(String, String),
    /// What an index expression gave: it may be a card number.
    SearchTerm(Secret<String>),
    Type(TokenType),
}

/// What a deprecated list or search asks for: all of it must hold.
#[derive(Debug, Default)]
pub struct LegacyTokenQuery {
    /// One of these ids; any when absent.
    pub ids: Option<Vec<String>>,
    /// Keys and values, whatever their case.
    pub metadata: Vec<(String, String)>,
    pub search_term: Option<Secret<String>>,
}

impl Default for TokenQuery {
    fn default() -> Self {
        Self { container: None, filter: TokenFilter::Everything }
    }
}
