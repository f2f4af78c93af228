//! Places for requests, and idle connections that are kept for the next one, by destination.
//!
//! A request takes a place of its destination and then one of all places, of which a tenant has half
//! of those that the others have left, and waits for them for a bounded time. Callers without a
//! secret key take at most half of each. A connection exists only for requests with places, or as one of a bounded number of idle ones.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::app::{Credential, FairPermit, FairPool, Party};
use crate::bounds::{
    OUTBOUND_IDLE_MARGIN, OUTBOUND_IDLE_MAX, OUTBOUND_IDLE_PER_DESTINATION_MAX,
    OUTBOUND_IDLE_TIME_MAX, OUTBOUND_READY_MAX, OUTBOUND_REQUESTS_MAX,
    OUTBOUND_REQUESTS_PER_DESTINATION_MAX, OUTBOUND_SHARED_MAX, OUTBOUND_SWEEP_PERIOD,
    OUTBOUND_TENANT_ANSWERS_BYTES_MAX, OUTBOUND_WAIT_MAX, OUTBOUND_WAITING_MAX,
};
use crate::domain::id::TenantId;
use crate::lock::Lock;
use crate::metrics::Counter;
use crate::outbound::channel::Channel;

/// A destination. Its connections are used for no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Destination {
    pub(super) tenant: TenantId,
    /// In lower case.
    pub(super) host: String,
    pub(super) port: u16,
    /// The hash of our client certificate and its key.
    pub(super) identity: Option<[u8; 32]>,
}

/// The maxima of a pool; tests have smaller ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolSizes {
    pub(super) requests: usize,
    pub(super) requests_per_destination: usize,
    pub(super) wait: Duration,
    pub(super) idle_time: Duration,
}

impl Default for PoolSizes {
    fn default() -> Self {
        Self {
            requests: OUTBOUND_REQUESTS_MAX,
            requests_per_destination: OUTBOUND_REQUESTS_PER_DESTINATION_MAX,
            wait: OUTBOUND_WAIT_MAX,
            idle_time: OUTBOUND_IDLE_TIME_MAX,
        }
    }
}

#[derive(Debug)]
pub(super) struct Pool {
    sizes: PoolSizes,
    places: FairPool,
    state: Lock<PoolState>,
    waits: Counter,
}

/// The destinations and tenants of current requests, and destinations with kept connections.
#[derive(Debug, Default)]
struct PoolState {
    destinations: HashMap<Destination, DestinationState>,
    tenants: HashMap<TenantId, TenantState>,
}

/// Places or bytes, and the half of them that callers without a secret key may take.
#[derive(Debug, Clone)]
pub(super) struct SharedPlaces {
    pub(super) all: Arc<Semaphore>,
    public: Arc<Semaphore>,
}

impl SharedPlaces {
    pub(super) fn new(count: usize) -> Self {
        let public = Arc::new(Semaphore::new(count.div_ceil(2)));
        Self { all: Arc::new(Semaphore::new(count)), public }
    }

    /// All semaphores that a request takes from. Strangers wait for each other first.
    pub(super) fn of(&self, credential: Credential) -> impl Iterator<Item = &Arc<Semaphore>> {
        let public = (credential == Credential::Public).then_some(&self.public);
        public.into_iter().chain([&self.all])
    }
}

#[derive(Debug)]
struct TenantState {
    /// The tenant's share of the memory of answers, in bytes.
    answers: SharedPlaces,
    users: usize,
}

#[derive(Debug)]
struct DestinationState {
    places: SharedPlaces,
    tls: Arc<ClientConfig>,
    /// The newest last.
    kept: Vec<KeptChannel>,
    /// Requests that hold a place or wait for one.
    users: usize,
}

#[derive(Debug)]
struct KeptChannel {
    channel: Channel,
    until: Instant,
}

impl KeptChannel {
    fn is_usable(&self, now: Instant) -> bool {
        !self.channel.is_closed() && (self.until > now || !self.channel.is_idle())
    }
}

/// A request's place. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct PoolReservation {
    user: DestinationUser,
    pub(super) tls: Arc<ClientConfig>,
    /// The tenant's share of the memory of answers.
    pub(super) answers: SharedPlaces,
    /// Of the destination, and of all; `None` until the request has them.
    permits: Option<(Vec<OwnedSemaphorePermit>, FairPermit)>,
}

