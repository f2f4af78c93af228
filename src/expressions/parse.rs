//! Parses a text into a [`Template`], in linear time and without recursion.

use serde_json::{Number, Value};

use super::budget::STEP;
use super::failures::{Malformed, MalformedReason};
use super::filters::{self, Argument, Call, Filter, FilterPosition};
use super::lex::Cursor;
use super::scope::Reference;
use super::template::{Expression, Piece, Source, Template};
use super::variable::{Segment, Variable};
use crate::bounds;
use crate::domain::token::TokenName;

impl Template {
    /// For masks, ids, fingerprints and indexes: `{{ data.number | last4 }}`.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        template(text, Names::Variables)
    }

    /// For detokenization: `{{ id }}`, `{{ token: id | json: '$.data' }}`,
    /// `{{ token_intent: id }}`.
    pub fn parse_with_references(text: &str) -> Result<Self, Malformed> {
        template(text, Names::References)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Proxy,
    References,
    Variables,
}

fn template(text: &str, names: Names) -> Result<Template, Malformed> {
    let bytes_max = match names {
        Names::Proxy | Names::References => bounds::REFERENCES_BYTES_MAX,
        Names::Variables => bounds::TEMPLATE_BYTES_MAX,
    };
    if text.len() > bytes_max {
        return Err(Malformed::new(bytes_max, MalformedReason::TooLong));
    }
    // The text around references is a document of the caller and may contain anything. In a mask or
    // a fingerprint, a tag taken as text would give every token the same value.
    if names == Names::Variables
        && let Some(at) = text.find("{%")
    {
        return Err(Malformed::new(at, MalformedReason::Tag));
    }
    let mut cursor = Cursor::new(text);
    let mut pieces = Vec::new();
    let mut expressions = 0_usize;
    let mut states = 0_usize;
    let mut trim = Trim::Nothing;
    loop {
        let (before, opened) = match cursor.take_past("{{") {
            Some(before) => (before, true),
            None => (cursor.rest(), false),
        };
        let before = if trim == Trim::Spaces { before.trim_start() } else { before };
        if !opened {
            push_text(&mut pieces, before);
            return Ok(Template { pieces, states });
        }
        let opening = cursor.at().saturating_sub(2);
        let trimming = names == Names::Variables && cursor.eat("-");
        push_text(&mut pieces, if trimming { before.trim_end() } else { before });
        expressions += 1;
        if expressions > bounds::TEMPLATE_EXPRESSIONS_MAX {
            return Err(Malformed::new(opening, MalformedReason::TooManyExpressions));
        }
        let mut expression = ExpressionParser { cursor, names, opening };
        let parsed;
        (parsed, trim) = expression.parse()?;
        states = states.saturating_add(parsed.states());
        if states > bounds::TEMPLATE_STATES_MAX {
            return Err(Malformed::new(opening, MalformedReason::TooManyStates));
        }
        pieces.push(Piece::Expression(parsed));
        cursor = expression.cursor;
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

/// `-}}` removes the white space after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trim {
    Nothing,
    Spaces,
}

pub(super) struct ExpressionParser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) names: Names,
    /// The offset of the opening braces, for the error of an unclosed expression.
    pub(super) opening: usize,
}

impl<'a> ExpressionParser<'a> {
    pub(super) fn parse(&mut self) -> Result<(Expression, Trim), Malformed> {
        self.cursor.skip_spaces();
        let source = match self.names {
            Names::Proxy => match self.proxy_variable()? {
                Some(variable) => Source::Variable(variable),
                None => Source::Reference(self.reference()?),
            },
            Names::References => Source::Reference(self.reference()?),
            Names::Variables => self.source()?,
        };
        let mut calls: Vec<Call> = Vec::new();
        let trim = loop {
            self.cursor.skip_spaces();
            let at = self.cursor.at();
            if self.cursor.eat("}}") {
                break Trim::Nothing;
            }
            if self.names == Names::Variables && self.cursor.eat("-}}") {
                break Trim::Spaces;
            }
            // The tests of published clients contain `{{ data.number, reveal_last: 4 }}`.
            let piped = self.cursor.eat("|")
                || (calls.is_empty() && self.names == Names::Variables && self.cursor.eat(","));
            if !piped {
                return Err(self.unexpected());
            }
            if calls.len() == bounds::FILTERS_MAX {
                return Err(Malformed::new(at, MalformedReason::TooManyFilters));
            }
            calls.push(self.call(calls.last())?);
        };
        if let Some(last) = calls.last()
            && last.filter.place == FilterPosition::BeforeEncoding
        {
            return Err(Malformed::new(self.opening, MalformedReason::NotEncoded));
        }
        Ok((Expression { source, calls }, trim))
    }

