//! The operator as a caller, for operations that the operator does in the place of an application.

use std::sync::Arc;

use uuid::Uuid;

use crate::app::Vault;
use crate::app::caller::Caller;
use crate::app::caller::last_uses::LastUse;
use crate::app::error::Error;
use crate::app::records;
use crate::domain::access::Access;
use crate::domain::application::{ApiKey, Application, ApplicationKind, KeyForm};
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::web_origin::AllowedOrigins;

impl Caller {
    /// A caller for the tenant's keys and quotas. `named` is the application that new tokens count
    /// as created by; without it they have the id zero as their creator. The caller has no
    /// permission: nothing that asks for one may be done with it.
    pub(in crate::app) fn of_operator(
        vault: &Vault,
        tenant: TenantId,
        named: Option<ApplicationId>,
    ) -> Result<Self, Error> {
        let snapshot = vault.snapshot()?;
        let (record, keys) = vault.access().tenant_with_keys(&snapshot, tenant)?;
        if let Some(id) = named {
            records::require::<Application>(&snapshot, &keys, id, vault.now())?;
        }
        let id = named.unwrap_or_else(|| ApplicationId::new(Uuid::nil()));
        let created_at = record.created_at;
        let owner = Application {
            id,
            tenant,
            name: String::from("operator"),
            kind: ApplicationKind::Private,
            access: Access::default(),
            allowed_origins: AllowedOrigins::default(),
            created_by: None,
            created_at,
            modified_by: None,
            modified_at: None,
        };
        let key = ApiKey {
            id: KeyId::new(Uuid::nil()),
            tenant,
            application: id,
            form: KeyForm::Current,
            created_by: None,
            created_at,
        };
        Ok(Self {
            tenant: record,
            application: owner,
            last_use: Arc::clone(&LastUse::of(&key)),
            key,
            tag: [0; 32],
            session: None,
            keys,
            _epoch: snapshot.epoch(),
        })
    }
}
