//! Search queries: `data:4242`, `container:"/pci/" AND metadata.user:"a b"`.
//!
//! A query is terms joined by AND. OR, negation, groups and other fields are refused with an error
//! that names them, their position in the query, and the supported forms.

mod scan;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::bounds::SEARCH_QUERY_CHARS_MAX;
use crate::domain::container::{Container, InvalidContainer};
use crate::domain::search_query::scan::Scanner;
use crate::domain::token_query::{LegacyTokenQuery, TokenFilter, TokenQuery};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;

/// Holds positions and kinds, never text of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadQuery {
    pub why: Refused,
    /// The position of the mistake in characters, from 1.
    pub at: usize,
    forms: Forms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Two terms without AND between them.
    Connective,
    Container(InvalidContainer),
    Field,
    Group,
    Mixed,
    NoColon,
    NoTerm,
    NoValue,
    Negation,
    Or,
    /// The value holds a character that needs quotes.
    Quotes,
    Repeated,
    TooLong,
    Type,
    Unclosed,
}

/// The version of the operation, which decides which fields may be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forms {
    V1,
    V2,
}

/// One `field:value`.
struct Term {
    field: Field,
    value: Secret<String>,
    at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    Container,
    Data,
    Fingerprint,
    Id,
    Metadata(String),
    Type,
}

/// At most one term and one container. Values are compared exactly. Blank text finds everything.
pub fn parse(text: &str) -> Result<TokenQuery, BadQuery> {
    let refused = |(why, at)| BadQuery { why, at, forms: Forms::V2 };
    let mut query = TokenQuery::default();
    for term in terms(text).map_err(refused)? {
        let at = term.at;
        narrow(&mut query, term).map_err(|why| refused((why, at)))?;
    }
    Ok(query)
}

/// One id or data term, or metadata terms. Metadata is compared without case.
pub fn parse_legacy(text: &str) -> Result<LegacyTokenQuery, BadQuery> {
    let refused = |(why, at)| BadQuery { why, at, forms: Forms::V1 };
    let terms = terms(text).map_err(refused)?;
    let mut query = LegacyTokenQuery::default();
    for term in terms {
        let has_metadata = !query.metadata.is_empty();
        let has_other = query.ids.is_some() || query.search_term.is_some();
        let text = || term.value.expose().clone();
        match term.field {
            Field::Container | Field::Fingerprint | Field::Type => {
                return Err(refused((Refused::Field, term.at)));
            }
            Field::Data if !has_other && !has_metadata => query.search_term = Some(term.value),
            Field::Id if !has_other && !has_metadata => query.ids = Some(vec![text()]),
            Field::Metadata(key) if !has_other => {
                query.metadata.push((key, term.value.expose().clone()));
            }
            Field::Data | Field::Id | Field::Metadata(_) => {
                return Err(refused((Refused::Mixed, term.at)));
            }
        }
    }
    Ok(query)
}

fn narrow(query: &mut TokenQuery, term: Term) -> Result<(), Refused> {
    let text = || term.value.expose().clone();
    let filter = match term.field {
        Field::Container if query.container.is_some() => return Err(Refused::Repeated),
        Field::Container => {
            let container = Container::parse(term.value.expose()).map_err(Refused::Container)?;
            query.container = Some(container);
            return Ok(());
        }
        Field::Id => return Err(Refused::Field),
        Field::Fingerprint => TokenFilter::Fingerprint(text()),
        Field::Type => {
            TokenFilter::Type(TokenType::parse(term.value.expose()).ok_or(Refused::Type)?)
        }
        Field::Metadata(key) => TokenFilter::Metadata(key, term.value.expose().clone()),
        Field::Data => TokenFilter::SearchTerm(term.value),
    };
    if !matches!(query.filter, TokenFilter::Everything) {
        return Err(Refused::Mixed);
    }
    query.filter = filter;
    Ok(())
}

fn terms(text: &str) -> Result<Vec<Term>, (Refused, usize)> {
    if text.chars().count() > SEARCH_QUERY_CHARS_MAX {
        return Err((Refused::TooLong, SEARCH_QUERY_CHARS_MAX.saturating_add(1)));
    }
    let mut scanner = Scanner::new(text);
    let mut terms = Vec::new();
    scanner.skip_blanks();
    while !scanner.is_at_end() {
        if !terms.is_empty() {
            scanner.connective()?;
        }
        terms.push(scanner.term()?);
        scanner.skip_blanks();
    }
    Ok(terms)
}

impl Field {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "container" => Some(Self::Container),
            "data" => Some(Self::Data),
            "fingerprint" => Some(Self::Fingerprint),
            "id" => Some(Self::Id),
            "type" => Some(Self::Type),
            _ => {
                let key = name.strip_prefix("metadata.").filter(|key| !key.is_empty())?;
                Some(Self::Metadata(String::from(key)))
            }
        }
    }
}

impl fmt::Display for BadQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Refused::Connective => f.write_str("Terms are joined by AND")?,
            Refused::Container(invalid) => {
                f.write_str(invalid.to_string().trim_end_matches('.'))?;
            }
            Refused::Field => f.write_str("This field cannot be searched")?,
            Refused::Group => f.write_str("Groups are not supported")?,
            Refused::Mixed => f.write_str("These terms cannot be combined")?,
            Refused::NoColon => f.write_str("A field is followed by a colon and a value")?,
            Refused::NoTerm => f.write_str("A term is missing")?,
            Refused::NoValue => f.write_str("A value is missing")?,
            Refused::Negation => f.write_str("Negation is not supported")?,
            Refused::Or => f.write_str("OR is not supported")?,
            Refused::Quotes => {
                f.write_str("A value with quotes, backslashes or parentheses stands in quotes")?;
            }
            Refused::Repeated => f.write_str("A field may stand once in a query")?,
            Refused::TooLong => {
                write!(f, "A query has at most {SEARCH_QUERY_CHARS_MAX} characters")?;
            }
            Refused::Type => {
                write!(f, "There is no such token type; the types are: {}", TokenType::list())?;
            }
            Refused::Unclosed => f.write_str("A quote is not closed")?,
        }
        write!(f, " (character {}). {}", self.at, self.forms.sentence())
    }
}

impl Forms {
    const fn sentence(self) -> &'static str {
        match self {
            Self::V1 => {
                "Supported are a single id, metadata.<key> or data term as field:value, and \
                 several metadata.<key> terms joined by AND."
            }
            Self::V2 => {
                "Supported are a single container, type, fingerprint, metadata.<key> or data term \
                 as field:value, and a container term joined to one of the others by AND."
            }
        }
    }
}
