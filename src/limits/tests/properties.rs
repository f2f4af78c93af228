//! Properties of every sequence of requests.

use proptest::prelude::*;

use super::*;

fn any_step() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..1_000_u64, 0..300_000_u64, 0..12_000_000_u64]
}

proptest! {
    #[test]
    fn no_window_admits_more_than_the_capacity_and_the_refill(
        steps in prop::collection::vec((any_step(), 1..80_usize), 1..40),
        factor in 1..=20_u32,
    ) {
        let limiter = Limiter::on();
        let request = Request { rate_limit: times(factor), ..doing(Operation::SearchTokens) };
        let (rate, period) = (50 * u128::from(factor), 10_000_000_u128);
        let mut now = START;
        let mut admissions: Vec<(Timestamp, usize)> = Vec::new();
        for (step, tries) in steps {
            now = now.plus(Duration::from_micros(step));
            admissions.push((now, admitted(tries, || limiter.admit(&request, now))));
        }
        for (from, (start, _)) in admissions.iter().enumerate() {
            let mut sum = 0_u128;
            for (end, count) in &admissions[from..] {
                sum += u128::try_from(*count).unwrap();
                let elapsed = end.since(*start).as_micros();
                prop_assert!(sum * period <= rate * period + rate * elapsed);
            }
        }
    }

    #[test]
    fn a_refused_request_is_admitted_at_the_moment_it_was_told_and_not_before(
        steps in prop::collection::vec((any_step(), 1..120_usize), 1..20),
        factor in 1..=1_000_u32,
    ) {
        let limiter = Limiter::on();
        let request = Request { rate_limit: times(factor), ..doing(Operation::AccountUpdater) };
        let mut now = START;
        for (step, tries) in steps {
            now = now.plus(Duration::from_micros(step));
            for _ in 0..tries {
                let Err(refusal) = limiter.admit(&request, now) else { continue };
                prop_assert!(refusal.reset_at > now);
                let just_before = Timestamp::from_micros(refusal.reset_at.micros() - 1);
                prop_assert!(limiter.admit(&request, just_before).is_err());
                prop_assert!(limiter.admit(&request, refusal.reset_at).is_ok());
                now = refusal.reset_at;
            }
        }
    }

    #[test]
    fn a_block_lasts_exactly_its_time_whatever_comes_meanwhile(
        before in 0..50_usize,
        mut during in prop::collection::vec(0..10_000_000_u64, 0..60),
    ) {
        let limiter = Limiter::on();
        admitted(before, || limiter.admit(&PUBLIC, START));
        let blocked_at = micros(1);
        exhaust(|| limiter.admit(&PUBLIC, blocked_at));
        during.sort_unstable();
        for micros in during {
            let at = blocked_at.plus(Duration::from_micros(micros));
            let refusal = limiter.admit(&PUBLIC, at).unwrap_err();
            prop_assert_eq!(refusal.reset_at, blocked_at.plus(Duration::from_secs(10)));
        }
        let ended = blocked_at.plus(Duration::from_secs(10));
        // Ten of the sixty seconds in which fifty requests refill.
        prop_assert_eq!(admitted(60, || limiter.admit(&PUBLIC, ended)), 8);
    }
}