/// Holds the state of a destination while a request uses it.
#[derive(Debug)]
struct DestinationUser {
    pool: Arc<Pool>,
    destination: Destination,
}

impl Drop for DestinationUser {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        let PoolState { destinations, tenants } = &mut *state;
        if let Some(known) = destinations.get_mut(&self.destination) {
            known.users = known.users.saturating_sub(1);
            if known.users == 0 && known.kept.is_empty() {
                destinations.remove(&self.destination);
            }
        }
        let tenant = self.destination.tenant;
        if let Some(known) = tenants.get_mut(&tenant) {
            known.users = known.users.saturating_sub(1);
            if known.users == 0 {
                tenants.remove(&tenant);
            }
        }
    }
}

impl Pool {
    pub(super) fn new(sizes: PoolSizes) -> Self {
        Self {
            sizes,
            places: FairPool::for_long_work(sizes.requests, OUTBOUND_WAITING_MAX),
            state: Lock::default(),
            waits: Counter::default(),
        }
    }

    /// Takes a place. `None` if all stay taken for too long. `tls` makes the TLS settings of a new
    /// destination.
    pub(super) async fn enter<E>(
        self: &Arc<Self>,
        destination: Destination,
        credential: Credential,
        deadline: Instant,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, E>,
    ) -> Result<Option<PoolReservation>, E> {
        let party = Party { tenant: destination.tenant, credential };
        let (mut reservation, own) = self.begin(destination, tls)?;
        // The destination's place first: a request that waits for its destination holds no other
        // place.
        let mut taken = pin!(async {
            let mut permits = Vec::new();
            for places in own.of(credential) {
                permits.push(Arc::clone(places).acquire_owned().await.ok()?);
            }
            Some((permits, self.places.permit(party).await.ok()?))
        });
        let at_once = poll_fn(|context| Poll::Ready(taken.as_mut().poll(context))).await;
        reservation.permits = match at_once {
            Poll::Ready(permits) => permits,
            Poll::Pending => {
                self.waits.add(1);
                let until = Instant::now().checked_add(self.sizes.wait).unwrap_or(deadline);
                timeout_at(until.min(deadline), taken).await.ok().flatten()
            }
        };
        Ok(reservation.permits.is_some().then_some(reservation))
    }

    /// A request that may take places of its destination.
    fn begin<E>(
        self: &Arc<Self>,
        destination: Destination,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, E>,
    ) -> Result<(PoolReservation, SharedPlaces), E> {
        let mut state = self.state.lock();
        let PoolState { destinations, tenants } = &mut *state;
        let known = match destinations.entry(destination.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(DestinationState {
                places: SharedPlaces::new(self.sizes.requests_per_destination),
                tls: tls()?,
                kept: Vec::new(),
                users: 0,
            }),
        };
        known.users = known.users.saturating_add(1);
        let tenant = tenants.entry(destination.tenant).or_insert_with(|| TenantState {
            answers: SharedPlaces::new(OUTBOUND_TENANT_ANSWERS_BYTES_MAX),
            users: 0,
        });
        tenant.users = tenant.users.saturating_add(1);
        let places = known.places.clone();
        let answers = tenant.answers.clone();
        let tls = Arc::clone(&known.tls);
        let user = DestinationUser { pool: Arc::clone(self), destination };
        Ok((PoolReservation { user, tls, answers, permits: None }, places))
    }

    /// Closes connections that were idle for too long.
    pub(super) async fn keep_clean(self: Arc<Self>) {
        loop {
            sleep(OUTBOUND_SWEEP_PERIOD).await;
            self.close_expired();
        }
    }

    pub(super) fn close_expired(&self) {
        let now = Instant::now();
        self.state.lock().destinations.retain(|_, state| {
            state.kept.retain(|kept| kept.is_usable(now));
            state.users > 0 || !state.kept.is_empty()
        });
    }

    pub(super) fn kept(&self) -> u64 {
        let kept =
            self.state.lock().destinations.values().map(|state| state.kept.len()).sum::<usize>();
        u64::try_from(kept).unwrap_or(u64::MAX)
    }

