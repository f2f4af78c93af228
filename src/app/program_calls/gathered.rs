//! The tokens and intents whose values a program got, while its call runs: by its arguments, by its
//! own requests to the vault, and by programs that these ran. They become the sources of its answer
//! ([`Sources`]).
//!
//! A request of a program is served in a task that knows the call. So whatever opens a value notes
//! it here, without an argument for the rare case that a program asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::bounds::PROGRAM_SOURCES_MAX;
use crate::domain::audit::{Entity, EntityKind};
use crate::domain::id::{TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::idempotency::{Source, Sources, SubjectId};
use crate::lock::Lock;
use crate::secret::Secret;

tokio::task_local! {
    static GATHERED: Arc<Gathered>;
}

#[derive(Debug, Default)]
pub struct Gathered {
    /// Those of the program whose request ran this one.
    around: Option<Arc<Self>>,
    found: Lock<Found>,
}

#[derive(Debug, Default)]
struct Found {
    sources: BTreeMap<Uuid, Source>,
    /// By token or intent.
    codes: BTreeMap<Uuid, GatheredCode>,
    /// Those that the program itself deleted or converted. Its answer does not end with them.
    ended: BTreeSet<Uuid>,
    is_too_many: bool,
}

#[derive(Debug)]
struct GatheredCode {
    until: Timestamp,
    text: Secret<String>,
}

impl Gathered {
    pub(in crate::app) fn begin() -> Arc<Self> {
        Arc::new(Self { around: current(), found: Lock::default() })
    }

    /// Values that `work` opens are noted.
    pub fn during<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> impl Future<Output = T> {
        GATHERED.scope(Arc::clone(self), work)
    }

    /// The values so far were opened with the rights of the caller.
    pub(in crate::app) fn are_callers(&self) {
        self.found.lock().sources.values_mut().for_each(|source| source.is_callers = true);
    }

    /// The sources of an answer. `holds` is true for a word in it. `None` if there are too many to keep
    /// it.
    pub(in crate::app) fn sources(&self, holds: impl Fn(&str) -> bool) -> Option<Sources> {
        let found = self.found.lock();
        let code_of = |id: &Uuid| found.codes.get(id).filter(|code| holds(code.text.expose()));
        let with_code = |(id, source): (&Uuid, &Source)| {
            let code_until = code_of(id).map(|code| code.until);
            Source { code_until, ..source.clone() }
        };
        let all = found.sources.iter().filter(|(id, _)| !found.ended.contains(id));
        let all = all.map(with_code).collect();
        let codes_until = found.codes.values().map(|code| code.until).min();
        (!found.is_too_many).then_some(Sources { all, codes_until })
    }

    fn change(&self, change: &impl Fn(&mut Found)) {
        change(&mut self.found.lock());
        if let Some(around) = &self.around {
            around.change(change);
        }
    }
}

impl Found {
    fn add(&mut self, id: Uuid, subject: &SubjectId) {
        let is_full = self.sources.len() >= PROGRAM_SOURCES_MAX;
        if is_full && !self.sources.contains_key(&id) {
            self.is_too_many = true;
            return;
        }
        let (id_of, is_callers, code_until) = (subject.clone(), false, None);
        let source = || Source { id: id_of, is_callers, code_until };
        self.sources.entry(id).or_insert_with(source);
    }
}

pub(in crate::app) fn current() -> Option<Arc<Gathered>> {
    GATHERED.try_with(Arc::clone).ok()
}

/// Notes a value that is opened. Outside of a program's call this does nothing.
pub(in crate::app) fn note(entity: &Entity) {
    let add = |gathered: &Arc<Gathered>| {
        let subject = if entity.kind == EntityKind::Token {
            let name = entity.name.as_deref().map(String::from);
            SubjectId::Token { id: TokenId::new(entity.id), name }
        } else if entity.kind == EntityKind::TokenIntent {
            SubjectId::TokenIntent(TokenIntentId::new(entity.id))
        } else {
            return;
        };
        gathered.change(&|found| found.add(entity.id, &subject));
    };
    GATHERED.try_with(add).ok();
}

/// Notes the code of a token or an intent, with the end of its retention.
pub(in crate::app) fn note_code(owner: Uuid, until: Timestamp, code: &Secret<String>) {
    let add = |found: &mut Found| {
        if found.codes.len() >= PROGRAM_SOURCES_MAX && !found.codes.contains_key(&owner) {
            found.is_too_many = true;
            return;
        }
        let text = Secret::new(code.expose().clone());
        found.codes.insert(owner, GatheredCode { until, text });
    };
    GATHERED.try_with(|gathered| gathered.change(&add)).ok();
}

/// Notes a token or an intent that a program made, with its code: the program knows the value.
pub(in crate::app) fn note_made(
    entity: &Entity,
    code: (Option<&Secret<String>>, Option<Timestamp>),
) {
    note(entity);
    if let (Some(code), Some(until)) = code {
        note_code(entity.id, until, code);
    }
}

/// Notes a token or an intent that a program deleted or converted.
pub(in crate::app) fn note_ended(id: Uuid) {
    let end = |found: &mut Found| {
        found.ended.insert(id);
    };
    GATHERED.try_with(|gathered| gathered.change(&end)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u128) -> Entity {
        Entity::new(EntityKind::Token, Uuid::from_u128(number))
    }

    fn code(text: &str) -> Secret<String> {
        Secret::new(String::from(text))
    }

    fn ids(gathered: &Gathered) -> Vec<u128> {
        gathered.found.lock().sources.keys().map(Uuid::as_u128).collect()
    }

    #[tokio::test]
    async fn a_value_that_an_inner_program_got_counts_for_the_outer_one_too() {
        note(&token(9));
        let at = Timestamp::from_seconds;
        let outer = Gathered::begin();
        outer
            .during(async {
                note(&token(1));
                note(&Entity::new(EntityKind::Proxy, Uuid::from_u128(7)));
                note_code(Uuid::from_u128(1), at(20), &code("111"));
                let inner = Gathered::begin();
                inner.are_callers();
                inner.during(async { note(&token(2)) }).await;
                let two = Uuid::from_u128(2);
                inner.during(async { note_code(two, at(10), &code("222")) }).await;
                assert_eq!(ids(&inner), [2]);
                assert_eq!(inner.sources(|_| false).unwrap().codes_until, Some(at(10)));
            })
            .await;
        note(&token(8));
        assert_eq!(ids(&outer), [1, 2]);
        let found = outer.sources(|word| word == "111").unwrap();
        assert_eq!(found.codes_until, Some(at(10)));
        let held: Vec<_> = found.all.iter().map(|source| source.code_until).collect();
        assert_eq!(held, [Some(at(20)), None], "only the code that the answer has");
        outer.during(async { note_ended(Uuid::from_u128(1)) }).await;
        assert_eq!(outer.sources(|_| false).unwrap().all.len(), 1);
    }

    #[tokio::test]
    async fn a_source_is_the_callers_only_if_its_rights_opened_it() {
        let gathered = Gathered::begin();
        gathered.during(async { note(&token(1)) }).await;
        gathered.are_callers();
        gathered.during(async { [token(1), token(2)].iter().for_each(note) }).await;
        let all = gathered.sources(|_| false).unwrap().all;
        let callers: Vec<_> = all.iter().map(|source| source.is_callers).collect();
        assert_eq!(callers, [true, false]);
    }

    #[tokio::test]
    async fn an_answer_with_too_many_sources_is_not_kept() {
        let gathered = Gathered::begin();
        let add = async |count: usize| {
            let tokens = (0..).map(token).take(count);
            gathered.during(async { tokens.for_each(|it| note(&it)) }).await;
        };
        add(PROGRAM_SOURCES_MAX).await;
        add(PROGRAM_SOURCES_MAX).await;
        assert_eq!(gathered.sources(|_| false).unwrap().all.len(), PROGRAM_SOURCES_MAX);
        add(PROGRAM_SOURCES_MAX + 1).await;
        assert!(gathered.sources(|_| false).is_none());
    }
}
