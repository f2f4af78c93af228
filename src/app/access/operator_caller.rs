//! The operator as the caller of operations that applications call otherwise.

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
    /// New tokens get `named` as their creator, or the nil id without it. The caller has no
    /// permission: operations that require one fail.
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
            person: None,
            program: None,
            keys,
            _epoch: snapshot.epoch(),
        })
    }
}
