//! Each row of the table, and several rows together.

use std::net::Ipv6Addr;

use super::*;
use crate::limits::rows::LIFE_S_MAX;

/// A throttle row: the exact burst, then one request for each refill.
#[track_caller]
fn check_throttle(
    rate: u32,
    period_s: u64,
    admit: impl Fn(&Limiter, Timestamp) -> Result<Option<Remaining>, RateLimitRefusal>,
) {
    let limiter = Limiter::on();
    let period = period_s * 1_000_000;
    let interval = period / u64::from(rate);
    for left in (0..u64::from(rate)).rev() {
        let remaining = admit(&limiter, START).unwrap().unwrap();
        assert_eq!((remaining.limit, remaining.remaining), (rate.into(), left));
        assert_eq!(remaining.reset_at, micros(period - left * interval));
    }
    let refusal = admit(&limiter, START).unwrap_err();
    assert_eq!((refusal.limit, refusal.remaining), (rate.into(), 0));
    assert_eq!(refusal.reset_at, micros(interval));
    assert_eq!(refusal.retry_after_s, 1);
    assert!(admit(&limiter, micros(interval - 1)).is_err());
    assert!(admit(&limiter, micros(interval)).is_ok());
    assert!(admit(&limiter, micros(interval)).is_err());
    assert_eq!(admitted(100, || admit(&limiter, micros(interval * 8))), 7);
    let full_again = micros(interval * 8 + period);
    let tries = usize::try_from(rate).unwrap() * 2;
    assert_eq!(admitted(tries, || admit(&limiter, full_again)), tries / 2);
}

/// A block row: the exact burst, a block of the exact length that nothing extends, then exactly the
/// requests that have refilled during the block.
#[track_caller]
fn check_block(
    rate: u32,
    period_s: u64,
    block_s: u64,
    admit: impl Fn(&Limiter, Timestamp) -> Result<Option<Remaining>, RateLimitRefusal>,
) {
    let limiter = Limiter::on();
    let burst = usize::try_from(rate).unwrap();
    let block = block_s * 1_000_000;
    assert_eq!(admitted(burst, || admit(&limiter, START)), burst);
    for (elapsed, retry_after_s) in [
        (0, block_s),
        (1, block_s),
        (block / 2, block_s / 2),
        (block - 1_000_000, 1),
        (block - 1_000, 1),
        (block - 1, 1),
    ] {
        let refusal = admit(&limiter, micros(elapsed)).unwrap_err();
        assert_eq!(refusal.reset_at, micros(block));
        assert_eq!(refusal.retry_after_s, retry_after_s);
    }
    let refilled =
        burst.min(burst * usize::try_from(block_s).unwrap() / usize::try_from(period_s).unwrap());
    assert_eq!(admitted(burst * 2, || admit(&limiter, micros(block))), refilled);
    assert_eq!(admit(&limiter, micros(block)).unwrap_err().reset_at, micros(block * 2));
    // Left alone for a whole period after the last block began, the counter has its burst again.
    let full = micros(block + block.max(period_s * 1_000_000));
    assert_eq!(admitted(burst * 2, || admit(&limiter, full)), burst);
}

#[test]
fn each_throttle_row_admits_its_rate_and_refills() {
    check_throttle(50, 10, |limiter, now| limiter.admit(&TEST, now));
    for (operation, rate) in [
        (Operation::SearchTokens, 50),
        (Operation::ListTokens, 100),
        (Operation::Detokenize, 100),
        (Operation::CreateToken, 200),
        (Operation::Tokenize, 200),
        (Operation::UpdateToken, 200),
        (Operation::DeleteToken, 200),
        (Operation::AccountUpdater, 10),
        (Operation::Other, 2_000),
    ] {
        check_throttle(rate, 10, |limiter, now| limiter.admit(&doing(operation), now));
    }
    let legacy = Request { key_form: KeyForm::Legacy, ..PRIVATE };
    check_throttle(100, 60, |limiter, now| limiter.admit(&legacy, now));
    for kind in [ProxyKind::Hostname, ProxyKind::Keyed] {
        let request = ProxyRequest {
            address: address(1),
            kind,
            proxy: key(1),
            rate_limit: RateLimit::Default,
        };
        check_throttle(50, 10, |limiter, now| limiter.admit_proxy(&request, now));
    }
}

