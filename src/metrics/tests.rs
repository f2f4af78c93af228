use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::domain::time::Timestamp;

const BOUNDS: &[u64] = &[500, 1_000, 2_500_000];

#[test]
fn a_page_is_text_that_prometheus_reads() {
    let mut page = Page::default();
    page.counter("strongroom_things_total", "Things.", 7);
    page.gauge("strongroom_age_seconds", "Age.", Duration::from_micros(1_500));
    let mut family = page.family("strongroom_uses_total", "Uses.", FamilyKind::Counter);
    family.sample(&[("route", Label::Name("ReadToken")), ("status", Label::Number(200))], 3);
    family.sample(&[("key", Label::Id(Uuid::from_u128(1)))], u64::MAX);
    let histogram = Histogram::new(Unit::Micros, BOUNDS);
    for value in [500, 501, 3_000_000] {
        histogram.observe(value);
    }
    page.histogram("strongroom_wait_seconds", "Wait.", &histogram.read());
    assert_eq!(
        page.into_text(),
        "# HELP strongroom_things_total Things.\n# TYPE strongroom_things_total counter\n\
         strongroom_things_total 7\n# HELP strongroom_age_seconds Age.\n\
         # TYPE strongroom_age_seconds gauge\nstrongroom_age_seconds 0.0015\n\
         # HELP strongroom_uses_total Uses.\n# TYPE strongroom_uses_total counter\n\
         strongroom_uses_total{route=\"ReadToken\",status=\"200\"} 3\n\
         strongroom_uses_total{key=\"00000000-0000-0000-0000-000000000001\"} 18446744073709551615\n\
         # HELP strongroom_wait_seconds Wait.\n# TYPE strongroom_wait_seconds histogram\n\
         strongroom_wait_seconds_bucket{le=\"0.0005\"} 1\n\
         strongroom_wait_seconds_bucket{le=\"0.001\"} 2\n\
         strongroom_wait_seconds_bucket{le=\"2.5\"} 2\n\
         strongroom_wait_seconds_bucket{le=\"+Inf\"} 3\nstrongroom_wait_seconds_sum 3.001001\n\
         strongroom_wait_seconds_count 3\n"
    );
}

#[test]
fn a_share_of_the_values_has_a_bound_and_a_count_and_no_guess() {
    let histogram = Histogram::new(Unit::Plain, &[10, 20, 40]);
    assert_eq!(histogram.read().share(500), None);
    let share = |bound, count, of, is_over| Some(LatencyShare { bound, count, of, is_over });
    for value in [5, 15, 15, 15, 30, 30, 30, 30, 30, 99] {
        histogram.observe(value);
    }
    let read = histogram.read();
    assert_eq!(read.share(100), share(10, 1, 10, false));
    assert_eq!(read.share(400), share(20, 4, 10, false));
    assert_eq!(read.share(500), share(40, 9, 10, false));
    assert_eq!(read.share(900), share(40, 9, 10, false));
    assert_eq!(read.share(1_000), share(40, 1, 10, true), "one is over the last bound");
    assert_eq!((read.count(), read.sum()), (10, 299));
    let twice = read.clone().and(&read);
    assert_eq!((twice.count(), twice.sum()), (20, 598));
    assert_eq!(twice.share(500), share(40, 18, 20, false));
}

proptest! {
    #[test]
    fn buckets_hold_every_value_once_and_shares_never_fall(
        values in proptest::collection::vec(0_u64..5_000_000, 1..60),
    ) {
        let histogram = Histogram::new(Unit::Micros, BOUNDS);
        for value in &values {
            histogram.observe(*value);
        }
        let read = histogram.read();
        prop_assert_eq!(read.count(), u64::try_from(values.len()).unwrap());
        prop_assert_eq!(read.sum(), values.iter().sum::<u64>());
        for (at, bound) in BOUNDS.iter().enumerate() {
            let below: u64 = read.counts.iter().take(at + 1).sum();
            let expected = values.iter().filter(|value| *value <= bound).count();
            prop_assert_eq!(below, u64::try_from(expected).unwrap());
        }
        let shares = (0..=10).filter_map(|tenth| read.share(tenth * 100));
        let bounds: Vec<_> = shares.map(|share| share.bound).collect();
        prop_assert_eq!(bounds.len(), 11);
        prop_assert!(bounds.is_sorted());
    }
}

struct Part(Option<&'static str>);

impl Observe for Part {
    fn measure(&self, page: &mut Page) {
        page.counter("strongroom_parts_total", "Parts.", 1).status("part", "count");
        let mut family = page.family("strongroom_uses_total", "Uses.", FamilyKind::Counter);
        for (name, count) in [("one", 2), ("other", 3)] {
            family.sample(&[("part", Label::Name(name))], count).status("part", "uses");
        }
        page.family("strongroom_age_seconds", "Age.", FamilyKind::Gauge).status("part", "unknown");
        let age = Duration::from_millis(2_900);
        page.gauge("strongroom_lag_seconds", "Lag.", age).status("part", "lag_s");
        let at = Timestamp::from_seconds(1_794_648_600);
        page.gauge("strongroom_start_time_seconds", "Start.", at).status("part", "made_at");
    }

    fn check(&self, checks: &mut Checks) {
        checks.set("part", self.0);
    }
}

#[test]
fn a_registry_is_ready_when_all_of_its_checks_are_right() {
    let registry = Registry::new(vec![Arc::new(Part(None))]);
    assert!(registry.checks().are_right());
    assert_eq!(
        registry.checks().to_json(Readiness::Writes),
        json!({"status": "ready", "checks": {"part": "ok"}})
    );
    assert!(registry.page().ends_with("strongroom_ready 1\n"));
    let registry = Registry::new(vec![Arc::new(Part(Some("It is broken.")))]);
    assert!(registry.page().contains("strongroom_check{check=\"part\"} 0\n"));
    assert_eq!(
        registry.status(),
        json!({
            "status": "not_ready",
            "checks": {"part": "It is broken."},
            "part": {
                "count": 1, "uses": 5, "lag_s": 2, "made_at": "2026-11-14T09:30:00.0000000+00:00",
            },
        })
    );
}

#[test]
fn a_gauge_is_never_shown_below_nothing() {
    let gauge = Gauge::default();
    gauge.add(-2);
    assert_eq!(gauge.get(), 0);
    gauge.set(7);
    gauge.add(1);
    assert_eq!(gauge.get(), 8);
}

#[test]
fn a_check_of_writes_alone_leaves_reads_ready() {
    let mut checks = Checks::default();
    checks.set("store", None);
    checks.set_for_writes("disk", Some("It is nearly full."));
    checks.warn("archive", Some("It is late."));
    assert!(checks.are_right_for(Readiness::Reads) && !checks.are_right());
    let reasons = json!({"archive": "It is late.", "disk": "It is nearly full.", "store": "ok"});
    for (readiness, status) in [(Readiness::Reads, "ready"), (Readiness::Writes, "not_ready")] {
        assert_eq!(checks.to_json(readiness), json!({"status": status, "checks": reasons}));
        assert_eq!(checks.status_to_json(readiness), json!({"status": status}));
    }
    checks.set("process", Some("It stops."));
    assert!(!checks.are_right_for(Readiness::Reads));
}
