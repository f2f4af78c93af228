//! The state that the vault must be in, by the rules of its API.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use crate::app::tests::simulation::asks::{NewToken, Patch};
use crate::app::tests::simulation::seen::{Seen, SeenIntent};
use crate::domain::time::Timestamp;
use crate::idempotency::RETENTION;
use crate::store::tables::cvc_minute;

pub(super) const CVC_RETENTION: Duration = Duration::from_mins(10);
pub(super) const INTENT_RETENTION: Duration = Duration::from_mins(30);
pub(super) const THREEDS_RETENTION: Duration = Duration::from_hours(2);

/// A clone shares the records, so that the search for an order of requests can backtrack.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) tenants: Vec<Tenant>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tenant {
    /// The quota of tokens and intents together.
    pub(super) limit: Option<usize>,
    /// Tokens by the id that callers know. Expired ones stay until a sweep has ended.
    pub(super) tokens: BTreeMap<String, Rc<Token>>,
    pub(super) intents: BTreeMap<String, Rc<Intent>>,
    pub(super) answers: BTreeMap<String, Answer>,
    pub(super) sessions: Vec<Session>,
    /// 3DS sessions, and the ends of their retention.
    pub(super) threeds: BTreeMap<String, Timestamp>,
    /// Ids of tokens that were deleted or have expired, for requests that must not find them.
    pub(super) gone: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Card,
    Plain,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) data: Value,
    /// The code, and the end of its retention.
    pub(super) cvc: Option<(String, Timestamp)>,
    /// In order.
    pub(super) containers: Vec<String>,
    pub(super) colour: String,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) created_at: Timestamp,
    /// The last time at which its containers changed.
    pub(super) placed_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intent {
    pub(super) data: Value,
    pub(super) cvc: Option<(String, Timestamp)>,
    pub(super) created_at: Timestamp,
    pub(super) expires_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// Ids of tokens, one of which the answer has.
    pub(super) ids: Vec<String>,
    /// It was answered at a moment of this window.
    pub(super) at: Window,
    /// False if the request was not answered and left no other trace.
    pub(super) is_certain: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) text: String,
    pub(super) nonce: String,
    pub(super) expires_at: Timestamp,
    /// `None` after an authorization that was not answered.
    pub(super) is_authorized: Option<bool>,
}

/// The request acted at some moment between these two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Live,
    Over,
    /// It ends within the window.
    Either,
}

impl Life {
    pub(super) fn may_live(self) -> bool {
        self != Self::Over
    }

    pub(super) fn may_be_over(self) -> bool {
        self != Self::Live
    }
}

impl Window {
    pub(super) fn life(self, ends: Option<Timestamp>) -> Life {
        match ends {
            Some(at) if at <= self.from => Life::Over,
            Some(at) if at <= self.to => Life::Either,
            Some(_) | None => Life::Live,
        }
    }

    pub(super) fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }
}

impl Token {
    pub(super) fn new(new: &NewToken, created_at: Timestamp) -> Self {
        Self {
            kind: new.kind,
            data: new.data.clone(),
            cvc: new.cvc.clone().map(|code| (code, created_at.plus(CVC_RETENTION))),
            containers: sorted(&new.containers),
            colour: new.colour.clone(),
            expires_at: new.expires_at,
            created_at,
            placed_at: created_at,
        }
    }

    pub(super) fn patched(&self, patch: &Patch, at: Timestamp) -> Self {
        let mut token = self.clone();
        // A clock that is set back does not bring back what the change left out.
        token.cvc.take_if(|(_, until)| *until <= at);
        if let (Some(Value::Object(changes)), Value::Object(members)) =
            (&patch.data, &mut token.data)
        {
            for (name, value) in changes {
                members.insert(name.clone(), value.clone());
            }
        }
        if let Some(code) = &patch.cvc {
            token.cvc = code.clone().map(|code| (code, at.plus(CVC_RETENTION)));
        }
        if let Some(containers) = &patch.containers {
            token.containers = sorted(containers);
            token.placed_at = at;
        }
        if let Some(colour) = &patch.colour {
            token.colour.clone_from(colour);
        }
        if let Some(expires_at) = patch.expires_at {
            token.expires_at = expires_at;
        }
        token
    }

    /// Two tokens are duplicates if these are equal: the number of a card or the whole value, the
    /// type and the containers.
    pub(super) fn is_duplicate_of(&self, other: &Self) -> bool {
        let print = |token: &Self| match token.kind {
            Kind::Card => token.data["number"].clone(),
            Kind::Plain => token.data.clone(),
        };
        self.kind == other.kind
            && self.containers == other.containers
            && print(self) == print(other)
    }

    /// True if a client saw this token within the window.
    pub(super) fn is(&self, seen: &Seen, window: Window) -> bool {
        is_code(self.cvc.as_ref(), seen.cvc.as_ref(), window)
            && self.kind == seen.kind
            && self.data == seen.data
            && self.containers == seen.containers
            && self.colour == seen.colour
            && self.expires_at == seen.expires_at
            && self.created_at == seen.created_at
    }
}

