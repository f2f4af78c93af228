//! Applications: the programs that use a tenant's data, and their permissions.

use crate::app::AccessControl;
use crate::app::access::api_keys::{NewKey, key_records_of, keys_of};
use crate::app::audit::entry::actor_of;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records;
use crate::bounds::{APPLICATIONS_MAX, KEYS_PER_APPLICATION_MAX};
use crate::crypto::TenantKeys;
use crate::domain::access::Access;
use crate::domain::application::{ApiKey, Application, ApplicationKind};
use crate::domain::audit::{Act, Actor, Entity};
use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::web_origin::AllowedOrigins;
use crate::store::{Change, Snapshot, Table, tables};

#[derive(Debug)]
pub struct ApplicationDraft {
    pub name: String,
    pub kind: ApplicationKind,
    pub access: Access,
    pub allowed_origins: AllowedOrigins,
    /// Makes a first API key in the same change, or none.
    pub key: FirstKey,
}

/// The kind of an application never changes.
#[derive(Debug)]
pub struct ApplicationChange {
    pub name: String,
    pub access: Access,
    /// `None` leaves them as they are: clients of the published API do not know this field, and
    /// would remove the origins with every change of a name.
    pub allowed_origins: Option<AllowedOrigins>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstKey {
    Made,
    None,
}

#[derive(Debug, Default)]
pub struct ApplicationQuery {
    /// Every application if absent.
    pub ids: Option<Vec<ApplicationId>>,
    pub kinds: Vec<ApplicationKind>,
    /// The number of matching applications before the page.
    pub skip: usize,
    pub take: usize,
}

#[derive(Debug)]
pub struct ApplicationPage {
    pub applications: Vec<(Application, Vec<ApiKey>)>,
    pub total: usize,
}

impl AccessControl<'_> {
    /// `caller` is `None` when the operator creates the application.
    pub async fn create_application(
        self,
        tenant: TenantId,
        draft: &ApplicationDraft,
        caller: Option<&Caller>,
        write: &Write<'_, (Application, Option<NewKey>)>,
    ) -> Result<CommitOutcome<(Application, Option<NewKey>)>, Error> {
        require_own(caller, None, &draft.access)?;
        let now = self.vault.now();
        let made_by = caller.map(|caller| caller.application.id);
        let new = Application {
            id: ApplicationId::new(self.vault.next_id(now)),
            tenant,
            name: draft.name.clone(),
            kind: draft.kind,
            access: draft.access.clone(),
            allowed_origins: draft.allowed_origins.clone(),
            created_by: made_by,
            created_at: now,
            modified_by: None,
            modified_at: None,
        };
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (tenant_record, keys) = self.tenant_with_keys(snapshot, tenant)?;
                let room = records::require_room(
                    snapshot,
                    tables::applications_of(tenant),
                    APPLICATIONS_MAX,
                    Error::Conflict("The tenant has as many applications as it can."),
                )?;
                let change = room
                    .expect_present(Table::Tenants, tables::tenants(tenant))
                    .and(self.vault.create_record(&keys, &new)?)
                    .and(self.vault.audit().entry(tenant, actor_of(caller), Act::Create, &new, now))
                    .and(self.audit_reveal(&new, actor_of(caller), new.id, now));
                if draft.key == FirstKey::None {
                    return Ok((change, (new.clone(), None)));
                }
                let key = self.make_key(tenant_record.kind, &new, made_by, now);
                let actor = actor_of(caller);
                let change = change
                    .and(self.keep_key(&keys, &key)?)
                    .and(self.vault.audit().entry(tenant, actor, Act::Create, &key.key, now))
                    .and(self.audit_reveal(&new, actor, key.key.id, now));
                Ok((change, (new.clone(), Some(key))))
            })
            .await
    }

    pub fn read_application(
        self,
        tenant: TenantId,
        id: ApplicationId,
    ) -> Result<(Application, Vec<ApiKey>), Error> {
        let snapshot = self.vault.snapshot()?;
        let (_, keys) = self.tenant_with_keys(&snapshot, tenant)?;
        let (application, _) = records::require(&snapshot, &keys, id, self.vault.now())?;
        let api_keys = keys_of(&snapshot, &keys, &application)?;
        Ok((application, api_keys))
    }

    /// Newest first: ids are ordered by time, so the table is read backwards.
    pub fn list_applications(
        self,
        tenant: TenantId,
        query: &ApplicationQuery,
    ) -> Result<ApplicationPage, Error> {
        let snapshot = self.vault.snapshot()?;
        let (_, keys) = self.tenant_with_keys(&snapshot, tenant)?;
        let stored = snapshot.range_backwards(&tables::applications_of(tenant))?;
        let mut found = Vec::new();
        for application in
            self.vault.sound_records::<Application>(&keys, stored.take(APPLICATIONS_MAX))
        {
            let application = application?;
            let is_wanted = query.ids.as_ref().is_none_or(|ids| ids.contains(&application.id));
            if is_wanted && (query.kinds.is_empty() || query.kinds.contains(&application.kind)) {
                found.push(application);
            }
        }
        let total = found.len();
        let page = found.into_iter().skip(query.skip).take(query.take);
        let with_keys = page.map(|application| {
            let api_keys = keys_of(&snapshot, &keys, &application)?;
            Ok((application, api_keys))
        });
        Ok(ApplicationPage { applications: with_keys.collect::<Result<_, Error>>()?, total })
    }

    /// `caller` is `None` when the operator does it.
    pub async fn update_application(
        self,
        tenant: TenantId,
        id: ApplicationId,
        caller: Option<&Caller>,
        wanted: &(dyn Fn(&Application) -> Result<ApplicationChange, Error> + Sync),
        write: &Write<'_, (Application, Vec<ApiKey>)>,
    ) -> Result<CommitOutcome<(Application, Vec<ApiKey>)>, Error> {
        let (now, actor) = (self.vault.now(), actor_of(caller));
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (_, keys) = self.tenant_with_keys(snapshot, tenant)?;
                let (mut changed, version): (Application, _) =
                    records::require(snapshot, &keys, id, now)?;
                let ApplicationChange { name, access, allowed_origins } = wanted(&changed)?;
                require_own(caller, Some(&changed.access), &access)?;
                (changed.name, changed.access) = (name, access);
                if let Some(origins) = allowed_origins {
                    changed.allowed_origins = origins;
                }
                changed.modified_by = caller.map(|caller| caller.application.id);
                changed.modified_at = Some(now);
                let api_keys = keys_of(snapshot, &keys, &changed)?;
                let change = self
                    .vault
                    .update_record(&keys, &changed, version)?
                    .and(self.vault.audit().entry(tenant, actor, Act::Update, &changed, now))
                    .and(self.audit_reveal(&changed, actor, id, now));
                Ok((change, (changed, api_keys)))
            })
            .await
    }

    /// Deletes its API keys too. `caller` is `None` when the operator does it.
    pub async fn delete_application(
        self,
        tenant: TenantId,
        id: ApplicationId,
        caller: Option<&Caller>,
    ) -> Result<(), Error> {
        let (now, actor) = (self.vault.now(), actor_of(caller));
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (_, keys) = self.tenant_with_keys(snapshot, tenant)?;
                let (gone, version): (Application, _) = records::require(snapshot, &keys, id, now)?;
                let mut change = records::remove(&keys, &gone, version)
                    .and(self.vault.audit().entry(tenant, actor, Act::Delete, id, now));
                for record in key_records_of(snapshot, &keys, &gone)? {
                    let audit = self.vault.audit();
                    let audit = audit.entry(tenant, actor, Act::Delete, &record.key, now);
                    change = change.and(self.forget_key(&record)).and(audit);
                }
                // Refuse the change if a key was added meanwhile: it would outlive its application.
                let range = tables::application_keys_of(tenant, id);
                let known = snapshot.first(&range, KEYS_PER_APPLICATION_MAX)?;
                let known = known.into_iter().map(|(key, _)| key).collect();
                Ok((change.expect_keys(range, known), ()))
            })
            .await
    }

    /// Adds a `GrantReveal` entry when the created or changed entity belongs to an application that
    /// sees data in plain. Every caller that may create applications may create such ones, so
    /// auditors must be able to find them by one act.
    pub(in crate::app) fn audit_reveal(
        self,
        owner: &Application,
        actor: Actor,
        entity: impl Into<Entity>,
        at: Timestamp,
    ) -> Change {
        if owner.access.reveals() {
            self.vault.audit().entry(owner.tenant, actor, Act::GrantReveal, entity, at)
        } else {
            Change::new()
        }
    }

    pub(in crate::app) fn tenant_with_keys(
        self,
        snapshot: &Snapshot,
        id: TenantId,
    ) -> Result<(crate::domain::tenant::Tenant, TenantKeys), Error> {
        let tenant = self.find_tenant(snapshot, id)?.ok_or(Error::NotFound("tenant"))?;
        Ok((tenant, self.vault.keys().tenant_keys(snapshot, id)?))
    }
}

