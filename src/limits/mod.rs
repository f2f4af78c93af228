//! Rate limits on the requests of an address, a key or a proxy. This module does no IO, reads no
//! clock and never sees the text of a key.
//!
//! [`ROWS`] is the published table. Every row that covers a request is charged for it and the
//! tightest one rejects. The table leaves these points open:
//!
//! - A rate is a token bucket for both actions: a burst of the whole rate, then a steady refill.
//! - A refused request costs nothing on the rows that would have admitted it: waiting for
//!   `Retry-After` always helps, and requests that were never served use up no allowance. The
//!   global row is the exception. It counts every request of an address, before authentication;
//!   otherwise refused floods would be free.
//! - A row that blocks starts its block with the first request over the rate. Requests during the
//!   block do not extend it. The empty bucket refills during the block as at any other time, so a
//!   block that is shorter than the row's period ends with a bucket that is partly full: over any
//!   length of time a counter admits no more than a burst and the rate.
//! - A tenant's scale covers the global row too. That row is charged before the tenant is known, so
//!   the difference is given back once the request is admitted.

#![warn(clippy::arithmetic_side_effects)]

mod address;
mod bucket;
mod rows;
mod set;
mod table;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub use address::{Network, client_address};
pub use rows::{
    CounterKey, KeyHash, Operation, ProxyKind, ProxyRequest, ROWS, Request, Row, RowAction,
    RowScope,
};

use crate::domain::quota::RateLimit;
use crate::domain::time::Timestamp;
use bucket::Terms;
use set::{AddressPrefix, CounterIdentity};
use table::{Charge, CounterTable};

/// All counters of the process, shared by its threads.
pub struct Limiter {
    /// `None` if switched off.
    table: Option<CounterTable>,
    /// The number of processes that share the published rates.
    processes: AtomicU32,
}

/// The state of the counter that is closest to its limit after an admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the header has this name")]
pub struct Remaining {
    pub limit: u64,
    pub remaining: u64,
    /// The time at which the counter will be full again if no more requests come.
    pub reset_at: Timestamp,
}

/// A request that was not admitted: the row that refused it and the time to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitRefusal {
    pub row: &'static Row,
    pub limit: u64,
    pub remaining: u64,
    /// The time at which the counter that refused will admit again.
    pub reset_at: Timestamp,
    /// The time until `reset_at` in whole seconds, at least one.
    pub retry_after_s: u64,
}

impl Limiter {
    /// A limiter with its full table; slots are allocated on demand.
    pub fn on() -> Self {
        Self { table: Some(CounterTable::new()), processes: AtomicU32::new(1) }
    }

    /// A limiter that admits everything, for development.
    pub const fn off() -> Self {
        Self { table: None, processes: AtomicU32::new(1) }
    }

    /// Divides the rates by the number of processes that requests are spread over. A request counts
    /// as that number of requests, so that all processes together admit the published rate.
    pub fn divide_by(&self, processes: NonZeroU32) {
        self.processes.store(processes.get(), Ordering::Relaxed);
    }

    fn weighed(&self, requests: NonZeroU32) -> NonZeroU32 {
        let processes = NonZeroU32::new(self.processes.load(Ordering::Relaxed));
        requests.saturating_mul(processes.unwrap_or(NonZeroU32::MIN))
    }

