//! The automaton of a pattern, and its simulation. All threads read a character before the next
//! character is read, so a search takes at most states times characters steps.

use crate::bounds::PROXY_PATTERN_STATES_MAX;
use crate::domain::pattern::class::{Class, Shorthand};
use crate::domain::pattern::parse::{Assertion, Node, Parsed};
use crate::domain::pattern::{InvalidPattern, Match, Steps, TooManySteps};

/// Ranges of a class that are checked in the time of one state.
const RANGES_PER_STATE: usize = 8;

pub struct Pattern {
    states: Vec<State>,
    weight: usize,
    weight_max: usize,
    groups: usize,
    ignores_case: bool,
}

enum State {
    Assert(Assertion),
    Class(Class),
    Jump(usize),
    Match,
    /// Notes the position in this slot.
    Save(usize),
    /// The first way is preferred.
    Split(usize, usize),
}

/// The positions of one thread: two for the whole match, then two for each group.
type Slots = Vec<Option<usize>>;

/// The threads at one position, the preferred one first.
struct Threads {
    list: Vec<(usize, Slots)>,
    /// By state: true if a thread has already reached it.
    seen: Vec<bool>,
}

#[derive(Clone, Copy)]
struct Position {
    at: usize,
    before: Option<char>,
    after: Option<char>,
}

impl Pattern {
    pub(super) fn compile(parsed: &Parsed, weight_max: usize) -> Result<Self, InvalidPattern> {
        let Parsed { root, groups, ignores_case } = parsed;
        let mut program = Self {
            states: Vec::new(),
            weight: 0,
            weight_max,
            groups: *groups,
            ignores_case: *ignores_case,
        };
        program.node(root)?;
        program.push(State::Match)?;
        Ok(program)
    }

    /// The number of groups that capture.
    pub const fn groups(&self) -> usize {
        self.groups
    }

    /// The number of states that take time; a large class counts as several.
    pub const fn weight(&self) -> usize {
        self.weight
    }

    fn push(&mut self, state: State) -> Result<usize, InvalidPattern> {
        let at = self.states.len();
        let weight = match &state {
            State::Class(class) => (class.items.len() / RANGES_PER_STATE).saturating_add(1),
            State::Assert(_) | State::Jump(_) => 0,
            State::Match | State::Save(_) | State::Split(..) => 1,
        };
        self.weight = self.weight.saturating_add(weight);
        if at >= PROXY_PATTERN_STATES_MAX || self.weight > self.weight_max {
            return Err(InvalidPattern::TooLarge);
        }
        self.states.push(state);
        Ok(at)
    }

    fn set(&mut self, at: usize, state: State) {
        if let Some(place) = self.states.get_mut(at) {
            *place = state;
        }
    }

