//! Permits for connections, with a maximum for all and one for each address.
//!
//! A connection that has shown no known secret key is a stranger. A client that has shown its key
//! keeps its place within the share of its tenant; connections beyond that share are surplus.
//!
//! When all places are taken, a stranger or a surplus connection makes room for the next one. It is
//! chosen by these rules, in this order:
//!
//! 1. Strangers before surplus: a stranger that sends a request slowly ends no connection of a
//!    client with a key.
//! 2. The [`Stage`]: a crowd of connections that send nothing, or half a request, ends no request.
//!    An address with a very large crowd of idle connections loses one of them before another
//!    address loses a connection in its handshake.
//! 3. The address with the most strangers in this stage. Trusted proxies carry many clients, so
//!    each of their connections counts as a separate address.
//! 4. Age: the oldest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::bounds::CONNECTIONS_BEGINNING_SHARE;
use crate::domain::shares::{Claimant, Shares, address_prefix};
use crate::lock::Lock;

/// Returns whether an address is exempt from the maximum for one address.
pub type TrustedAddresses = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Issues [`Permit`]s. Stores only addresses that hold one.
#[derive(Clone)]
pub struct Permits {
    places: Arc<Lock<Places>>,
    in_all_max: usize,
    per_address_max: Option<usize>,
}

struct Places {
    /// Places of clients that have shown a key, within the shares of their tenants.
    known: Shares,
    /// The number of the next permit; smaller numbers are older.
    next: u64,
    open: HashMap<u64, OpenConnection>,
    by_address: HashMap<IpAddr, usize>,
    /// The connections that may have to make room, by stage.
    queues: BTreeMap<Stage, Queue>,
}

struct OpenConnection {
    address: IpAddr,
    standing: Standing,
    stage: Stage,
    requests: usize,
    ended: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It keeps its place. If it has shown a key, it holds a part of its tenant's share.
    Kept(Option<Claimant>),
    Stranger(AddressLimit),
    /// It has shown a key, and its tenant has no share left.
    Surplus,
}

/// Connections make room in this order: a client loses more in a later stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The TLS handshake is not done.
    Connected,
    /// It has sent no request.
    Secured,
    /// All its requests are answered.
    Idle,
    InFlight,
}

/// Connections of one stage. The last one in the ranking makes room first.
#[derive(Default)]
struct Queue {
    length: usize,
    crowds: HashMap<Crowd, BTreeSet<u64>>,
    ranking: BTreeSet<Rank>,
}

/// Connections that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Crowd {
    Surplus,
    /// One connection of a trusted proxy.
    Alone(u64),
    Address(IpAddr),
}

/// True for a crowd of strangers, its size, and its oldest member.
type Rank = (bool, usize, Reverse<u64>, Crowd);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLimit {
    InAll,
    PerAddress,
}

/// The maximum of an address: its own, or only the one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressLimit {
    Bounded,
    Unbounded,
}

impl Permits {
    pub fn new(in_all_max: usize, per_address_max: Option<usize>) -> Self {
        let places = Places {
            known: Shares::new(in_all_max),
            next: 0,
            open: HashMap::new(),
            by_address: HashMap::new(),
            queues: BTreeMap::new(),
        };
        Self { places: Arc::new(Lock::new(places)), in_all_max, per_address_max }
    }

    pub fn take(&self, address: IpAddr, limit: AddressLimit) -> Result<Permit, ConnectionLimit> {
        let address = address_prefix(address);
        let mut places = self.places.lock();
        let of_address = places.by_address.get(&address).copied().unwrap_or(0);
        if limit == AddressLimit::Bounded
            && self.per_address_max.is_some_and(|max| of_address >= max)
        {
            return Err(ConnectionLimit::PerAddress);
        }
        let evicted = places.open.len() >= self.in_all_max;
        if evicted && !places.evict(self.in_all_max / CONNECTIONS_BEGINNING_SHARE) {
            return Err(ConnectionLimit::InAll);
        }
        let number = places.next;
        places.next = number.saturating_add(1);
        let ended = CancellationToken::new();
        let standing = Standing::Stranger(limit);
        places.insert(number, OpenConnection::new(address, standing, ended.clone()));
        drop(places);
        Ok(Permit { permits: self.clone(), number, ended, shown: OnceLock::new(), evicted })
    }

    pub(super) fn taken(&self) -> usize {
        self.places.lock().open.len()
    }
}