    /// Charges the global row; call it before authentication. `None` if switched off.
    pub fn admit_address(
        &self,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Option<Remaining>, RateLimitRefusal> {
        let Some(table) = &self.table else {
            return Ok(None);
        };
        let sender = Sender { key: None, address: AddressPrefix::of(address) };
        let global = |scope| scope == RowScope::Global;
        charge(table, global, sender, NonZeroU32::MIN, self.weighed(NonZeroU32::MIN), now)
    }

    /// Charges all rows of a request with an API key; call it after authentication. `None` if no
    /// row applies.
    pub fn admit(
        &self,
        request: &Request,
        now: Timestamp,
    ) -> Result<Option<Remaining>, RateLimitRefusal> {
        let sender = Sender { key: Some(request.key), address: AddressPrefix::of(request.address) };
        self.admit_scaled(|scope| scope.covers(request), sender, request.rate_limit, now)
    }

    /// Charges an admitted request for further requests, once their number is known: each further
    /// token of a `tokenize` call counts as a request. The first one stays charged when the further
    /// ones are refused, so the wait is for all of them together.
    pub fn admit_more(
        &self,
        request: &Request,
        requests: NonZeroU32,
        now: Timestamp,
    ) -> Result<(), RateLimitRefusal> {
        let (Some(table), Some(factor)) = (&self.table, request.rate_limit.factor()) else {
            return Ok(());
        };
        let sender = Sender { key: Some(request.key), address: AddressPrefix::of(request.address) };
        let requests = self.weighed(requests);
        let charged = charge(table, |scope| scope.covers(request), sender, factor, requests, now);
        charged.map(drop).map_err(|refusal| match refusal.row.action {
            RowAction::Block { .. } => refusal,
            RowAction::Throttle => {
                let period = Duration::from_secs(refusal.row.period_s.into());
                let one = u32::try_from(refusal.limit).ok().and_then(|it| period.checked_div(it));
                let reset_at = refusal.reset_at.plus(one.unwrap_or(period));
                RateLimitRefusal::new(refusal.row, refusal.limit, reset_at, now)
            }
        })
    }

    /// Charges the row of a proxy that takes no API key.
    pub fn admit_proxy(
        &self,
        request: &ProxyRequest,
        now: Timestamp,
    ) -> Result<Option<Remaining>, RateLimitRefusal> {
        let sender =
            Sender { key: Some(request.proxy), address: AddressPrefix::of(request.address) };
        let covers = |scope| scope == RowScope::Proxy(request.kind);
        self.admit_scaled(covers, sender, request.rate_limit, now)
    }

    /// False if the limiter admits everything.
    pub const fn is_on(&self) -> bool {
        self.table.is_some()
    }

    /// The requests that the counter of this row for this key holds now. `None` for a row that does
    /// not count by keys, and if the address is needed and unknown: a counter of an address alone
    /// would show the requests of other tenants.
    pub fn used(
        &self,
        row: &Row,
        key: KeyHash,
        address: Option<IpAddr>,
        factor: NonZeroU32,
        now: Timestamp,
    ) -> Option<u64> {
        let table = self.table.as_ref()?;
        let (number, _) = numbered_rows().find(|(_, known)| *known == row)?;
        let identity = match row.counter {
            CounterKey::Address => return None,
            CounterKey::Key | CounterKey::KeyOrAddress => {
                CounterIdentity::new(number, Some(key), None)
            }
            CounterKey::KeyAndAddress => {
                CounterIdentity::new(number, Some(key), Some(AddressPrefix::of(address?)))
            }
        };
        let terms = Terms::of(row, factor);
        Some(table.state(&identity).map_or(0, |state| state.used(&terms, now)))
    }

    /// Slots of the counter table that are in use.
    #[cfg(test)]
    pub fn counters(&self) -> usize {
        self.table.as_ref().map_or(0, CounterTable::counters)
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.table.as_ref().map_or(0, CounterTable::bytes)
    }

    fn admit_scaled(
        &self,
        covers: impl Fn(RowScope) -> bool,
        sender: Sender,
        rate_limit: RateLimit,
        now: Timestamp,
    ) -> Result<Option<Remaining>, RateLimitRefusal> {
        let Some(table) = &self.table else {
            return Ok(None);
        };
        let admitted = match rate_limit.factor() {
            Some(factor) => {
                charge(table, covers, sender, factor, self.weighed(NonZeroU32::MIN), now)?
            }
            None => None,
        };
        if rate_limit != RateLimit::Default {
            let requests = self.weighed(NonZeroU32::MIN);
            give_back_global(table, sender.address, rate_limit, requests, now);
        }
        Ok(admitted)
    }
}

impl Remaining {
    /// Returns the counter that is closer to its limit, for the headers of an answer.
    #[must_use]
    pub fn tighter(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.closeness() < one.closeness() => Some(other),
            (Some(one), _) => Some(one),
            (None, other) => other,
        }
    }

    const fn closeness(&self) -> (u64, std::cmp::Reverse<i64>) {
        (self.remaining, std::cmp::Reverse(self.reset_at.micros()))
    }
}

