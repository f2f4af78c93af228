//! The operator as the caller of operations that applications call otherwise.

use crate::app::Vault;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::records;
use crate::domain::access::Access;
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::id::{ApplicationId, TenantId};

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
        let (kind, access) = (ApplicationKind::Private, Access::default());
        let mut application = Application::unstored(&record, "operator", kind, access);
        application.id = named.unwrap_or(application.id);
        Ok(Self::without_key(record, application, [0; 32], keys, snapshot.epoch()))
    }
}
