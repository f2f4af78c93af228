//! A pool of places for costly work that all tenants share: a tenant has one place while others
//! wait.
//!
//! A freed place goes to the tenant with the fewest places, and among these to the one that has
//! waited for its turn the longest. So a tenant with any number of requests delays the request of
//! another by no more than the work under way. A tenant that is alone may take all places, unless
//! the work may take long: then it takes half of the places that the others have left, so that the
//! next tenant always finds one.
//!
//! Callers without a secret key are strangers: sessions, public keys, and callers of proxies that
//! need no API key. They hold at most half of all places and half of the queue, and within a tenant
//! they wait behind its secret keys.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::app::blocking::run_blocking;
use crate::app::error::Error;
use crate::domain::id::TenantId;
use crate::lock::Lock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Party {
    pub tenant: TenantId,
    pub credential: Credential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// The key of a public application or of a session, or of a proxy without `require_auth`.
    Public,
    /// The key of a private or management application.
    Secret,
}

#[derive(Debug)]
pub struct FairPool(Arc<Places>);

#[derive(Debug)]
struct Places {
    count: usize,
    tenant_share: TenantShare,
    waiting_max: usize,
    state: Lock<PoolState>,
}

/// The places that one tenant may have while no other waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TenantShare {
    All,
    /// Of those that the others have left.
    Half,
}

#[derive(Debug, Default)]
struct PoolState {
    taken: Counts,
    waiting: Counts,
    /// Tenants with a place or a waiting request.
    tenants: BTreeMap<TenantId, TenantState>,
    /// Grows when a request is queued, and when a place is taken or returned.
    turns: u64,
}

#[derive(Debug, Default)]
struct TenantState {
    taken: Counts,
    secret: VecDeque<Waiting>,
    public: VecDeque<Waiting>,
    /// The turn in which this tenant was last queued or got or returned a place.
    turn: u64,
}

/// Places, or things that wait or are stored.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub all: usize,
    /// Those of callers without a secret key.
    pub public: usize,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    /// Notified when the request has its place.
    given: oneshot::Sender<()>,
}

/// Dropping it frees the place.
#[derive(Debug)]
pub struct FairPermit {
    pool: Arc<Places>,
    party: Party,
}

/// Dropping it removes the request from the queue.
struct QueuedRequest<'a> {
    pool: &'a Places,
    party: Party,
    number: u64,
}

impl FairPool {
    pub(in crate::app) fn new(places: usize, waiting_max: usize) -> Self {
        Self::with(TenantShare::All, places, waiting_max)
    }

    /// A pool for work that may take long.
    pub fn for_long_work(places: usize, waiting_max: usize) -> Self {
        Self::with(TenantShare::Half, places, waiting_max)
    }

    fn with(tenant_share: TenantShare, count: usize, waiting_max: usize) -> Self {
        Self(Arc::new(Places { count, tenant_share, waiting_max, state: Lock::default() }))
    }

    /// Places that are taken.
    pub fn taken(&self) -> usize {
        self.0.state.lock().taken.all
    }

    /// [`Error::Busy`] if too many requests of all tenants or of this one wait already.
    pub async fn permit(&self, party: Party) -> Result<FairPermit, Error> {
        let pool = &self.0;
        let (queued, given) = {
            let mut state = pool.state.lock();
            // A free place means that no request in the queue may take it.
            let held = state.tenants.get(&party.tenant).map(|known| known.taken);
            if pool.has_place(&state, party.credential)
                && pool.is_within_share(state.taken, held.unwrap_or_default(), party.credential)
            {
                state.take(party);
                return Ok(FairPermit { pool: Arc::clone(pool), party });
            }
            if !pool.has_room(&state, party) {
                return Err(Error::Busy);
            }
            let (number, given) = state.queue(party);
            (QueuedRequest { pool, party, number }, given)
        };
        // The sender is dropped only with the request or with the pool.
        given.await.or(Err(Error::Stopped))?;
        std::mem::forget(queued);
        Ok(FairPermit { pool: Arc::clone(pool), party })
    }

    pub(in crate::app) async fn run<T>(
        &self,
        party: Party,
        work: impl FnOnce() -> T,
    ) -> Result<T, Error> {
        let _permit = self.permit(party).await?;
        Ok(run_blocking(work))
    }
}

impl Places {
    fn has_place(&self, state: &PoolState, credential: Credential) -> bool {
        state.taken.have_room(credential, self.count)
    }

    /// Places that callers without a secret key may have together.
    const fn public_places(&self) -> usize {
        self.count.div_ceil(2)
    }

    /// True if a tenant that holds these of all taken places may have one more. Its callers without
    /// a secret key have the same share of the places of such callers.
    fn is_within_share(&self, taken: Counts, held: Counts, credential: Credential) -> bool {
        let is_less_than_half = |places: usize, taken: usize, held: usize| {
            held < places.saturating_sub(taken.saturating_sub(held)).div_ceil(2)
        };
        match self.tenant_share {
            TenantShare::All => true,
            TenantShare::Half => {
                is_less_than_half(self.count, taken.all, held.all)
                    && (credential == Credential::Secret
                        || is_less_than_half(self.public_places(), taken.public, held.public))
            }
        }
    }

