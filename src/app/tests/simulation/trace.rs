//! The trace of a run: its hash, its last steps and its counts.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The number of steps that a failing run prints.
const LAST_STEPS: usize = 60;

/// The numbers of kinds of operations, of outcomes besides `busy`, and of faults: the usual seeds
/// meet all of them.
const KINDS: [usize; 3] = [28, 16, 17];

#[derive(Default)]
pub(super) struct Trace {
    hasher: DefaultHasher,
    last: VecDeque<String>,
    pub(super) counts: Counts,
}

/// Events, by kind.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) steps: usize,
    pub(super) rounds: usize,
    pub(super) operations: BTreeMap<&'static str, usize>,
    pub(super) outcomes: BTreeMap<&'static str, usize>,
    pub(super) faults: BTreeMap<&'static str, usize>,
}

impl Trace {
    pub(super) fn note(&mut self, line: String) {
        line.hash(&mut self.hasher);
        if self.last.len() == LAST_STEPS {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    pub(super) fn fault(&mut self, name: &'static str) {
        *self.counts.faults.entry(name).or_default() += 1;
        self.note(format!("-- {name}"));
    }

    pub(super) fn hash(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn last_steps(&self) -> String {
        self.last.iter().fold(String::new(), |text, line| text + "  " + line + "\n")
    }
}

impl Counts {
    /// A run without some kind of operation, outcome or fault would prove less than it seems to.
    /// Few requests are refused because the vault is busy.
    pub(super) fn check_that_all_happened(&self) {
        let busy = self.outcomes.get("busy");
        let outcomes = self.outcomes.len() - usize::from(busy.is_some());
        assert_eq!([self.operations.len(), outcomes, self.faults.len()], KINDS, "{self}");
        let all: usize = self.operations.values().sum();
        assert!(busy.is_none_or(|busy| busy * 50 < all), "{self}");
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.rounds += other.rounds;
        let pairs = [
            (&mut self.operations, &other.operations),
            (&mut self.outcomes, &other.outcomes),
            (&mut self.faults, &other.faults),
        ];
        for (sums, more) in pairs {
            for (name, count) in more {
                *sums.entry(name).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: usize = self.operations.values().sum();
        writeln!(f, "{} steps, {} rounds, {total} operations", self.steps, self.rounds)?;
        for (title, counts) in [
            ("operations", &self.operations),
            ("outcomes", &self.outcomes),
            ("faults", &self.faults),
        ] {
            let list: Vec<_> =
                counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            writeln!(f, "  {title}: {}", list.join(", "))?;
        }
        Ok(())
    }
}
