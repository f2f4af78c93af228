//! The caller of a request: its tenant, its application and the rights of its API key or session.

pub(in crate::app) mod last_uses;

use std::cmp::min;
use std::sync::Arc;

use crate::app::caller::last_uses::LastUse;
use crate::app::error::Error;
use crate::app::fair_pool::{Credential, Party};
use crate::app::program_calls::identity::ProgramIdentity;
use crate::crypto::TenantKeys;
use crate::domain::access::{Access, Transform};
use crate::domain::application::{ApiKey, Application, ApplicationKind};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Container;
use crate::domain::exposure::{
    Author, Computation, Exposure, Grants, Operand, Output, Right, ValueOrigin,
};
use crate::domain::id::{AccessSessionId, TenantId, TokenId};
use crate::domain::permission::{Permission, lacking};
use crate::domain::person::{ConsoleRole, Person};
use crate::domain::tenant::Tenant;
use crate::domain::time::Timestamp;
use crate::domain::web_origin::WebOrigin;
use crate::store::EpochGuard;

#[derive(Debug)]
pub struct Caller {
    pub tenant: Tenant,
    pub application: Application,
    /// For a session, the key that made the session.
    pub key: ApiKey,
    /// Identifies the key where requests are counted; the text of the key is not kept.
    pub tag: [u8; 32],
    /// Shared by all callers with this key.
    pub(super) last_use: Arc<LastUse>,
    /// Set if the request has the key of a session.
    pub(in crate::app) session: Option<SessionRights>,
    /// Set if the request has no key and a person sent it. The application is then not stored.
    pub(in crate::app) person: Option<PersonRights>,
    /// Set if a program of the tenant sent the request with the key of its call.
    pub(in crate::app) program: Option<Arc<ProgramIdentity>>,
    pub(in crate::app) keys: TenantKeys,
    /// Makes a rotation wait until all holders of these keys have dropped them.
    pub(super) _epoch: EpochGuard,
}

/// They replace the rights of the session's public application.
#[derive(Debug)]
pub(in crate::app) struct SessionRights {
    pub(in crate::app) id: AccessSessionId,
    pub(in crate::app) expires_at: Timestamp,
    /// The hash that finds the session.
    pub(in crate::app) key_hash: [u8; 32],
    pub(in crate::app) granted: Access,
    /// The rights that the application that authorized the session has today.
    pub(in crate::app) grantor: Access,
}

/// They take the place of an application's rights.
#[derive(Debug)]
pub(in crate::app) struct PersonRights {
    pub(in crate::app) person: Person,
    pub(in crate::app) role: ConsoleRole,
}

impl Caller {
    /// A caller that has no API key. Its requests are counted under `tag`.
    pub(in crate::app) fn without_key(
        tenant: Tenant,
        application: Application,
        tag: [u8; 32],
        keys: TenantKeys,
        epoch: EpochGuard,
    ) -> Self {
        let key = application.unstored_key();
        Self {
            tenant,
            application,
            last_use: LastUse::of(&key),
            key,
            tag,
            session: None,
            person: None,
            program: None,
            keys,
            _epoch: epoch,
        }
    }

    pub fn person_with_role(&self) -> Option<(&Person, ConsoleRole)> {
        self.person.as_ref().map(|it| (&it.person, it.role))
    }

    /// The role of a person without a key.
    pub fn role(&self) -> Option<ConsoleRole> {
        self.person.as_ref().map(|it| it.role)
    }

    /// Requires one of the permissions in at least one container. This check needs no body, so it
    /// runs before the body is read. An empty list is always granted.
    pub fn require_one_somewhere(&self, permissions: &[Permission]) -> Result<(), Error> {
        let held = |permission: &Permission| {
            self.may_hold(*permission)
                && self.accesses().all(|access| access.holds_somewhere(*permission))
        };
        if permissions.is_empty() || permissions.iter().any(held) {
            return Ok(());
        }
        Err(Error::Forbidden(lacking(permissions)))
    }

    pub fn require_in_all(
        &self,
        permission: Permission,
        target: Target<'_>,
    ) -> Result<Transform, Error> {
        self.held(permission, |access| access.in_all(permission, target)).ok_or_else(lacks)
    }

