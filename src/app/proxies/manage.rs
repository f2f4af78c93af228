//! `/proxies`: create, list, read, replace, patch and delete.

use crate::app::Proxies;
use crate::app::access::applications::lent_application;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::named_list::{NamedPage, NamedQuery, require_room};
use crate::app::records;
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::Act;
use crate::domain::id::ProxyId;
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::{Proxy, ProxyKey, ProxySettings};
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot};

/// Makes the new settings from the current ones. Called for every attempt to commit, since another
/// request may have changed the proxy meanwhile.
pub type Revision<'a> = &'a (dyn Fn(&Proxy) -> Result<ProxySettings, Mistakes> + Sync);

impl Proxies<'_> {
    pub async fn create(
        self,
        caller: &Caller,
        settings: &(dyn Fn() -> Result<ProxySettings, Mistakes> + Sync),
        write: &Write<'_, Proxy>,
    ) -> Result<CommitOutcome<Proxy>, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let id = ProxyId::new(self.vault.next_id(now));
        let key: [u8; 16] = self.vault.random().bytes();
        let seed: [u8; AnswerSeed::BYTES] = self.vault.random().bytes();
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let room = require_room::<Proxy>(snapshot, tenant)?;
                let new = Proxy {
                    id,
                    tenant,
                    key: ProxyKey::new(&key),
                    settings: settings()?,
                    created_by: caller.application.id,
                    created_at: now,
                    modified_by: None,
                    modified_at: None,
                    answer_seed: AnswerSeed::new(seed),
                };
                self.check_certificate(&new.settings)?;
                let change = self
                    .vault
                    .create_record(&caller.keys, &new)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, &new, now))
                    .and(self.grants(snapshot, caller, &new, now)?);
                Ok((change.and(room), new))
            })
            .await
    }

    pub async fn read(self, caller: &Caller, id: ProxyId) -> Result<Proxy, Error> {
        let snapshot = self.vault.snapshot()?;
        let now = self.vault.now();
        let (proxy, _) = records::require(&snapshot, &caller.keys, id, now)?;
        drop(snapshot);
        // The answer shows the key and the configuration, so this is a read.
        self.vault.audit().note_read(caller, id.into(), now).await?;
        Ok(proxy)
    }

    pub async fn list(
        self,
        caller: &Caller,
        query: &NamedQuery<ProxyId>,
    ) -> Result<NamedPage<Proxy>, Error> {
        self.vault.list_named(caller, query).await
    }

    /// The id and the key never change: callers of the proxy hold the key.
    pub async fn update(
        self,
        caller: &Caller,
        id: ProxyId,
        revise: Revision<'_>,
        write: &Write<'_, Proxy>,
    ) -> Result<CommitOutcome<Proxy>, Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (mut changed, version): (Proxy, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                changed.settings = revise(&changed)?;
                changed.modified_by = Some(caller.application.id);
                changed.modified_at = Some(now);
                self.check_certificate(&changed.settings)?;
                let change = self
                    .vault
                    .update_record(&caller.keys, &changed, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, &changed, now))
                    .and(self.grants(snapshot, caller, &changed, now)?);
                Ok((change, changed))
            })
            .await
    }

    /// Also deletes the row that finds the proxy by its key.
    pub async fn delete(self, caller: &Caller, id: ProxyId) -> Result<(), Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (gone, version): (Proxy, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                let change = records::remove(&caller.keys, &gone, version)
                    .and(self.vault.audit().caller_entry(caller, Act::Delete, id, now));
                Ok((change, ()))
            })
            .await
    }

    /// The outbound client must be able to read the certificate.
    fn check_certificate(self, settings: &ProxySettings) -> Result<(), Error> {
        let Some(certificate) = &settings.client_certificate else { return Ok(()) };
        let Some(outbound) = self.vault.outbound.get() else { return Ok(()) };
        let checked = outbound.check_identity(&certificate.identity());
        checked.map_err(|why| Error::invalid("client_certificate", why))
    }

    /// Checks the application of a proxy. If callers without an API key get its right to see data
    /// in plain, an entry records it: auditors find these by one act, as they do for API keys.
    fn grants(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        proxy: &Proxy,
        at: Timestamp,
    ) -> Result<Change, Error> {
        let Some(id) = proxy.settings.application else { return Ok(Change::new()) };
        let (owner, change) = lent_application(snapshot, caller, id)?;
        if proxy.settings.require_auth {
            return Ok(change);
        }
        let access = self.vault.access();
        Ok(change.and(access.audit_reveal(&owner, caller.actor(), proxy.id, at)))
    }
}