impl Intent {
    pub(super) fn new(data: Value, code: &str, at: Timestamp) -> Self {
        let cvc = Some((String::from(code), at.plus(CVC_RETENTION)));
        Self { data, cvc, created_at: at, expires_at: at.plus(INTENT_RETENTION) }
    }

    pub(super) fn is(&self, seen: &SeenIntent, window: Window) -> bool {
        is_code(self.cvc.as_ref(), seen.cvc.as_ref(), window)
            && self.data == seen.data
            && self.created_at == seen.created_at
    }
}

impl Tenant {
    pub(super) fn life(&self, id: &str, window: Window) -> Life {
        self.tokens.get(id).map_or(Life::Over, |token| window.life(token.expires_at))
    }

    pub(super) fn intent_life(&self, id: &str, window: Window) -> Life {
        self.intents.get(id).map_or(Life::Over, |intent| window.life(Some(intent.expires_at)))
    }

    /// The fewest and the most rows that count towards the quota.
    pub(super) fn rows(&self, window: Window) -> (usize, usize) {
        let live = self.tokens.values().filter(|it| window.life(it.expires_at) == Life::Live);
        let intents =
            self.intents.values().filter(|it| window.life(Some(it.expires_at)) == Life::Live);
        (live.count() + intents.count(), self.tokens.len() + self.intents.len())
    }

    pub(super) fn has_room(&self, window: Window) -> bool {
        self.limit.is_none_or(|limit| self.rows(window).0 < limit)
    }

    pub(super) fn may_be_full(&self, window: Window) -> bool {
        self.limit.is_some_and(|limit| self.rows(window).1 >= limit)
    }

    /// Decides if a repeat with this key gets the remembered answer. Without an answer it is
    /// `Over`.
    pub(super) fn answer_life(&self, key: &str, window: Window) -> Life {
        let Some(answer) = self.answers.get(key) else { return Life::Over };
        let [first, last] = [answer.at.from, answer.at.to].map(|at| at.plus(RETENTION));
        match (window.life(Some(first)), window.life(Some(last))) {
            (Life::Live, _) if answer.is_certain => Life::Live,
            (_, Life::Over) => Life::Over,
            _ => Life::Either,
        }
    }

    pub(super) fn remember(&mut self, key: &str, ids: Vec<String>, at: Window, certain: bool) {
        let answer = Answer { ids, at, is_certain: certain };
        self.answers.insert(String::from(key), answer);
    }

    pub(super) fn remove(&mut self, id: &str) {
        if self.tokens.remove(id).is_some() {
            self.gone.push(String::from(id));
            let extra = self.gone.len().saturating_sub(8);
            self.gone.drain(..extra);
        }
    }

    /// Removes everything that was due at this time.
    pub(super) fn sweep(&mut self, at: Timestamp) {
        let due = |ends: Option<Timestamp>| ends.is_some_and(|ends| ends <= at);
        let tokens = self.tokens.iter().filter(|(_, token)| due(token.expires_at));
        let expired: Vec<_> = tokens.map(|(id, _)| id.clone()).collect();
        for id in &expired {
            self.remove(id);
        }
        self.intents.retain(|_, intent| !due(Some(intent.expires_at)));
        self.threeds.retain(|_, kept_until| !due(Some(*kept_until)));
    }

    /// As `sweep`, and a clock that is set back afterwards brings nothing back.
    pub(super) fn sweep_for_good(&mut self, at: Timestamp) {
        self.sweep(at);
        // The keys of codes are destroyed when their minute has passed.
        let keeps = |code: &(String, Timestamp)| cvc_minute(code.1) >= cvc_minute(at);
        for token in self.tokens.values_mut() {
            Rc::make_mut(token).cvc.take_if(|code| !keeps(code));
        }
        for intent in self.intents.values_mut() {
            Rc::make_mut(intent).cvc.take_if(|code| !keeps(code));
        }
        for session in self.sessions.iter_mut().filter(|it| it.expires_at <= at) {
            session.expires_at = Timestamp::from_micros(0);
        }
        // Answers are removed some hours after their time.
        for answer in self.answers.values_mut().filter(|it| it.at.from.plus(RETENTION) <= at) {
            answer.is_certain = false;
        }
    }
}

/// True if a code with this retention may be shown like this within the window.
fn is_code(code: Option<&(String, Timestamp)>, shown: Option<&String>, window: Window) -> bool {
    match (code, shown) {
        (None, None) => true,
        (Some((_, until)), None) => window.life(Some(*until)).may_be_over(),
        (Some((code, until)), Some(shown)) => window.life(Some(*until)).may_live() && code == shown,
        (None, Some(_)) => false,
    }
}

fn sorted(containers: &[String]) -> Vec<String> {
    let mut containers = containers.to_vec();
    containers.sort();
    containers
}