#[test]
fn each_block_row_admits_its_rate_and_blocks_for_its_time() {
    check_block(50, 60, 10, |limiter, now| limiter.admit(&PUBLIC, now));
    check_block(200, 60, 60, |limiter, now| limiter.admit(&MANAGEMENT, now));
    check_block(2_000, 10, 30, |limiter, now| limiter.admit_address(address(1), now));
}

#[test]
fn blocks_do_not_raise_the_rate_of_a_public_key() {
    let limiter = Limiter::on();
    let mut served = 0;
    // Ten tries a second for ten minutes: a burst of 50, then 50 a minute.
    for tenth in 0..6_000 {
        served += admitted(1, || limiter.admit(&PUBLIC, micros(tenth * 100_000)));
    }
    assert!((500..=550).contains(&served), "{served}");
}

#[test]
fn every_row_of_the_table_can_be_kept_in_mind() {
    for row in &ROWS {
        let life_s = match row.action {
            RowAction::Block { for_s } => row.period_s.max(for_s),
            RowAction::Throttle => row.period_s,
        };
        assert!(row.requests > 0 && row.period_s > 0);
        assert!(u64::from(life_s) <= LIFE_S_MAX, "{row:?}");
    }
}

/// Checks whether the counter that `used` has emptied also refuses `other`.
#[track_caller]
fn check_shared(used: &Request, other: &Request, shared: Shared) {
    let limiter = Limiter::on();
    exhaust(|| limiter.admit(used, START));
    let refused = limiter.admit(other, START).is_err();
    assert_eq!(refused, shared == Shared::Yes, "{used:?} {other:?}");
}

#[derive(Clone, Copy, PartialEq)]
enum Shared {
    No,
    Yes,
}

#[test]
fn pairs_count_apart_and_either_side_of_an_or_rejects() {
    let moved = |request| Request { address: address(9), ..request };
    let rekeyed = |request| Request { key: key(9), ..request };
    for pair in [TEST, PUBLIC, doing(Operation::ListTokens)] {
        check_shared(&pair, &pair, Shared::Yes);
        check_shared(&pair, &moved(pair), Shared::No);
        check_shared(&pair, &rekeyed(pair), Shared::No);
    }
    check_shared(&PRIVATE, &moved(PRIVATE), Shared::Yes);
    check_shared(&PRIVATE, &rekeyed(PRIVATE), Shared::Yes);
    check_shared(&PRIVATE, &moved(rekeyed(PRIVATE)), Shared::No);
    check_shared(&MANAGEMENT, &moved(MANAGEMENT), Shared::Yes);
    check_shared(&MANAGEMENT, &rekeyed(MANAGEMENT), Shared::No);
}

#[test]
fn operations_of_one_row_share_its_counters() {
    use Operation::{CreateToken, Detokenize, ListTokens, SearchTokens, Tokenize, UpdateToken};
    check_shared(&doing(ListTokens), &doing(Detokenize), Shared::Yes);
    check_shared(&doing(Tokenize), &doing(CreateToken), Shared::Yes);
    check_shared(&doing(CreateToken), &doing(UpdateToken), Shared::No);
    check_shared(&doing(ListTokens), &doing(SearchTokens), Shared::No);
    check_shared(&doing(ListTokens), &doing(Operation::Other), Shared::No);
}

#[test]
fn each_side_of_the_private_row_admits_exactly_its_rate() {
    let limiter = Limiter::on();
    let mut number = 0;
    let one_key = admitted(3_000, || {
        number += 1;
        limiter.admit(&Request { address: address(number), ..PRIVATE }, START)
    });
    assert_eq!(one_key, 2_000);
    let limiter = Limiter::on();
    let mut number = 0;
    let one_address = admitted(3_000, || {
        number += 1;
        limiter.admit(&Request { key: key(number), ..PRIVATE }, START)
    });
    assert_eq!(one_address, 2_000);
}