impl Places {
    fn insert(&mut self, number: u64, place: OpenConnection) {
        let of_address = self.by_address.entry(place.address).or_default();
        *of_address = of_address.saturating_add(1);
        self.enqueue(number, &place);
        self.open.insert(number, place);
    }

    fn remove(&mut self, number: u64) -> Option<OpenConnection> {
        let place = self.open.remove(&number)?;
        self.dequeue(number, &place);
        match self.by_address.get_mut(&place.address) {
            Some(of_address) if *of_address > 1 => *of_address = of_address.saturating_sub(1),
            _ => drop(self.by_address.remove(&place.address)),
        }
        if let Standing::Kept(Some(claimant)) = place.standing {
            self.known.give_back(claimant, 1);
        }
        Some(place)
    }

    /// Changes a place and moves it to its new queue; `None` if the place is gone.
    fn change(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut OpenConnection, &Shares),
    ) -> Option<&OpenConnection> {
        let mut place = self.open.remove(&number)?;
        self.dequeue(number, &place);
        change(&mut place, &self.known);
        self.enqueue(number, &place);
        Some(self.open.entry(number).or_insert(place))
    }

    fn enqueue(&mut self, number: u64, place: &OpenConnection) {
        if let Some(crowd) = place.crowd(number) {
            self.queues.entry(place.queue()).or_default().insert(crowd, number);
        }
    }

    fn dequeue(&mut self, number: u64, place: &OpenConnection) {
        if let Some(crowd) = place.crowd(number)
            && let Some(queue) = self.queues.get_mut(&place.queue())
        {
            queue.remove(crowd, number);
        }
    }

    /// Frees a place; false if all keep theirs. This number of connections in each stage before the
    /// first request is spared while there are others: otherwise a peer that holds all places with
    /// requests and keeps connecting would end every handshake.
    fn evict(&mut self, spared: usize) -> bool {
        let is_crowded = |stage: Stage, queue: &Queue| {
            queue.length > if stage < Stage::Idle { spared } else { 0 }
        };
        let crowded = self.queues.iter().find(|(stage, queue)| is_crowded(**stage, queue));
        let any = || self.queues.iter().find(|(_, queue)| queue.length > 0);
        let last = |queue: &Queue| queue.ranking.last().copied();
        let first = crowded.or_else(any).and_then(|(_, queue)| last(queue));
        // Idle connections cost their owner little, so a handshake is worth more than one of many.
        let is_crowd = |(_, members, ..): &Rank| {
            first.is_some_and(|it| *members > it.1.saturating_mul(CONNECTIONS_BEGINNING_SHARE))
        };
        let idle = self.queues.get(&Stage::Idle).and_then(last).filter(is_crowd);
        let Some((_, _, Reverse(number), _)) = idle.or(first) else { return false };
        let Some(place) = self.remove(number) else { return false };
        place.ended.cancel();
        true
    }
}

impl OpenConnection {
    const fn new(address: IpAddr, standing: Standing, ended: CancellationToken) -> Self {
        Self { address, standing, stage: Stage::Connected, requests: 0, ended }
    }

    /// The queue of the connection. Surplus connections are in the last one, behind its strangers.
    fn queue(&self) -> Stage {
        if self.standing == Standing::Surplus { Stage::InFlight } else { self.stage }
    }

    /// `None` if it keeps its place.
    const fn crowd(&self, number: u64) -> Option<Crowd> {
        match self.standing {
            Standing::Kept(_) => None,
            Standing::Stranger(AddressLimit::Bounded) => Some(Crowd::Address(self.address)),
            Standing::Stranger(AddressLimit::Unbounded) => Some(Crowd::Alone(number)),
            Standing::Surplus => Some(Crowd::Surplus),
        }
    }
}

impl Queue {
    fn insert(&mut self, crowd: Crowd, number: u64) {
        self.length = self.length.saturating_add(1);
        self.change(crowd, |members| members.insert(number));
    }

    fn remove(&mut self, crowd: Crowd, number: u64) {
        self.length = self.length.saturating_sub(1);
        self.change(crowd, |members| members.remove(&number));
    }

    /// Changes the members of a crowd and updates its rank.
    fn change(&mut self, crowd: Crowd, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) {
        let rank = |members: &BTreeSet<u64>| -> Option<Rank> {
            let oldest = Reverse(*members.first()?);
            Some((crowd != Crowd::Surplus, members.len(), oldest, crowd))
        };
        let members = self.crowds.entry(crowd).or_default();
        if let Some(before) = rank(members) {
            self.ranking.remove(&before);
        }
        change(members);
        self.ranking.extend(rank(members));
        if members.is_empty() {
            self.crowds.remove(&crowd);
        }
    }
}

