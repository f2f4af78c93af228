//! API keys: creating, importing, listing and deleting them. The text of a key is shown only in the
//! answer that creates the key and in replays of that answer.

use crate::app::AccessControl;
use crate::app::access::applications::require_own;
use crate::app::access::authenticate::api_key_identity;
use crate::app::audit::entry::actor_of;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records;
use crate::bounds::KEYS_PER_APPLICATION_MAX;
use crate::crypto::TenantKeys;
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::application::{ApiKey, Application, KeyForm};
use crate::domain::audit::Act;
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::key_text::KeyText;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::store::record::{KeyRecord, encode_api_key};
use crate::store::{Change, Snapshot, Table, tables};

/// The record keeps only a tag of the text.
#[derive(Debug)]
pub struct NewKey {
    pub key: ApiKey,
    pub text: KeyText,
    pub answer_seed: AnswerSeed,
}

impl AccessControl<'_> {
    /// Creates or imports a key. `caller` is `None` when the operator does it. `text` is the text
    /// of an imported key; with `None` a new text is generated.
    pub async fn create_key(
        self,
        tenant: TenantId,
        id: ApplicationId,
        text: Option<&str>,
        caller: Option<&Caller>,
        write: &Write<'_, NewKey>,
    ) -> Result<CommitOutcome<NewKey>, Error> {
        let now = self.vault.now();
        let made_by = caller.map(|caller| caller.application.id);
        let act = if text.is_some() { Act::Import } else { Act::Create };
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (record, keys) = self.tenant_with_keys(snapshot, tenant)?;
                let (owner, _): (Application, _) = records::require(snapshot, &keys, id, now)?;
                require_own(caller, None, &owner.access)?;
                let full = "The application has as many keys as it can; delete one first.";
                let room = records::require_room(
                    snapshot,
                    tables::application_keys_of(tenant, id),
                    KEYS_PER_APPLICATION_MAX,
                    Error::Unprocessable(full),
                )?;
                let mut new = self.make_key(record.kind, &owner, made_by, now);
                if let Some(text) = text {
                    new.text = KeyText::import(text).ok_or_else(not_a_key)?;
                    new.key.form = KeyForm::of(text);
                    if self.key_record(snapshot, &self.tag(&new.text))?.is_some() {
                        return Err(Error::Conflict("This key is in use already."));
                    }
                }
                let change = room
                    .expect_present(Table::Applications, tables::applications(tenant, id))
                    .and(self.keep_key(&keys, &new)?)
                    .and(self.vault.audit().entry(tenant, actor_of(caller), act, &new.key, now))
                    .and(self.audit_reveal(&owner, actor_of(caller), new.key.id, now));
                Ok((change, new))
            })
            .await
    }

    pub fn list_keys(self, tenant: TenantId, id: ApplicationId) -> Result<Vec<ApiKey>, Error> {
        Ok(self.read_application(tenant, id)?.1)
    }

    /// `caller` is `None` when the operator deletes the key.
    pub async fn delete_key(
        self,
        tenant: TenantId,
        id: ApplicationId,
        key: KeyId,
        caller: Option<&Caller>,
    ) -> Result<(), Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (_, keys) = self.tenant_with_keys(snapshot, tenant)?;
                records::require::<Application>(snapshot, &keys, id, now)?;
                let (record, version): (KeyRecord, _) =
                    records::require(snapshot, &keys, (id, key), now)?;
                let change = records::remove(&keys, &record, version);
                let audit = self.vault.audit().entry(
                    tenant,
                    actor_of(caller),
                    Act::Delete,
                    &record.key,
                    now,
                );
                Ok((change.and(self.forget_key(&record)).and(audit), ()))
            })
            .await
    }

    pub(in crate::app) fn make_key(
        self,
        tenant: TenantKind,
        owner: &Application,
        made_by: Option<ApplicationId>,
        now: Timestamp,
    ) -> NewKey {
        let key = ApiKey {
            id: KeyId::new(self.vault.next_id(now)),
            tenant: owner.tenant,
            application: owner.id,
            form: KeyForm::Current,
            created_by: made_by,
            created_at: now,
        };
        NewKey {
            key,
            text: KeyText::new(tenant, owner.kind, &self.vault.random().bytes()),
            answer_seed: AnswerSeed::new(self.vault.random().bytes()),
        }
    }

    pub(in crate::app) fn keep_key(self, keys: &TenantKeys, new: &NewKey) -> Result<Change, Error> {
        let tag = self.tag(&new.text);
        let answer_seed = new.answer_seed.duplicate();
        let record = KeyRecord { key: new.key.clone(), tag, answer_seed };
        let plain = encode_api_key(&record)?;
        let system = self.vault.keys().system();
        let by_tag = system.api_keys().place(&tag);
        let sealed = system.seal(&api_key_identity(&by_tag), plain.expose(), self.vault.random());
        let absent = |change: Change, place: [u8; 32]| {
            change.expect_absent(Table::ApiKeys, tables::api_keys(&place))
        };
        Ok(system
            .api_keys()
            .places(&tag)
            .fold(self.vault.create_record(keys, &record)?, absent)
            .put(Table::ApiKeys, tables::api_keys(&by_tag), sealed))
    }

    /// Deletes the key's row at every place that the row may have: a rotation may move it before
    /// this change is committed.
    pub(in crate::app) fn forget_key(self, record: &KeyRecord) -> Change {
        let KeyRecord { key, tag, .. } = record;
        let listed = tables::application_keys(key.tenant, key.application, key.id);
        let last_use = tables::key_uses(key.tenant, key.application, key.id);
        let change =
            Change::new().delete(Table::ApplicationKeys, listed).delete(Table::KeyUses, last_use);
        let delete = |change: Change, place: [u8; 32]| {
            change.delete(Table::ApiKeys, tables::api_keys(&place))
        };
        self.vault.keys().system().api_keys().places(tag).fold(change, delete)
    }
}

pub(in crate::app) fn keys_of(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    owner: &Application,
) -> Result<Vec<ApiKey>, Error> {
    Ok(key_records_of(snapshot, keys, owner)?.into_iter().map(|record| record.key).collect())
}

pub(in crate::app) fn key_records_of(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    owner: &Application,
) -> Result<Vec<KeyRecord>, Error> {
    let range = tables::application_keys_of(owner.tenant, owner.id);
    let stored = snapshot.first(&range, KEYS_PER_APPLICATION_MAX)?;
    stored.iter().map(|row| Ok(records::open(keys, row)?.0)).collect()
}

fn not_a_key() -> Error {
    Error::invalid("key", KeyText::IMPORT_RULE)
}
