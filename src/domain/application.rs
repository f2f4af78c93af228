//! Applications: the programs of a tenant, each with its keys and permissions.

use uuid::Uuid;

use crate::domain::access::Access;
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::domain::web_origin::AllowedOrigins;
use crate::domain::words::words;

words! {
    pub enum ApplicationKind {
        Management = "management";
        Private = "private";
        Public = "public";
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    pub id: ApplicationId,
    pub tenant: TenantId,
    pub name: String,
    pub kind: ApplicationKind,
    pub access: Access,
    /// Pages that may use its keys in hosted card fields. Empty unless the application is public.
    pub allowed_origins: AllowedOrigins,
    /// Absent if the operator made it at the command line.
    pub created_by: Option<ApplicationId>,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
}

impl Application {
    /// The rights of a caller that is no stored application: the operator, or a person.
    pub fn unstored(tenant: &Tenant, name: &str, kind: ApplicationKind, access: Access) -> Self {
        Self {
            id: ApplicationId::new(Uuid::nil()),
            tenant: tenant.id,
            name: String::from(name),
            kind,
            access,
            allowed_origins: AllowedOrigins::default(),
            created_by: None,
            created_at: tenant.created_at,
            modified_by: None,
            modified_at: None,
        }
    }

    /// The key of a caller that has none.
    pub fn unstored_key(&self) -> ApiKey {
        ApiKey {
            id: KeyId::new(Uuid::nil()),
            tenant: self.tenant,
            application: self.id,
            form: KeyForm::Current,
            created_by: None,
            created_at: self.created_at,
        }
    }
}

/// One key of an application, without its text: only a keyed hash of the text is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub tenant: TenantId,
    pub application: ApplicationId,
    pub form: KeyForm,
    pub created_by: Option<ApplicationId>,
    pub created_at: Timestamp,
}

/// The form of the text: with or without `_test_` or `_prod_`. Legacy keys have a separate rate
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    Current,
    Legacy,
}

impl KeyForm {
    pub fn of(text: &str) -> Self {
        if text.contains("_test_") || text.contains("_prod_") {
            Self::Current
        } else {
            Self::Legacy
        }
    }
}
