//! Refused attempts, counted in memory until they are written to the audit chain.
//!
//! Guessing keys must be visible in the chain and must not flood it. So attempts of the same kind,
//! from the same place and to the same route are one row with a count. The number of rows is
//! bounded for strangers, for each tenant and for all. Beyond a bound, the rows with the fewest
//! attempts are merged: first by client, then by wide network, then all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use tokio::sync::Notify;

use crate::app::audit::entry::AuditScope;
use crate::bounds::{
    REFUSAL_ROUTES_OF_CLIENT_MAX, REFUSAL_ROWS_MAX, REFUSAL_ROWS_OF_STRANGERS_MAX,
    REFUSAL_ROWS_OF_TENANT_MAX,
};
use crate::domain::audit::{Actor, AuditEntry, Entity, EntityKind, RefusalReason, Refusals};
use crate::domain::id::{ApplicationId, KeyId, TenantId};
use crate::domain::origin::Origin;
use crate::domain::person::Person;
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::metrics::Counter;

/// The route's name in a row of attempts to several routes.
const SEVERAL_ROUTES: &str = "several";

#[derive(Debug, Clone)]
pub struct RefusedAttempt {
    pub reason: RefusalReason,
    /// A route of the API, or the operator's socket.
    pub route: &'static str,
    /// Set if the attempt had a known key.
    pub caller: Option<(TenantId, ApplicationId)>,
    pub origin: Arc<Origin>,
}

/// The refused attempts that are not written yet.
#[derive(Debug)]
pub(in crate::app) struct RefusalTable {
    rows: Lock<Rows>,
    /// Notified when an attempt is noted.
    pub(super) noted: Notify,
    counts: Vec<(RefusalReason, Counter)>,
}

#[derive(Debug, Default)]
struct Rows {
    by_scope: HashMap<Option<TenantId>, ScopeRows>,
    /// The number of rows in all scopes.
    count: usize,
}

/// The rows of one tenant, or of strangers.
#[derive(Debug, Default)]
struct ScopeRows(HashMap<RefusalGroup, RefusedRow>);

#[derive(Debug, Clone)]
pub(super) struct RefusedRow {
    place: RefusalGroup,
    tenant: Option<TenantId>,
    application: Option<ApplicationId>,
    route: &'static str,
    /// The origin of the first attempt, without the parts that differ in later ones. If they came
    /// from several addresses of a network, the address is the network's.
    origin: Option<Arc<Origin>>,
    refusals: Refusals,
}

impl Default for RefusalTable {
    fn default() -> Self {
        let counts = RefusalReason::ALL.iter().map(|reason| (*reason, Counter::default()));
        Self { rows: Lock::default(), noted: Notify::new(), counts: counts.collect() }
    }
}

impl RefusalTable {
    pub(super) fn note(&self, attempt: &RefusedAttempt, at: Timestamp) {
        let RefusedAttempt { reason, caller, .. } = *attempt;
        if let Some((_, count)) = self.counts.iter().find(|(known, _)| *known == reason) {
            count.add(1);
        }
        let refusals = Refusals { reason, count: 1, first_at: at, last_at: at };
        let row = RefusedRow {
            place: RefusalGroup::of(attempt),
            tenant: caller.map(|(tenant, _)| tenant),
            application: caller.map(|(_, application)| application),
            route: attempt.route,
            origin: Some(Arc::clone(&attempt.origin)),
            refusals,
        };
        self.rows.lock().add(row);
        self.noted.notify_one();
    }

    pub(super) fn take(&self) -> Vec<RefusedRow> {
        let Rows { by_scope, .. } = std::mem::take(&mut *self.rows.lock());
        by_scope.into_values().flat_map(|scope| scope.0.into_values()).collect()
    }

    /// Puts rows back that could not be written.
    pub(super) fn put_back(&self, rows: Vec<RefusedRow>) {
        let mut known = self.rows.lock();
        for row in rows {
            known.add(row);
        }
        drop(known);
        self.noted.notify_one();
    }

    /// Since the start.
    pub(in crate::app) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(reason, count)| (reason.as_str(), count.get()))
    }
}