opaque_debug!(Permits);

/// The permit of one connection, returned when dropped.
#[derive(Debug)]
pub struct Permit {
    permits: Permits,
    number: u64,
    ended: CancellationToken,
    /// Empty for a stranger.
    shown: OnceLock<Standing>,
    /// True if another connection had to make room for this one.
    pub(super) evicted: bool,
}

impl Permit {
    /// Call it with each request: after the first one with a known secret key, the connection keeps
    /// its place within the share of its tenant, and `keyed` is not called again.
    pub(super) fn show(&self, keyed: impl FnOnce() -> Option<Claimant>) {
        if self.shown.get().is_none()
            && let Some(claimant) = keyed()
        {
            let mut places = self.permits.places.lock();
            let shown = places.change(self.number, |place, known| {
                // Of two concurrent requests, the second finds this done.
                if matches!(place.standing, Standing::Stranger(_)) {
                    let is_kept = known.take(claimant, 1);
                    place.standing =
                        if is_kept { Standing::Kept(Some(claimant)) } else { Standing::Surplus };
                }
            });
            if let Some(place) = shown {
                self.shown.set(place.standing).ok();
            }
        }
    }

    /// From now on no other connection gets this place.
    pub fn keep(&self) {
        let mut places = self.permits.places.lock();
        places.change(self.number, |place, _| place.standing = Standing::Kept(None));
    }

    pub(super) fn secured(&self) {
        self.permits.places.lock().change(self.number, |place, _| place.stage = Stage::Secured);
    }

    /// A request has begun. It ends when the returned value is dropped. `None` if the connection
    /// keeps its place in any case, so that requests with a key take no lock.
    pub(super) fn begin(self: &Arc<Self>) -> Option<RequestInFlight> {
        if matches!(self.shown.get(), Some(Standing::Kept(_))) {
            return None;
        }
        let mut places = self.permits.places.lock();
        places.change(self.number, |place, _| {
            place.requests = place.requests.saturating_add(1);
            place.stage = Stage::InFlight;
        });
        Some(RequestInFlight(Arc::clone(self)))
    }

    /// Resolves when another connection has taken the place.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // An evicted connection has already given its place back.
        self.permits.places.lock().remove(self.number);
    }
}

