//! Counts of each tenant's requests over the last hour and the last day, for the console. They are
//! in memory, and a tenant sees only its own. Every name is a constant of this program.

use std::collections::HashMap;

use crate::bounds::{ACTIVITY_HOURS, ACTIVITY_MINUTES, ACTIVITY_ROUTES_MAX, ACTIVITY_TENANTS_MAX};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::lock::Lock;

const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 3_600;

#[derive(Debug)]
pub struct Activity {
    started_at: Timestamp,
    tenants: Lock<HashMap<TenantId, TenantActivity>>,
}

/// The requests of a span of time, by their answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerCounts {
    pub(crate) ok: u32,
    /// 4xx other than 429.
    pub(crate) refused: u32,
    /// 429.
    pub(crate) limited: u32,
    /// 5xx.
    pub(crate) failed: u32,
}

/// The counts of one tenant as the console shows them, oldest first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ActivityView {
    /// Requests before this time were not counted.
    pub(crate) since: Timestamp,
    pub(crate) minutes: Vec<(Timestamp, AnswerCounts)>,
    pub(crate) hours: Vec<(Timestamp, AnswerCounts)>,
    /// The routes with the most requests in these hours.
    pub(crate) routes: Vec<(&'static str, u64)>,
}

#[derive(Debug)]
struct TenantActivity {
    since: Timestamp,
    last: Timestamp,
    minutes: [Slot<()>; ACTIVITY_MINUTES],
    hours: [Slot<RouteCounts>; ACTIVITY_HOURS],
}

/// Requests by route. An hour has few routes, and never more than the program.
type RouteCounts = Vec<(&'static str, u32)>;

/// One minute or hour of a ring.
#[derive(Debug, Default)]
struct Slot<R> {
    /// Minutes or hours since 1970.
    number: i64,
    answers: AnswerCounts,
    routes: R,
}

impl Activity {
    pub fn new(started_at: Timestamp) -> Self {
        Self { started_at, tenants: Lock::default() }
    }

    pub(in crate::http) const fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Counts a request. If there are too many tenants, drops the one whose last request is the
    /// oldest.
    pub(in crate::http) fn count(
        &self,
        tenant: TenantId,
        route: &'static str,
        status: u16,
        now: Timestamp,
    ) {
        let mut tenants = self.tenants.lock();
        if tenants.len() >= ACTIVITY_TENANTS_MAX && !tenants.contains_key(&tenant) {
            let oldest = tenants.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(tenant, _)| *tenant) {
                tenants.remove(&oldest);
            }
        }
        let known = tenants.entry(tenant).or_insert_with(|| TenantActivity::since(now));
        known.last = now;
        if let Some(slot) = slot_at(&mut known.minutes, now.seconds().div_euclid(MINUTE_S)) {
            slot.answers.add(status);
        }
        if let Some(slot) = slot_at(&mut known.hours, now.seconds().div_euclid(HOUR_S)) {
            slot.answers.add(status);
            match slot.routes.iter_mut().find(|(known, _)| *known == route) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => slot.routes.push((route, 1)),
            }
        }
    }

    pub(in crate::http) fn view(&self, tenant: TenantId, now: Timestamp) -> ActivityView {
        let tenants = self.tenants.lock();
        let nothing = TenantActivity::since(now);
        let known = tenants.get(&tenant).unwrap_or(&nothing);
        let hour = now.seconds().div_euclid(HOUR_S);
        let mut routes: HashMap<&'static str, u64> = HashMap::new();
        let is_shown = |number: i64| number > hour.saturating_sub(span(ACTIVITY_HOURS));
        for slot in known.hours.iter().filter(|slot| is_shown(slot.number)) {
            for (route, count) in &slot.routes {
                let sum = routes.entry(*route).or_default();
                *sum = sum.saturating_add(u64::from(*count));
            }
        }
        let mut routes: Vec<_> = routes.into_iter().collect();
        routes.sort_unstable_by_key(|(route, count)| (std::cmp::Reverse(*count), *route));
        routes.truncate(ACTIVITY_ROUTES_MAX);
        ActivityView {
            since: known.since,
            minutes: latest(&known.minutes, now, MINUTE_S),
            hours: latest(&known.hours, now, HOUR_S),
            routes,
        }
    }
}

impl TenantActivity {
    fn since(now: Timestamp) -> Self {
        Self {
            since: now,
            last: now,
            minutes: std::array::from_fn(|_| Slot::default()),
            hours: std::array::from_fn(|_| Slot::default()),
        }
    }
}

impl AnswerCounts {
    fn add(&mut self, status: u16) {
        let count = match status {
            429 => &mut self.limited,
            400..=499 => &mut self.refused,
            500.. => &mut self.failed,
            ..400 => &mut self.ok,
        };
        *count = count.saturating_add(1);
    }
}