impl Rows {
    fn add(&mut self, row: RefusedRow) {
        let most = match row.tenant {
            Some(_) => REFUSAL_ROWS_OF_TENANT_MAX,
            None => REFUSAL_ROWS_OF_STRANGERS_MAX,
        };
        let scope = self.by_scope.entry(row.tenant).or_default();
        let before = scope.0.len();
        scope.add(row);
        if scope.0.len() > most {
            scope.fold();
        }
        self.count = self.count.saturating_sub(before).saturating_add(scope.0.len());
        if self.count > REFUSAL_ROWS_MAX
            && let Some(largest) = self.by_scope.values_mut().max_by_key(|scope| scope.0.len())
        {
            let before = largest.0.len();
            largest.fold();
            self.count = self.count.saturating_sub(before).saturating_add(largest.0.len());
        }
    }
}

impl ScopeRows {
    /// Beyond a few routes, a client's attempts share one row: otherwise a few clients could take
    /// all rows.
    fn add(&mut self, mut row: RefusedRow) {
        if let RefusalGroup::Route(..) = row.place
            && !self.0.contains_key(&row.place)
            && let Some(wider) = row.place.wider()
        {
            let routes = || self.0.keys().filter(|known| known.shares_client(&row.place)).count();
            if self.0.contains_key(&wider) || routes() >= REFUSAL_ROUTES_OF_CLIENT_MAX {
                row.place = wider;
            }
        }
        self.put(row);
    }

    fn put(&mut self, row: RefusedRow) {
        match self.0.get_mut(&row.place) {
            Some(known) => known.join(&row),
            None => drop(self.0.insert(row.place.clone(), row)),
        }
    }

    /// Frees an eighth of the rows. The rows with the fewest attempts move to wider groups until
    /// enough have merged, so that the most active clients stay named. Freeing an eighth at once
    /// gives clients the time to differ in their number of attempts.
    fn fold(&mut self) {
        let most = self.0.len().saturating_sub(self.0.len().div_ceil(8));
        while let Some(excess) = self.0.len().checked_sub(most).filter(|excess| *excess > 0) {
            let movable = self.0.values().filter_map(|row| {
                Some((row.place.order(row.refusals.count), row.place.clone(), row.place.wider()?))
            });
            let mut movable: Vec<_> = movable.collect();
            if movable.is_empty() {
                return;
            }
            movable.sort_unstable_by_key(|(order, ..)| *order);
            for (_, place, wider) in movable.into_iter().take(excess) {
                if let Some(row) = self.0.remove(&place) {
                    self.put(RefusedRow { place: wider, ..row });
                }
            }
        }
    }
}

impl RefusedRow {
    /// `other` must have the same place.
    fn join(&mut self, other: &Self) {
        let Refusals { count, first_at, last_at, .. } = other.refusals;
        self.refusals.count = self.refusals.count.saturating_add(count);
        self.refusals.first_at = self.refusals.first_at.min(first_at);
        self.refusals.last_at = self.refusals.last_at.max(last_at);
        self.origin = match (&self.origin, &other.origin) {
            (Some(one), Some(two)) => common_origin(one, two),
            _ => None,
        };
        if self.application != other.application {
            self.application = None;
        }
        if self.route != other.route {
            self.route = SEVERAL_ROUTES;
        }
    }

    pub(super) const fn scope(&self) -> AuditScope {
        match self.tenant {
            Some(tenant) => AuditScope::Tenant(tenant),
            None => AuditScope::Server,
        }
    }

    pub(super) const fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The entry names the route, never a path: paths hold texts that the caller chose.
    pub(super) fn entry(&self, at: Timestamp) -> AuditEntry {
        let actor = match self.application {
            // People have no application.
            Some(id) if id.uuid().is_nil() => Actor::Person,
            Some(id) => Actor::Application(id),
            None => Actor::Unknown,
        };
        let name = Some(Box::from(self.route));
        let entity = Entity { name, ..Entity::of_server(EntityKind::Request) };
        AuditEntry::of_refusals(at, actor, entity, self.origin.clone(), self.refusals)
    }
}