/// A request whose answer is not written yet.
#[derive(Debug)]
pub(super) struct RequestInFlight(Arc<Permit>);

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.0.permits.places.lock().change(self.0.number, |place, _| {
            place.requests = place.requests.saturating_sub(1);
            if place.requests == 0 {
                place.stage = Stage::Idle;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::TenantId;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn take(permits: &Permits, address: &str) -> Permit {
        permits.take(ip(address), AddressLimit::Bounded).unwrap()
    }

    fn tenant(number: u128) -> Claimant {
        Claimant::Keyed(TenantId::new(uuid::Uuid::from_u128(number)))
    }

    fn known(permits: &Permits, address: &str, number: u128) -> Permit {
        let permit = take(permits, address);
        permit.show(|| Some(tenant(number)));
        permit
    }

    #[track_caller]
    fn check_empty(permits: &Permits) {
        let places = permits.places.lock();
        assert!(places.open.is_empty() && places.by_address.is_empty());
        assert!(places.known.taken() == 0);
        let is_empty = |queue: &Queue| {
            queue.length == 0 && queue.crowds.is_empty() && queue.ranking.is_empty()
        };
        assert!(places.queues.values().all(is_empty));
    }

    #[track_caller]
    fn check_same_place(first: &str, second: &str, same: bool) {
        let permits = Permits::new(10, Some(1));
        let _held = take(&permits, first);
        let taken = permits.take(ip(second), AddressLimit::Bounded);
        assert_eq!(taken.err(), same.then_some(ConnectionLimit::PerAddress), "{first} {second}");
    }

    #[test]
    fn an_address_is_counted_with_its_neighbours() {
        check_same_place("192.0.2.1", "192.0.2.1", true);
        check_same_place("192.0.2.1", "192.0.2.2", false);
        check_same_place("192.0.2.1", "::ffff:192.0.2.1", true);
        check_same_place("2001:db8::1", "2001:db8::ffff:1", true);
        check_same_place("2001:db8::1", "2001:db8:0:1::1", false);
    }

    #[test]
    fn places_are_given_back_and_leave_nothing_behind() {
        let permits = Permits::new(2, Some(1));
        for last in 0..=255 {
            let permit =
                permits.take(IpAddr::from([192, 0, 2, last]), AddressLimit::Bounded).unwrap();
            permit.show(|| (last % 2 == 0).then(|| tenant(last.into())));
        }
        // Some of them lose their places to others.
        let held: Vec<_> = (0..=255)
            .map(|last| permits.take(IpAddr::from([192, 0, 2, last]), AddressLimit::Bounded))
            .collect();
        assert_eq!(permits.taken(), 2);
        drop(held);
        check_empty(&permits);
    }

    #[test]
    fn the_maximum_in_all_binds_trusted_addresses_too() {
        let permits = Permits::new(2, Some(1));
        let held = [(); 3].map(|()| {
            let permit = permits.take(ip("127.0.0.1"), AddressLimit::Unbounded).unwrap();
            permit.show(|| Some(tenant(1)));
            permit
        });
        assert_eq!(permits.taken(), 2);
        assert_eq!(held.each_ref().map(|it| it.ended.is_cancelled()), [false, true, false]);
        drop(held);
        assert_eq!(permits.taken(), 0);
    }

    #[test]
    fn a_tenant_beyond_its_share_makes_room_for_others_after_all_strangers() {
        let permits = Permits::new(8, None);
        let greedy: Vec<_> = (0..7).map(|_| known(&permits, "192.0.2.1", 1)).collect();
        let silent = take(&permits, "192.0.2.2");
        let others: Vec<_> = (0..3).map(|_| known(&permits, "192.0.2.3", 2)).collect();
        assert!(silent.ended.is_cancelled(), "a stranger goes first");
        let ended: Vec<_> = greedy.iter().map(|it| it.ended.is_cancelled()).collect();
        assert_eq!(ended, [false, false, false, false, true, true, false]);
        assert!(!others.iter().any(|it| it.ended.is_cancelled()));
        assert_eq!(permits.taken(), 8);
        // Strangers do not push out more than one of them.
        let crowd: Vec<_> = (0..9).map(|_| take(&permits, "192.0.2.4")).collect();
        assert!(crowd.iter().rev().skip(1).all(|it| it.ended.is_cancelled()));
        let ended = greedy.iter().chain(&others).filter(|it| it.ended.is_cancelled()).count();
        assert_eq!(ended, 3);
        drop((greedy, silent, others, crowd));
        check_empty(&permits);
    }

    #[test]
    fn a_stranger_with_a_request_goes_before_an_idle_connection_of_a_tenant() {
        let permits = Permits::new(8, None);
        let greedy: Vec<_> = (0..7).map(|_| known(&permits, "192.0.2.1", 1)).collect();
        let from = ("192.0.2.2", AddressLimit::Bounded);
        let (stranger, _request) = staged(&permits, Stage::InFlight, from);
        let _next = known(&permits, "192.0.2.3", 2);
        assert!(stranger.ended.is_cancelled());
        assert!(!greedy.iter().any(|it| it.ended.is_cancelled()));
    }

    #[test]
    fn a_key_that_is_shown_too_late_does_not_bring_the_place_back() {
        let permits = Permits::new(1, None);
        let late = take(&permits, "192.0.2.1");
        let next = take(&permits, "192.0.2.2");
        late.show(|| Some(tenant(1)));
        assert!(late.ended.is_cancelled());
        drop(late);
        assert_eq!(permits.taken(), 1);
        next.show(|| Some(Claimant::Certified(ip("192.0.2.2"))));
        next.show(|| panic!("it is known"));
        drop(next);
        assert_eq!(permits.taken(), 0);
    }

    /// A connection in a stage, and the guard of its request.
    fn staged(
        permits: &Permits,
        stage: Stage,
        (address, limit): (&str, AddressLimit),
    ) -> (Arc<Permit>, Option<RequestInFlight>) {
        let permit = Arc::new(permits.take(ip(address), limit).unwrap());
        if stage > Stage::Connected {
            permit.secured();
        }
        let request = (stage > Stage::Secured).then(|| permit.begin()).flatten();
        (permit, request.filter(|_| stage == Stage::InFlight))
    }

    /// Fills all places, oldest first, and compares the order in which they make room.
    #[track_caller]
    fn check_order(places: &[(Stage, (&str, AddressLimit))], expected: &[usize]) {
        let permits = Permits::new(places.len(), None);
        let held: Vec<_> =
            places.iter().map(|(stage, from)| staged(&permits, *stage, *from)).collect();
        let mut order = Vec::new();
        let mut newcomers = Vec::new();
        for _ in places {
            let newcomer = permits.take(ip("203.0.113.1"), AddressLimit::Unbounded).unwrap();
            assert!(newcomer.evicted && permits.taken() == places.len());
            newcomer.keep();
            newcomers.push(newcomer);
            let is_new = |at: &usize| held[*at].0.ended.is_cancelled() && !order.contains(at);
            let gone = (0..held.len()).find(is_new);
            order.extend(gone);
        }
        assert_eq!(order, expected, "{places:?}");
        assert!(permits.take(ip("203.0.113.2"), AddressLimit::Unbounded).is_err(), "all are kept");
        drop((held, newcomers));
        check_empty(&permits);
    }

    #[test]
    fn the_stage_decides_before_the_crowd_and_the_crowd_before_the_age() {
        use Stage::{Connected, Idle, InFlight, Secured};
        let one = ("192.0.2.1", AddressLimit::Bounded);
        let two = ("192.0.2.2", AddressLimit::Bounded);
        let proxy = ("127.0.0.1", AddressLimit::Unbounded);
        check_order(
            &[(InFlight, one), (Idle, one), (Secured, one), (Connected, two)],
            &[3, 2, 1, 0],
        );
        check_order(
            &[(Connected, one), (Secured, one), (Idle, one), (InFlight, one)],
            &[0, 1, 2, 3],
        );
        // A crowd with requests outlives a single connection without one.
        check_order(
            &[(InFlight, one), (InFlight, one), (InFlight, one), (Idle, two)],
            &[3, 0, 1, 2],
        );
        check_order(&[(Idle, two), (Idle, one), (Idle, one), (Idle, one)], &[1, 2, 0, 3]);
        // The connections of a proxy are no crowd.
        check_order(&[(Idle, proxy), (Idle, proxy), (Idle, proxy), (Idle, two)], &[0, 1, 2, 3]);
        check_order(&[(Idle, proxy), (Idle, proxy), (Idle, two), (Idle, two)], &[2, 0, 1, 3]);
        // Of seventeen idle connections of one address, one ends before a handshake of another.
        let three = ("192.0.2.3", AddressLimit::Bounded);
        let idle = [(Idle, one); CONNECTIONS_BEGINNING_SHARE + 1];
        let expected: Vec<usize> = [0, 17].into_iter().chain(1..17).chain([18]).collect();
        check_order(&[&idle[..], &[(Connected, two), (Connected, three)]].concat(), &expected);
    }

    #[test]
    fn a_connection_is_idle_when_its_last_request_is_answered() {
        let permits = Permits::new(2, None);
        let several = Arc::new(take(&permits, "192.0.2.1"));
        let (first, second) = (several.begin(), several.begin());
        drop(first);
        let (other, answered) = staged(&permits, Stage::Idle, ("192.0.2.2", AddressLimit::Bounded));
        assert!(answered.is_none());
        let newcomer = take(&permits, "192.0.2.3");
        newcomer.keep();
        assert!(other.ended.is_cancelled() && !several.ended.is_cancelled());
        drop(second);
        let _last = take(&permits, "192.0.2.4");
        assert!(several.ended.is_cancelled() && !newcomer.ended.is_cancelled());
    }

    #[test]
    fn a_flood_of_new_connections_leaves_a_handshake_its_time() {
        let permits = Permits::new(2 * CONNECTIONS_BEGINNING_SHARE, None);
        let proxy = ("127.0.0.1", AddressLimit::Unbounded);
        let held: Vec<_> =
            (0..permits.in_all_max).map(|_| staged(&permits, Stage::InFlight, proxy)).collect();
        let shaking = [(); 2].map(|()| staged(&permits, Stage::Connected, proxy).0);
        assert!(!shaking.iter().any(|it| it.ended.is_cancelled()));
        assert_eq!(held.iter().filter(|it| it.0.ended.is_cancelled()).count(), 2);
        // Beyond its part, the flood takes places only from itself.
        let flood: Vec<_> = (0..100).map(|_| staged(&permits, Stage::Connected, proxy).0).collect();
        assert!(shaking.iter().all(|it| it.ended.is_cancelled()));
        assert_eq!(held.iter().filter(|it| it.0.ended.is_cancelled()).count(), 3);
        assert_eq!(flood.iter().filter(|it| !it.ended.is_cancelled()).count(), 3);
    }
}
