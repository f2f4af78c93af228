//! `/reactors`: create, list, read, replace, patch and delete.

use crate::app::Reactors;
use crate::app::access::applications::lent_application;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::named_list::{NamedPage, NamedQuery, require_room};
use crate::app::records;
use crate::domain::access::Access;
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::Act;
use crate::domain::id::ReactorId;
use crate::domain::mistakes::Mistakes;
use crate::domain::reactor::{Reactor, ReactorSettings};
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot};

/// Makes the new settings from the current ones. Called for every attempt to commit, since another
/// request may have changed the reactor meanwhile.
pub type Revision<'a> = &'a (dyn Fn(&Reactor) -> Result<ReactorSettings, Mistakes> + Sync);

impl Reactors<'_> {
    pub async fn create(
        self,
        caller: &Caller,
        settings: &(dyn Fn() -> Result<ReactorSettings, Mistakes> + Sync),
        write: &Write<'_, Reactor>,
    ) -> Result<CommitOutcome<Reactor>, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let id = ReactorId::new(self.vault.next_id(now));
        let seed: [u8; AnswerSeed::BYTES] = self.vault.random().bytes();
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let room = require_room::<Reactor>(snapshot, tenant)?;
                let new = Reactor {
                    id,
                    tenant,
                    settings: settings()?,
                    created_by: caller.application.id,
                    created_at: now,
                    modified_by: None,
                    modified_at: None,
                    answer_seed: AnswerSeed::new(seed),
                };
                let change = self
                    .vault
                    .create_record(&caller.keys, &new)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, &new, now))
                    .and(self.grants(snapshot, caller, &new, now)?);
                Ok((change.and(room), new))
            })
            .await
    }

    pub async fn read(self, caller: &Caller, id: ReactorId) -> Result<Reactor, Error> {
        let snapshot = self.vault.snapshot()?;
        let now = self.vault.now();
        let (reactor, _) = records::require(&snapshot, &caller.keys, id, now)?;
        drop(snapshot);
        // The answer shows the code and the configuration, so this is a read.
        self.vault.audit().note_read(caller, id.into(), now).await?;
        Ok(reactor)
    }

    pub async fn list(
        self,
        caller: &Caller,
        query: &NamedQuery<ReactorId>,
    ) -> Result<NamedPage<Reactor>, Error> {
        self.vault.list_named(caller, query).await
    }

    pub async fn update(
        self,
        caller: &Caller,
        id: ReactorId,
        revise: Revision<'_>,
        write: &Write<'_, Reactor>,
    ) -> Result<CommitOutcome<Reactor>, Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (mut changed, version): (Reactor, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                changed.settings = revise(&changed)?;
                changed.modified_by = Some(caller.application.id);
                changed.modified_at = Some(now);
                let change = self
                    .vault
                    .update_record(&caller.keys, &changed, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, &changed, now))
                    .and(self.grants(snapshot, caller, &changed, now)?);
                Ok((change, changed))
            })
            .await
    }

    pub async fn delete(self, caller: &Caller, id: ReactorId) -> Result<(), Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (gone, version): (Reactor, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                let change = records::remove(&caller.keys, &gone, version)
                    .and(self.vault.audit().caller_entry(caller, Act::Delete, id, now));
                Ok((change, ()))
            })
            .await
    }

    /// Checks the application of a reactor. If callers of the program get a right to see data in
    /// plain, from the application or from the runtime, an entry records it: auditors find these by
    /// one act, as they do for API keys.
    fn grants(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        reactor: &Reactor,
        at: Timestamp,
    ) -> Result<Change, Error> {
        let runtime = reactor.settings.runtime.as_ref();
        let permissions = runtime.map(|runtime| runtime.permissions.clone()).unwrap_or_default();
        let reveals = Access::new(permissions, Vec::new()).reveals();
        let entry = || {
            let audit = self.vault.audit();
            audit.entry(caller.tenant.id, caller.actor(), Act::GrantReveal, reactor.id, at)
        };
        let Some(id) = reactor.settings.application else {
            return Ok(if reveals { entry() } else { Change::new() });
        };
        let (owner, change) = lent_application(snapshot, caller, id)?;
        Ok(if reveals || owner.access.reveals() { change.and(entry()) } else { change })
    }
}