/// Attempts of the same group are in one row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum RefusalGroup {
    Route(&'static str, Caller),
    /// All routes.
    Caller(Caller),
    /// All callers of a wide network.
    Wide(RefusalReason, IpAddr),
    Other(RefusalReason),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    reason: RefusalReason,
    key: Option<KeyId>,
    network: Option<IpAddr>,
    uid: Option<u32>,
    person: Option<Person>,
}

impl RefusalGroup {
    pub(super) fn of(attempt: &RefusedAttempt) -> Self {
        let RefusedAttempt { reason, route, ref origin, .. } = *attempt;
        let network = origin.address.map(network_of);
        let uid = origin.user.as_ref().map(|user| user.uid);
        let person = origin.person.clone();
        Self::Route(route, Caller { reason, key: origin.key(), network, uid, person })
    }

    /// The next wider group. `None` if this one holds all attempts of its reason.
    pub(super) fn wider(&self) -> Option<Self> {
        match self {
            Self::Route(_, caller) => Some(Self::Caller(caller.clone())),
            Self::Caller(Caller { reason, network, .. }) => Some(match network {
                Some(network) => Self::Wide(*reason, wide_network_of(*network)),
                None => Self::Other(*reason),
            }),
            Self::Wide(reason, _) => Some(Self::Other(*reason)),
            Self::Other(_) => None,
        }
    }

    /// The sort key by which rows move to wider groups: first routes are merged, then the clients
    /// with the fewest attempts.
    pub(super) const fn order(&self, attempts: u64) -> (bool, u64, bool) {
        match self {
            Self::Route(..) => (false, attempts, false),
            Self::Caller(_) => (true, attempts, false),
            Self::Wide(..) | Self::Other(_) => (true, attempts, true),
        }
    }

    /// True for two routes of the same client.
    pub(super) fn shares_client(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Route(_, one), Self::Route(_, two)) => {
                (one.network, one.uid, &one.person) == (two.network, two.uid, &two.person)
            }
            _ => false,
        }
    }
}

/// The parts that two origins have in common, and the trace of the first.
pub(super) fn common_origin(one: &Arc<Origin>, two: &Origin) -> Option<Arc<Origin>> {
    let address = match (one.address, two.address) {
        (Some(one), Some(two)) => common_network(one, two),
        _ => None,
    };
    let key = one.key().filter(|key| two.key() == Some(*key));
    let user = one.user.clone().filter(|user| two.user.as_ref() == Some(user));
    let person = one.person.clone().filter(|person| two.person.as_ref() == Some(person));
    if (address, key) == (one.address, one.key()) && (&user, &person) == (&one.user, &one.person) {
        return Some(Arc::clone(one));
    }
    if address.is_none() && key.is_none() && user.is_none() && person.is_none() {
        return None;
    }
    Some(Arc::new(Origin::new(address, key, one.trace.clone(), user).with_person(person)))
}

/// The smallest network that holds both, as its first address.
fn common_network(one: IpAddr, two: IpAddr) -> Option<IpAddr> {
    if one == two {
        return Some(one);
    }
    let equal = |of: fn(IpAddr) -> IpAddr| Some(of(one)).filter(|network| *network == of(two));
    equal(network_of).or_else(|| equal(wide_network_of))
}

/// The part of an address that one customer holds, as for the rate limits: the whole IPv4 address,
/// the first 64 bits of an IPv6 address.
fn network_of(address: IpAddr) -> IpAddr {
    first_bits(address, 32, 64)
}

/// The part of an address that one site holds: the first 24 bits of an IPv4 address, the first 48
/// of an IPv6 address.
fn wide_network_of(address: IpAddr) -> IpAddr {
    first_bits(address, 24, 48)
}

