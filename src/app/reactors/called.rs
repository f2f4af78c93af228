//! Counts the outcome of each call of a reactor, and lists the counts.

use crate::app::Reactors;
use crate::app::call_counts::CallCount;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::named::{NamedPage, NamedQuery};
use crate::app::origin;
use crate::bounds::REACTORS_MAX;
use crate::domain::id::ReactorId;
use crate::domain::origin::TraceId;
use crate::domain::reactor::Reactor;
use crate::domain::time::Timestamp;

#[derive(Debug)]
pub struct CalledReactors {
    /// The reason for which no program can run here.
    pub obstacle: Option<&'static str>,
    pub reactors: Vec<CalledReactor>,
}

#[derive(Debug)]
pub struct CalledReactor {
    pub id: ReactorId,
    pub name: String,
    pub count: CallCount<FailedReaction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedReaction {
    pub at: Timestamp,
    pub reason: &'static str,
    pub trace: Option<TraceId>,
}

impl Reactors<'_> {
    /// Counts a call that passed all checks.
    pub(super) fn count_call(self, reactor: ReactorId, error: Option<&'static str>) {
        let at = self.vault.now();
        let trace = || origin::current().and_then(|origin| origin.trace.clone());
        let failure = error.map(|reason| FailedReaction { at, reason, trace: trace() });
        self.vault.reactor_calls.count(reactor, failure, at);
    }

    /// Shows neither code nor configurations, so this is not a read of a reactor for the audit log.
    pub async fn list_calls(self, caller: &Caller) -> Result<CalledReactors, Error> {
        let all = NamedQuery::first(REACTORS_MAX);
        let walk = || self.vault.named_page(caller, &all);
        let page: NamedPage<Reactor> = self.vault.walks.run(caller.party(), walk).await??;
        let counted = page.records.into_iter().map(|reactor| CalledReactor {
            id: reactor.id,
            count: self.vault.reactor_calls.of(reactor.id),
            name: reactor.settings.name,
        });
        let reactors = counted.collect();
        Ok(CalledReactors { obstacle: self.vault.program_obstacle(), reactors })
    }
}