/// A caller may grant the right to delete the tenant only if it has that right. Otherwise every key
/// that creates applications could destroy the tenant. `before` is the access of an application
/// that changes; it may keep the right.
pub(super) fn require_own(
    caller: Option<&Caller>,
    before: Option<&Access>,
    granted: &Access,
) -> Result<(), Error> {
    let holds = |access: &Access| access.holds_somewhere(Permission::TenantDelete);
    let is_given = holds(granted) && !before.is_some_and(holds);
    match caller.filter(|_| is_given) {
        Some(caller) => caller
            .require_one_somewhere(&[Permission::TenantDelete])
            .map_err(|_lacking| Error::Forbidden(NOT_OWN)),
        None => Ok(()),
    }
}

const NOT_OWN: &str = "Only the operator, or an API key that has the permission tenant:delete, gives \
                       it to an application or makes a key of an application that has it.";

/// The application whose rights a proxy or a reactor lends to its callers, and a change that is refused
/// if the application changes meanwhile.
pub(in crate::app) fn lent_application(
    snapshot: &Snapshot,
    caller: &Caller,
    id: ApplicationId,
) -> Result<(Application, Change), Error> {
    let found = records::find::<Application>(snapshot, &caller.keys, id)?;
    let found = found.filter(|(found, _)| found.kind != ApplicationKind::Management);
    let (owner, version) = found.ok_or_else(|| Error::invalid("application.id", NOT_LENDABLE))?;
    let change = records::expect(&owner, version);
    Ok((owner, change))
}

const NOT_LENDABLE: &str = "There is no such public or private application.";