#[test]
fn the_lowest_rate_of_all_applicable_rows_applies() {
    let limiter = Limiter::on();
    let request = Request {
        operation: Operation::AccountUpdater,
        key_form: KeyForm::Legacy,
        application: ApplicationKind::Public,
        ..TEST
    };
    assert_eq!(admitted(100, || limiter.admit(&request, START)), 10);
    let request = Request { operation: Operation::CreateToken, ..TEST };
    let limiter = Limiter::on();
    assert_eq!(limiter.admit(&request, START).unwrap().unwrap().limit, 50);
    assert_eq!(admitted(100, || limiter.admit(&request, START)), 49);
}

#[test]
fn of_two_refusals_the_longer_one_is_reported() {
    let limiter = Limiter::on();
    // Fifty requests use up the test row (one refills in 0.2 s) and the public row (blocked for 10
    // s).
    let request = Request { application: ApplicationKind::Public, ..TEST };
    assert_eq!(admitted(50, || limiter.admit(&request, START)), 50);
    let refusal = limiter.admit(&request, START).unwrap_err();
    assert_eq!(refusal.row.scope, RowScope::Application(ApplicationKind::Public));
    assert_eq!((refusal.reset_at, refusal.retry_after_s), (secs(10), 10));
    assert_eq!(refusal.to_string(), "more than 50 requests in 60 seconds; blocked for 10 seconds");
}

#[test]
fn a_refused_request_costs_nothing_on_the_rows_that_would_have_admitted_it() {
    let limiter = Limiter::on();
    assert_eq!(admitted(5_000, || limiter.admit(&doing(Operation::ListTokens), START)), 100);
    assert_eq!(admitted(5_000, || limiter.admit(&PRIVATE, START)), 1_900);
    // The same for a row that would have blocked.
    let limiter = Limiter::on();
    let request = Request { tenant: TenantKind::Test, ..MANAGEMENT };
    assert_eq!(admitted(5_000, || limiter.admit(&request, START)), 50);
    assert_eq!(admitted(150, || limiter.admit(&MANAGEMENT, START)), 150);
}

#[test]
fn the_global_row_counts_refused_requests_too() {
    let limiter = Limiter::on();
    let served = (0..2_500).filter(|_| {
        limiter.admit_address(TEST.address, START).is_ok() && limiter.admit(&TEST, START).is_ok()
    });
    assert_eq!(served.count(), 50);
    assert_eq!(limiter.admit_address(TEST.address, START).unwrap_err().retry_after_s, 30);
}

#[test]
fn ipv6_counts_by_its_first_64_bits_and_mapped_ipv4_as_ipv4() {
    let limiter = Limiter::on();
    let mut host = 0;
    let one_network = admitted(3_000, || {
        host += 1;
        limiter.admit_address(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 9, host).into(), START)
    });
    assert_eq!(one_network, 2_000);
    assert!(limiter.admit_address("2001:db8:0:2::1".parse().unwrap(), START).is_ok());
    let mapped = "::ffff:192.0.2.1".parse().unwrap();
    assert_eq!(admitted(3_000, || limiter.admit_address(mapped, START)), 2_000);
    assert!(limiter.admit_address(PRIVATE.address, START).is_err());
    assert!(limiter.admit_address("::ffff:192.0.2.2".parse().unwrap(), START).is_ok());
}

#[test]
fn the_headers_show_the_tighter_of_two() {
    let remaining = |remaining| Some(Remaining { limit: 100, remaining, reset_at: START });
    assert_eq!(Remaining::tighter(remaining(3), remaining(2)), remaining(2));
    assert_eq!(Remaining::tighter(remaining(2), remaining(3)), remaining(2));
    assert_eq!(Remaining::tighter(None, remaining(3)), remaining(3));
    assert_eq!(Remaining::tighter(remaining(3), None), remaining(3));
    assert_eq!(Remaining::tighter(None, None), None);
}

