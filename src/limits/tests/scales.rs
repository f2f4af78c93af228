//! Tenants whose rate limit is scaled or lifted, and the limiter switched off.

use super::*;

#[test]
fn a_scaled_tenant_sends_exactly_so_many_times_more() {
    for factor in [1, 2, 3, 7, 13, 999, 1_000] {
        let request = Request { rate_limit: times(factor), ..doing(Operation::AccountUpdater) };
        let limiter = Limiter::on();
        let burst = usize::try_from(factor).unwrap() * 10;
        let first = limiter.admit(&request, START).unwrap().unwrap();
        assert_eq!(first.limit, u64::from(factor) * 10);
        assert_eq!(admitted(burst + 10, || limiter.admit(&request, START)), burst - 1);
        assert_eq!(admitted(burst, || limiter.admit(&request, secs(1))), burst / 10);
    }
}

#[test]
fn tenants_of_different_scale_share_an_address_fairly() {
    let limiter = Limiter::on();
    let scaled = Request { rate_limit: times(4), key: key(1), ..PRIVATE };
    // The scaled tenant takes half of the address's allowance, at a quarter for each request.
    assert_eq!(admitted(4_000, || limiter.admit(&scaled, START)), 4_000);
    assert_eq!(admitted(4_000, || limiter.admit(&PRIVATE, START)), 1_000);
    assert!(limiter.admit(&scaled, START).is_err());
}

#[test]
fn scaled_and_lifted_tenants_weigh_less_on_the_global_row() {
    let serve = |request: &Request, limiter: &Limiter| {
        limiter.admit_address(request.address, START)?;
        limiter.admit(request, START)
    };
    let limiter = Limiter::on();
    let lifted = Request { rate_limit: RateLimit::Unlimited, ..TEST };
    assert_eq!(admitted(10_000, || serve(&lifted, &limiter)), 10_000);
    assert_eq!(limiter.admit(&lifted, START), Ok(None));
    assert_eq!(limiter.admit_address(lifted.address, START).unwrap().unwrap().remaining, 1_999);

    let limiter = Limiter::on();
    let scaled = Request { rate_limit: times(3), ..PRIVATE };
    // The row needs a whole request before two thirds are given back, hence not quite 6,000.
    assert_eq!(admitted(10_000, || serve(&scaled, &limiter)), 5_998);

    let limiter = Limiter::on();
    let proxied = ProxyRequest {
        address: address(1),
        kind: ProxyKind::Keyed,
        proxy: key(1),
        rate_limit: RateLimit::Unlimited,
    };
    let served = admitted(5_000, || {
        limiter.admit_address(proxied.address, START)?;
        limiter.admit_proxy(&proxied, START)
    });
    assert_eq!(served, 5_000);
}

#[test]
fn a_lifted_tenant_does_not_lift_the_block_of_its_address() {
    let limiter = Limiter::on();
    exhaust(|| limiter.admit_address(PRIVATE.address, START));
    let lifted = Request { rate_limit: RateLimit::Unlimited, ..PRIVATE };
    assert!(limiter.admit(&lifted, START).is_ok());
    assert_eq!(limiter.admit_address(PRIVATE.address, START).unwrap_err().reset_at, secs(30));
}

#[test]
fn a_limiter_that_is_off_admits_everything_and_keeps_nothing() {
    let limiter = Limiter::off();
    assert_eq!(admitted(5_000, || limiter.admit(&TEST, START)), 5_000);
    assert_eq!(admitted(5_000, || limiter.admit_address(TEST.address, START)), 5_000);
    assert_eq!((limiter.counters(), limiter.bytes()), (0, 0));
}

#[test]
fn processes_that_share_a_rate_admit_it_together() {
    for processes in [1, 2, 5, 10] {
        let request = doing(Operation::AccountUpdater);
        let limiter = Limiter::on();
        limiter.divide_by(NonZeroU32::new(processes).unwrap());
        let share = 10 / usize::try_from(processes).unwrap();
        assert_eq!(admitted(20, || limiter.admit(&request, START)), share, "{processes}");
        let limit = limiter.admit(&request, START).unwrap_err().limit;
        assert_eq!(limit, 10, "the published rate is shown");
    }
}

#[test]
fn more_processes_than_a_rate_has_requests_still_admit_one_each() {
    let limiter = Limiter::on();
    limiter.divide_by(NonZeroU32::new(64).unwrap());
    let request = doing(Operation::AccountUpdater);
    assert_eq!(admitted(20, || limiter.admit(&request, START)), 1);
}
