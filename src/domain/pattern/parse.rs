//! Parses the text of a pattern into its tree.

use std::iter::Peekable;
use std::str::Chars;

use crate::bounds::{
    JSON_PATH_DEPTH_MAX, PATTERN_BYTES_MAX, PATTERN_STATES_MAX, PROXY_PATTERN_BYTES_MAX,
    PROXY_PATTERN_DEPTH_MAX, PROXY_PATTERN_GROUPS_MAX,
};
use crate::domain::pattern::InvalidPattern;
use crate::domain::pattern::class::{Class, Item, Shorthand};

pub(super) struct Parsed {
    pub(super) root: Node,
    pub(super) groups: usize,
    pub(super) ignores_case: bool,
}

pub(super) enum Node {
    Alternatives(Vec<Node>),
    Assertion(Assertion),
    Class(Class),
    /// The number of the group, from 0.
    Group(usize, Box<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        /// `None` without a maximum.
        most: Option<usize>,
        is_greedy: bool,
    },
    Sequence(Vec<Node>),
}

impl Node {
    /// True if the node takes no states.
    fn is_empty(&self) -> bool {
        match self {
            Self::Alternatives(ways) => ways.len() < 2 && ways.iter().all(Self::is_empty),
            Self::Assertion(_) | Self::Class(_) | Self::Group(..) | Self::Repeat { .. } => false,
            Self::Sequence(nodes) => nodes.iter().all(Self::is_empty),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assertion {
    End,
    NoWordBoundary,
    Start,
    WordBoundary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// RFC 9485, with the differences that [`super::Pattern::parse_iregexp`] names.
    IRegexp,
    Mask,
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    groups: usize,
    dialect: Dialect,
}

pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Parsed, InvalidPattern> {
    let bytes_max = match dialect {
        Dialect::IRegexp => PATTERN_BYTES_MAX,
        Dialect::Mask => PROXY_PATTERN_BYTES_MAX,
    };
    if text.len() > bytes_max {
        return Err(InvalidPattern::TooLarge);
    }
    let (ignores_case, text) = match text.strip_prefix("(?i)") {
        Some(rest) if dialect == Dialect::Mask => (true, rest),
        Some(_) | None => (false, text),
    };
    let mut parser = Parser { rest: text.chars().peekable(), groups: 0, dialect };
    let root = parser.alternatives(0)?;
    if parser.rest.next().is_some() {
        return Err(InvalidPattern::Malformed);
    }
    Ok(Parsed { root, groups: parser.groups, ignores_case })
}

impl Parser<'_> {
    /// The recursion is no deeper than the bound of the dialect.
    fn alternatives(&mut self, depth: usize) -> Result<Node, InvalidPattern> {
        let depth_max = match self.dialect {
            Dialect::IRegexp => JSON_PATH_DEPTH_MAX,
            Dialect::Mask => PROXY_PATTERN_DEPTH_MAX,
        };
        if depth > depth_max {
            return Err(InvalidPattern::TooLarge);
        }
        let mut ways = Vec::new();
        loop {
            let mut pieces = Vec::new();
            while !matches!(self.rest.peek(), None | Some('|' | ')')) {
                pieces.push(self.piece(depth)?);
            }
            ways.push(Node::Sequence(pieces));
            if self.rest.next_if_eq(&'|').is_none() {
                return Ok(Node::Alternatives(ways));
            }
        }
    }

    fn piece(&mut self, depth: usize) -> Result<Node, InvalidPattern> {
        let atom = self.atom(depth)?;
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.rest.next();
                return self.counted(atom);
            }
            _ => return Ok(atom),
        };
        self.rest.next();
        self.repeat(atom, least, most)
    }

    /// `{2}`, `{2,}` or `{2,4}`, after its brace.
    fn counted(&mut self, atom: Node) -> Result<Node, InvalidPattern> {
        let least = self.number()?;
        let most = if self.rest.next_if_eq(&',').is_none() {
            Some(least)
        } else if self.rest.peek() == Some(&'}') {
            None
        } else {
            Some(self.number()?)
        };
        self.expect('}')?;
        if most.is_some_and(|most| most < least) {
            return Err(InvalidPattern::Malformed);
        }
        self.repeat(atom, least, most)
    }

    fn repeat(
        &mut self,
        atom: Node,
        least: usize,
        most: Option<usize>,
    ) -> Result<Node, InvalidPattern> {
        let may_be_lazy = self.dialect == Dialect::Mask;
        let is_greedy = !(may_be_lazy && self.rest.next_if_eq(&'?').is_some());
        let is_repeated_again = matches!(self.rest.peek(), Some('*' | '+' | '?' | '{'));
        if matches!(atom, Node::Assertion(_)) || is_repeated_again {
            return Err(InvalidPattern::Malformed);
        }
        if self.dialect == Dialect::IRegexp && (most == Some(0) || atom.is_empty()) {
            // It matches only the empty text: no states and no time are spent on repeating it.
            return Ok(Node::Sequence(Vec::new()));
        }
        Ok(Node::Repeat { node: Box::new(atom), least, most, is_greedy })
    }

