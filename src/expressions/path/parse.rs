//! Parses a path. `None` is malformed; paths are short, so the error has no position.

use serde_json::Value;

use super::literals;
use super::pattern::{Extent, Pattern};
use super::query::{
    Comparison, Condition, Operand, PatternSource, Query, Reach, Segment, Selector, Start,
};
use crate::bounds;
use crate::expressions::lex::Cursor;

/// The segments, and the states of all patterns in them.
pub(super) fn path(text: &str) -> Option<(Vec<Segment>, usize)> {
    // Other blanks can be letters of a name: `$.a\u{a0}`.
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let mut parser = Parser { cursor: Cursor::new(text), parts: 0, depth: 0, states: 0 };
    if !parser.cursor.eat("$") {
        return None;
    }
    let segments = parser.segments()?;
    parser.cursor.is_done().then_some((segments, parser.states))
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// Segments, selectors and conditions so far.
    parts: usize,
    depth: usize,
    /// The states of all patterns so far.
    states: usize,
}

impl Parser<'_> {
    fn count(&mut self) -> Option<()> {
        self.parts = self.parts.checked_add(1)?;
        (self.parts <= bounds::JSON_PATH_PARTS_MAX).then_some(())
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth = self.depth.checked_add(1)?;
        if self.depth > bounds::JSON_PATH_DEPTH_MAX {
            return None;
        }
        let parsed = parse(self);
        self.depth = self.depth.saturating_sub(1);
        parsed
    }

    fn segments(&mut self) -> Option<Vec<Segment>> {
        let mut segments = Vec::new();
        loop {
            self.skip_blanks();
            let reach = if self.cursor.eat("..") { Reach::Descendants } else { Reach::Children };
            let selectors = if self.cursor.eat("[") {
                self.bracketed()?
            } else if reach == Reach::Descendants || self.cursor.eat(".") {
                vec![if self.cursor.eat("*") { Selector::All } else { self.shorthand()? }]
            } else {
                return Some(segments);
            };
            self.count()?;
            segments.push(Segment { reach, selectors });
        }
    }

    fn shorthand(&mut self) -> Option<Selector> {
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !self.cursor.peek().is_some_and(is_first) {
            return None;
        }
        let name =
            self.cursor.take_while(|c| is_first(c) || c.is_ascii_digit() || c == '-').to_owned();
        Some(Selector::Name(name))
    }

    /// Reads from after the opening bracket to after the closing one.
    fn bracketed(&mut self) -> Option<Vec<Selector>> {
        let mut selectors = Vec::new();
        loop {
            self.skip_blanks();
            self.count()?;
            selectors.push(self.selector()?);
            self.skip_blanks();
            if self.cursor.eat("]") {
                return Some(selectors);
            }
            if !self.cursor.eat(",") {
                return None;
            }
        }
    }

    fn selector(&mut self) -> Option<Selector> {
        match self.cursor.peek()? {
            '\'' | '"' => literals::quoted(&mut self.cursor).map(Selector::Name),
            '*' => self.cursor.eat("*").then_some(Selector::All),
            '?' => {
                self.cursor.bump();
                self.deeper(Self::any).map(Selector::Filter)
            }
            '-' | '0'..='9' | ':' => self.index_or_slice(),
            _ => None,
        }
    }

    fn index_or_slice(&mut self) -> Option<Selector> {
        let start = self.end_of_slice()?;
        self.skip_blanks();
        if !self.cursor.eat(":") {
            return match start {
                End::At(index) => Some(Selector::Index(index)),
                End::Open => None,
            };
        }
        self.skip_blanks();
        let end = self.end_of_slice()?;
        self.skip_blanks();
        let mut step = End::Open;
        if self.cursor.eat(":") {
            self.skip_blanks();
            step = self.end_of_slice()?;
        }
        let (start, end) = (start.place(), end.place());
        Some(Selector::Slice { start, end, step: step.place().unwrap_or(1) })
    }

    fn end_of_slice(&mut self) -> Option<End> {
        if matches!(self.cursor.peek(), Some('-' | '0'..='9')) {
            literals::integer(&mut self.cursor).map(End::At)
        } else {
            Some(End::Open)
        }
    }

    fn any(&mut self) -> Option<Condition> {
        let mut conditions = vec![self.all()?];
        while self.after_blanks("||") {
            conditions.push(self.all()?);
        }
        if conditions.len() == 1 { conditions.pop() } else { Some(Condition::Any(conditions)) }
    }

    fn all(&mut self) -> Option<Condition> {
        let mut conditions = vec![self.basic()?];
        while self.after_blanks("&&") {
            conditions.push(self.basic()?);
        }
        if conditions.len() == 1 { conditions.pop() } else { Some(Condition::All(conditions)) }
    }

    /// Skips the blanks of RFC 9535, which has fewer than Unicode.
    fn skip_blanks(&mut self) {
        self.cursor.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    fn after_blanks(&mut self, mark: &str) -> bool {
        self.skip_blanks();
        self.cursor.eat(mark)
    }

    fn basic(&mut self) -> Option<Condition> {
        self.count()?;
        self.skip_blanks();
        if self.cursor.eat("!") {
            self.skip_blanks();
            let condition = if self.cursor.eat("(") {
                self.parenthesized()?
            } else {
                // `!@.a == 1` is not in the grammar of RFC 9535: it is ambiguous.
                match self.term()? {
                    Term::Condition(condition) => condition,
                    Term::Query(query) if self.comparison().is_none() => Condition::Exists(query),
                    Term::Query(_) | Term::Operand(_) => return None,
                }
            };
            return Some(Condition::Not(Box::new(condition)));
        }
        if self.cursor.eat("(") {
            return self.parenthesized();
        }
        let first = match self.term()? {
            Term::Condition(condition) => return Some(condition),
            Term::Operand(operand) => operand,
            Term::Query(query) => match self.comparison() {
                None => return Some(Condition::Exists(query)),
                Some(comparison) => {
                    let operand = singular(query)?;
                    return Some(Condition::Compare(operand, comparison, self.operand()?));
                }
            },
        };
        let comparison = self.comparison()?;
        Some(Condition::Compare(first, comparison, self.operand()?))
    }

    /// Reads from after the opening parenthesis.
    fn parenthesized(&mut self) -> Option<Condition> {
        let condition = self.deeper(Self::any)?;
        self.after_blanks(")").then_some(condition)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        self.skip_blanks();
        let known = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        known.into_iter().find(|(mark, _)| self.cursor.eat(mark)).map(|(_, comparison)| comparison)
    }

    /// A side of a comparison, or the argument of a function that takes a value.
    fn operand(&mut self) -> Option<Operand> {
        self.skip_blanks();
        match self.term()? {
            Term::Operand(operand) => Some(operand),
            Term::Query(query) => singular(query),
            Term::Condition(_) => None,
        }
    }

    fn term(&mut self) -> Option<Term> {
        match self.cursor.peek()? {
            '@' | '$' => self.query().map(Term::Query),
            '\'' | '"' => literals::quoted(&mut self.cursor)
                .map(|text| Term::Operand(Operand::Literal(Value::String(text)))),
            '-' | '0'..='9' => literals::number(&mut self.cursor)
                .map(|number| Term::Operand(Operand::Literal(number))),
            'a'..='z' => {
                let name = self
                    .cursor
                    .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                if self.cursor.eat("(") {
                    return self.deeper(|parser| parser.function(name));
                }
                let literal = match name {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    "null" => Value::Null,
                    _ => return None,
                };
                Some(Term::Operand(Operand::Literal(literal)))
            }
            _ => None,
        }
    }

    /// Reads from after the opening parenthesis.
    fn function(&mut self, name: &str) -> Option<Term> {
        self.count()?;
        self.skip_blanks();
        let term = match name {
            "count" => Term::Operand(Operand::Count(self.query()?)),
            "length" => Term::Operand(Operand::Length(Box::new(self.operand()?))),
            "match" => Term::Condition(self.matches(Extent::Whole)?),
            "search" => Term::Condition(self.matches(Extent::Some)?),
            "value" => Term::Operand(Operand::Value(self.query()?)),
            _ => return None,
        };
        self.after_blanks(")").then_some(term)
    }

    fn matches(&mut self, extent: Extent) -> Option<Condition> {
        let text = self.operand()?;
        if !self.after_blanks(",") {
            return None;
        }
        let pattern = match self.operand()? {
            // A malformed pattern in the path is refused, although RFC 9535 lets it match nothing:
            // it is a mistake of the caller. A malformed pattern in the data matches nothing.
            Operand::Literal(Value::String(pattern)) => {
                let pattern = Pattern::parse(&pattern, extent)?;
                self.states = self.states.checked_add(pattern.states())?;
                if self.states > bounds::TEMPLATE_STATES_MAX {
                    return None;
                }
                PatternSource::Literal(pattern)
            }
            operand @ (Operand::Count(_)
            | Operand::Length(_)
            | Operand::Literal(_)
            | Operand::Query(_)
            | Operand::Value(_)) => PatternSource::Operand(operand),
        };
        Some(Condition::Matches(text, pattern, extent))
    }

    fn query(&mut self) -> Option<Query> {
        let start = match self.cursor.bump()? {
            '@' => Start::Current,
            '$' => Start::Root,
            _ => return None,
        };
        Some(Query { start, segments: self.segments()? })
    }
}

/// A bound of a slice, or its step.
enum End {
    At(i64),
    Open,
}

impl End {
    const fn place(self) -> Option<i64> {
        match self {
            Self::At(place) => Some(place),
            Self::Open => None,
        }
    }
}

enum Term {
    Condition(Condition),
    Operand(Operand),
    Query(Query),
}

fn singular(query: Query) -> Option<Operand> {
    query.is_singular().then_some(Operand::Query(query))
}
