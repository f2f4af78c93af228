//! Lists of records that have names: proxies and reactors.

use crate::app::Vault;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::records::{self, Record};
use crate::bounds::{PROXIES_MAX, REACTORS_MAX};
use crate::domain::audit::Entity;
use crate::domain::id::TenantId;
use crate::domain::name_filter::NameFilter;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
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

pub(in crate::app) trait Named: Record<Id: PartialEq + Into<Entity>> {
    /// The number of records that a tenant may have.
    const MAX: usize;
    const TOO_MANY: &str;

    fn name(&self) -> &str;
}

impl Named for Proxy {
    const MAX: usize = PROXIES_MAX;
    const TOO_MANY: &str = "The tenant has as many proxies as it can.";

    fn name(&self) -> &str {
        &self.settings.name
    }
}

impl Named for Reactor {
    const MAX: usize = REACTORS_MAX;
    const TOO_MANY: &str = "The tenant has as many reactors as it can.";

    fn name(&self) -> &str {
        &self.settings.name
    }
}

/// Refuses a further record of a tenant that has as many as it can.
pub(in crate::app) fn require_room<R: Named>(
    snapshot: &Snapshot,
    tenant: TenantId,
) -> Result<Change, Error> {
    let range = R::TABLE.rows_of(tenant.bytes());
    records::require_room(snapshot, range, R::MAX, Error::Conflict(R::TOO_MANY))
}

impl Vault {
    /// The answer shows what a read of one record shows, so each record of the page is read.
    pub(in crate::app) async fn list_named<R: Named>(
        &self,
        caller: &Caller,
        query: &NamedQuery<R::Id>,
    ) -> Result<NamedPage<R>, Error> {
        let page: NamedPage<R> = self.named_page(caller, query)?;
        let shown: Vec<Entity> = page.records.iter().map(|it| it.owner().1.into()).collect();
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