    fn node(&mut self, node: &Node) -> Result<(), InvalidPattern> {
        match node {
            Node::Alternatives(ways) => self.alternatives(ways),
            Node::Assertion(assertion) => self.push(State::Assert(*assertion)).map(|_| ()),
            Node::Class(class) => self.push(State::Class(class.clone())).map(|_| ()),
            Node::Group(number, inner) => {
                let slot = number.saturating_mul(2);
                self.push(State::Save(slot.saturating_add(2)))?;
                self.node(inner)?;
                self.push(State::Save(slot.saturating_add(3))).map(|_| ())
            }
            Node::Repeat { node, least, most, is_greedy } => {
                self.repeat(node, *least, *most, *is_greedy)
            }
            Node::Sequence(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
        }
    }

    fn alternatives(&mut self, ways: &[Node]) -> Result<(), InvalidPattern> {
        let Some((last, others)) = ways.split_last() else { return Ok(()) };
        let mut ends = Vec::with_capacity(others.len());
        for way in others {
            let split = self.push(State::Match)?;
            self.node(way)?;
            ends.push(self.push(State::Jump(0))?);
            let next = self.states.len();
            self.set(split, State::Split(split.saturating_add(1), next));
        }
        self.node(last)?;
        let end = self.states.len();
        for at in ends {
            self.set(at, State::Jump(end));
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        least: usize,
        most: Option<usize>,
        is_greedy: bool,
    ) -> Result<(), InvalidPattern> {
        let ways = |on, out| if is_greedy { State::Split(on, out) } else { State::Split(out, on) };
        for _ in 0..least {
            self.push_empty_repeat(node)?;
        }
        let Some(most) = most else {
            let split = self.push(State::Match)?;
            self.node(node)?;
            self.push(State::Jump(split))?;
            let out = self.states.len();
            self.set(split, ways(split.saturating_add(1), out));
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(State::Match)?);
            self.node(node)?;
        }
        let out = self.states.len();
        for at in splits {
            self.set(at, ways(at.saturating_add(1), out));
        }
        Ok(())
    }

    /// One required repetition. It takes a state even if the node has none, so that `(?:){9999}`
    /// is bounded too.
    fn push_empty_repeat(&mut self, node: &Node) -> Result<(), InvalidPattern> {
        let before = self.states.len();
        self.node(node)?;
        if self.states.len() == before {
            let next = before.saturating_add(1);
            self.push(State::Jump(next))?;
        }
        Ok(())
    }

    /// The next match at or after this byte of the text.
    pub fn find_at(
        &self,
        text: &str,
        start: usize,
        steps: &mut Steps,
    ) -> Result<Option<Match>, TooManySteps> {
        let (Some(head), Some(rest)) = (text.get(..start), text.get(start..)) else {
            return Ok(None);
        };
        // A search begins with two lists of states.
        steps.spend(self.states.len().div_ceil(16))?;
        let mut before = head.chars().next_back();
        let mut now = Threads::new(self.states.len());
        let mut next = Threads::new(self.states.len());
        let mut found = None;
        let ends = rest.char_indices().map(|(at, c)| (at, Some(c)));
        for (offset, after) in ends.chain([(rest.len(), None)]) {
            let at = start.saturating_add(offset);
            let position = Position { at, before, after };
            if found.is_none() {
                let mut slots = vec![None; self.slots()];
                set_slot(&mut slots, 0, at);
                self.follow(&mut now, 0, slots, position, steps)?;
            }
            if now.list.is_empty() && found.is_some() {
                break;
            }
            if let Some(slots) = self.step(&mut now, &mut next, position, text, steps)? {
                found = Some(slots);
            }
            before = after;
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        Ok(found.and_then(|slots| matched(&slots)))
    }

    fn slots(&self) -> usize {
        self.groups.saturating_add(1).saturating_mul(2)
    }

    /// Moves every thread over the character at the position. Returns the places of a match that
    /// ends here; the threads after it are less preferred and end.
    fn step(
        &self,
        now: &mut Threads,
        next: &mut Threads,
        position: Position,
        text: &str,
        steps: &mut Steps,
    ) -> Result<Option<Slots>, TooManySteps> {
        for (state, mut slots) in std::mem::take(&mut now.list) {
            steps.spend(1)?;
            match self.states.get(state) {
                Some(State::Match) => {
                    set_slot(&mut slots, 1, position.at);
                    return Ok(Some(slots));
                }
                Some(State::Class(class)) => {
                    let Some(c) = position.after else { continue };
                    steps.spend(class.items.len())?;
                    if !class.contains(c, self.ignores_case) {
                        continue;
                    }
                    let at = position.at.saturating_add(c.len_utf8());
                    let after = text.get(at..).and_then(|rest| rest.chars().next());
                    let there = Position { at, before: Some(c), after };
                    self.follow(next, state.saturating_add(1), slots, there, steps)?;
                }
                Some(State::Assert(_) | State::Jump(_) | State::Save(_) | State::Split(..))
                | None => (),
            }
        }
        Ok(None)
    }

    /// Adds a thread, and the threads that it becomes without reading a character.
    fn follow(
        &self,
        threads: &mut Threads,
        state: usize,
        slots: Slots,
        position: Position,
        steps: &mut Steps,
    ) -> Result<(), TooManySteps> {
        let mut waiting = vec![(state, slots)];
        while let Some((state, mut slots)) = waiting.pop() {
            steps.spend(1)?;
            let Some(seen) = threads.seen.get_mut(state).filter(|seen| !**seen) else { continue };
            *seen = true;
            let next = state.saturating_add(1);
            match self.states.get(state) {
                Some(State::Class(_) | State::Match) => threads.list.push((state, slots)),
                Some(State::Jump(to)) => waiting.push((*to, slots)),
                Some(State::Save(slot)) => {
                    set_slot(&mut slots, *slot, position.at);
                    waiting.push((next, slots));
                }
                Some(State::Split(first, second)) => {
                    // Copying the slots is the costly part of a step.
                    steps.spend(slots.len())?;
                    waiting.push((*second, slots.clone()));
                    waiting.push((*first, slots));
                }
                Some(State::Assert(assertion)) if assertion.holds(position) => {
                    waiting.push((next, slots));
                }
                Some(State::Assert(_)) | None => (),
            }
        }
        Ok(())
    }
}

impl Threads {
    fn new(states: usize) -> Self {
        Self { list: Vec::new(), seen: vec![false; states] }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.seen.fill(false);
    }
}

impl Assertion {
    fn holds(self, position: Position) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| Shorthand::Word.contains(c));
        let is_boundary = is_word(position.before) != is_word(position.after);
        match self {
            Self::End => position.after.is_none(),
            Self::NoWordBoundary => !is_boundary,
            Self::Start => position.before.is_none(),
            Self::WordBoundary => is_boundary,
        }
    }
}

fn set_slot(slots: &mut Slots, at: usize, position: usize) {
    if let Some(slot) = slots.get_mut(at) {
        *slot = Some(position);
    }
}

fn matched(slots: &Slots) -> Option<Match> {
    let mut places = slots.chunks_exact(2).map(|pair| match pair {
        [Some(from), Some(to)] => Some((*from, *to)),
        _ => None,
    });
    let whole = places.next()??;
    Some(Match { whole, groups: places.flatten().collect() })
}

// The text of a pattern may quote a secret.
opaque_debug!(Pattern);
