//! The published table of rate limits as data, and the rule for the rows that cover a request.

use std::net::IpAddr;

use CounterKey::{Address, Key, KeyAndAddress, KeyOrAddress};
use Operation::{
    AccountUpdater, CreateToken, DeleteToken, Detokenize, ListTokens, SearchTokens, Tokenize,
    UpdateToken,
};
use RowAction::{Block, Throttle};
use RowScope::{Application, Global, LegacyKey, Operations, TestTenant};

use crate::domain::application::{ApplicationKind, KeyForm};
use crate::domain::quota::RateLimit;
use crate::domain::tenant::TenantKind;

/// The published table in its order. "A and B" counts the pair; "A or B" has two counters.
/// Operations of one row share its counters.
#[rustfmt::skip]
pub static ROWS: [Row; 14] = [
    //  scope                                  counter       rate
    row(TestTenant,                            KeyAndAddress,   50, per_s(10), Throttle),
    row(Operations(&[SearchTokens]),           KeyAndAddress,   50, per_s(10), Throttle),
    row(Operations(&[ListTokens, Detokenize]), KeyAndAddress,  100, per_s(10), Throttle),
    row(Operations(&[CreateToken, Tokenize]),  KeyAndAddress,  200, per_s(10), Throttle),
    row(Operations(&[UpdateToken]),            KeyAndAddress,  200, per_s(10), Throttle),
    row(Operations(&[DeleteToken]),            KeyAndAddress,  200, per_s(10), Throttle),
    row(Operations(&[AccountUpdater]),         KeyAndAddress,   10, per_s(10), Throttle),
    row(Application(ApplicationKind::Private), KeyOrAddress, 2_000, per_s(10), Throttle),
    row(Application(ApplicationKind::Public),  KeyAndAddress,   50, per_s(60), Block { for_s: 10 }),
    row(Application(ApplicationKind::Management), Key,         200, per_s(60), Block { for_s: 60 }),
    row(RowScope::Proxy(ProxyKind::Keyed),     KeyAndAddress,   50, per_s(10), Throttle),
    row(RowScope::Proxy(ProxyKind::Hostname),  KeyAndAddress,   50, per_s(10), Throttle),
    row(Global,                                Address,      2_000, per_s(10), Block { for_s: 30 }),
    row(LegacyKey,                             KeyAndAddress,  100, per_s(60), Throttle),
];

/// The longest period or block, and so the longest time for which a counter is kept.
pub(super) const LIFE_S_MAX: u64 = 60;

/// One line of the table: at most `requests` in `period_s` for each counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub scope: RowScope,
    pub counter: CounterKey,
    pub requests: u32,
    pub period_s: u32,
    pub action: RowAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowScope {
    Application(ApplicationKind),
    /// Every request of an address, before authentication.
    Global,
    LegacyKey,
    Operations(&'static [Operation]),
    Proxy(ProxyKind),
    TestTenant,
}

/// The key of a row's counters. For a proxy, its key or hostname replaces the API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterKey {
    Address,
    Key,
    KeyAndAddress,
    /// Two counters; either of them rejects.
    KeyOrAddress,
}

/// The consequence of a request over the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAction {
    /// The counter rejects all requests for this long, while its empty bucket refills.
    Block {
        for_s: u32,
    },
    Throttle,
}

/// The operations that the table distinguishes. `ListTokens` is both list paths, `SearchTokens`
/// both search paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    AccountUpdater,
    CreateToken,
    DeleteToken,
    Detokenize,
    ListTokens,
    Other,
    SearchTokens,
    Tokenize,
    UpdateToken,
}

/// The part of a request without an API key that names its proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyKind {
    Hostname,
    /// By proxy key: unauthenticated and white-label proxies.
    Keyed,
}

/// A keyed hash of an API key, a proxy key or a custom hostname. The limiter never sees the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 16]);

impl KeyHash {
    /// Takes the first half of a 256-bit keyed hash, which is enough for counting.
    pub fn of(tag: &[u8; 32]) -> Self {
        let mut half = [0; 16];
        for (to, from) in half.iter_mut().zip(tag) {
            *to = *from;
        }
        Self(half)
    }
}

opaque_debug!(KeyHash);

