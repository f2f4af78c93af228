//! The expressions that may be evaluated over a value.

use crate::domain::exposure::{Grants, ValueOrigin};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A caller with the API key of its application.
    Application,
    /// A caller with the key of a session, which any visitor of a page can have.
    Session,
    /// A caller with only the key of a proxy. The grants come from the proxy's application, and the
    /// caller sees nothing.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// An answer to the caller. The expression reads the value as [`Grants::exposure`] shows it.
    Answer,
    /// A request to the destination of a proxy.
    Destination,
    /// A part of a token: its mask, a search index, its fingerprint or its id.
    Token,
}

/// Ordered by the number of expressions that may read a value, the fewest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Computation {
    None,
    /// Expressions that only insert the value, or its member at a path of names and indexes. The
    /// author cannot make their success or their output another function of the value.
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
