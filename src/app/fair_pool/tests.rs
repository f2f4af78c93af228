use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use uuid::Uuid;

use super::*;

type Asking<'a> = Pin<Box<dyn Future<Output = Result<FairPermit, Error>> + 'a>>;

const fn party(tenant: u128, credential: Credential) -> Party {
    Party { tenant: TenantId::new(Uuid::from_u128(tenant)), credential }
}

const fn secret(tenant: u128) -> Party {
    party(tenant, Credential::Secret)
}

const fn public(tenant: u128) -> Party {
    party(tenant, Credential::Public)
}

/// Requests in the order of their arrival.
struct Scene<'a> {
    pool: &'a FairPool,
    waiting: Vec<(Party, Asking<'a>)>,
    /// In the order in which they got their places.
    held: Vec<(Party, FairPermit)>,
    refused: usize,
}

impl<'a> Scene<'a> {
    fn new(pool: &'a FairPool) -> Self {
        Self { pool, waiting: Vec::new(), held: Vec::new(), refused: 0 }
    }

    fn ask(&mut self, party: Party) {
        self.waiting.push((party, Box::pin(self.pool.permit(party))));
        self.look();
    }

    /// Takes the granted places.
    fn look(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let mut still = Vec::new();
        for (party, mut asking) in std::mem::take(&mut self.waiting) {
            match asking.as_mut().poll(&mut context) {
                Poll::Ready(Ok(permit)) => self.held.push((party, permit)),
                Poll::Ready(Err(error)) => {
                    assert!(matches!(error, Error::Busy), "{error:?}");
                    self.refused += 1;
                }
                Poll::Pending => still.push((party, asking)),
            }
        }
        self.waiting = still;
    }

    fn end_one(&mut self) {
        drop(self.held.remove(0));
        self.look();
    }

    fn holders(&self) -> Vec<Party> {
        self.held.iter().map(|(party, _)| *party).collect()
    }
}

#[test]
fn a_tenant_that_is_alone_may_take_all_places() {
    let pool = FairPool::new(3, 8);
    let mut scene = Scene::new(&pool);
    (0..4).for_each(|_| scene.ask(secret(1)));
    assert_eq!((scene.held.len(), scene.waiting.len()), (3, 1));
}

#[test]
fn a_tenant_with_many_requests_has_one_place_while_another_waits() {
    let pool = FairPool::new(2, 64);
    let mut scene = Scene::new(&pool);
    (0..10).for_each(|_| scene.ask(secret(1)));
    scene.ask(secret(2));
    scene.ask(secret(2));
    assert_eq!(scene.holders(), [secret(1), secret(1)]);
    scene.end_one();
    assert_eq!(scene.holders(), [secret(1), secret(2)], "the next place is for the other");
    scene.end_one();
    assert_eq!(scene.holders(), [secret(2), secret(1)]);
    scene.end_one();
    assert_eq!(scene.holders(), [secret(1), secret(2)]);
    scene.end_one();
    scene.end_one();
    assert_eq!(scene.holders(), [secret(1), secret(1)], "it is alone again");
}

#[test]
fn tenants_take_turns_whatever_the_number_of_their_requests() {
    let pool = FairPool::new(1, 64);
    let mut scene = Scene::new(&pool);
    (0..10).for_each(|_| scene.ask(secret(1)));
    (0..5).for_each(|_| scene.ask(secret(2)));
    scene.ask(secret(3));
    let mut order = Vec::new();
    for _ in 0..6 {
        order.extend(scene.holders());
        scene.end_one();
    }
    let tenants = [1, 2, 3, 1, 2, 1].map(secret);
    assert_eq!(order[..3], tenants[..3]);
    assert_eq!(order.iter().filter(|it| **it == secret(3)).count(), 1);
    assert_eq!(order.iter().filter(|it| **it == secret(2)).count(), 2);
}

#[test]
fn a_tenant_that_comes_back_at_once_does_not_overtake_one_that_waits() {
    let pool = FairPool::new(1, 64);
    let mut scene = Scene::new(&pool);
    scene.ask(secret(1));
    scene.ask(secret(2));
    scene.ask(secret(3));
    scene.end_one();
    scene.ask(secret(1));
    scene.end_one();
    assert_eq!(scene.holders(), [secret(3)]);
}