/// The slot of this minute or hour, emptied if it held an earlier one. `None` if the clock was set
/// back to before the time of the slot.
fn slot_at<R: Default>(ring: &mut [Slot<R>], number: i64) -> Option<&mut Slot<R>> {
    let at = usize::try_from(number.checked_rem_euclid(span(ring.len()))?).ok()?;
    let slot = ring.get_mut(at)?;
    if slot.number < number {
        *slot = Slot { number, ..Slot::default() };
    }
    (slot.number == number).then_some(slot)
}

/// One item for each slot of the ring, the current one last.
fn latest<R>(ring: &[Slot<R>], now: Timestamp, seconds: i64) -> Vec<(Timestamp, AnswerCounts)> {
    let last = now.seconds().div_euclid(seconds);
    let first = last.saturating_sub(span(ring.len())).saturating_add(1);
    (first..=last)
        .map(|number| {
            let slot = ring.iter().find(|slot| slot.number == number);
            let answers = slot.map(|slot| slot.answers).unwrap_or_default();
            (Timestamp::from_seconds(number.saturating_mul(seconds)), answers)
        })
        .collect()
}

fn span(slots: usize) -> i64 {
    i64::try_from(slots).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn tenant(number: u128) -> TenantId {
        TenantId::new(Uuid::from_u128(number))
    }

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(START.seconds() + seconds)
    }

    fn sum(spans: &[(Timestamp, AnswerCounts)]) -> [u32; 4] {
        spans.iter().fold([0; 4], |sum, (_, it)| {
            [sum[0] + it.ok, sum[1] + it.refused, sum[2] + it.limited, sum[3] + it.failed]
        })
    }

    #[test]
    fn requests_are_counted_by_answer_for_an_hour_and_for_a_day() {
        let activity = Activity::new(START);
        for status in [200, 201, 304, 400, 404, 429, 500, 503] {
            activity.count(tenant(1), "A", status, START);
        }
        activity.count(tenant(2), "A", 200, START);
        let view = activity.view(tenant(1), START);
        assert_eq!((view.minutes.len(), view.hours.len()), (60, 24));
        assert_eq!((sum(&view.minutes), sum(&view.hours)), ([3, 2, 1, 2], [3, 2, 1, 2]));
        assert_eq!(view.minutes[59].0, START, "the current minute is the last");
        assert_eq!((view.since, view.routes), (START, vec![("A", 8)]));
        let view = activity.view(tenant(1), after(59 * 60));
        assert_eq!((sum(&view.minutes), view.minutes[0].1.ok), ([3, 2, 1, 2], 3));
        let view = activity.view(tenant(1), after(60 * 60));
        assert_eq!((sum(&view.minutes), sum(&view.hours)), ([0; 4], [3, 2, 1, 2]));
        let view = activity.view(tenant(1), after(24 * 3_600));
        assert_eq!((sum(&view.hours), view.routes), ([0; 4], vec![]));
    }

    #[test]
    fn a_slot_is_used_again_for_later_times_only() {
        let activity = Activity::new(START);
        activity.count(tenant(1), "A", 200, START);
        activity.count(tenant(1), "B", 200, after(24 * 3_600));
        let view = activity.view(tenant(1), after(24 * 3_600));
        assert_eq!((sum(&view.minutes), view.routes), ([1, 0, 0, 0], vec![("B", 1)]));
        // The clock was set back.
        activity.count(tenant(1), "C", 200, START);
        let view = activity.view(tenant(1), after(24 * 3_600));
        assert_eq!((sum(&view.hours), view.routes), ([1, 0, 0, 0], vec![("B", 1)]));
    }

    #[test]
    fn the_ten_routes_with_the_most_requests_are_listed_by_count_and_name() {
        const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
        let activity = Activity::new(START);
        for (at, name) in NAMES.into_iter().enumerate() {
            for _ in 0..=at / 2 {
                activity.count(tenant(1), name, 200, START);
            }
        }
        let routes = activity.view(tenant(1), START).routes;
        let names: Vec<_> = routes.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["k", "l", "i", "j", "g", "h", "e", "f", "c", "d"]);
        assert_eq!(routes[0].1, 6);
    }

    #[test]
    fn the_tenant_without_requests_for_the_longest_time_is_forgotten() {
        let activity = Activity::new(START);
        for number in 0..ACTIVITY_TENANTS_MAX {
            let second = i64::try_from(number).unwrap();
            activity.count(tenant(u128::try_from(number).unwrap()), "A", 200, after(second));
        }
        let late = after(1_000);
        activity.count(tenant(0), "A", 200, late);
        activity.count(tenant(u128::MAX), "A", 200, late);
        let counted = |number| sum(&activity.view(tenant(number), late).hours)[0];
        assert_eq!([0, 1, 2, u128::MAX].map(counted), [2, 0, 1, 1]);
        assert_eq!(activity.view(tenant(1), late).since, late);
    }
}
