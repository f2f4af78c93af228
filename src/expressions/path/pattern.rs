//! The patterns of `match` and `search`.

use crate::bounds;
pub(super) use crate::domain::pattern::Extent;
use crate::domain::pattern::{self, Steps};
use crate::expressions::budget::{Budget, CALL};
use crate::expressions::failures::Failed;

/// The work of compiling the largest pattern.
pub(super) const COMPILE: usize = bounds::PATTERN_STATES_MAX * COMPILE_STATE;
/// The work of compiling one state.
const COMPILE_STATE: usize = 100;
/// The work of one step of matching.
const MATCH_STEP: usize = 20;

pub(super) struct Pattern(pattern::Pattern);

impl Pattern {
    /// `None` if it is malformed or too large.
    pub(super) fn parse(text: &str, extent: Extent) -> Option<Self> {
        pattern::Pattern::parse_iregexp(text, extent).ok().map(Self)
    }

    pub(super) const fn states(&self) -> usize {
        self.0.weight()
    }

    pub(super) fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, Failed> {
        budget.spend(CALL.saturating_add(text.len()))?;
        let most = budget.left() / MATCH_STEP;
        let mut steps = Steps::new(most);
        let Ok(found) = self.0.find_at(text, 0, &mut steps) else {
            budget.spend(usize::MAX)?;
            return Err(Failed::TooMuchWork);
        };
        let taken = most.saturating_sub(steps.left());
        budget.spend(taken.saturating_mul(MATCH_STEP))?;
        Ok(found.is_some())
    }
}
