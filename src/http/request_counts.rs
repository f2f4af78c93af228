//! Counters of requests: by route, status and duration, by the limit that refused them, and of
//! replays. Every label is a constant of this program.

use std::time::Duration;

use crate::limits::{ROWS, Row};
use crate::metrics::{
    Counter, Distribution, FamilyKind, Histogram, Label, Observe, Page, StatusValue, Unit,
};

/// The name for requests that match no route, or whose address is over its limit.
pub(in crate::http) const NO_ROUTE: &str = "none";

/// Every status that a response can have.
pub(in crate::http) const STATUSES: [u16; 25] = [
    200, 201, 204, 300, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 414, 415, 422, 424,
    429, 431, 500, 501, 502, 503,
];

/// In microseconds: from a read out of memory to a request that used up every deadline.
const DURATION_BOUNDS: &[u64] = &[
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000,
];

#[derive(Debug)]
pub struct Requests {
    /// Sorted by name, for a binary search.
    routes: Vec<RouteCounters>,
    limited: Vec<(&'static str, Counter)>,
    replayed: Counter,
}

#[derive(Debug)]
struct RouteCounters {
    name: &'static str,
    statuses: [Counter; STATUSES.len()],
    durations: Histogram,
}

impl Requests {
    pub(in crate::http) fn with_routes(names: impl Iterator<Item = &'static str>) -> Self {
        let mut routes: Vec<_> = names.chain([NO_ROUTE]).map(RouteCounters::new).collect();
        routes.sort_by_key(|route| route.name);
        routes.dedup_by_key(|route| route.name);
        let mut rows: Vec<_> = ROWS.iter().map(|row| row.scope.name()).collect();
        rows.sort_unstable();
        rows.dedup();
        let limited = rows.into_iter().map(|name| (name, Counter::default())).collect();
        Self { routes, limited, replayed: Counter::default() }
    }

    pub(in crate::http) fn count(&self, route: &'static str, status: u16, duration: Duration) {
        let Ok(at) = self.routes.binary_search_by(|known| known.name.cmp(route)) else { return };
        let Some(route) = self.routes.get(at) else { return };
        // A proxy's destination may answer with any status; unknown ones count as the first of
        // their class.
        let class = status.div_euclid(100).saturating_mul(100);
        let found = STATUSES.binary_search(&status).or_else(|_| STATUSES.binary_search(&class));
        if let Ok(at) = found
            && let Some(count) = route.statuses.get(at)
        {
            count.add(1);
        }
        route.durations.observe_duration(duration);
    }

    pub(in crate::http) fn count_limited(&self, row: &Row) {
        let name = row.scope.name();
        if let Some((_, count)) = self.limited.iter().find(|(known, _)| *known == name) {
            count.add(1);
        }
    }

    pub(in crate::http) fn count_replayed(&self) {
        self.replayed.add(1);
    }

    /// The number of requests that were answered.
    pub fn answered(&self) -> u64 {
        self.with_status(0..=u16::MAX)
    }

    /// All routes together.
    fn durations(&self) -> Distribution {
        let none = Histogram::new(Unit::Micros, DURATION_BOUNDS).read();
        self.routes.iter().fold(none, |sum, route| sum.and(&route.durations.read()))
    }

    /// The requests that were timed, and those with a status in this range.
    #[cfg(test)]
    pub(in crate::http) fn counted(&self, range: std::ops::RangeInclusive<u16>) -> [u64; 2] {
        [self.durations().count(), self.with_status(range)]
    }

    fn with_status(&self, range: std::ops::RangeInclusive<u16>) -> u64 {
        let counts = self.routes.iter().flat_map(|route| route.statuses.iter().zip(STATUSES));
        let counts = counts.filter(|(_, status)| range.contains(status));
        counts.fold(0, |sum, (count, _)| sum.saturating_add(count.get()))
    }
}

impl RouteCounters {
    fn new(name: &'static str) -> Self {
        let durations = Histogram::new(Unit::Micros, DURATION_BOUNDS);
        Self { name, statuses: std::array::from_fn(|_| Counter::default()), durations }
    }
}

impl Observe for Requests {
    fn measure(&self, page: &mut Page) {
        let mut family = page.family(
            "strongroom_requests_total",
            "Requests that were answered, by route and status.",
            FamilyKind::Counter,
        );
        for route in &self.routes {
            for (count, status) in route.statuses.iter().zip(STATUSES) {
                if count.get() > 0 {
                    let status = Label::Number(u64::from(status));
                    let labels = [("route", Label::Name(route.name)), ("status", status)];
                    family.sample(&labels, count.get());
                }
            }
        }
        let mut family = page.family(
            "strongroom_request_duration_seconds",
            "Time from the head of a request to its answer, by route.",
            FamilyKind::Histogram,
        );
        for route in &self.routes {
            let durations = route.durations.read();
            if durations.count() > 0 {
                family.distribution(&[("route", Label::Name(route.name))], &durations);
            }
        }
        let mut family = page.family(
            "strongroom_rate_limited_total",
            "Requests that a rate limit refused, by row.",
            FamilyKind::Counter,
        );
        for (name, count) in &self.limited {
            let labels = [("row", Label::Name(name))];
            family.sample(&labels, count.get()).status("requests", "rate_limited");
        }
        page.counter(
            "strongroom_idempotent_replays_total",
            "Requests that got the answer of an earlier one with the same idempotency key.",
            self.replayed.get(),
        )
        .status("requests", "replayed");
        page.lines_of("requests", ["answered", "p50", "p99"], &self.durations());
        for (name, range) in
            [("successes", 200..=399), ("client_errors", 400..=499), ("server_errors", 500..=599)]
        {
            page.line("requests", name, StatusValue::Count(self.with_status(range)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_all_routes_are_counted_as_answered() {
        let requests = Requests::with_routes(["one", "two"].into_iter());
        for (route, status) in [("one", 200), ("two", 404), ("two", 599), ("unknown", 200)] {
            requests.count(route, status, Duration::ZERO);
        }
        assert_eq!(requests.answered(), 3);
    }

    #[test]
    fn every_row_of_the_limits_has_a_counter() {
        let requests = Requests::with_routes(std::iter::empty());
        for row in &ROWS {
            requests.count_limited(row);
        }
        let counted: u64 = requests.limited.iter().map(|it| it.1.get()).sum();
        assert_eq!(counted, u64::try_from(ROWS.len()).unwrap());
        assert!(requests.limited.iter().all(|it| it.0 != "operation"), "each has a name");
    }
}