    fn number(&mut self) -> Result<usize, InvalidPattern> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
            // Four digits are more states than a pattern may have.
            if digits.len() > 4 {
                return Err(InvalidPattern::TooLarge);
            }
        }
        let number = digits.parse().ok().ok_or(InvalidPattern::Malformed)?;
        if self.dialect == Dialect::IRegexp && number > PATTERN_STATES_MAX {
            return Err(InvalidPattern::TooLarge);
        }
        Ok(number)
    }

    fn atom(&mut self, depth: usize) -> Result<Node, InvalidPattern> {
        let has_assertions = self.dialect == Dialect::Mask;
        match self.rest.next() {
            Some('(') => self.group(depth),
            Some('[') => Ok(Node::Class(self.class()?)),
            Some('.') => Ok(Node::Class(self.dot())),
            Some('^') if has_assertions => Ok(Node::Assertion(Assertion::Start)),
            Some('$') if has_assertions => Ok(Node::Assertion(Assertion::End)),
            Some('\\') => match self.rest.peek() {
                Some('b') if has_assertions => Ok(self.assertion(Assertion::WordBoundary)),
                Some('B') if has_assertions => Ok(self.assertion(Assertion::NoWordBoundary)),
                _ => {
                    let item = self.escape()?;
                    Ok(Node::Class(Class { negated: false, items: vec![item] }))
                }
            },
            None | Some('*' | '+' | '?' | '{' | '}' | ')' | ']' | '^' | '$') => {
                Err(InvalidPattern::Malformed)
            }
            Some(c) => Ok(Node::Class(Class::character(c))),
        }
    }

    /// Consumes the letter of the assertion.
    fn assertion(&mut self, assertion: Assertion) -> Node {
        self.rest.next();
        Node::Assertion(assertion)
    }

    /// A group after its parenthesis: `(a)`, `(?:a)`, `(?<name>a)` or `(?P<name>a)`.
    fn group(&mut self, depth: usize) -> Result<Node, InvalidPattern> {
        let mut captures = self.dialect == Dialect::Mask;
        if captures && self.rest.next_if_eq(&'?').is_some() {
            if self.rest.next_if_eq(&':').is_some() {
                captures = false;
            } else {
                self.rest.next_if_eq(&'P');
                self.expect('<')?;
                self.name()?;
            }
        }
        let number = self.groups;
        if captures {
            self.groups = self.groups.saturating_add(1);
        }
        if self.groups > PROXY_PATTERN_GROUPS_MAX {
            return Err(InvalidPattern::TooLarge);
        }
        let inner = self.alternatives(depth.saturating_add(1))?;
        self.expect(')')?;
        Ok(if captures { Node::Group(number, Box::new(inner)) } else { inner })
    }

    fn name(&mut self) -> Result<(), InvalidPattern> {
        let mut length = 0_usize;
        while self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_').is_some() {
            length = length.saturating_add(1);
        }
        self.expect('>')?;
        if length == 0 { Err(InvalidPattern::Malformed) } else { Ok(()) }
    }

    /// Everything but the end of a line.
    fn dot(&self) -> Class {
        match self.dialect {
            Dialect::IRegexp => Class::all_but(&['\n', '\r']),
            Dialect::Mask => Class::all_but(&['\n']),
        }
    }

    /// A class after its bracket.
    fn class(&mut self) -> Result<Class, InvalidPattern> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut items = Vec::new();
        let is_strict = self.dialect == Dialect::IRegexp;
        if is_strict && self.rest.next_if_eq(&'-').is_some() {
            items.push(Item::Range('-', '-'));
        }
        while self.rest.next_if_eq(&']').is_none() {
            let is_hyphen = self.rest.peek() == Some(&'-');
            let first = self.class_item()?;
            // A bare hyphen may only be at either end of a class.
            if is_strict && is_hyphen && self.rest.peek() != Some(&']') {
                return Err(InvalidPattern::Malformed);
            }
            if self.rest.next_if_eq(&'-').is_none() {
                items.push(first);
                continue;
            }
            // A hyphen before the closing bracket stands for itself.
            if self.rest.peek() == Some(&']') {
                items.extend([first, Item::Range('-', '-')]);
                continue;
            }
            match (first, self.class_item()?) {
                (Item::Range(first, _), Item::Range(_, last)) if first <= last => {
                    items.push(Item::Range(first, last));
                }
                _ => return Err(InvalidPattern::Malformed),
            }
        }
        if items.is_empty() { Err(InvalidPattern::Malformed) } else { Ok(Class { negated, items }) }
    }

    fn class_item(&mut self) -> Result<Item, InvalidPattern> {
        match self.rest.next() {
            None | Some('[') => Err(InvalidPattern::Malformed),
            Some('\\') => self.escape(),
            Some(c) => Ok(Item::Range(c, c)),
        }
    }

    /// An escape after its backslash.
    fn escape(&mut self) -> Result<Item, InvalidPattern> {
        let shorthand = |kind, negated| Ok(Item::Shorthand { kind, negated });
        let character = |c| Ok(Item::Range(c, c));
        let has_negated = self.dialect == Dialect::Mask;
        match self.rest.next() {
            Some('d') => shorthand(Shorthand::Digit, false),
            Some('D') if has_negated => shorthand(Shorthand::Digit, true),
            Some('s') => shorthand(Shorthand::Space, false),
            Some('S') if has_negated => shorthand(Shorthand::Space, true),
            Some('w') => shorthand(Shorthand::Word, false),
            Some('W') if has_negated => shorthand(Shorthand::Word, true),
            Some('n') => character('\n'),
            Some('r') => character('\r'),
            Some('t') => character('\t'),
            Some(c) if c.is_ascii_punctuation() => character(c),
            // Back references, Unicode classes and the like are not part of the language.
            Some(_) | None => Err(InvalidPattern::Malformed),
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), InvalidPattern> {
        self.rest.next_if_eq(&wanted).map(|_| ()).ok_or(InvalidPattern::Malformed)
    }
}