opaque_debug!(Limiter);

impl fmt::Display for RateLimitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {} requests in {} seconds", self.limit, self.row.period_s)?;
        match self.row.action {
            RowAction::Block { for_s } => write!(f, "; blocked for {for_s} seconds"),
            RowAction::Throttle => Ok(()),
        }
    }
}

impl std::error::Error for RateLimitRefusal {}

/// The key and address whose counters a request is charged to.
#[derive(Clone, Copy)]
struct Sender {
    key: Option<KeyHash>,
    address: AddressPrefix,
}

/// The usual maximum of counters for one request. A test tenant's private application with a legacy
/// key has five: test tenant, operation, key, address and legacy key.
const CHARGES_USUAL_MAX: usize = 5;

/// Charges all counters of the covered rows or none, and returns the state of the tightest one.
fn charge(
    table: &CounterTable,
    covers: impl Fn(RowScope) -> bool,
    sender: Sender,
    factor: NonZeroU32,
    requests: NonZeroU32,
    now: Timestamp,
) -> Result<Option<Remaining>, RateLimitRefusal> {
    let mut charges = Vec::with_capacity(CHARGES_USUAL_MAX);
    for (number, row) in numbered_rows().filter(|(_, row)| covers(row.scope)) {
        let terms = Terms::of(row, factor).counting(requests);
        let identities = identities(number, row.counter, sender);
        charges.extend(identities.map(|identity| table.charge(identity, row, terms)));
    }
    table.settle(&mut charges, now);
    tightest(&charges, now)
}

/// Of several refusals the longest counts: an earlier retry would be refused again.
fn tightest(charges: &[Charge], now: Timestamp) -> Result<Option<Remaining>, RateLimitRefusal> {
    let mut tightest = None;
    let mut refusal: Option<RateLimitRefusal> = None;
    for charge in charges {
        let limit = charge.terms.limit;
        match charge.verdict(now) {
            Ok((remaining, full_at)) => {
                let remaining = Remaining { limit, remaining, reset_at: full_at };
                tightest = Remaining::tighter(tightest, Some(remaining));
            }
            Err(again_at) => {
                if refusal.is_none_or(|longest| longest.reset_at < again_at) {
                    refusal = Some(RateLimitRefusal::new(charge.row, limit, again_at, now));
                }
            }
        }
    }
    refusal.map_or(Ok(tightest), Err)
}

impl RateLimitRefusal {
    fn new(row: &'static Row, limit: u64, reset_at: Timestamp, now: Timestamp) -> Self {
        let wait = reset_at.since(now);
        let started_s = u64::from(wait.subsec_nanos() > 0);
        let retry_after_s = wait.as_secs().saturating_add(started_s).max(1);
        Self { row, limit, remaining: 0, reset_at, retry_after_s }
    }
}

/// Gives back a part of the charge on the global row, which was made in full before the tenant was
/// known.
fn give_back_global(
    table: &CounterTable,
    address: AddressPrefix,
    rate_limit: RateLimit,
    requests: NonZeroU32,
    now: Timestamp,
) {
    for (number, row) in numbered_rows().filter(|(_, row)| row.scope == RowScope::Global) {
        let identity = CounterIdentity::new(number, None, Some(address));
        let terms = Terms::of(row, NonZeroU32::MIN).counting(requests);
        table.amend(&identity, |state| state.credited(&terms, rate_limit.factor(), now));
    }
}

fn numbered_rows() -> impl Iterator<Item = (u8, &'static Row)> {
    (0_u8..).zip(&ROWS)
}

/// The one or two counters of a row for a sender.
fn identities(
    row: u8,
    counter: CounterKey,
    sender: Sender,
) -> impl Iterator<Item = CounterIdentity> {
    let identity = |key, address| CounterIdentity::new(row, key, address);
    let (key, address) = (sender.key, Some(sender.address));
    let (one, other) = match counter {
        CounterKey::Address => (identity(None, address), None),
        CounterKey::Key => (identity(key, None), None),
        CounterKey::KeyAndAddress => (identity(key, address), None),
        CounterKey::KeyOrAddress => (identity(key, None), Some(identity(None, address))),
    };
    std::iter::once(one).chain(other)
}
