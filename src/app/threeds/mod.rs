//! 3-D Secure sessions: the operations on them, their rows, and the end of their waits.
//!
//! The simulator serves the sessions of test tenants, never of production tenants.

mod asking;
mod authenticate;
mod browser;
mod card;
mod create;
mod directory;
pub(in crate::app) mod directory_servers;
mod list;
pub(in crate::app) mod ranges;
mod result;
mod rows;
pub(in crate::app) mod state;

pub use browser::{ChallengeQuestion, ChallengeReply};
pub(super) use card::number_hash;
pub use create::{Client, SessionDraft};
pub use directory_servers::{
    Asking, DirectoryFailure, DirectoryServers, Introduction, Reply, ResponseKind,
};
pub use list::{ListedSession, SessionPage};
pub use ranges::RangesRefresh;
pub(super) use rows::{SessionOwner, open_session_owner};

use std::sync::Arc;
use std::time::Duration;

use crate::app::ThreedsSessions;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::threeds::state::TestTenant;
use crate::bounds::THREEDS_RETENTION;
use crate::domain::audit::Act;
use crate::domain::id::SessionId;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::time::Timestamp;
use crate::domain::webhook::EventKind;
use crate::store::Snapshot;
use crate::threeds::session::{DeviceInfo, ThreedsSession};
use crate::threeds::state::{SessionEvent, TransitionError, next};

impl ThreedsSessions<'_> {
    /// Call it at most once, before the first request. Without it there are no directory servers.
    pub fn configure_threeds(
        self,
        retention: Duration,
        servers: Option<Arc<dyn DirectoryServers>>,
    ) {
        self.vault.threeds.retention.get_or_init(|| retention);
        if let Some(servers) = servers {
            self.vault.threeds.servers.get_or_init(|| servers);
        }
    }

    /// True if a test tenant exists; false if the file cannot be read. Every request for a page of
    /// the simulator calls this, so the tenants are read again only after a change of a tenant, an
    /// application or a key.
    pub fn has_test_tenant(self) -> bool {
        let known = || self.vault.threeds.test_tenant.lock();
        // Read the generation before the snapshot: a generation that is too old causes another
        // read, one that is too new would keep a wrong result.
        let generation = self.vault.store.access_generation();
        if let Some(known) = known().filter(|known| known.generation == generation) {
            return known.exists;
        }
        let Ok(tenants) = self.vault.access().list_tenants() else { return false };
        let exists = tenants.iter().any(|tenant| tenant.kind == TenantKind::Test);
        *known() = Some(TestTenant { generation, exists });
        exists
    }

    fn session_retention(self) -> Duration {
        self.vault.threeds.retention.get().copied().unwrap_or(THREEDS_RETENTION)
    }

    pub async fn read_session(self, caller: &Caller, id: &str) -> Result<ThreedsSession, Error> {
        caller.require_threeds()?;
        self.current_session(caller, id).await
    }

    /// The mobile SDK sends this data after the session was created.
    pub async fn describe_device(
        self,
        caller: &Caller,
        id: &str,
        device: &DeviceInfo,
        write: &Write<'_, ThreedsSession>,
    ) -> Result<CommitOutcome<ThreedsSession>, Error> {
        caller.require_threeds()?;
        let _turn = self.vault.lanes.take(id.as_bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let now = self.vault.now();
                let (mut session, version) = self.find_session(snapshot, caller, id)?;
                let before = session.clone();
                session.state = advance(&session, SessionEvent::DeviceDescribed, now)?;
                session.device_info.take(device);
                session.modified_at = Some(now);
                session.modified_by = Some(caller.application.id);
                let change = self
                    .replace_session(&caller.keys, &before, &session, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, session.id, now));
                Ok((change, session))
            })
            .await
    }

    /// With or without a challenge.
    pub async fn challenge_result(
        self,
        caller: &Caller,
        id: &str,
    ) -> Result<ThreedsSession, Error> {
        caller.require_threeds()?;
        let session = self.current_session(caller, id).await?;
        if session.authentication.is_none() {
            return Err(Error::Conflict("The session has not been authenticated."));
        }
        self.tell_retrieved(caller, &session).await?;
        Ok(session)
    }

    /// Adds the event that a result was read. The read has no effect, so the event alone is
    /// written, and only if a webhook subscribes to it.
    async fn tell_retrieved(self, caller: &Caller, session: &ThreedsSession) -> Result<(), Error> {
        let kind = EventKind::ThreedsChallengeResultRetrieved;
        if !self.vault.webhooks().wants(caller.tenant.id, kind)? {
            return Ok(());
        }
        let data = || Subject::Threeds(session, Some(kind)).data(kind);
        self.vault
            .commit(Priority::Upkeep, |_| {
                let (webhooks, now) = (self.vault.webhooks(), self.vault.now());
                Ok((webhooks.emit(caller.tenant.id, caller.actor(), kind, now, data), ()))
            })
            .await
    }

    fn find_session(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        id: &str,
    ) -> Result<(ThreedsSession, crate::crypto::Version), Error> {
        let id = SessionId::parse(id).ok_or(Error::NotFound("session"))?;
        let found = self.find_session_by_id(snapshot, &caller.keys, caller.tenant.id, id)?;
        found.ok_or(Error::NotFound("session"))
    }

    /// Ends the session's wait first if it is over.
    async fn current_session(self, caller: &Caller, id: &str) -> Result<ThreedsSession, Error> {
        let (session, _) = self.find_session(&self.vault.snapshot()?, caller, id)?;
        if session.waits_until.is_none_or(|at| self.vault.now() < at) {
            return Ok(session);
        }
        let (keys, tenant) = (&caller.keys, caller.tenant.id);
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                Ok((self.end_wait(snapshot, keys, tenant, session.id)?, ()))
            })
            .await?;
        Ok(self.find_session(&self.vault.snapshot()?, caller, id)?.0)
    }
}

impl Caller {
    fn require_threeds(&self) -> Result<(), Error> {
        match self.tenant.threeds {
            Threeds::Enabled => Ok(()),
            Threeds::Disabled => Err(Error::Forbidden("3DS is not enabled for this tenant.")),
        }
    }
}

fn advance(
    session: &ThreedsSession,
    event: SessionEvent,
    now: Timestamp,
) -> Result<crate::threeds::state::SessionState, Error> {
    next(session.state, event, now).map_err(|refused| {
        Error::Conflict(match refused {
            TransitionError::AlreadyDecided | TransitionError::AlreadyRequested => {
                "The session has been authenticated already; create a new one."
            }
            TransitionError::Expired => "The session has expired; create a new one.",
            TransitionError::Failed => "The session's authentication failed; create a new one.",
            TransitionError::NoMethod
            | TransitionError::NotChallenged
            | TransitionError::NotRequested
            | TransitionError::TooEarly
            | TransitionError::TooLate => "The session is not in a state that allows this.",
        })
    })
}
