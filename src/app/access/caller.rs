//! The caller of a request: its tenant, its application and the rights of its API key.

use crate::app::error::Error;
use crate::crypto::TenantKeys;
use crate::domain::access::Transform;
use crate::domain::application::{ApiKey, Application};
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Grants, Right, ValueOrigin};
use crate::domain::permission::Permission;
use crate::domain::tenant::Tenant;
use crate::store::EpochGuard;

/// The tenant and application that an authenticated request acts for.
#[derive(Debug)]
pub struct Caller {
    pub tenant: Tenant,
    pub application: Application,
    pub key: ApiKey,
    /// Identifies the key where its requests are counted; the text of the key is not kept.
    pub tag: [u8; 32],
    pub(in crate::app) keys: TenantKeys,
    /// Makes a rotation wait until all holders of these keys have dropped them.
    pub(super) _epoch: EpochGuard,
}

impl Caller {
    /// Requires that the key holds one of the permissions in at least one container. This check
    /// needs no body, so it runs before the body is read. An empty list is always granted.
    pub fn require_one_somewhere(&self, permissions: &[Permission]) -> Result<(), Error> {
        let held = |permission: &Permission| {
            self.may_hold(*permission) && self.application.access.holds_somewhere(*permission)
        };
        if permissions.is_empty() || permissions.iter().any(held) { Ok(()) } else { Err(lacks()) }
    }

    pub fn require_in_all(
        &self,
        permission: Permission,
        containers: &[Container],
    ) -> Result<Transform, Error> {
        let granted = self.application.access.in_all(permission, containers);
        granted.filter(|_| self.may_hold(permission)).ok_or_else(lacks)
    }

    pub fn require_in_any(
        &self,
        permission: Permission,
        containers: &[Container],
    ) -> Result<Transform, Error> {
        let granted = self.application.access.in_any(permission, containers);
        granted.filter(|_| self.may_hold(permission)).ok_or_else(lacks)
    }

    /// Everything that this caller holds on a token in these containers.
    pub(in crate::app) fn grants(&self, containers: &[Container]) -> Grants {
        let in_any = |permission| self.require_in_any(permission, containers).ok();
        let in_all = |permission| self.require_in_all(permission, containers).ok();
        Grants {
            create: in_all(Permission::TokenCreate),
            read: in_any(Permission::TokenRead),
            search: in_any(Permission::TokenSearch),
            update: in_all(Permission::TokenUpdate),
            usage: in_any(Permission::TokenUse),
        }
    }

    /// Decides how much of a token in these containers an answer shows to this caller.
    pub(in crate::app) fn exposure(
        &self,
        containers: &[Container],
        right: Right,
        origin: ValueOrigin,
    ) -> Result<Exposure, Error> {
        self.grants(containers).exposure(right, origin).ok_or_else(lacks)
    }

    /// The outermost containers that the permission is held in, in order.
    pub(in crate::app) fn reach(&self, permission: Permission) -> Result<Vec<Container>, Error> {
        self.require_one_somewhere(&[permission])?;
        Ok(self.application.access.reach(permission))
    }

    /// The kind of an application limits its permissions. That is also checked when the application
    /// is created; this check holds even if a stored record grants more.
    fn may_hold(&self, permission: Permission) -> bool {
        permission.may_be_held_by(self.application.kind)
    }
}

pub(in crate::app) const fn lacks() -> Error {
    Error::Forbidden("The API key does not have the permission that this operation needs.")
}
