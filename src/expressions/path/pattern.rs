//! The patterns of `match` and `search`: I-Regexp (RFC 9485) without its character categories
//! (`\p{..}`), and with the `\d`, `\w` and `\s` that everybody writes.
//!
//! All states advance together over the text, so no pattern can make it go back: the cost is the
//! text's length times the number of states, and is paid from the budget.

use std::sync::Arc;

use crate::bounds;
use crate::expressions::budget::{Budget, CALL};
use crate::expressions::failures::Failed;
use crate::expressions::lex::Cursor;

/// The most work that the states of one pattern are when it is parsed.
pub(super) const PARSE_STATES: usize = bounds::PATTERN_STEPS_MAX * STATE;
/// Going through one state for a character of the text.
const STATE: usize = 8;

/// What a pattern must cover: the whole text (`match`) or some of it (`search`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Some,
    Whole,
}

pub(super) struct Pattern {
    states: Vec<State>,
    start: usize,
    /// The most that one character of the text can cost.
    work: usize,
}

enum State {
    Either(usize, usize),
    End,
    One(Arc<Class>, usize),
}

impl State {
    fn work(&self) -> usize {
        match self {
            Self::Either(..) | Self::End => STATE,
            Self::One(class, _) => class.ranges.len().saturating_add(STATE),
        }
    }
}

impl Pattern {
    /// `None` when it is malformed or too large.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > bounds::PATTERN_BYTES_MAX {
            return None;
        }
        let mut cursor = Cursor::new(text);
        let node = alternatives(&mut cursor, 0)?;
        if !cursor.is_done() {
            return None;
        }
        let mut states = States { all: vec![State::End], steps: 0 };
        let start = emit(&mut states, &node, 0)?;
        let states = states.all;
        let work = states.iter().map(State::work).sum();
        Some(Self { states, start, work })
    }

    pub(super) const fn states(&self) -> usize {
        self.states.len()
    }

    pub(super) fn is_match(
        &self,
        text: &str,
        extent: Extent,
        budget: &Budget,
    ) -> Result<bool, Failed> {
        budget.spend(CALL.saturating_add(self.work))?;
        let mut active = Active::new(self.states.len());
        let mut next = Active::new(self.states.len());
        active.add(&self.states, self.start);
        for c in text.chars() {
            if extent == Extent::Some && active.ended {
                return Ok(true);
            }
            budget.spend(self.work)?;
            next.clear();
            for place in &active.places {
                if let Some(State::One(class, then)) = self.states.get(*place)
                    && class.holds(c)
                {
                    next.add(&self.states, *then);
                }
            }
            if extent == Extent::Some {
                next.add(&self.states, self.start);
            }
            std::mem::swap(&mut active, &mut next);
        }
        Ok(active.ended)
    }
}

/// The states that the text read so far leads to.
struct Active {
    places: Vec<usize>,
    waiting: Vec<usize>,
    known: Vec<bool>,
    ended: bool,
}

impl Active {
    fn new(states: usize) -> Self {
        Self { places: Vec::new(), waiting: Vec::new(), known: vec![false; states], ended: false }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.known.fill(false);
        self.ended = false;
    }

    fn add(&mut self, states: &[State], place: usize) {
        self.waiting.push(place);
        while let Some(place) = self.waiting.pop() {
            let Some(known @ false) = self.known.get_mut(place) else {
                continue;
            };
            *known = true;
            match states.get(place) {
                Some(State::Either(a, b)) => self.waiting.extend([*a, *b]),
                Some(State::One(..)) => self.places.push(place),
                Some(State::End) | None => self.ended = true,
            }
        }
    }
}

struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Class {
    fn only(c: char) -> Self {
        Self { negated: false, ranges: vec![(c, c)] }
    }

    fn holds(&self, c: char) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != self.negated
    }
}

enum Node {
    Alternatives(Vec<Node>),
    One(Arc<Class>),
    Repeat { node: Box<Node>, least: usize, most: Option<usize> },
    Sequence(Vec<Node>),
}

/// The states that a pattern has so far.
struct States {
    all: Vec<State>,
    /// Nodes that were looked at. One that matches only the empty text adds no state, and may stand
    /// in a repetition very often.
    steps: usize,
}

/// Adds the states of the node in front of `then`, and says where they begin.
fn emit(states: &mut States, node: &Node, then: usize) -> Option<usize> {
    states.steps = states.steps.checked_add(1)?;
    if states.steps > bounds::PATTERN_STEPS_MAX {
        return None;
    }
    match node {
        Node::Alternatives(nodes) => {
            let mut start = None;
            for node in nodes {
                let branch = emit(states, node, then)?;
                start = Some(match start {
                    None => branch,
                    Some(others) => add(states, State::Either(branch, others))?,
                });
            }
            start
        }
        Node::One(class) => add(states, State::One(Arc::clone(class), then)),
        Node::Repeat { node, least, most } => {
            let mut start = then;
            match most {
                None => {
                    let head = add(states, State::Either(then, then))?;
                    let body = emit(states, node, head)?;
                    *states.all.get_mut(head)? = State::Either(body, then);
                    start = head;
                }
                Some(most) => {
                    for _ in *least..*most {
                        let body = emit(states, node, start)?;
                        if body == start {
                            break;
                        }
                        start = add(states, State::Either(body, then))?;
                    }
                }
            }
            for _ in 0..*least {
                let body = emit(states, node, start)?;
                // What matches only the empty text does so however often.
                if body == start {
                    break;
                }
                start = body;
            }
            Some(start)
        }
        Node::Sequence(nodes) => {
            nodes.iter().rev().try_fold(then, |then, node| emit(states, node, then))
        }
    }
}