    fn unexpected(&self) -> Malformed {
        if self.cursor.is_done() {
            Malformed::new(self.opening, MalformedReason::Unclosed)
        } else {
            Malformed::new(self.cursor.at(), MalformedReason::Unexpected)
        }
    }

    fn reference(&mut self) -> Result<Reference, Malformed> {
        let at = self.cursor.at();
        let head = self.cursor.take_while(|c| !matches!(c, '|' | '{' | '}')).trim_end();
        if head.is_empty() && !self.cursor.is_done() {
            return Err(Malformed::new(at, MalformedReason::Empty));
        }
        let (kind, id): (fn(String) -> Reference, &str) =
            match (head.strip_prefix("token_intent:"), head.strip_prefix("token:")) {
                (Some(id), _) => (Reference::TokenIntent, id.trim_start()),
                (None, Some(id)) => (Reference::Token, id.trim_start()),
                (None, None) => (Reference::TokenData, head),
            };
        if self.cursor.is_done() {
            return Err(Malformed::new(self.opening, MalformedReason::Unclosed));
        }
        if TokenName::parse(id).is_err() {
            return Err(Malformed::new(at, MalformedReason::BadReference));
        }
        Ok(kind(id.to_owned()))
    }

    fn source(&mut self) -> Result<Source, Malformed> {
        if self.cursor.rest().starts_with("}}") || self.cursor.rest().starts_with("-}}") {
            return Err(Malformed::new(self.cursor.at(), MalformedReason::Empty));
        }
        Ok(match self.argument()? {
            Argument::Literal(value) => Source::Literal(value),
            Argument::Variable(variable) => Source::Variable(variable),
            Argument::Path(_) => return Err(self.unexpected()),
        })
    }

    fn call(&mut self, before: Option<&Call>) -> Result<Call, Malformed> {
        self.cursor.skip_spaces();
        let at = self.cursor.at();
        let name = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() {
            let Malformed { at, why, .. } = self.unexpected();
            return Err(Malformed::new(
                at,
                if why == MalformedReason::Unclosed { why } else { MalformedReason::FilterMissing },
            ));
        }
        let filter =
            filters::find(name).ok_or(Malformed::new(at, MalformedReason::UnknownFilter))?;
        match before.map(|call| call.filter.place) {
            Some(FilterPosition::Last) => return Err(Malformed::new(at, MalformedReason::NotLast)),
            Some(FilterPosition::BeforeEncoding) if !filter.encodes() => {
                return Err(Malformed::new(at, MalformedReason::NotEncoded));
            }
            Some(FilterPosition::Anywhere | FilterPosition::BeforeEncoding) | None => {}
        }
        self.cursor.skip_spaces();
        let arguments = if self.cursor.eat(":") { self.arguments(filter, at)? } else { Vec::new() };
        if arguments.len() < filter.least || arguments.len() > filter.kinds.len() {
            return Err(Malformed::new(at, MalformedReason::ArgumentCount).of(filter.usage()));
        }
        Ok(Call { filter, arguments })
    }

    fn arguments(&mut self, filter: &Filter, call_at: usize) -> Result<Vec<Argument>, Malformed> {
        let mut arguments = Vec::new();
        loop {
            self.cursor.skip_spaces();
            let at = self.cursor.at();
            let Some(kind) = filter.kinds.get(arguments.len()) else {
                return Err(
                    Malformed::new(call_at, MalformedReason::ArgumentCount).of(filter.usage())
                );
            };
            if let Some(named) = filter.named
                && self.cursor.rest().starts_with(named)
            {
                // `allow_false: true` is the only named argument of standard Liquid.
                let is_last = filter.kinds.len() == arguments.len() + 1;
                self.cursor.eat(named);
                self.cursor.skip_spaces();
                if !is_last || !self.cursor.eat(":") {
                    let wrong = Malformed::new(at, MalformedReason::BadArgument);
                    return Err(wrong.of(filter.usage()));
                }
                self.cursor.skip_spaces();
            }
            let argument = self.argument()?;
            let checked = kind.check(argument);
            let wrong = |why| Malformed::new(at, why).of(filter.usage());
            arguments.push(checked.map_err(wrong)?);
            self.cursor.skip_spaces();
            if !self.cursor.eat(",") {
                return Ok(arguments);
            }
        }
    }

