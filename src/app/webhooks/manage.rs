//! Creating, reading, changing and deleting webhooks.

use crate::app::Webhooks;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records;
use crate::bounds::WEBHOOKS_MAX;
use crate::crypto::TenantKeys;
use crate::domain::audit::Act;
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::webhook::{EventKind, Webhook, WebhookStatus};
use crate::store::{Change, Snapshot, Table, tables};

#[derive(Debug)]
pub struct WebhookDraft {
    pub name: String,
    pub url: String,
    pub events: Vec<EventKind>,
    pub notify_email: Option<String>,
}

/// Replaces everything that a caller chooses. Without a status the webhook keeps its own.
#[derive(Debug)]
pub struct WebhookChange {
    pub draft: WebhookDraft,
    pub status: Option<WebhookStatus>,
}

#[derive(Debug)]
pub struct WebhookPage {
    /// In the order of creation.
    pub webhooks: Vec<Webhook>,
    /// The id of the last listed webhook, if there are more.
    pub next: Option<WebhookId>,
}

impl Webhooks<'_> {
    pub async fn create(
        self,
        caller: &Caller,
        draft: &WebhookDraft,
        write: &Write<'_, Webhook>,
    ) -> Result<CommitOutcome<Webhook>, Error> {
        let tenant = caller.tenant.id;
        room(&self.vault.snapshot()?, tenant)?;
        // The receiver needs the public key before the first event.
        self.make_key_once().await?;
        let now = self.vault.now();
        let new = Webhook {
            id: WebhookId::new(self.vault.next_id(now)),
            tenant,
            status: WebhookStatus::Enabled,
            name: draft.name.clone(),
            url: draft.url.clone(),
            events: draft.events.clone(),
            notify_email: draft.notify_email.clone(),
            created_by: caller.application.id,
            created_at: now,
            modified_by: None,
            modified_at: None,
            failing: None,
            disabled_at: None,
        };
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let room = room(snapshot, tenant)?;
                let change = self
                    .vault
                    .create_record(&caller.keys, &new)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, new.id, now));
                Ok((change.and(room), new.clone()))
            })
            .await
    }

    pub fn read(self, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
        let now = self.vault.now();
        Ok(records::require(&self.vault.snapshot()?, &caller.keys, id, now)?.0)
    }

    /// At most `size` webhooks behind this id.
    pub fn list(
        self,
        caller: &Caller,
        after: Option<WebhookId>,
        size: usize,
    ) -> Result<WebhookPage, Error> {
        let mut all = self.all_of(&self.vault.snapshot()?, &caller.keys)?;
        all.retain(|webhook| after.is_none_or(|after| webhook.id > after));
        let has_more = all.len() > size;
        all.truncate(size);
        let next = all.last().filter(|_| has_more).map(|webhook| webhook.id);
        Ok(WebhookPage { webhooks: all, next })
    }

    pub async fn update(
        self,
        caller: &Caller,
        id: WebhookId,
        change: &WebhookChange,
        write: &Write<'_, Webhook>,
    ) -> Result<CommitOutcome<Webhook>, Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        let changed = self
            .vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (mut webhook, version): (Webhook, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                let WebhookChange { draft, status } = change;
                webhook.name.clone_from(&draft.name);
                webhook.url.clone_from(&draft.url);
                webhook.events.clone_from(&draft.events);
                webhook.notify_email.clone_from(&draft.notify_email);
                webhook.status = status.unwrap_or(webhook.status);
                webhook.disabled_at = match webhook.status {
                    WebhookStatus::Disabled => webhook.disabled_at.or(Some(now)),
                    WebhookStatus::Enabled => None,
                };
                // A new URL, or a repaired receiver, gets three days again.
                webhook.failing = None;
                webhook.modified_by = Some(caller.application.id);
                webhook.modified_at = Some(now);
                let change = self
                    .vault
                    .update_record(&caller.keys, &webhook, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Update, id, now));
                Ok((change, webhook))
            })
            .await?;
        match changed.outcome.status {
            WebhookStatus::Disabled => self.vault.webhooks.purge(tenant, id),
            WebhookStatus::Enabled => self.vault.webhooks.unblock(tenant, id),
        }
        Ok(changed)
    }

    pub async fn delete(self, caller: &Caller, id: WebhookId) -> Result<(), Error> {
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (gone, version): (Webhook, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                let mut change = records::remove(&caller.keys, &gone, version)
                    .and(self.vault.audit().caller_entry(caller, Act::Delete, id, now));
                let count = tables::webhook_counts(tenant, id);
                if snapshot.count(&count)? == 0 {
                    change = change.delete(Table::Counts, count);
                }
                Ok((change, ()))
            })
            .await?;
        self.vault.webhooks.purge(tenant, id);
        Ok(())
    }

    /// Without damaged ones.
    pub(super) fn all_of(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
    ) -> Result<Vec<Webhook>, Error> {
        let rows = records::rows_of::<Webhook>(snapshot, keys)?.take(WEBHOOKS_MAX);
        self.vault.sound_records(keys, rows).collect()
    }
}

fn room(snapshot: &Snapshot, tenant: TenantId) -> Result<Change, Error> {
    let full = Error::Unprocessable(TOO_MANY);
    records::require_room(snapshot, tables::webhooks_of(tenant), WEBHOOKS_MAX, full)
}

const TOO_MANY: &str = "The tenant has as many webhooks as it can; delete one first.";
