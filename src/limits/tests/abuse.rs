//! Many threads, many addresses, and a clock that moves.

use super::*;
use crate::bounds::{RATE_BYTES_MAX, RATE_COUNTERS_MAX};
use crate::waiting::thorough;

#[test]
fn threads_together_are_admitted_exactly_as_often_as_one() {
    let limiter = Limiter::on();
    let create = doing(Operation::CreateToken);
    let total: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| admitted(2_000, || limiter.admit(&create, START))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(total, 200);
    assert_eq!(admitted(5_000, || limiter.admit(&PRIVATE, START)), 1_800);
}

#[test]
fn a_clock_that_is_set_back_neither_refills_nor_locks_out() {
    let limiter = Limiter::on();
    let later = secs(3_600);
    exhaust(|| limiter.admit(&TEST, later));
    assert!(limiter.admit(&TEST, START).is_err());
    assert_eq!(admitted(100, || limiter.admit(&TEST, secs(5))), 25);

    exhaust(|| limiter.admit_address(TEST.address, later));
    assert_eq!(limiter.admit_address(TEST.address, START).unwrap_err().reset_at, secs(30));
    assert!(limiter.admit_address(TEST.address, secs(30)).is_ok());
    // Requests that overtake each other by less than the skew change nothing.
    let limiter = Limiter::on();
    exhaust(|| limiter.admit_address(TEST.address, secs(1)));
    assert_eq!(limiter.admit_address(TEST.address, START).unwrap_err().reset_at, secs(31));
}

#[test]
fn more_addresses_than_there_are_counters_stay_within_the_memory_bound() {
    let limiter = Limiter::on();
    for number in 0..thorough(300_000, 1_000_000) {
        assert!(limiter.admit_address(address(number), START).is_ok());
    }
    assert!(limiter.counters() > RATE_COUNTERS_MAX * 99 / 100);
    assert!(limiter.counters() <= RATE_COUNTERS_MAX);
    assert!(limiter.bytes() <= RATE_BYTES_MAX);
    // Ten milliseconds later all of them have refilled: their slots are free for new counters.
    let later = micros(10_000);
    assert!(limiter.admit(&PUBLIC, later).is_ok());
    assert!(limiter.counters() <= RATE_COUNTERS_MAX);
}

#[test]
fn a_flood_of_fresh_addresses_neither_lifts_blocks_nor_refills_busy_counters() {
    let limiter = Limiter::on();
    exhaust(|| limiter.admit_address(address(1), START));
    exhaust(|| limiter.admit(&PUBLIC, START));
    let busy = doing(Operation::SearchTokens);
    exhaust(|| limiter.admit(&busy, START));
    for number in 0..300_000 {
        let flood = Request { address: address(0x5000_0000 + number), key: key(1), ..PUBLIC };
        // A fresh pair owes 1.2 s, the most that one request can owe.
        assert!(limiter.admit(&flood, START).is_ok());
    }
    assert!(limiter.counters() > RATE_COUNTERS_MAX * 99 / 100);
    assert_eq!(limiter.admit_address(address(1), START).unwrap_err().reset_at, secs(30));
    assert_eq!(limiter.admit(&PUBLIC, START).unwrap_err().reset_at, secs(10));
    assert!(limiter.admit(&busy, START).is_err());
}
