//! The order of deliveries.
//!
//! Every webhook has its own lane with at most two deliveries at a time. Every tenant has a share
//! of all deliveries, and a free place goes to the tenant with the fewest. Slow deliveries have their
//! own count. A delivery is slow if it takes long, or if its lane was slow or failed the last time.
//! So no webhook waits for the receiver of another.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Bound, Deref, DerefMut};

use crate::app::webhooks::queue::Scheduled;
use crate::bounds::{
    WEBHOOK_DELIVERIES_EACH_MAX, WEBHOOK_DELIVERIES_MAX, WEBHOOK_DELIVERIES_TENANT_MAX,
    WEBHOOK_SLOW_AFTER, WEBHOOK_SLOW_DELIVERIES_MAX, WEBHOOK_SLOW_DELIVERIES_TENANT_MAX,
};
use crate::domain::id::{TenantId, WebhookId};
use crate::domain::time::Timestamp;

pub(super) type LaneId = (TenantId, WebhookId);

#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) ready: VecDeque<Scheduled>,
    pub(super) in_flight: usize,
    /// The last delivery was slow or failed. Deliveries count as slow until this time.
    pub(super) slow_until: Option<Timestamp>,
    /// No delivery starts before this time.
    pub(super) paused_until: Option<Timestamp>,
    /// More events are due than `ready` holds.
    pub(super) has_more: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) lane: LaneId,
    pub(super) begun: Timestamp,
    /// True if its lane was slow when it began.
    pub(super) began_slow: bool,
}

impl Delivery {
    pub(super) fn took_long(&self, now: Timestamp) -> bool {
        self.begun.plus(WEBHOOK_SLOW_AFTER) <= now
    }

    fn is_slow(&self, now: Timestamp) -> bool {
        self.began_slow || self.took_long(now)
    }
}

#[derive(Debug, Default)]
pub(super) struct Lanes {
    by_id: BTreeMap<LaneId, Lane>,
    /// The lane that was served last.
    last: Option<LaneId>,
}

/// The number of deliveries under way.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    all: usize,
    slow: usize,
}

impl Lanes {
    /// The next event to deliver, if one may start now. The caller starts it.
    pub(super) fn take_next(
        &mut self,
        underway: impl Iterator<Item = Delivery>,
        now: Timestamp,
    ) -> Option<(Scheduled, Delivery)> {
        let mut counts = Counts::default();
        let mut tenants: HashMap<TenantId, Counts> = HashMap::new();
        for delivery in underway {
            let tenant = tenants.entry(delivery.lane.0).or_default();
            for counts in [&mut counts, tenant] {
                counts.all = counts.all.saturating_add(1);
                counts.slow = counts.slow.saturating_add(usize::from(delivery.is_slow(now)));
            }
        }
        let of = |tenant: &TenantId| tenants.get(tenant).copied().unwrap_or_default();
        let behind = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let turn = self.by_id.range((behind, Bound::Unbounded)).chain(self.by_id.iter());
        // The first lane of a tenant with the fewest deliveries, so that lanes take turns.
        let (id, _) = turn
            .filter(|(id, lane)| {
                lane.may_start(now) && has_room(lane.is_slow(now), counts, of(&id.0))
            })
            .map(|(id, _)| (*id, of(&id.0).all))
            .min_by_key(|(_, taken)| *taken)?;
        let lane = self.by_id.get_mut(&id)?;
        let row = lane.ready.pop_front()?;
        lane.in_flight = lane.in_flight.saturating_add(1);
        let began_slow = lane.is_slow(now);
        self.last = Some(id);
        Some((row, Delivery { lane: id, begun: now, began_slow }))
    }

    /// Forgets lanes without events, except those that are paused or slow.
    pub(super) fn forget_idle(&mut self, now: Timestamp) {
        self.by_id.retain(|_, lane| {
            !lane.ready.is_empty()
                || lane.in_flight > 0
                || lane.has_more
                || lane.paused_until.is_some_and(|until| now < until)
                || lane.is_slow(now)
        });
    }
}

/// True if another delivery may begin, given the running deliveries of all tenants and of this one.
fn has_room(is_slow: bool, all: Counts, tenant: Counts) -> bool {
    // Slow deliveries take no place of the others, up to their own maximum.
    let prompt = all.all.saturating_sub(all.slow.min(WEBHOOK_SLOW_DELIVERIES_MAX));
    let has_place = if is_slow {
        all.slow < WEBHOOK_SLOW_DELIVERIES_MAX && tenant.slow < WEBHOOK_SLOW_DELIVERIES_TENANT_MAX
    } else {
        prompt < WEBHOOK_DELIVERIES_MAX
    };
    has_place && tenant.all < WEBHOOK_DELIVERIES_TENANT_MAX
}

impl Lane {
    pub(super) fn is_slow(&self, now: Timestamp) -> bool {
        self.slow_until.is_some_and(|until| now < until)
    }

    fn may_start(&self, now: Timestamp) -> bool {
        let each = if self.is_slow(now) { 1 } else { WEBHOOK_DELIVERIES_EACH_MAX };
        !self.ready.is_empty()
            && self.in_flight < each
            && self.paused_until.is_none_or(|until| until <= now)
    }
}