    pub(super) fn waits(&self) -> u64 {
        self.waits.get()
    }

    #[cfg(test)]
    pub(super) fn destinations(&self) -> usize {
        self.state.lock().destinations.len()
    }

    /// Closes all kept connections, as if they had been idle for too long.
    #[cfg(test)]
    pub(super) fn close_all(&self) {
        self.state.lock().destinations.clear();
    }

    #[cfg(test)]
    pub(super) fn tenants(&self) -> usize {
        self.state.lock().tenants.len()
    }
}

impl PoolReservation {
    /// A kept connection that is open and ready.
    pub(super) async fn kept_channel(&self) -> Option<Channel> {
        loop {
            let mut channel = self.take()?;
            if timeout(OUTBOUND_READY_MAX, channel.is_ready()).await == Ok(true) {
                return Some(channel);
            }
        }
    }

    /// The newest HTTP/1.1 connection, which it removes, or a handle of an HTTP/2 connection.
    fn take(&self) -> Option<Channel> {
        let now = Instant::now();
        let mut state = self.user.pool.state.lock();
        let kept = &mut state.destinations.get_mut(&self.user.destination)?.kept;
        loop {
            let at = kept.iter().rposition(|kept| kept.channel.has_room())?;
            let found = kept.get(at).filter(|found| found.is_usable(now));
            if let Some(shared) = found.and_then(|found| found.channel.share()) {
                return Some(shared);
            }
            let is_usable = found.is_some();
            let KeptChannel { channel, .. } = kept.remove(at);
            if is_usable {
                return Some(channel);
            }
        }
    }

    /// Shares a new connection with later requests, if its protocol allows that.
    pub(super) fn share(&self, channel: &Channel) {
        if let Some(shared) = channel.share() {
            self.insert(shared, self.user.pool.sizes.idle_time, OUTBOUND_SHARED_MAX);
        }
    }

    /// Keeps a connection after a successful exchange. `announced` is the time for which the server
    /// keeps it.
    pub(super) fn keep(&self, channel: Channel, announced: Option<Duration>) {
        let most = self.user.pool.sizes.idle_time;
        let announced = announced.map(|time| time.saturating_sub(OUTBOUND_IDLE_MARGIN));
        let time = announced.map_or(most, |time| time.min(most));
        if channel.is_closed() || time.is_zero() {
            return;
        }
        if channel.share().is_none() {
            self.insert(channel, time, OUTBOUND_IDLE_PER_DESTINATION_MAX);
        } else if let Some(state) =
            self.user.pool.state.lock().destinations.get_mut(&self.user.destination)
        {
            let until = Instant::now().checked_add(time);
            let same = state.kept.iter_mut().find(|kept| kept.channel.is_same(&channel));
            if let (Some(kept), Some(until)) = (same, until) {
                kept.until = until;
            }
        }
    }

    fn insert(&self, channel: Channel, time: Duration, most: usize) {
        let Some(until) = Instant::now().checked_add(time) else { return };
        let destinations = &mut self.user.pool.state.lock().destinations;
        let kept = destinations.values().map(|state| state.kept.len()).sum::<usize>();
        if kept >= OUTBOUND_IDLE_MAX {
            close_oldest(destinations);
        }
        let Some(DestinationState { kept, .. }) = destinations.get_mut(&self.user.destination)
        else {
            return;
        };
        if kept.len() >= most {
            let now = Instant::now();
            kept.retain(|kept| kept.is_usable(now));
        }
        if kept.len() < most {
            kept.push(KeptChannel { channel, until });
        }
    }
}

fn close_oldest(destinations: &mut HashMap<Destination, DestinationState>) {
    let oldest = destinations.values_mut().filter(|state| !state.kept.is_empty());
    let oldest = oldest.min_by_key(|state| state.kept.iter().map(|kept| kept.until).min());
    if let Some(state) = oldest
        && let Some(until) = state.kept.iter().map(|kept| kept.until).min()
        && let Some(at) = state.kept.iter().position(|kept| kept.until == until)
    {
        state.kept.remove(at);
    }
}
