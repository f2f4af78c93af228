//! The addresses of host names: looked up once for a connection, and cached for a short time.

use std::collections::HashMap;
use std::fmt::Debug;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::bounds::{NAME_KEPT, NAME_LOOKUPS_MAX, NAMES_KEPT_MAX};
use crate::crypto::Random;
use crate::lock::Lock;
use crate::names::Resolver;

/// A source of addresses. Tests implement their own.
pub(super) trait Lookup: Debug + Send + Sync {
    /// Returns no address if the name is unknown.
    fn lookup<'a>(&'a self, host: &'a str) -> LookingUp<'a>;
}

pub(super) type LookingUp<'a> = Pin<Box<dyn Future<Output = Vec<IpAddr>> + Send + 'a>>;

impl Lookup for Resolver {
    fn lookup<'a>(&'a self, host: &'a str) -> LookingUp<'a> {
        Box::pin(self.resolve(host))
    }
}

#[derive(Debug)]
pub struct Addresses {
    source: Box<dyn Lookup>,
    kept: Lock<HashMap<String, KeptAddresses>>,
    lookups: Semaphore,
    kept_for: Duration,
}

#[derive(Debug)]
struct KeptAddresses {
    addresses: Vec<IpAddr>,
    until: Instant,
}

impl Addresses {
    /// Uses this machine's files and name servers.
    pub fn of_this_machine() -> Self {
        Self::of(Box::new(Resolver::of_this_machine(Random::new())), NAME_KEPT)
    }

    pub(super) fn of(source: Box<dyn Lookup>, kept_for: Duration) -> Self {
        let lookups = Semaphore::new(NAME_LOOKUPS_MAX);
        Self { source, kept: Lock::default(), lookups, kept_for }
    }

    /// Returns the addresses in the order in which to try them. Callers check these addresses and
    /// connect to no others.
    pub async fn find(&self, host: &str) -> Vec<IpAddr> {
        let host = host.to_ascii_lowercase();
        if let Some(addresses) = self.remembered(&host) {
            return addresses;
        }
        // The deadline of the caller bounds this wait.
        let Ok(_permit) = self.lookups.acquire().await else { return Vec::new() };
        // Another request may have looked the name up while this one waited.
        if let Some(addresses) = self.remembered(&host) {
            return addresses;
        }
        let addresses = self.source.lookup(&host).await;
        // An unknown name is not cached: its name server may only be slow.
        if !addresses.is_empty() {
            self.remember(host, addresses.clone());
        }
        addresses
    }

    fn remembered(&self, host: &str) -> Option<Vec<IpAddr>> {
        let now = Instant::now();
        self.kept
            .lock()
            .get(host)
            .filter(|kept| kept.until > now)
            .map(|kept| kept.addresses.clone())
    }

    fn remember(&self, host: String, addresses: Vec<IpAddr>) {
        let now = Instant::now();
        let mut kept = self.kept.lock();
        if kept.len() >= NAMES_KEPT_MAX {
            kept.retain(|_, kept| kept.until > now);
        }
        // If the table is full, further names are looked up each time.
        if kept.len() < NAMES_KEPT_MAX || kept.contains_key(&host) {
            let until = now.checked_add(self.kept_for).unwrap_or(now);
            kept.insert(host, KeptAddresses { addresses, until });
        }
    }
}
