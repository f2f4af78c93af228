//! People at the console as callers: each has the rights of a role in a tenant, without an API key.

use std::sync::Arc;

use crate::app::AccessControl;
use crate::app::caller::{Caller, PersonRights};
use crate::app::error::Error;
use crate::app::{Audit, origin};
use crate::crypto::{TenantKeys, is_equal};
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::audit::Act;
use crate::domain::id::TenantId;
use crate::domain::person::{ConsoleRole, Person};
use crate::secret::Secret;

impl AccessControl<'_> {
    /// Makes a caller for one request, because the sign-on vouches for every request. The caller
    /// has no application of its own; its id is nil, like the operator's.
    pub fn person(
        self,
        tenant: TenantId,
        person: &Person,
        role: ConsoleRole,
    ) -> Result<Arc<Caller>, Error> {
        self.vault.processes().poll_if_stale()?;
        let snapshot = self.vault.snapshot()?;
        let found = self.find_tenant(&snapshot, tenant)?;
        let record = found.ok_or(Error::Forbidden("The tenant of the console does not exist."))?;
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let kind = ApplicationKind::Management;
        let application = Application::unstored(&record, "console", kind, role.access());
        let tag = tag(&keys, person);
        let mut caller = Caller::without_key(record, application, tag, keys, snapshot.epoch());
        caller.person = Some(PersonRights { person: person.clone(), role });
        Ok(Arc::new(caller))
    }
}

/// Counts the requests of a person, whatever the role.
fn tag(keys: &TenantKeys, person: &Person) -> [u8; 32] {
    let half = |number: u8| {
        let parts: [&[u8]; 4] =
            [b"person at the console", &[number], &[person.way.code()], person.name.as_bytes()];
        keys.lasting().blind(&parts)
    };
    let mut tag = [0; 32];
    let (first, second) = tag.split_at_mut(16);
    first.copy_from_slice(&half(0));
    second.copy_from_slice(&half(1));
    tag
}

impl Audit<'_> {
    /// Records that a person opened the console. A caller with a key is refused.
    pub async fn note_sign_on(self, caller: &Caller) -> Result<(), Error> {
        if caller.person.is_none() {
            return Err(Error::Forbidden("Only the operator's sign-on opens the console here."));
        }
        let (tenant, at) = (caller.tenant.id, self.vault.now());
        let entry = origin::entry(at, caller.actor(), Act::SignOn, tenant.into());
        self.note_acts(tenant, smallvec::smallvec![entry]).await
    }
}

/// Compares the secret of the sign-on with the one that a request has, in constant time.
pub fn is_secret_of_sign_on(secret: &Secret<String>, given: &[u8]) -> bool {
    is_equal(secret.expose().as_bytes(), given)
}
