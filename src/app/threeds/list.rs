//! The newest 3DS sessions of a tenant, for the console.
//!
//! Sessions of all tenants are stored together, by id. The time and the pages of a walk over them
//! would disclose the number of other tenants' sessions. So the list follows the tenant's own audit
//! entries, as far back as its log goes, and looks each session up.

use crate::app::ThreedsSessions;
use crate::app::audit::{LogQuery, LogStart};
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::bounds::THREEDS_LISTED_MAX;
use crate::domain::audit::{Act, EntityKind};
use crate::domain::id::SessionId;
use crate::domain::time::Timestamp;
use crate::store::Table;
use crate::threeds::session::ThreedsSession;
use crate::threeds::state::SessionState;

/// A session whose creation is in the log.
#[derive(Debug)]
pub struct ListedSession {
    pub id: SessionId,
    pub created_at: Timestamp,
    /// `None` if the session was removed or its record is damaged.
    pub session: Option<ThreedsSession>,
}

#[derive(Debug)]
pub struct SessionPage {
    /// Newest first.
    pub sessions: Vec<ListedSession>,
    /// `None` on the last page.
    pub next: Option<Vec<u8>>,
    /// The time of the list: a step depends on it.
    pub now: Timestamp,
}

impl ThreedsSessions<'_> {
    /// At most [`THREEDS_LISTED_MAX`] sessions. `after` is the `next` of the previous page.
    pub async fn list(self, caller: &Caller, after: Option<Vec<u8>>) -> Result<SessionPage, Error> {
        let (kind, act) = (Some(EntityKind::ThreedsSession), Some(Act::Create));
        let query = LogQuery { kind, act, ..LogQuery::default() };
        let start = LogStart::After(after);
        let page = self.vault.audit().list_logs(caller, &query, &start, THREEDS_LISTED_MAX).await?;
        let (snapshot, tenant) = (self.vault.snapshot()?, caller.tenant.id);
        let mut sessions = Vec::with_capacity(page.entries.len());
        for (_, entry) in page.entries {
            let id = SessionId::new(entry.entity.id);
            let session = match self.find_session_by_id(&snapshot, &caller.keys, tenant, id) {
                Ok(found) => found.map(|(session, _)| session),
                Err(error) => {
                    let table = Table::ThreedsSessions;
                    self.vault.damage.pass_over(table, tenant, id.uuid(), error)?;
                    None
                }
            };
            sessions.push(ListedSession { id, created_at: entry.at, session });
        }
        Ok(SessionPage { sessions, next: page.next, now: self.vault.now() })
    }
}

impl ListedSession {
    /// In one word.
    pub fn step(&self, now: Timestamp) -> &'static str {
        let Some(session) = &self.session else { return "removed" };
        match session.state {
            SessionState::Created { expires_at, .. } if expires_at <= now => "expired",
            SessionState::Created { .. } => "created",
            SessionState::Requested => "requested",
            SessionState::Challenged { until } | SessionState::Decoupled { until }
                if until <= now =>
            {
                "timed_out"
            }
            SessionState::Challenged { .. } => "challenged",
            SessionState::Decoupled { .. } => "decoupled",
            SessionState::Decided => "decided",
            SessionState::Failed => "failed",
        }
    }
}