    pub fn require_in_any(
        &self,
        permission: Permission,
        target: Target<'_>,
    ) -> Result<Transform, Error> {
        self.held(permission, |access| access.in_any(permission, target)).ok_or_else(lacks)
    }

    pub(in crate::app) fn grants(&self, target: Target<'_>) -> Grants {
        let in_any = |permission| self.require_in_any(permission, target).ok();
        let in_all = |permission| self.require_in_all(permission, target).ok();
        Grants::new(in_any, in_all)
    }

    /// Decides how much of a token an answer shows to this caller.
    pub(in crate::app) fn exposure(
        &self,
        target: Target<'_>,
        right: Right,
        origin: ValueOrigin,
    ) -> Result<Exposure, Error> {
        // The key of a public application is in web pages, which must not learn the card that a
        // person typed into a field: a mask, the first digits and a fingerprint lead to the number.
        let origin = match (origin, self.application.kind) {
            (ValueOrigin::Collected, ApplicationKind::Public) => ValueOrigin::Stored,
            (origin, _) => origin,
        };
        self.grants(target).exposure(right, origin).ok_or_else(lacks)
    }

    /// Decides which of this caller's expressions may read a value of this origin.
    pub(in crate::app) fn computation(
        &self,
        target: Target<'_>,
        output: Output,
        origin: ValueOrigin,
    ) -> Computation {
        self.grants(target).computation(self.author(), output, Operand::Value(origin))
    }

    pub(in crate::app) const fn author(&self) -> Author {
        if self.session.is_some() { Author::Session } else { Author::Application }
    }

    /// Refuses to put a card that the caller may not have seen into containers that are not for
    /// cards. The keys of a public application and of its sessions are in web pages, whose fields
    /// for cards promise that the page cannot read the number; another key of the page may reveal
    /// other containers. `before` are the containers that the card is in.
    pub(in crate::app) fn require_cards_stay(
        &self,
        before: &[Container],
        after: &[Container],
    ) -> Result<(), Error> {
        let stays = |it: &Container| it.is_for_cards() || before.contains(it);
        if self.application.kind != ApplicationKind::Public || after.iter().all(stays) {
            return Ok(());
        }
        Err(Error::Forbidden(CARDS_STAY))
    }

    /// The outermost containers that the permission is held in, in order.
    pub(in crate::app) fn reach(&self, permission: Permission) -> Result<Vec<Container>, Error> {
        self.require_one_somewhere(&[permission])?;
        let mut accesses = self.accesses().map(|access| access.reach(permission));
        let first = accesses.next().unwrap_or_default();
        Ok(accesses.fold(first, |one, other| common(&one, &other)))
    }

    /// Requires that tokens in this container may be listed. The list checks each of them.
    pub(in crate::app) fn require_list(
        &self,
        permission: Permission,
        container: &Container,
    ) -> Result<(), Error> {
        let lists = self.accesses().all(|access| access.lists(permission, container));
        if lists && self.may_hold(permission) { Ok(()) } else { Err(lacks()) }
    }

    /// True if the permission depends on conditions on tokens, not only on their containers.
    pub(in crate::app) fn is_conditional(&self, permission: Permission) -> bool {
        self.accesses().any(|access| access.is_conditional(permission))
    }

    /// Refuses an id that names no token if conditions on ids would hide every token with this id
    /// for each of these permissions. The refusal is the same as for a hidden token, so that the
    /// caller does not learn which ids exist.
    pub(in crate::app) fn require_may_name(
        &self,
        permissions: &[Permission],
        id: &str,
    ) -> Result<(), Error> {
        // Other spellings of a UUID are names that callers may choose.
        let assigned = TokenId::parse(id).map(|id| TargetId::Assigned(id.uuid()));
        let id = assigned.unwrap_or(TargetId::Name(id));
        let may_name = |permission: &Permission| {
            self.accesses().all(|access| access.may_name(*permission, id))
        };
        if permissions.iter().any(may_name) { Ok(()) } else { Err(lacks()) }
    }

    pub(in crate::app) fn redacts_somewhere(&self, permission: Permission) -> bool {
        self.accesses().any(|access| access.redacts_somewhere(permission))
    }