impl Deref for Lanes {
    type Target = BTreeMap<LaneId, Lane>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl DerefMut for Lanes {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.by_id
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::bounds::WEBHOOKS_MAX;
    use crate::domain::id::EventId;
    use crate::store::tables::PendingDelivery;

    const START: Timestamp = Timestamp::from_micros(1_000_000);

    /// Lanes and the deliveries under way, at a time that the test moves.
    struct Scene {
        lanes: Lanes,
        underway: Vec<Delivery>,
        now: Timestamp,
    }

    impl Scene {
        fn new() -> Self {
            Self { lanes: Lanes::default(), underway: Vec::new(), now: START }
        }

        /// Events for all webhooks that a tenant can have.
        fn add_tenant(&mut self, tenant: u128) {
            let tenant = TenantId::new(Uuid::from_u128(tenant));
            for webhook in 0..WEBHOOKS_MAX {
                let webhook = WebhookId::new(Uuid::from_u128(u128::try_from(webhook).unwrap()));
                let event = EventId::new(Uuid::nil());
                let delivery = PendingDelivery { tenant, webhook, event };
                let row = Scheduled { at: START, delivery, attempts: 0 };
                self.lanes.entry((tenant, webhook)).or_default().ready.extend([row; 20]);
            }
        }

        fn start(&mut self) {
            let Self { lanes, underway, now } = self;
            while let Some((_, delivery)) = lanes.take_next(underway.iter().copied(), *now) {
                underway.push(delivery);
            }
        }

        fn of(&self, tenant: u128) -> usize {
            let tenant = TenantId::new(Uuid::from_u128(tenant));
            self.underway.iter().filter(|delivery| delivery.lane.0 == tenant).count()
        }

        /// Ends all deliveries. The lanes are slow from then on.
        fn end_slowly(&mut self) {
            for delivery in self.underway.drain(..) {
                let lane = self.lanes.get_mut(&delivery.lane).unwrap();
                lane.in_flight -= 1;
                lane.slow_until = Some(self.now.plus(Duration::from_secs(1)));
            }
        }
    }

    #[test]
    fn slow_receivers_of_four_tenants_leave_places_for_a_fifth() {
        let mut scene = Scene::new();
        (0..4).for_each(|tenant| scene.add_tenant(tenant));
        scene.start();
        assert_eq!(scene.underway.len(), 4 * WEBHOOK_DELIVERIES_TENANT_MAX);
        scene.add_tenant(4);
        scene.start();
        assert_eq!(scene.of(4), WEBHOOK_DELIVERIES_TENANT_MAX);
        // As well when they are known to be slow.
        scene.end_slowly();
        (0..4).for_each(|tenant| scene.add_tenant(tenant));
        scene.start();
        assert_eq!(scene.underway.len(), WEBHOOK_SLOW_DELIVERIES_MAX);
        scene.add_tenant(5);
        scene.start();
        assert_eq!(scene.of(5), WEBHOOK_DELIVERIES_TENANT_MAX);
    }

    #[test]
    fn deliveries_that_take_long_make_room_for_others() {
        let mut scene = Scene::new();
        (0..20).for_each(|tenant| scene.add_tenant(tenant));
        scene.start();
        assert_eq!(scene.underway.len(), WEBHOOK_DELIVERIES_MAX);
        scene.now = scene.now.plus(WEBHOOK_SLOW_AFTER);
        scene.start();
        let both = WEBHOOK_DELIVERIES_MAX + WEBHOOK_SLOW_DELIVERIES_MAX;
        assert_eq!(scene.underway.len(), both);
        scene.now = scene.now.plus(WEBHOOK_SLOW_AFTER);
        scene.start();
        assert_eq!(scene.underway.len(), both, "slow ones take no more than their places");
    }

    #[test]
    fn a_free_place_goes_to_the_tenant_with_the_fewest() {
        let mut scene = Scene::new();
        (0..7).for_each(|tenant| scene.add_tenant(tenant));
        scene.start();
        let counts: Vec<_> = (0..7).map(|tenant| scene.of(tenant)).collect();
        assert_eq!(counts.iter().sum::<usize>(), WEBHOOK_DELIVERIES_MAX);
        assert!(counts.iter().all(|count| (9..=10).contains(count)), "{counts:?}");
        // The webhooks of a tenant take turns.
        let mut scene = Scene::new();
        scene.add_tenant(1);
        scene.start();
        let lanes: std::collections::BTreeSet<_> =
            scene.underway.iter().take(WEBHOOKS_MAX).map(|it| it.lane).collect();
        assert_eq!(lanes.len(), WEBHOOKS_MAX);
    }

    #[test]
    fn a_slow_webhook_has_one_delivery_and_is_remembered_for_a_while() {
        let mut scene = Scene::new();
        scene.add_tenant(1);
        scene.start();
        scene.end_slowly();
        scene.start();
        assert_eq!(scene.underway.len(), WEBHOOK_SLOW_DELIVERIES_TENANT_MAX);
        scene.end_slowly();
        scene.lanes.values_mut().for_each(|lane| lane.ready.clear());
        scene.lanes.forget_idle(START);
        assert_eq!(scene.lanes.len(), WEBHOOKS_MAX);
        scene.lanes.forget_idle(START.plus(Duration::from_secs(1)));
        assert_eq!(scene.lanes.len(), 0);
    }
}
