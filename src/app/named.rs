//! Records with names and settings: proxies and reactors. They are created, listed, read, changed
//! and deleted alike.

use uuid::Uuid;

use crate::app::Vault;
use crate::app::access::applications::lent_application;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records::{self, Record};
use crate::bounds::{PROXIES_MAX, REACTORS_MAX};
use crate::domain::access::Access;
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::{Act, Entity};
use crate::domain::id::{ApplicationId, ProxyId, ReactorId, TenantId};
use crate::domain::mistakes::Mistakes;
use crate::domain::name_filter::NameFilter;
use crate::domain::proxy::{Proxy, ProxyKey, ProxySettings};
use crate::domain::reactor::{Reactor, ReactorSettings};
use crate::domain::time::Timestamp;
use crate::store::{Change, Snapshot};

#[derive(Debug)]
pub struct NamedQuery<Id> {
    /// Every record if absent.
    pub ids: Option<Vec<Id>>,
    pub name: Option<NameFilter>,
    /// The number of matching records before the page.
    pub skip: usize,
    pub take: usize,
}

impl<Id> NamedQuery<Id> {
    pub(in crate::app) const fn first(take: usize) -> Self {
        Self { ids: None, name: None, skip: 0, take }
    }
}

#[derive(Debug)]
pub struct NamedPage<R> {
    pub records: Vec<R>,
    pub total: usize,
}

/// Reads the settings from a request. Called for every attempt to commit.
pub type NewSettings<'a, R> = &'a (dyn Fn() -> Result<<R as Named>::Settings, Mistakes> + Sync);

/// Makes the new settings from the current ones. Called for every attempt to commit, since another
/// request may have changed the record meanwhile.
pub type Revision<'a, R> = &'a (dyn Fn(&R) -> Result<<R as Named>::Settings, Mistakes> + Sync);

/// The id, the time and the secrets of a new record.
#[derive(Debug)]
pub struct Beginning {
    id: Uuid,
    at: Timestamp,
    secret: [u8; 16],
    seed: [u8; AnswerSeed::BYTES],
}

/// By whom and when a record was made and changed, and what its remembered answers are sealed with.
#[derive(Debug)]
pub struct Stamps<'a> {
    pub tenant: TenantId,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    pub answer_seed: &'a AnswerSeed,
}

pub trait Named: Record<Id: PartialEq + Into<Entity> + Send + Sync> + Send + Sync {
    type Settings;
    /// The number of records that a tenant may have.
    const MAX: usize;
    const TOO_MANY: &str;

    fn new(caller: &Caller, beginning: &Beginning, settings: Self::Settings) -> Self;
    /// The id, if there is one, and the key of a record never change.
    fn change(&mut self, caller: &Caller, at: Timestamp, settings: Self::Settings);
    fn stamps(&self) -> Stamps<'_>;
    fn name(&self) -> &str;
    fn subject(&self) -> Subject<'_>;
    fn application(&self) -> Option<ApplicationId>;
    /// True if callers get the rights of the application.
    fn lends_application(&self) -> bool;

    /// True if the settings themselves give callers a right to see data in plain.
    fn reveals(&self) -> bool {
        false
    }

    fn check(&self, _vault: &Vault) -> Result<(), Error> {
        Ok(())
    }
}

macro_rules! named {
    (
        $record:ident $id:ident $settings:ident, $max:ident $too_many:literal,
        |$beginning:ident| { $($member:ident: $value:expr)* } $($more:tt)*
    ) => {
        impl Named for $record {
            type Settings = $settings;
            const MAX: usize = $max;
            const TOO_MANY: &str = $too_many;

            fn new(caller: &Caller, $beginning: &Beginning, settings: $settings) -> Self {
                Self {
                    id: $id::new($beginning.id),
                    tenant: caller.tenant.id,
                    $($member: $value,)*
                    settings,
                    created_by: caller.application.id,
                    created_at: $beginning.at,
                    modified_by: None,
                    modified_at: None,
                    answer_seed: AnswerSeed::new($beginning.seed),
                }
            }

            fn change(&mut self, caller: &Caller, at: Timestamp, settings: $settings) {
                self.settings = settings;
                self.modified_by = Some(caller.application.id);
                self.modified_at = Some(at);
            }

            fn stamps(&self) -> Stamps<'_> {
                Stamps {
                    tenant: self.tenant,
                    created_by: self.created_by,
                    created_at: self.created_at,
                    modified_by: self.modified_by,
                    modified_at: self.modified_at,
                    answer_seed: &self.answer_seed,
                }
            }

            fn name(&self) -> &str {
                &self.settings.name
            }

            fn subject(&self) -> Subject<'_> {
                self.into()
            }

            fn application(&self) -> Option<ApplicationId> {
                self.settings.application
            }

            $($more)*
        }
    };
}

named! {
    Proxy ProxyId ProxySettings, PROXIES_MAX "The tenant has as many proxies as it can.",
    |beginning| { key: ProxyKey::new(&beginning.secret) }

    fn lends_application(&self) -> bool {
        !self.settings.require_auth
    }

    /// The outbound client must be able to read the certificate.
    fn check(&self, vault: &Vault) -> Result<(), Error> {
        let Some(certificate) = &self.settings.client_certificate else { return Ok(()) };
        let Some(outbound) = vault.outbound.get() else { return Ok(()) };
        let checked = outbound.check_identity(&certificate.identity());
        checked.map_err(|why| Error::invalid("client_certificate", why))
    }
}

