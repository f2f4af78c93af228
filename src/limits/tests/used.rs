//! The requests that a counter holds, as the usage of a key shows them.

use super::*;

fn row_of(scope: RowScope) -> &'static Row {
    ROWS.iter().find(|row| row.scope == scope).unwrap()
}

const PRIVATE_ROW: RowScope = RowScope::Application(ApplicationKind::Private);
const PUBLIC_ROW: RowScope = RowScope::Application(ApplicationKind::Public);

#[test]
fn a_counter_holds_the_requests_that_have_not_refilled() {
    let limiter = Limiter::on();
    let used =
        |scope, key, address, now| limiter.used(row_of(scope), key, address, NonZeroU32::MIN, now);
    assert_eq!(used(PRIVATE_ROW, PRIVATE.key, None, START), Some(0));
    assert_eq!(admitted(3, || limiter.admit(&TEST, START)), 3);
    for (now, expected) in
        [(START, 3), (micros(1), 3), (micros(5_000), 2), (micros(14_999), 1), (micros(15_000), 0)]
    {
        assert_eq!(used(PRIVATE_ROW, TEST.key, None, now), Some(expected), "{now:?}");
    }
    let address = Some(TEST.address);
    assert_eq!(used(RowScope::TestTenant, TEST.key, address, START), Some(3));
    assert_eq!(used(RowScope::TestTenant, key(1), address, START), Some(0));
    assert_eq!(used(PUBLIC_ROW, TEST.key, address, START), Some(0));
    // For a tenant with twice the rate, the same requests are half the usage.
    let twice = NonZeroU32::new(2).unwrap();
    let row = row_of(RowScope::TestTenant);
    assert_eq!(limiter.used(row, TEST.key, address, twice, START), Some(6));
}

#[test]
fn a_blocked_counter_holds_all_requests_until_the_block_ends() {
    let limiter = Limiter::on();
    exhaust(|| limiter.admit(&PUBLIC, START));
    for (now, expected) in
        [(START, 50), (secs(5), 50), (micros(9_999_999), 50), (secs(10), 42), (secs(60), 0)]
    {
        let address = Some(PUBLIC.address);
        let used = limiter.used(row_of(PUBLIC_ROW), PUBLIC.key, address, NonZeroU32::MIN, now);
        assert_eq!(used, Some(expected), "{now:?}");
    }
}

#[test]
fn a_counter_of_an_address_is_not_shown_to_a_key() {
    let limiter = Limiter::on();
    assert!(limiter.admit_address(PRIVATE.address, START).is_ok());
    assert!(limiter.admit(&PUBLIC, START).is_ok());
    for scope in [RowScope::Global, PUBLIC_ROW] {
        let used = limiter.used(row_of(scope), PUBLIC.key, None, NonZeroU32::MIN, START);
        assert_eq!(used, None, "{scope:?}");
    }
    let off = Limiter::off();
    assert!(limiter.is_on() && !off.is_on());
    assert_eq!(off.used(row_of(PRIVATE_ROW), PRIVATE.key, None, NonZeroU32::MIN, START), None);
}

/// The order of the counters in the table is random, so several keys cover both orders.
#[test]
fn of_several_refusals_the_longest_is_answered() {
    let limiter = Limiter::on();
    for number in 0..20 {
        let public = Request {
            address: address(number),
            key: key(number.into()),
            key_form: KeyForm::Legacy,
            ..PUBLIC
        };
        exhaust(|| limiter.admit(&public, START));
        let private = Request { application: ApplicationKind::Private, ..public };
        exhaust(|| limiter.admit(&private, START));
        assert_eq!(limiter.admit(&private, START).unwrap_err().reset_at, micros(600_000));
        // The legacy row refuses for 0.6 seconds, the row of public applications for ten.
        assert_eq!(limiter.admit(&public, START).unwrap_err().reset_at, secs(10));
    }
}