    pub(super) fn argument(&mut self) -> Result<Argument, Malformed> {
        let at = self.cursor.at();
        match self.cursor.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.cursor.bump();
                let mark = if quote == '"' { "\"" } else { "'" };
                let text = self
                    .cursor
                    .take_past(mark)
                    .ok_or(Malformed::new(at, MalformedReason::UnclosedQuote))?;
                Ok(Argument::Literal(Value::String(text.to_owned())))
            }
            Some('-' | '0'..='9') => self.number().map(|number| Argument::Literal(number.into())),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name = self.word();
                let keyword = match name {
                    "true" => Some(Value::Bool(true)),
                    "false" => Some(Value::Bool(false)),
                    "nil" | "null" => Some(Value::Null),
                    _ => None,
                };
                match keyword {
                    Some(value) if !matches!(self.cursor.peek(), Some('.' | '[')) => {
                        Ok(Argument::Literal(value))
                    }
                    Some(_) => Err(Malformed::new(at, MalformedReason::BadVariable)),
                    None => self.variable(name).map(Argument::Variable),
                }
            }
            Some(_) | None => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Result<Number, Malformed> {
        let at = self.cursor.at();
        let bad = Malformed::new(at, MalformedReason::BadNumber);
        let sign = if self.cursor.eat("-") { "-" } else { "" };
        let whole = self.cursor.take_while(|c| c.is_ascii_digit());
        if whole.is_empty() {
            return Err(bad);
        }
        if self.cursor.eat(".") {
            let fraction = self.cursor.take_while(|c| c.is_ascii_digit());
            let parsed = format!("{sign}{whole}.{fraction}").parse().ok();
            return parsed.filter(|_| !fraction.is_empty()).and_then(Number::from_f64).ok_or(bad);
        }
        let text = format!("{sign}{whole}");
        let signed = text.parse::<i64>().map(Number::from).ok();
        signed.or_else(|| text.parse::<u64>().map(Number::from).ok()).ok_or(bad)
    }

    pub(super) fn variable(&mut self, name: &str) -> Result<Variable, Malformed> {
        let mut segments = Vec::new();
        loop {
            let at = self.cursor.at();
            if self.cursor.eat(".") {
                let key = self.word();
                if key.is_empty() {
                    return Err(Malformed::new(at, MalformedReason::BadVariable));
                }
                segments.push(Segment::Key(key.to_owned()));
            } else if self.cursor.eat("[") {
                segments.push(self.bracketed(at)?);
            } else {
                let work = segments.iter().fold(STEP, |work, segment| {
                    let length = match segment {
                        Segment::Index(_) => 0,
                        Segment::Key(key) => key.len(),
                    };
                    work.saturating_add(STEP).saturating_add(length)
                });
                return Ok(Variable { name: name.to_owned(), segments, work });
            }
            if segments.len() > bounds::VARIABLE_SEGMENTS_MAX {
                return Err(Malformed::new(at, MalformedReason::TooManySegments));
            }
        }
    }

    /// `['a key']` or `[0]`, from after the opening bracket.
    fn bracketed(&mut self, at: usize) -> Result<Segment, Malformed> {
        let bad = || Malformed::new(at, MalformedReason::BadVariable);
        self.cursor.skip_spaces();
        let segment = match self.cursor.peek() {
            Some('\'' | '"') => match self.argument()? {
                Argument::Literal(Value::String(key)) => Segment::Key(key),
                Argument::Literal(_) | Argument::Variable(_) | Argument::Path(_) => {
                    return Err(bad());
                }
            },
            Some('-' | '0'..='9') => Segment::Index(self.number()?.as_i64().ok_or_else(bad)?),
            Some(_) | None => return Err(bad()),
        };
        self.cursor.skip_spaces();
        if self.cursor.eat("]") { Ok(segment) } else { Err(bad()) }
    }

    /// A name: letters, digits, `_` and `-`, except that `-}}` closes the expression.
    fn word(&mut self) -> &'a str {
        self.cursor.take_until(|rest| {
            rest.starts_with("-}}")
                || !rest.starts_with(|c: char| c.is_alphanumeric() || "_-".contains(c))
        })
    }
}
