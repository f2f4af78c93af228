//! Expressions of proxies, parsed one at a time: the text around them may be a document of any
//! size.

use serde_json::Value;

use super::budget::{Budget, STEP};
use super::cache::Unparsed;
use super::failures::{Malformed, MalformedReason};
use super::filters::Argument;
use super::lex::Cursor;
use super::parse::{ExpressionParser, Names};
use super::template::{Piece, Template};
use super::variable::{Segment, Variable};
use crate::bounds;

/// Names that are values and never tokens.
const VARIABLES: [&str; 3] = ["proxy", "encrypted", "res"];
/// Names of tables, followed by a colon and a key: `config: key`.
const TABLES: [&str; 2] = ["config", "transform_identifier"];

impl Template {
    /// Parses the expression at the start of the text, which begins with its braces, and returns it
    /// with its length. Besides tokens and intents it may name `config: key`, `proxy`, `encrypted`,
    /// and in transforms of an answer `res` and `transform_identifier: name`.
    pub fn parse_first(text: &str, budget: &Budget) -> Result<(Self, usize), Unparsed> {
        let end = text.floor_char_boundary(bounds::TEMPLATE_BYTES_MAX);
        let mut cursor = Cursor::new(text.get(..end).unwrap_or_default());
        if !cursor.eat("{{") {
            return Err(Unparsed::Malformed(Malformed::new(0, MalformedReason::Unexpected)));
        }
        let mut expression = ExpressionParser { cursor, names: Names::Proxy, opening: 0 };
        let (parsed, _) = expression.parse().map_err(Unparsed::Malformed)?;
        let length = expression.cursor.at();
        let spent = budget.spend_parsing(text.get(..length).unwrap_or_default());
        spent.map_err(Unparsed::Unpaid)?;
        let states = parsed.states();
        if states > bounds::TEMPLATE_STATES_MAX {
            return Err(Unparsed::Malformed(Malformed::new(0, MalformedReason::TooManyStates)));
        }
        Ok((Self { pieces: vec![Piece::Expression(parsed)], states }, length))
    }
}

impl ExpressionParser<'_> {
    /// The variable that the expression of a proxy begins with; `None` if it begins with a token.
    pub(super) fn proxy_variable(&mut self) -> Result<Option<Variable>, Malformed> {
        for name in VARIABLES {
            let after = self.cursor.rest().strip_prefix(name);
            if after.is_some_and(|after| after.trim_start().starts_with(['.', '[', '|', '}'])) {
                self.cursor.eat(name);
                return self.variable(name).map(Some);
            }
        }
        for name in TABLES {
            let after = self.cursor.rest().strip_prefix(name);
            if after.is_some_and(|after| after.starts_with(':')) {
                self.cursor.eat(name);
                self.cursor.eat(":");
                let key = self.table_key()?;
                let work = STEP.saturating_mul(2).saturating_add(key.len());
                let segments = vec![Segment::Key(key)];
                return Ok(Some(Variable { name: String::from(name), segments, work }));
            }
        }
        Ok(None)
    }

    /// The key of a table: quoted, or everything up to the next filter.
    fn table_key(&mut self) -> Result<String, Malformed> {
        self.cursor.skip_spaces();
        let bad = Malformed::new(self.cursor.at(), MalformedReason::BadVariable);
        let key = if self.cursor.rest().starts_with(['\'', '"']) {
            match self.argument()? {
                Argument::Literal(Value::String(key)) => key,
                Argument::Literal(_) | Argument::Variable(_) | Argument::Path(_) => {
                    return Err(bad);
                }
            }
        } else {
            let key = self.cursor.take_while(|c| !matches!(c, '|' | '{' | '}'));
            String::from(key.trim_end())
        };
        if key.is_empty() { Err(bad) } else { Ok(key) }
    }
}
