//! Helpers of the limiter's tests. Every test sets its own time.

#![expect(clippy::arithmetic_side_effects, reason = "the numbers of the tests are small")]

mod abuse;
mod properties;
mod rows;
mod scales;
mod used;

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::domain::application::{ApplicationKind, KeyForm};
use crate::domain::tenant::TenantKind;

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A production tenant, private, with a current key and an operation without a row: only the
/// private row applies.
const PRIVATE: Request = Request {
    address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    key: KeyHash([7; 16]),
    key_form: KeyForm::Current,
    tenant: TenantKind::Production,
    application: ApplicationKind::Private,
    operation: Operation::Other,
    rate_limit: RateLimit::Default,
};
const PUBLIC: Request = Request { application: ApplicationKind::Public, ..PRIVATE };
const MANAGEMENT: Request = Request { application: ApplicationKind::Management, ..PRIVATE };
const TEST: Request = Request { tenant: TenantKind::Test, ..PRIVATE };

fn doing(operation: Operation) -> Request {
    Request { operation, ..PRIVATE }
}

fn address(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(number).into()
}

fn key(number: u64) -> KeyHash {
    KeyHash(u128::from(number).to_be_bytes())
}

fn micros(micros: u64) -> Timestamp {
    START.plus(Duration::from_micros(micros))
}

fn secs(seconds: u64) -> Timestamp {
    START.plus(Duration::from_secs(seconds))
}

fn times(factor: u32) -> RateLimit {
    RateLimit::Times(NonZeroU32::new(factor).unwrap())
}

#[track_caller]
fn exhaust(mut admit: impl FnMut() -> Result<Option<Remaining>, RateLimitRefusal>) {
    assert!((0..100_000).any(|_| admit().is_err()), "no request was refused");
}

/// The number of requests that are admitted, of `tries` at one moment.
fn admitted(
    tries: usize,
    mut admit: impl FnMut() -> Result<Option<Remaining>, RateLimitRefusal>,
) -> usize {
    (0..tries).filter(|_| admit().is_ok()).count()
}
