//! Applications of an import: they keep their ids, and the texts of their API keys keep working.
//!
//! An import creates applications and never changes one: a file that names an application of the
//! tenant must not give it another key.

use std::collections::HashSet;

use crate::app::access::api_keys::key_records_of;
use crate::app::access::applications::ApplicationDraft;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::records;
use crate::app::transfer::Transfer;
use crate::app::transfer::rows::{ApplicationRow, application_id};
use crate::bounds::{APPLICATIONS_MAX, KEYS_PER_APPLICATION_MAX};
use crate::domain::application::{Application, KeyForm};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::ApplicationId;
use crate::domain::key_text::KeyText;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot, Table, tables};

/// Collects the new applications of a page, to create them in one change.
pub(super) struct NewApplications<'a> {
    transfer: Transfer<'a>,
    caller: &'a Caller,
    snapshot: &'a Snapshot,
    now: Timestamp,
    /// Of this page: a file may have each id and each key once.
    ids: HashSet<ApplicationId>,
    tags: HashSet<[u8; 32]>,
    change: Change,
    pub(super) created: u64,
    pub(super) keys: u64,
}

impl<'a> NewApplications<'a> {
    pub(super) fn new(
        transfer: Transfer<'a>,
        caller: &'a Caller,
        snapshot: &'a Snapshot,
        now: Timestamp,
    ) -> Self {
        let (ids, tags, change) = (HashSet::new(), HashSet::new(), Change::new());
        Self { transfer, caller, snapshot, now, ids, tags, change, created: 0, keys: 0 }
    }

    /// An existing application is left unchanged, and must equal the row.
    pub(super) fn add(&mut self, row: &ApplicationRow) -> Result<(), Error> {
        let id = application_id(row.id.as_deref())?;
        let draft = row.draft.as_ref().map_err(|mistakes| Error::Invalid(mistakes.clone()))?;
        if row.keys.len() > KEYS_PER_APPLICATION_MAX {
            let message = format!("There may be at most {KEYS_PER_APPLICATION_MAX}.");
            return Err(Error::invalid("keys", message));
        }
        if !self.ids.insert(id) {
            return Err(Error::invalid("id", "The file has this id more than once."));
        }
        let texts = key_texts(row)?;
        match records::find(self.snapshot, &self.caller.keys, id)? {
            Some((existing, _)) => self.require_same(&existing, draft, &texts),
            None => self.create(id, draft, texts),
        }
    }

    fn require_same(
        &self,
        existing: &Application,
        draft: &ApplicationDraft,
        texts: &[KeyText],
    ) -> Result<(), Error> {
        let is_same = existing.kind == draft.kind
            && existing.access == draft.access
            && existing.allowed_origins == draft.allowed_origins;
        if !is_same {
            let message = "An application with this id and with other rights exists already.";
            return Err(Error::invalid("id", message));
        }
        let access = self.transfer.vault.access();
        let known = key_records_of(self.snapshot, &self.caller.keys, existing)?;
        let mut mistakes = Mistakes::new();
        for (at, text) in texts.iter().enumerate() {
            let tag = access.tag(text);
            if !known.iter().any(|record| record.tag == tag) {
                let message = "The application exists already, without this key; \
                               strongroom application key-import adds one.";
                mistakes.add(format!("keys[{at}]"), message);
            }
        }
        Ok(mistakes.into_result()?)
    }

    fn create(
        &mut self,
        id: ApplicationId,
        draft: &ApplicationDraft,
        texts: Vec<KeyText>,
    ) -> Result<(), Error> {
        let (vault, keys) = (self.transfer.vault, &self.caller.keys);
        let (access, audit, tenant) = (vault.access(), vault.audit(), self.caller.tenant.id);
        self.refuse_used(&texts)?;
        let count = self.snapshot.first(&tables::applications_of(tenant), APPLICATIONS_MAX)?.len();
        if count >= self.most_before() {
            return Err(Error::Conflict("The tenant has as many applications as it can."));
        }
        let new = Application {
            id,
            tenant,
            name: draft.name.clone(),
            kind: draft.kind,
            access: draft.access.clone(),
            allowed_origins: draft.allowed_origins.clone(),
            created_by: None,
            created_at: self.now,
            modified_by: None,
            modified_at: None,
        };
        let actor = Actor::Operator;
        let mut change = Change::new()
            .expect_present(Table::Tenants, tables::tenants(tenant))
            .and(vault.create_record(keys, &new)?)
            .and(audit.entry(tenant, actor, Act::Create, &new, self.now))
            .and(access.audit_reveal(&new, actor, new.id, self.now));
        for text in texts {
            let mut key = access.make_key(self.caller.tenant.kind, &new, None, self.now);
            key.key.form = KeyForm::of(text.expose());
            key.text = text;
            change = change
                .and(access.keep_key(keys, &key)?)
                .and(audit.entry(tenant, actor, Act::Import, &key.key, self.now))
                .and(access.audit_reveal(&new, actor, key.key.id, self.now));
            self.keys = self.keys.saturating_add(1);
        }
        self.change = std::mem::take(&mut self.change).and(change);
        self.created = self.created.saturating_add(1);
        Ok(())
    }

    /// The most applications that the tenant may have before this page adds its own.
    fn most_before(&self) -> usize {
        APPLICATIONS_MAX.saturating_sub(usize::try_from(self.created).unwrap_or(usize::MAX))
    }

    /// The change that creates them. The writer counts the tenant's applications again.
    pub(super) fn into_change(self) -> Change {
        if self.created == 0 {
            return self.change;
        }
        let range = tables::applications_of(self.caller.tenant.id);
        let most = self.most_before();
        self.change.expect_rows_at_most(range, most)
    }

    /// Refuses a key of another application, of this page or of any tenant.
    fn refuse_used(&mut self, texts: &[KeyText]) -> Result<(), Error> {
        let access = self.transfer.vault.access();
        let mut mistakes = Mistakes::new();
        for (at, text) in texts.iter().enumerate() {
            let tag = access.tag(text);
            if !self.tags.insert(tag) || access.key_record(self.snapshot, &tag)?.is_some() {
                mistakes.add(format!("keys[{at}]"), "This key is in use already.");
            }
        }
        Ok(mistakes.into_result()?)
    }
}

fn key_texts(row: &ApplicationRow) -> Result<Vec<KeyText>, Mistakes> {
    let mut mistakes = Mistakes::new();
    let mut texts = Vec::with_capacity(row.keys.len());
    for (at, text) in row.keys.iter().enumerate() {
        match KeyText::import(text.expose()) {
            Some(text) => texts.push(text),
            None => mistakes.add(format!("keys[{at}]"), KeyText::IMPORT_RULE),
        }
    }
    mistakes.into_result()?;
    Ok(texts)
}