#[test]
fn a_tenant_has_a_quarter_of_the_queue() {
    let pool = FairPool::new(1, 16);
    let mut scene = Scene::new(&pool);
    (0..100).for_each(|_| scene.ask(secret(1)));
    assert_eq!((scene.waiting.len(), scene.refused), (4, 95));
    (2..100).for_each(|tenant| scene.ask(secret(tenant)));
    assert_eq!(scene.waiting.len(), 16, "the queue of all");
}

#[test]
fn strangers_have_half_of_the_places_and_half_of_the_queue() {
    let pool = FairPool::new(4, 16);
    let mut scene = Scene::new(&pool);
    (0..100).for_each(|_| scene.ask(public(1)));
    assert_eq!((scene.held.len(), scene.waiting.len()), (2, 2));
    (2..100).for_each(|tenant| scene.ask(public(tenant)));
    assert_eq!((scene.held.len(), scene.waiting.len()), (2, 8));
    (0..2).for_each(|_| scene.ask(secret(1)));
    assert_eq!(scene.held.len(), 4, "secret keys have the rest");
    (0..100).for_each(|_| scene.ask(secret(1)));
    assert_eq!(scene.waiting.len(), 10, "and their part of the tenant's queue");
    scene.end_one();
    assert_eq!(scene.held.len(), 4);
    assert_eq!(scene.holders()[3], public(2), "the place of a stranger goes to another tenant");
}

#[test]
fn strangers_wait_behind_the_secret_keys_of_their_tenant() {
    let pool = FairPool::new(1, 16);
    let mut scene = Scene::new(&pool);
    for party in [public(1), public(1), secret(1)] {
        scene.ask(party);
    }
    scene.end_one();
    assert_eq!(scene.holders(), [secret(1)]);
    scene.end_one();
    assert_eq!(scene.holders(), [public(1)]);
}

#[test]
fn a_request_that_gives_up_leaves_neither_a_place_nor_a_tenant_behind() {
    let pool = FairPool::new(1, 16);
    let mut scene = Scene::new(&pool);
    (1..=4).for_each(|tenant| scene.ask(secret(tenant)));
    // The second is dropped in the queue, the third after it got its place.
    drop(scene.waiting.remove(0));
    drop(scene.held.remove(0));
    drop(scene.waiting.remove(0));
    scene.look();
    assert_eq!(scene.holders(), [secret(4)]);
    scene.end_one();
    let state = pool.0.state.lock();
    assert!(state.tenants.is_empty());
    assert_eq!((state.taken.all, state.waiting.all), (0, 0));
}

#[test]
fn strangers_of_a_tenant_with_long_work_leave_places_for_those_of_others() {
    let pool = FairPool::for_long_work(16, 64);
    let mut scene = Scene::new(&pool);
    (0..16).for_each(|_| scene.ask(public(1)));
    assert_eq!(scene.holders(), [public(1); 4], "half of the eight places of strangers");
    scene.ask(public(2));
    scene.ask(secret(1));
    assert_eq!(scene.holders()[4..], [public(2), secret(1)]);
}

#[test]
fn a_tenant_with_long_work_takes_half_of_the_places_that_others_have_left() {
    let pool = FairPool::for_long_work(8, 64);
    let mut scene = Scene::new(&pool);
    for tenant in 1..=4 {
        (0..8).for_each(|_| scene.ask(secret(tenant)));
    }
    let held = |scene: &Scene<'_>, tenant| {
        scene.holders().iter().filter(|party| **party == secret(tenant)).count()
    };
    let held_by = |scene: &Scene<'_>| [1, 2, 3, 4].map(|tenant| held(scene, tenant));
    assert_eq!(held_by(&scene), [4, 2, 1, 1]);
    scene.end_one();
    assert_eq!(held_by(&scene), [3, 2, 1, 1], "the freed place is for the next tenant");
    scene.ask(secret(5));
    assert_eq!(held(&scene, 5), 1);
}