fn first_bits(address: IpAddr, of_v4: u32, of_v6: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let rest = u32::BITS.saturating_sub(of_v4);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() >> rest << rest))
        }
        IpAddr::V6(address) => {
            let rest = u128::BITS.saturating_sub(of_v6);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> rest << rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::id::KeyId;

    fn attempt(address: &str, route: &'static str) -> RefusedAttempt {
        RefusedAttempt {
            reason: RefusalReason::WrongKey,
            route,
            caller: None,
            origin: Arc::new(Origin::of_request(Some(address.parse().unwrap()), "t")),
        }
    }

    fn of_tenant(number: u128, attempt: &RefusedAttempt) -> RefusedAttempt {
        let id = Uuid::from_u128(number);
        let origin = Arc::new((*attempt.origin).clone().with_key(KeyId::new(id)));
        let caller = Some((TenantId::new(id), ApplicationId::new(id)));
        RefusedAttempt { reason: RefusalReason::NotAllowed, route: attempt.route, caller, origin }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn total(rows: &[RefusedRow]) -> u64 {
        rows.iter().map(|row| row.refusals.count).sum()
    }

    #[test]
    fn equal_attempts_are_one_row_with_a_count_and_their_times() {
        let table = RefusalTable::default();
        for second in [5, 3, 9] {
            table.note(&attempt("192.0.2.1", "ReadToken"), at(second));
        }
        table.note(&attempt("192.0.2.2", "ReadToken"), at(4));
        table.note(&attempt("192.0.2.1", "ListTokens"), at(4));
        let mut rows = table.take();
        rows.sort_by_key(|row| std::cmp::Reverse(row.refusals.count));
        assert_eq!(rows.len(), 3);
        let entry = rows[0].entry(at(60));
        let refusals = entry.refusals.as_deref().unwrap();
        assert_eq!((refusals.count, refusals.first_at, refusals.last_at), (3, at(3), at(9)));
        assert_eq!((entry.at, entry.outcome()), (at(60), "failure"));
        assert_eq!((entry.actor, entry.entity.public_id().as_str()), (Actor::Unknown, "ReadToken"));
        assert_eq!(entry.origin.unwrap().address, Some("192.0.2.1".parse().unwrap()));
        assert_eq!(table.take().len(), 0);
        let counts: Vec<_> = table.counts().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counts, [("wrong_key", 5)]);
    }

    #[test]
    fn an_ipv6_customer_is_one_row_that_names_its_network_if_it_used_several_addresses() {
        let table = RefusalTable::default();
        table.note(&attempt("2001:db8::1", "ReadToken"), at(1));
        table.note(&attempt("2001:db8::1", "ReadToken"), at(1));
        table.note(&attempt("2001:db8:0:1::1", "ReadToken"), at(1));
        for host in 1..9 {
            table.note(&attempt(&format!("2001:db8:0:2::{host}"), "ReadToken"), at(1));
        }
        let mut shown: Vec<_> = table.take().iter().filter_map(shown).collect();
        shown.sort();
        assert_eq!(shown, ["2001:db8:0:1::1", "2001:db8:0:2::", "2001:db8::1"]);
    }

    #[test]
    fn a_flood_of_addresses_has_a_bounded_number_of_rows_and_loses_no_count() {
        let table = RefusalTable::default();
        let floods = u32::try_from(REFUSAL_ROWS_OF_STRANGERS_MAX).unwrap() * 3;
        for number in 0..floods {
            let address = Ipv4Addr::from_bits(number).to_string();
            table.note(&attempt(&address, "ReadToken"), at(1));
        }
        // A tenant's attempt is not hidden by it.
        table.note(&of_tenant(7, &attempt("192.0.2.1", "ReadToken")), at(1));
        let rows = table.take();
        assert_eq!(total(&rows), u64::from(floods) + 1);
        assert!(rows.len() <= REFUSAL_ROWS_OF_STRANGERS_MAX + 1, "{}", rows.len());
        // They share wide networks, which are named.
        assert!(rows.iter().all(|row| row.origin.is_some()));
        let named = rows.iter().find(|row| row.tenant.is_some()).unwrap().entry(at(1));
        assert_eq!(named.origin.unwrap().key(), Some(KeyId::new(Uuid::from_u128(7))));
    }

    fn shown(row: &RefusedRow) -> Option<String> {
        row.origin.as_ref()?.address.map(|address| address.to_string())
    }

    #[test]
    fn clients_that_try_every_route_do_not_hide_another_one() {
        let table = RefusalTable::default();
        let clients: u64 = 200;
        for client in 0..clients {
            for route in ["A", "B", "C", "D", "E", "F", "G"] {
                table.note(&attempt(&format!("198.51.{client}.1"), route), at(1));
            }
        }
        table.note(&attempt("192.0.2.1", "ReadToken"), at(2));
        let rows = table.take();
        assert_eq!(total(&rows), clients * 7 + 1);
        let of = |address: &str| {
            let mut found = rows.clone();
            found.retain(|row| shown(row).as_deref() == Some(address));
            (found.len(), total(&found))
        };
        for client in 0..clients {
            let (entries, attempts) = of(&format!("198.51.{client}.1"));
            assert!(entries <= REFUSAL_ROUTES_OF_CLIENT_MAX + 1, "{entries}");
            assert_eq!(attempts, 7);
        }
        assert_eq!(of("192.0.2.1"), (1, 1));
    }

    #[test]
    fn who_makes_the_most_attempts_stays_named_whatever_others_do() {
        let table = RefusalTable::default();
        let most = u32::try_from(REFUSAL_ROWS_OF_STRANGERS_MAX).unwrap();
        let new = |number: u32| {
            let address = Ipv4Addr::from_bits(0x0100_0000 + (number << 8)).to_string();
            table.note(&attempt(&address, "ReadToken"), at(1));
        };
        // Before the guesser comes, the table is full of clients with several attempts each.
        (0..3 * most).for_each(|number| new(number % most));
        // Then each of its guesses is followed by attempts from two new networks.
        for number in 0..4 * most {
            table.note(&attempt("192.0.2.1", "ReadToken"), at(1));
            (0..2).for_each(|more| new(most + 2 * number + more));
        }
        let mut rows = table.take();
        assert!(rows.len() <= REFUSAL_ROWS_OF_STRANGERS_MAX, "{}", rows.len());
        rows.retain(|row| shown(row).as_deref() == Some("192.0.2.1"));
        assert!(total(&rows) > u64::from(2 * most), "{}", total(&rows));
    }

    #[test]
    fn the_rows_of_all_tenants_have_a_bound_together_and_one_of_their_own() {
        let table = RefusalTable::default();
        for tenant in 0..100 {
            for host in 0..200_u8 {
                let address = format!("192.0.2.{host}");
                table.note(&of_tenant(tenant, &attempt(&address, "ReadToken")), at(1));
            }
        }
        let rows = table.take();
        assert_eq!(total(&rows), 100 * 200);
        assert!(rows.len() <= REFUSAL_ROWS_MAX, "{}", rows.len());
        for tenant in 0..100 {
            let tenant = Some(TenantId::new(Uuid::from_u128(tenant)));
            let count = rows.iter().filter(|row| row.tenant == tenant).count();
            // None is hidden by those that came first.
            assert!((1..=REFUSAL_ROWS_OF_TENANT_MAX).contains(&count), "{count}");
        }
    }

    #[test]
    fn rows_that_could_not_be_written_join_those_that_came_meanwhile() {
        let table = RefusalTable::default();
        table.note(&attempt("192.0.2.1", "ReadToken"), at(1));
        let taken = table.take();
        table.note(&attempt("192.0.2.1", "ReadToken"), at(2));
        table.put_back(taken);
        let rows = table.take();
        assert_eq!((rows.len(), total(&rows)), (1, 2));
        assert_eq!(rows[0].refusals.first_at, at(1));
    }

    #[test]
    fn two_addresses_have_the_smallest_network_in_common_that_holds_both() {
        for (one, two, expected) in [
            ("192.0.2.1", "192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1", "192.0.2.9", Some("192.0.2.0")),
            ("192.0.2.0", "192.0.2.9", Some("192.0.2.0")),
            ("192.0.2.1", "192.0.3.1", None),
            ("2001:db8:1:2::1", "2001:db8:1:2::2", Some("2001:db8:1:2::")),
            ("2001:db8:1:2::", "2001:db8:1:3::2", Some("2001:db8:1::")),
            ("2001:db8:1::", "2001:db8:1:3::2", Some("2001:db8:1::")),
            ("2001:db8:1::1", "2001:db8:2::1", None),
            ("192.0.2.1", "2001:db8::1", None),
        ] {
            let common = common_network(one.parse().unwrap(), two.parse().unwrap());
            assert_eq!(common, expected.map(|text| text.parse().unwrap()), "{one} {two}");
        }
    }
}
