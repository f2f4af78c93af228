//! The expressions that may be evaluated over a value.

use crate::domain::exposure::{Grants, ValueOrigin};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The caller, known by the API key of its application.
    Application,
    /// The caller, known by the key of a session, which any visitor of a page can have.
    Session,
    /// The caller, known by nothing but the key of a proxy. The proxy's application
    /// gives the grants, and the caller sees nothing.
    Stranger,
    /// The tenant: transforms of its proxies, stored masks, and the defaults of token types.
    Tenant,
}

/// A value that an expression reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// The configuration of a proxy. It is in no container, so grants for the root apply.
    Configuration,
    /// The value of a token or an intent, or one that a client encrypted.
    Value(ValueOrigin),
}

/// The place that the result of an expression goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// An answer to the caller. The expression reads the value as [`Grants::exposure`] shows it.
    Answer,
    /// A request to the destination of a proxy.
    Destination,
    /// A part of a token: its mask, a search index, its fingerprint or its id.
    Token,
}

/// The expressions that may read a value, the fewest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Computation {
    None,
    /// Those that put the value, or the member at a path of names and indexes, where they stand.
    /// Neither their success nor their output is a function of the value that the author chose.
    Placement,
    Any,
}

impl Grants {
    pub fn computation(self, author: Author, output: Output, operand: Operand) -> Computation {
        let may_see = match author {
            Author::Application => self.shows_plain(),
            Author::Session => self.shows_plain() && operand != Operand::Configuration,
            Author::Stranger => false,
            Author::Tenant => true,
        };
        match (operand, output) {
            _ if may_see => Computation::Any,
            (Operand::Value(ValueOrigin::Own), _) => Computation::Any,
            (Operand::Value(_), Output::Answer) if author != Author::Stranger => Computation::Any,
            (Operand::Value(_), Output::Destination) => Computation::Placement,
            (Operand::Value(_), Output::Answer | Output::Token) | (Operand::Configuration, _) => {
                Computation::None
            }
        }
    }
}