fn add(states: &mut States, state: State) -> Option<usize> {
    let place = states.all.len();
    if place >= bounds::PATTERN_STATES_MAX {
        return None;
    }
    states.all.push(state);
    Some(place)
}

fn alternatives(cursor: &mut Cursor<'_>, depth: usize) -> Option<Node> {
    if depth > bounds::JSON_PATH_DEPTH_MAX {
        return None;
    }
    let mut branches = Vec::new();
    loop {
        let mut sequence = Vec::new();
        while !matches!(cursor.peek(), None | Some('|' | ')')) {
            let one = atom(cursor, depth)?;
            sequence.push(quantified(cursor, one)?);
        }
        branches.push(Node::Sequence(sequence));
        if !cursor.eat("|") {
            return Some(Node::Alternatives(branches));
        }
    }
}

fn atom(cursor: &mut Cursor<'_>, depth: usize) -> Option<Node> {
    let class = match cursor.bump()? {
        '(' => {
            let inner = alternatives(cursor, depth.checked_add(1)?)?;
            return cursor.eat(")").then_some(inner);
        }
        '[' => class(cursor)?,
        '.' => Class { negated: true, ranges: vec![('\n', '\n'), ('\r', '\r')] },
        '\\' => escaped(cursor)?,
        // Patterns of other dialects are anchored by hand; here `match` does it.
        '*' | '+' | '?' | '{' | '}' | ']' | '^' | '$' => return None,
        c => Class::only(c),
    };
    Some(Node::One(Arc::new(class)))
}

fn quantified(cursor: &mut Cursor<'_>, node: Node) -> Option<Node> {
    let (least, most) = match cursor.peek() {
        Some('*') => (0, None),
        Some('+') => (1, None),
        Some('?') => (0, Some(1)),
        Some('{') => {
            cursor.bump();
            let least = count(cursor)?;
            let most = if !cursor.eat(",") {
                Some(least)
            } else if cursor.peek() == Some('}') {
                None
            } else {
                Some(count(cursor)?)
            };
            if cursor.peek() != Some('}') || most.is_some_and(|most| most < least) {
                return None;
            }
            (least, most)
        }
        Some(_) | None => return Some(node),
    };
    cursor.bump();
    Some(Node::Repeat { node: Box::new(node), least, most })
}

fn count(cursor: &mut Cursor<'_>) -> Option<usize> {
    let count = cursor.take_while(|c| c.is_ascii_digit()).parse().ok()?;
    (count <= bounds::PATTERN_STATES_MAX).then_some(count)
}

/// Behind the opening bracket.
fn class(cursor: &mut Cursor<'_>) -> Option<Class> {
    let negated = cursor.eat("^");
    let mut ranges = Vec::new();
    if cursor.eat("-") {
        ranges.push(('-', '-'));
    }
    loop {
        let from = match cursor.bump()? {
            ']' => return (!ranges.is_empty()).then_some(Class { negated, ranges }),
            '-' => {
                // Only the last of a class may be a bare hyphen.
                ranges.push(('-', '-'));
                return cursor.eat("]").then_some(Class { negated, ranges });
            }
            '[' => return None,
            '\\' => {
                let found = escaped(cursor)?;
                match (found.negated, found.ranges.as_slice()) {
                    (false, [(from, to)]) if from == to => *from,
                    (false, several) => {
                        ranges.extend(several);
                        continue;
                    }
                    (true, _) => return None,
                }
            }
            c => c,
        };
        let is_range = cursor.rest().starts_with('-') && !cursor.rest().starts_with("-]");
        if !is_range {
            ranges.push((from, from));
            continue;
        }
        cursor.bump();
        let to = match cursor.bump()? {
            '\\' => match escaped(cursor)?.ranges.as_slice() {
                [(from, to)] if from == to => *to,
                _ => return None,
            },
            '[' | ']' => return None,
            c => c,
        };
        if to < from {
            return None;
        }
        ranges.push((from, to));
    }
}

fn escaped(cursor: &mut Cursor<'_>) -> Option<Class> {
    let of = |ranges: &[(char, char)]| Class { negated: false, ranges: ranges.to_vec() };
    Some(match cursor.bump()? {
        'n' => Class::only('\n'),
        'r' => Class::only('\r'),
        't' => Class::only('\t'),
        'd' => of(&[('0', '9')]),
        'w' => of(&[('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')]),
        's' => of(&[(' ', ' '), ('\t', '\r')]),
        c if c.is_ascii_punctuation() => Class::only(c),
        _ => return None,
    })
}
