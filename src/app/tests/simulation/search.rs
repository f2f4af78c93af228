//! Searches an order of a round's requests that explains all of their answers and the state of the
//! vault afterwards. Without such an order, the vault has broken a promise.

use std::collections::BTreeSet;

use crate::app::DiskState;
use crate::app::tests::simulation::asks::{Ask, Request};
use crate::app::tests::simulation::invariants::Observed;
use crate::app::tests::simulation::lists::Progress;
use crate::app::tests::simulation::model::{Answer, Model, Token, Window};
use crate::app::tests::simulation::seen::Outcome;
use crate::domain::time::Timestamp;

/// More states than any existing order has ever needed.
const STATES_MAX: usize = 50_000;

#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) request: Request,
    /// The step and the time at which it began.
    pub(super) begun: usize,
    pub(super) begun_at: Timestamp,
    /// The step and the time of its answer; `None` if it was not answered.
    pub(super) ended: Option<(usize, Timestamp)>,
    pub(super) told: Option<Outcome>,
    /// Another request of the round has the same idempotency key.
    pub(super) shares_key: bool,
    pub(super) progress: Option<Progress>,
    pub(super) disk: DiskState,
}

struct Search<'a> {
    sent: &'a [Sent],
    observed: &'a Observed,
    states: usize,
    /// The reasons why complete orders did not explain the state of the vault.
    reasons: BTreeSet<String>,
}

impl Sent {
    fn window(&self, now: Timestamp) -> Window {
        Window { from: self.begun_at, to: self.ended.map_or(now, |(_, at)| at) }
    }

    fn end(&self) -> usize {
        self.ended.map_or(usize::MAX, |(step, _)| step)
    }

    /// An unanswered create may have found a duplicate before another request of the round deleted
    /// it, or after another one made it. Only the answer to a repeat shows which; until then the
    /// model allows all of them.
    fn note_possible_answer(&self, before: &Model, after: &mut Model, window: Window) {
        let Request { tenant: at, ask: Ask::Create(new), .. } = &self.request else { return };
        let Some(key) = new.key.as_ref().filter(|_| new.deduplicates) else { return };
        let (before, after) = (&before.tenants[*at], &mut after.tenants[*at]);
        let known = after.answers.get(key);
        let is_of_round = |it: &&Answer| {
            before.answers.get(key).is_none_or(|earlier| earlier.at.from != it.at.from)
        };
        if !before.answer_life(key, window).may_be_over()
            || known.filter(is_of_round).is_some_and(|it| it.is_certain)
        {
            return;
        }
        let token = Token::new(new, window.from);
        let mut ids = before.duplicates(&token, window);
        ids.extend(after.duplicates(&token, window));
        if !ids.is_empty() {
            after.remember(key, ids, window, false);
        }
    }

    fn states(&self, model: &Model, observed: &Observed) -> Vec<Model> {
        let window = self.window(observed.now);
        match &self.told {
            Some(Outcome::Stopped) | None => self.apply_silent(model, observed, window),
            Some(told) => {
                let mut next = model.clone();
                let is_allowed = self.apply_told(&mut next, told, window);
                if is_allowed { vec![next] } else { Vec::new() }
            }
        }
    }
}

/// The model after the round, or the reason for a missing order.
pub(super) fn explain(model: &Model, sent: &[Sent], observed: &Observed) -> Result<Model, String> {
    let mut order: Vec<usize> = (0..sent.len()).collect();
    order.sort_by_key(|at| sent[*at].end());
    let mut search = Search { sent, observed, states: 0, reasons: BTreeSet::new() };
    let found = search.go_on(model, &order);
    let mut after = found.ok_or_else(|| search.why_not(model, &order))?;
    for it in sent.iter().filter(|it| matches!(it.told, Some(Outcome::Stopped) | None)) {
        it.note_possible_answer(model, &mut after, it.window(observed.now));
    }
    Ok(after)
}

impl Search<'_> {
    fn go_on(&mut self, model: &Model, left: &[usize]) -> Option<Model> {
        self.states += 1;
        if left.is_empty() {
            let is_state = self.observed.is_state_of(model);
            return is_state.map_err(|why| self.reasons.insert(why)).is_ok().then(|| model.clone());
        }
        for (place, at) in left.iter().enumerate() {
            let sent = &self.sent[*at];
            // A request that was answered before another began must come before it.
            let is_first = left.iter().all(|it| it == at || self.sent[*it].end() >= sent.begun);
            if !is_first || self.states > STATES_MAX {
                continue;
            }
            let rest = [&left[..place], &left[place + 1..]].concat();
            for next in sent.states(model, self.observed) {
                if let Some(found) = self.go_on(&next, &rest) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The reasons of all orders, or the first request that the model does not allow in the order
    /// of the answers.
    fn why_not(&self, model: &Model, order: &[usize]) -> String {
        if !self.reasons.is_empty() {
            return format!("no order explains the round: {:?}", self.reasons);
        }
        let mut model = model.clone();
        for at in order {
            match self.sent[*at].states(&model, self.observed).into_iter().next() {
                Some(next) => model = next,
                None => return format!("the model does not allow {:?}", self.sent[*at]),
            }
        }
        String::from("no order of the requests is allowed")
    }
}