    /// Decides the caller's share of resources that all tenants use. A call without an API key has
    /// the nil key id.
    pub fn party(&self) -> Party {
        let is_public = self.session.is_some()
            || self.application.kind == ApplicationKind::Public
            || match &self.program {
                Some(program) => program.credential == Credential::Public,
                None => self.key.id.uuid().is_nil() && self.person.is_none(),
            };
        let credential = if is_public { Credential::Public } else { Credential::Secret };
        Party { tenant: self.tenant.id, credential }
    }

    /// The credential that decides the share of programs.
    pub fn credential(&self) -> Credential {
        self.party().credential
    }

    /// False for a session that has expired. API keys do not expire.
    pub(in crate::app) fn is_live(&self, now: Timestamp) -> bool {
        self.session.as_ref().is_none_or(|session| now < session.expires_at)
    }

    /// Requires an API key of an application of this kind, not a session.
    pub(in crate::app) fn require_key_of(&self, kind: ApplicationKind) -> Result<(), Error> {
        if self.session.is_none() && self.person.is_none() && self.application.kind == kind {
            return Ok(());
        }
        Err(Error::Forbidden(match kind {
            ApplicationKind::Management => {
                "This operation needs the key of a management application."
            }
            ApplicationKind::Private => "This operation needs the key of a private application.",
            ApplicationKind::Public => "This operation needs the key of a public application.",
        }))
    }

    /// Decides if a page of this origin may show card fields with this caller's key. The key is in
    /// the page, so it must belong to a public application or a session. `own` is the vault's
    /// origin.
    pub fn may_show_fields(
        &self,
        page: &WebOrigin,
        own: Option<&WebOrigin>,
    ) -> Result<bool, Error> {
        if self.application.kind != ApplicationKind::Public {
            return Err(Error::Forbidden(
                "Card fields take the key of a public application or of a session.",
            ));
        }
        Ok(self.application.allowed_origins.allow(page, own, self.tenant.kind))
    }

    /// The rights that limit the caller. A right must be in all of them.
    fn accesses(&self) -> impl Iterator<Item = &Access> {
        let (first, second) = match &self.session {
            None => (&self.application.access, None),
            Some(session) => (&session.granted, Some(&session.grantor)),
        };
        std::iter::once(first).chain(second)
    }

    /// The transform of a permission, if every access of the caller holds it.
    fn held(
        &self,
        permission: Permission,
        look: impl Fn(&Access) -> Option<Transform>,
    ) -> Option<Transform> {
        let lowest = self.accesses().map(look).reduce(min).flatten();
        lowest.filter(|_| self.may_hold(permission))
    }

    /// The kind of an application limits its permissions. This is also checked when the application
    /// is created; this check holds even if a stored record grants more.
    fn may_hold(&self, permission: Permission) -> bool {
        match (&self.session, &self.person) {
            (None, None) => permission.may_be_held_by(self.application.kind),
            (None, Some(person)) => person.role.may_hold(permission),
            (Some(_), None) => permission.may_be_granted_to_sessions(),
            (Some(_), Some(_)) => false,
        }
    }
}

impl Party {
    /// For a call that may have no caller.
    pub(in crate::app) fn of(caller: Option<&Caller>, tenant: TenantId) -> Self {
        caller.map_or(Self { tenant, credential: Credential::Public }, Caller::party)
    }
}

/// The containers that are inside both sets of outermost containers, in order.
fn common(one: &[Container], other: &[Container]) -> Vec<Container> {
    let inside = |inner: &[Container], outer: &[Container]| {
        let covered = |it: &&Container| outer.iter().any(|container| container.covers(it));
        inner.iter().filter(covered).cloned().collect::<Vec<_>>()
    };
    let mut common = [inside(one, other), inside(other, one)].concat();
    common.sort_unstable();
    common.dedup();
    common
}

const CARDS_STAY: &str = "The key of a public application or of a session cannot move a card out of \
                          /pci/. Use the key of a private application.";

/// The refusal of an operation on one resource. The text is the same for every permission and rule,
/// and for a resource that does not exist, so that it discloses nothing about the resource.
pub(in crate::app) const fn lacks() -> Error {
    Error::Forbidden(
        "The permissions and access rules of the API key do not allow this operation here.",
    )
}