/// The properties of a request with an API key that decide its rows.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub address: IpAddr,
    pub key: KeyHash,
    pub key_form: KeyForm,
    pub tenant: TenantKind,
    pub application: ApplicationKind,
    pub operation: Operation,
    pub rate_limit: RateLimit,
}

/// The properties of a request to a proxy that takes no API key.
#[derive(Debug, Clone, Copy)]
pub struct ProxyRequest {
    pub address: IpAddr,
    pub kind: ProxyKind,
    /// The hash of the proxy key, or of the hostname in lower case.
    pub proxy: KeyHash,
    pub rate_limit: RateLimit,
}

impl Row {
    /// The thing that has a counter of its own, in the words of the documentation.
    pub const fn counted_by(&self) -> &'static str {
        match (self.counter, self.scope) {
            (KeyAndAddress, RowScope::Proxy(_)) => "proxy and address",
            (Address, _) => "address",
            (Key, _) => "key",
            (KeyAndAddress, _) => "key and address",
            (KeyOrAddress, _) => "key, and address",
        }
    }
}

impl RowScope {
    /// The name in metrics; the operations of one row share it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application(ApplicationKind::Management) => "management_application",
            Self::Application(ApplicationKind::Private) => "private_application",
            Self::Application(ApplicationKind::Public) => "public_application",
            Self::Global => "address",
            Self::LegacyKey => "legacy_key",
            Self::Operations(&[SearchTokens, ..]) => "search_tokens",
            Self::Operations(&[ListTokens, ..]) => "list_tokens",
            Self::Operations(&[CreateToken, ..]) => "create_token",
            Self::Operations(&[UpdateToken, ..]) => "update_token",
            Self::Operations(&[DeleteToken, ..]) => "delete_token",
            Self::Operations(&[AccountUpdater, ..]) => "account_updater",
            Self::Operations(_) => "operation",
            Self::Proxy(_) => "proxy",
            Self::TestTenant => "test_tenant",
        }
    }

    /// The requests that it counts, in the words of the documentation, the reference and the
    /// console.
    pub const fn requests(self) -> &'static str {
        match self {
            Self::Application(ApplicationKind::Management) => {
                "all requests of a management application"
            }
            Self::Application(ApplicationKind::Private) => "all requests of a private application",
            Self::Application(ApplicationKind::Public) => "all requests of a public application",
            Self::Global => "all requests of an address, with or without a key",
            Self::LegacyKey => {
                "all requests with a key that has neither `_test_` nor `_prod_` in it"
            }
            Self::Operations(&[SearchTokens, ..]) => "searches of tokens",
            Self::Operations(&[ListTokens, ..]) => "lists of tokens and `detokenize`, together",
            Self::Operations(&[CreateToken, ..]) => "creates of tokens and `tokenize`, together",
            Self::Operations(&[UpdateToken, ..]) => "patches of tokens",
            Self::Operations(&[DeleteToken, ..]) => "deletes of tokens",
            Self::Operations(&[AccountUpdater, ..]) => "account updates",
            Self::Operations(_) => "single operations",
            Self::Proxy(ProxyKind::Hostname) => "calls of a proxy by a hostname of its own",
            Self::Proxy(ProxyKind::Keyed) => "calls of a proxy that needs no API key",
            Self::TestTenant => "all requests of a test tenant",
        }
    }

    /// True for a row of the published table whose requests this server does not have.
    pub fn is_of_absent_feature(self) -> bool {
        match self {
            Self::Operations(operations) => operations.contains(&AccountUpdater),
            Self::Proxy(kind) => kind == ProxyKind::Hostname,
            Self::Application(_) | Self::Global | Self::LegacyKey | Self::TestTenant => false,
        }
    }

    /// Returns whether this row covers a request with an API key.
    pub(super) fn covers(self, request: &Request) -> bool {
        match self {
            Self::Application(kind) => request.application == kind,
            Self::LegacyKey => request.key_form == KeyForm::Legacy,
            Self::Operations(operations) => operations.contains(&request.operation),
            Self::TestTenant => request.tenant == TenantKind::Test,
            Self::Global | Self::Proxy(_) => false,
        }
    }
}

const fn row(
    scope: RowScope,
    counter: CounterKey,
    requests: u32,
    period_s: u32,
    action: RowAction,
) -> Row {
    Row { scope, counter, requests, period_s, action }
}

/// Makes the table read as "50 per 10 seconds".
const fn per_s(seconds: u32) -> u32 {
    seconds
}