    /// A tenant may use a quarter of the queue.
    fn has_room(&self, state: &PoolState, party: Party) -> bool {
        let half = |max: usize| max.div_ceil(2);
        let tenant_max = self.waiting_max.div_ceil(4);
        let known = state.tenants.get(&party.tenant);
        let (secret, public) = known.map_or((0, 0), |it| (it.secret.len(), it.public.len()));
        state.waiting.all < self.waiting_max
            && secret.saturating_add(public) < tenant_max
            && (party.credential == Credential::Secret
                || (state.waiting.public < half(self.waiting_max) && public < half(tenant_max)))
    }

    fn give(&self, state: &mut PoolState) {
        while let Some((party, waiting)) = self.next(state) {
            state.take(party);
            // Sending fails if the request was dropped at this moment. Its drop finds that it is
            // not in the queue and returns the place.
            waiting.given.send(()).ok();
        }
    }

    fn next(&self, state: &mut PoolState) -> Option<(Party, Waiting)> {
        let secret_may = self.has_place(state, Credential::Secret);
        let public_may = self.has_place(state, Credential::Public);
        let taken = state.taken;
        let (tenant, known) = state
            .tenants
            .iter_mut()
            .filter(|(_, it)| {
                let may = |credential| self.is_within_share(taken, it.taken, credential);
                secret_may && !it.secret.is_empty() && may(Credential::Secret)
                    || public_may && !it.public.is_empty() && may(Credential::Public)
            })
            .min_by_key(|(_, it)| (it.taken.all, it.turn))?;
        let credential =
            if known.secret.is_empty() { Credential::Public } else { Credential::Secret };
        let waiting = known.queue_of(credential).pop_front()?;
        let party = Party { tenant: *tenant, credential };
        state.waiting.subtract(credential);
        Some((party, waiting))
    }

    fn free(&self, party: Party) {
        let mut state = self.state.lock();
        let turn = state.next_turn();
        state.taken.subtract(party.credential);
        if let Some(known) = state.tenants.get_mut(&party.tenant) {
            known.taken.subtract(party.credential);
            known.turn = turn;
        }
        self.give(&mut state);
        state.forget_idle(party.tenant);
    }
}

impl PoolState {
    fn next_turn(&mut self) -> u64 {
        self.turns = self.turns.saturating_add(1);
        self.turns
    }

    fn take(&mut self, party: Party) {
        let turn = self.next_turn();
        self.taken.add(party.credential);
        let known = self.tenants.entry(party.tenant).or_default();
        known.taken.add(party.credential);
        known.turn = turn;
    }

    /// A tenant that comes back waits behind those that were there before.
    fn queue(&mut self, party: Party) -> (u64, oneshot::Receiver<()>) {
        let number = self.next_turn();
        let (given, receiver) = oneshot::channel();
        self.waiting.add(party.credential);
        let new = || TenantState { turn: number, ..TenantState::default() };
        let known = self.tenants.entry(party.tenant).or_insert_with(new);
        known.queue_of(party.credential).push_back(Waiting { number, given });
        (number, receiver)
    }

    fn forget_idle(&mut self, tenant: TenantId) {
        if self.tenants.get(&tenant).is_some_and(TenantState::is_idle) {
            self.tenants.remove(&tenant);
        }
    }
}

impl TenantState {
    const fn queue_of(&mut self, credential: Credential) -> &mut VecDeque<Waiting> {
        match credential {
            Credential::Secret => &mut self.secret,
            Credential::Public => &mut self.public,
        }
    }

    fn is_idle(&self) -> bool {
        self.taken.all == 0 && self.secret.is_empty() && self.public.is_empty()
    }
}

impl Counts {
    /// True if there is room for one more within the maximum. Callers without a secret key have
    /// half of it, since anybody may be one.
    pub fn have_room(self, credential: Credential, max: usize) -> bool {
        let public_max = max.div_ceil(2);
        self.all < max && (credential == Credential::Secret || self.public < public_max)
    }

    pub fn add(&mut self, credential: Credential) {
        self.all = self.all.saturating_add(1);
        self.public = self.public.saturating_add(usize::from(credential == Credential::Public));
    }

    pub fn subtract(&mut self, credential: Credential) {
        self.all = self.all.saturating_sub(1);
        self.public = self.public.saturating_sub(usize::from(credential == Credential::Public));
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.pool.free(self.party);
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        let Party { tenant, credential } = self.party;
        let mut state = self.pool.state.lock();
        let queue = state.tenants.get_mut(&tenant).map(|known| known.queue_of(credential));
        let before = queue.as_ref().map_or(0, |queue| queue.len());
        let after = queue.map_or(0, |queue| {
            queue.retain(|waiting| waiting.number != self.number);
            queue.len()
        });
        if after < before {
            state.waiting.subtract(credential);
            state.forget_idle(tenant);
        } else {
            // The request got its place at the moment it was dropped.
            drop(state);
            self.pool.free(self.party);
        }
    }
}