#[test]
fn a_request_that_counts_as_several_takes_them_together_or_none() {
    let limiter = Limiter::on();
    let more = |requests, at| limiter.admit_more(&PUBLIC, NonZeroU32::new(requests).unwrap(), at);
    // 50 in 60 seconds, blocked for 10.
    assert!(limiter.admit(&PUBLIC, START).is_ok());
    assert_eq!(more(40, START), Ok(()));
    assert_eq!(limiter.admit(&PUBLIC, START).unwrap().unwrap().remaining, 8);
    assert!(more(9, START).is_err());
    let limiter = Limiter::on();
    let search = doing(Operation::SearchTokens);
    let row = ROWS.iter().find(|row| row.scope.covers(&search)).unwrap();
    let many = NonZeroU32::new(row.requests).unwrap();
    assert!(matches!(row.action, RowAction::Throttle));
    limiter.admit(&search, START).unwrap();
    // The first one is charged; the wait is for it and the further ones together.
    let refusal = limiter.admit_more(&search, many, START).unwrap_err();
    limiter.admit(&search, refusal.reset_at).unwrap();
    let fewer = NonZeroU32::new(row.requests - 1).unwrap();
    assert_eq!(limiter.admit_more(&search, fewer, refusal.reset_at), Ok(()));
    // A request that counts as more than a bucket needs a full one.
    let full = refusal.reset_at.plus(Duration::from_secs(row.period_s.into()));
    let huge = NonZeroU32::new(row.requests * 10).unwrap();
    assert_eq!(limiter.admit_more(&search, huge, full), Ok(()));
    assert!(limiter.admit(&search, full).is_err());
}

/// The rate and the consequence of a row, in the words of the documentation.
fn in_words(row: &Row) -> [String; 2] {
    let text = row.requests.to_string();
    let (thousands, rest) = text.split_at(text.len().saturating_sub(3));
    let requests = if thousands.is_empty() { text } else { format!("{thousands},{rest}") };
    let beyond = match row.action {
        RowAction::Block { for_s } => format!("blocked for {for_s} s"),
        RowAction::Throttle => String::from("wait"),
    };
    [format!("{requests} in {} s", row.period_s), beyond]
}

#[test]
fn the_chapter_on_rate_limits_has_every_row_in_its_order() {
    let chapter = include_str!("../../http/front/chapters/rate-limits.md");
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| String::from(cell.trim())).collect()
    };
    let listed: Vec<[String; 4]> = chapter
        .lines()
        .map(cells)
        .filter(|cells| cells.get(3).is_some_and(|cell| cell.ends_with(" s")))
        .map(|cells| [1, 2, 3, 4].map(|at| cells[at].clone()))
        .collect();
    let words = |row: &Row| {
        let [rate, beyond] = in_words(row);
        [String::from(row.scope.requests()), String::from(row.counted_by()), rate, beyond]
    };
    // This server has no account updater and no proxies with hostnames.
    let absent = ROWS.iter().filter(|row| row.scope.is_of_absent_feature());
    assert_eq!(absent.count(), 2);
    let here = ROWS.iter().filter(|row| !row.scope.is_of_absent_feature());
    let rows: Vec<_> = here.map(words).collect();
    assert_eq!(listed, rows);
}

#[test]
fn the_readme_has_no_rate_that_is_not_a_row() {
    let (_, section) = include_str!("../../../README.md").split_once("\n## Rate limits\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rates: Vec<String> = ROWS.iter().map(|row| in_words(row)[0].clone()).collect();
    let shown: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_suffix(" |")?.rsplit_once("| "))
        .map(|it| it.1)
        .collect();
    let shown: Vec<&str> = shown.into_iter().filter(|cell| cell.contains(" in ")).collect();
    assert_eq!(shown.len(), 8);
    for cell in shown {
        assert!(rates.iter().any(|rate| cell.starts_with(rate)), "{cell}");
    }
}
