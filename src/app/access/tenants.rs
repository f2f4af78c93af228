//! Tenants: the operator creates and changes them. A management key reads its own tenant, and
//! changes the name and the settings.

use std::collections::BTreeMap;

use crate::app::AccessControl;
use crate::app::access::authenticate::tenant_identity;
use crate::app::audit::entry::actor_of;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::{Error, Fault};
use crate::app::records;
use crate::bounds::TENANTS_MAX;
use crate::crypto::{Version, version};
use crate::domain::audit::{Act, Actor};
use crate::domain::id::TenantId;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{Tenant, TenantKind, Threeds};
use crate::store::record::{decode_tenant, encode_tenant};
use crate::store::tables::{self};
use crate::store::{Change, Snapshot, Table};

#[derive(Debug)]
pub struct TenantDraft {
    pub name: String,
    pub kind: TenantKind,
    pub threeds: Threeds,
    pub quotas: Quotas,
}

/// Fields that are `None` or empty do not change.
#[derive(Debug, Default)]
pub struct TenantChange {
    pub name: Option<String>,
    pub threeds: Option<Threeds>,
    pub settings: Option<BTreeMap<String, String>>,
    /// Names and values. Each is checked when it is applied.
    pub quotas: Vec<(String, String)>,
}

impl AccessControl<'_> {
    pub async fn create_tenant(self, draft: TenantDraft) -> Result<Tenant, Error> {
        let now = self.vault.now();
        let tenant = self.within_cvc_retention(Tenant {
            id: TenantId::new(self.vault.next_id(now)),
            name: draft.name,
            kind: draft.kind,
            threeds: draft.threeds,
            settings: BTreeMap::new(),
            quotas: draft.quotas,
            created_at: now,
            modified_by: None,
            modified_at: None,
        })?;
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let room = records::require_room(
                    snapshot,
                    Table::Tenants.whole(),
                    TENANTS_MAX,
                    Error::Conflict("This server holds as many tenants as it can."),
                )?;
                let change = self
                    .vault
                    .keys()
                    .make_tenant_keys(snapshot, tenant.id)?
                    .expect_absent(Table::Tenants, tables::tenants(tenant.id))
                    .and(room)
                    .and(self.keep_tenant(&tenant)?)
                    .and(self.vault.audit().entry(
                        tenant.id,
                        Actor::Operator,
                        Act::Create,
                        &tenant,
                        now,
                    ));
                Ok((change, ()))
            })
            .await?;
        Ok(tenant)
    }

    pub fn list_tenants(self) -> Result<Vec<Tenant>, Error> {
        let snapshot = self.vault.snapshot()?;
        let stored = snapshot.first(&Table::Tenants.whole(), TENANTS_MAX)?;
        stored.iter().map(|(key, sealed)| self.open_tenant(key, sealed)).collect()
    }

    /// `caller` is `None` when the operator changes the tenant.
    pub async fn change_tenant(
        self,
        id: TenantId,
        change: &TenantChange,
        caller: Option<&Caller>,
        write: &Write<'_, Tenant>,
    ) -> Result<CommitOutcome<Tenant>, Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (mut tenant, version) =
                    self.versioned_tenant(snapshot, id)?.ok_or(Error::NotFound("tenant"))?;
                apply(&mut tenant, change)?;
                if !change.quotas.is_empty() {
                    tenant = self.within_cvc_retention(tenant)?;
                }
                tenant.modified_by = caller.map(|caller| caller.application.id);
                tenant.modified_at = Some(now);
                let write = Change::new()
                    .expect_version(Table::Tenants, tables::tenants(id), version)
                    .and(self.keep_tenant(&tenant)?)
                    .and(self.vault.audit().entry(id, actor_of(caller), Act::Update, &tenant, now));
                Ok((write, tenant))
            })
            .await
    }

    #[cfg(test)]
    pub fn count_tokens(self, tenant: TenantId) -> Result<i64, Error> {
        Ok(self.vault.snapshot()?.count(&tables::counts(tenant, tables::CountKind::Tokens))?)
    }

    /// Fails for a production tenant whose codes would be kept longer than the operator's settings
    /// allow.
    fn within_cvc_retention(self, tenant: Tenant) -> Result<Tenant, Error> {
        if self.vault.cvc_retention(&tenant) < tenant.quotas.cvc_retention {
            let seconds = self.vault.cvc_retention_max().as_secs();
            return Err(Error::invalid(
                "cvc_retention",
                format!(
                    "A production tenant may keep codes for at most {seconds} seconds: see \
                     cvc.retention_max in the settings."
                ),
            ));
        }
        Ok(tenant)
    }

    fn keep_tenant(self, tenant: &Tenant) -> Result<Change, Error> {
        let key = tables::tenants(tenant.id);
        let plain = encode_tenant(tenant)?;
        let sealed = self.vault.keys().system().seal(
            &tenant_identity(&key),
            plain.expose(),
            self.vault.random(),
        );
        Ok(Change::new().put(Table::Tenants, key, sealed))
    }

    fn versioned_tenant(
        self,
        snapshot: &Snapshot,
        id: TenantId,
    ) -> Result<Option<(Tenant, Version)>, Error> {
        let key = tables::tenants(id);
        let Some(sealed) = snapshot.value(Table::Tenants, &key)? else {
            return Ok(None);
        };
        let version = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
        Ok(Some((self.open_tenant(&key, &sealed)?, version)))
    }

    fn open_tenant(self, key: &[u8], sealed: &[u8]) -> Result<Tenant, Error> {
        let id = tables::tenant_of_key(key).ok_or(Error::Internal(Fault::BadRecord))?;
        let plain = self.vault.keys().system().open(&tenant_identity(key), sealed)?;
        Ok(decode_tenant(id, plain.expose())?)
    }
}

fn apply(tenant: &mut Tenant, change: &TenantChange) -> Result<(), Error> {
    if let Some(name) = &change.name {
        tenant.name.clone_from(name);
    }
    if let Some(threeds) = change.threeds {
        tenant.threeds = threeds;
    }
    if let Some(settings) = &change.settings {
        tenant.settings.clone_from(settings);
    }
    for (name, value) in &change.quotas {
        tenant
            .quotas
            .set(name, value)
            .map_err(|invalid| Error::invalid("quota", invalid.to_string()))?;
    }
    Ok(())
}