named! {
    Reactor ReactorId ReactorSettings, REACTORS_MAX "The tenant has as many reactors as it can.",
    |beginning| {}

    fn lends_application(&self) -> bool {
        true
    }

    fn reveals(&self) -> bool {
        let permissions = self.settings.runtime.as_ref().map(|runtime| runtime.permissions.clone());
        Access::new(permissions.unwrap_or_default(), Vec::new()).reveals()
    }
}

impl Vault {
    pub async fn create_named<R: Named>(
        &self,
        caller: &Caller,
        settings: NewSettings<'_, R>,
        write: &Write<'_, R>,
    ) -> Result<CommitOutcome<R>, Error> {
        let at = self.now();
        let (secret, seed) = (self.random().bytes(), self.random().bytes());
        let beginning = Beginning { id: self.next_id(at), at, secret, seed };
        self.commit_write(Priority::Normal, write, |snapshot| {
            let range = R::TABLE.rows_of(caller.tenant.id.bytes());
            let room =
                records::require_room(snapshot, range, R::MAX, Error::Conflict(R::TOO_MANY))?;
            let new = R::new(caller, &beginning, settings()?);
            new.check(self)?;
            let change = self
                .create_record(&caller.keys, &new)?
                .and(self.audit().caller_entry(caller, Act::Create, new.subject(), at))
                .and(self.grants(snapshot, caller, &new, at)?);
            Ok((change.and(room), new))
        })
        .await
    }

    /// The answer shows the settings, which may hold secrets, so this is a read for the audit log.
    pub async fn read_named<R: Named>(&self, caller: &Caller, id: R::Id) -> Result<R, Error> {
        let (snapshot, now) = (self.snapshot()?, self.now());
        let (record, _) = records::require(&snapshot, &caller.keys, id, now)?;
        drop(snapshot);
        self.audit().note_read(caller, id.into(), now).await?;
        Ok(record)
    }

    pub async fn update_named<R: Named>(
        &self,
        caller: &Caller,
        id: R::Id,
        revise: Revision<'_, R>,
        write: &Write<'_, R>,
    ) -> Result<CommitOutcome<R>, Error> {
        let (now, entity) = (self.now(), id.into());
        let _turn = self.lanes.take(entity.id.as_bytes()).await?;
        self.commit_write(Priority::Normal, write, |snapshot| {
            let (mut changed, version): (R, _) = records::require(snapshot, &caller.keys, id, now)?;
            let settings = revise(&changed)?;
            changed.change(caller, now, settings);
            changed.check(self)?;
            let change = self
                .update_record(&caller.keys, &changed, version)?
                .and(self.audit().caller_entry(caller, Act::Update, changed.subject(), now))
                .and(self.grants(snapshot, caller, &changed, now)?);
            Ok((change, changed))
        })
        .await
    }

    pub async fn delete_named<R: Named>(&self, caller: &Caller, id: R::Id) -> Result<(), Error> {
        let (now, entity) = (self.now(), id.into());
        let _turn = self.lanes.take(entity.id.as_bytes()).await?;
        self.commit(Priority::Upkeep, |snapshot| {
            let (gone, version): (R, _) = records::require(snapshot, &caller.keys, id, now)?;
            let change = records::remove(&caller.keys, &gone, version)
                .and(self.audit().caller_entry(caller, Act::Delete, entity.clone(), now));
            Ok((change, ()))
        })
        .await
    }

    /// Checks the application of a record. If callers get a right to see data in plain, from the
    /// application or from the settings, an entry records it: auditors find these by one act, as
    /// they do for API keys.
    fn grants<R: Named>(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        record: &R,
        at: Timestamp,
    ) -> Result<Change, Error> {
        let (mut change, mut reveals) = (Change::new(), record.reveals());
        if let Some(id) = record.application() {
            let (owner, expected) = lent_application(snapshot, caller, id)?;
            change = expected;
            reveals |= record.lends_application() && owner.access.reveals();
        }
        if reveals {
            let entity = record.subject().entity();
            change = change.and(self.audit().caller_entry(caller, Act::GrantReveal, entity, at));
        }
        Ok(change)
    }

    /// The answer shows what a read of one record shows, so each record of the page is read.
    pub async fn list_named<R: Named>(
        &self,
        caller: &Caller,
        query: &NamedQuery<R::Id>,
    ) -> Result<NamedPage<R>, Error> {
        let page: NamedPage<R> = self.named_page(caller, query)?;
        let shown: Vec<Entity> = page.records.iter().map(|it| it.subject().entity()).collect();
        self.audit().note_reads(caller, shown.into_iter(), self.now()).await?;
        Ok(page)
    }

    /// Newest first: ids are ordered by time, so the table is read backwards. Holds only the records
    /// of the page in memory.
    pub(in crate::app) fn named_page<R: Named>(
        &self,
        caller: &Caller,
        query: &NamedQuery<R::Id>,
    ) -> Result<NamedPage<R>, Error> {
        let snapshot = self.snapshot()?;
        let mut page = NamedPage { records: Vec::new(), total: 0 };
        let range = R::TABLE.rows_of(caller.tenant.id.bytes());
        let rows = snapshot.range_backwards(&range)?.take(R::MAX);
        for record in self.sound_records::<R>(&caller.keys, rows) {
            let record = record?;
            let (_, id) = record.owner();
            let is_wanted = query.ids.as_ref().is_none_or(|ids| ids.contains(&id));
            let has_name = query.name.as_ref().is_none_or(|filter| filter.fits(record.name()));
            if !is_wanted || !has_name {
                continue;
            }
            if page.total >= query.skip && page.records.len() < query.take {
                page.records.push(record);
            }
            page.total = page.total.saturating_add(1);
        }
        Ok(page)
    }
}
