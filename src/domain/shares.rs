//! The shares of one address, of all strangers and of one tenant in a bound that all callers have
//! together: memory, HTTP/2 streams, connections.
//!
//! A share is a part of the amount that the others have left, not of the whole: an address takes an
//! eighth of it, the callers of one tenant without a secret key a sixth, all callers without one a
//! quarter, a tenant a half. If tenants take all they can get one after the other, the first holds
//! a half, the second a quarter, and the next one always finds something.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::bounds::{ADDRESS_SHARE, STRANGERS_SHARE, TENANT_SHARE, TENANT_STRANGERS_SHARE};
use crate::domain::id::TenantId;
use crate::lock::Lock;

/// A caller, classified for its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimant {
    /// A peer that authenticated with a client certificate.
    Certified(IpAddr),
    /// A caller with a secret API key. Its address does not count: the servers of a tenant often
    /// share one address.
    Keyed(TenantId),
    /// A caller without a key, or with a key that pages show: of a public application, of a
    /// session, or of a proxy that takes calls without an API key.
    Stranger { address: IpAddr, tenant: Option<TenantId> },
}

impl Claimant {
    /// The tenant of a secret API key.
    pub const fn keyed(self) -> Option<TenantId> {
        match self {
            Self::Keyed(tenant) => Some(tenant),
            Self::Certified(_) | Self::Stranger { .. } => None,
        }
    }

    pub const fn tenant(self) -> Option<TenantId> {
        match self {
            Self::Certified(_) => None,
            Self::Keyed(tenant) => Some(tenant),
            Self::Stranger { tenant, .. } => tenant,
        }
    }

    fn accounts(self) -> impl Iterator<Item = Account> {
        let (address, strangers) = match self {
            Self::Certified(address) => (Some(address), None),
            Self::Keyed(_) => (None, None),
            Self::Stranger { address, .. } => (Some(address), Some(Account::Strangers)),
        };
        let address = address.map(|address| Account::Address(address_prefix(address)));
        let tenant = self.tenant();
        let own = strangers.and(tenant).map(Account::StrangersOf);
        [address, strangers, own, tenant.map(Account::Tenant)].into_iter().flatten()
    }
}

/// The part of an address that identifies one customer: a whole IPv4 address, since neighbours in a
/// larger net often belong to other customers, and the first 64 bits of an IPv6 address.
pub fn address_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Account {
    Address(IpAddr),
    Strangers,
    StrangersOf(TenantId),
    Tenant(TenantId),
}

impl Account {
    const fn share(self) -> usize {
        match self {
            Self::Address(_) => ADDRESS_SHARE,
            Self::Strangers => STRANGERS_SHARE,
            Self::StrangersOf(_) => TENANT_STRANGERS_SHARE,
            Self::Tenant(_) => TENANT_SHARE,
        }
    }
}

/// A bound, and the amounts that claimants hold. Claimants that hold nothing are not stored.
#[derive(Debug)]
pub struct Shares {
    max: usize,
    taken: Lock<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    by_account: HashMap<Account, usize>,
}

impl Shares {
    pub fn new(max: usize) -> Self {
        Self { max, taken: Lock::default() }
    }

    /// The most that this claimant gets if all others hold nothing.
    pub fn most(&self, claimant: Claimant) -> usize {
        let share = claimant.accounts().map(Account::share).max().unwrap_or(1);
        self.max.checked_div(share).unwrap_or(0)
    }

    /// Takes this amount, or nothing and returns false.
    #[must_use]
    pub fn take(&self, claimant: Claimant, amount: usize) -> bool {
        let mut taken = self.taken.lock();
        let Some(in_all) = taken.in_all.checked_add(amount) else { return false };
        let Some(free) = self.max.checked_sub(in_all) else { return false };
        let fits = claimant.accounts().all(|account| {
            let held = taken.held(account).saturating_add(amount);
            held.saturating_mul(account.share().saturating_sub(1)) <= free
        });
        if fits {
            taken.in_all = in_all;
            for account in claimant.accounts() {
                let held = taken.held(account).saturating_add(amount);
                taken.by_account.insert(account, held);
            }
        }
        fits
    }

    /// Gives back an amount that [`Shares::take`] took.
    pub fn give_back(&self, claimant: Claimant, amount: usize) {
        let mut taken = self.taken.lock();
        taken.in_all = taken.in_all.saturating_sub(amount);
        for account in claimant.accounts() {
            match taken.held(account).saturating_sub(amount) {
                0 => taken.by_account.remove(&account),
                held => taken.by_account.insert(account, held),
            };
        }
    }

    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken.lock().in_all
    }
}

impl Taken {
    fn held(&self, account: Account) -> usize {
        self.by_account.get(&account).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn keyed(tenant: u128) -> Claimant {
        Claimant::Keyed(TenantId::new(Uuid::from_u128(tenant)))
    }

    fn stranger(address: &str, tenant: Option<u128>) -> Claimant {
        let tenant = tenant.map(|tenant| TenantId::new(Uuid::from_u128(tenant)));
        Claimant::Stranger { address: address.parse().unwrap(), tenant }
    }

    /// Takes one after the other until there is no more; returns how many it got.
    fn take_all(shares: &Shares, claimant: Claimant) -> usize {
        (0..10_000).take_while(|_| shares.take(claimant, 1)).count()
    }

    #[test]
    fn a_claimant_alone_gets_its_share_and_no_more() {
        for (claimant, most) in [
            (keyed(1), 512),
            (stranger("192.0.2.1", None), 128),
            (stranger("192.0.2.1", Some(1)), 128),
            (Claimant::Certified("192.0.2.1".parse().unwrap()), 128),
        ] {
            let shares = Shares::new(1_024);
            assert_eq!(shares.most(claimant), most, "{claimant:?}");
            assert!(!shares.take(claimant, most + 1), "{claimant:?}");
            assert_eq!(take_all(&shares, claimant), most, "{claimant:?}");
            shares.give_back(claimant, most);
            assert!(shares.take(claimant, most), "{claimant:?}");
            shares.give_back(claimant, most);
            assert!(shares.taken() == 0 && shares.taken.lock().by_account.is_empty());
        }
    }

    #[test]
    fn however_many_take_all_they_can_get_the_next_one_finds_something() {
        let shares = Shares::new(1_024);
        let got: Vec<_> = (1..=6).map(|tenant| take_all(&shares, keyed(tenant))).collect();
        assert_eq!(got, [512, 256, 128, 64, 32, 16]);
        let shares = Shares::new(1_024);
        let crowd = (0..=255).map(|last| stranger(&format!("192.0.2.{last}"), None));
        let got: usize = crowd.map(|it| take_all(&shares, it)).sum();
        assert_eq!(got, 256, "all strangers together");
        assert_eq!(take_all(&shares, keyed(1)), 384);
        assert_eq!(take_all(&shares, keyed(2)), 192);
    }

    #[test]
    fn the_strangers_of_a_tenant_count_for_the_tenant_too() {
        let shares = Shares::new(1_024);
        assert_eq!(take_all(&shares, stranger("192.0.2.1", Some(1))), 128);
        assert_eq!(take_all(&shares, stranger("192.0.2.2", Some(1))), 42, "a sixth together");
        assert_eq!(take_all(&shares, keyed(1)), 512 - 170);
        assert_eq!(take_all(&shares, keyed(2)), 256);
    }

    #[test]
    fn the_strangers_of_one_tenant_leave_a_part_to_those_of_another() {
        let shares = Shares::new(1_024);
        for last in 0..=255 {
            take_all(&shares, stranger(&format!("192.0.2.{last}"), Some(1)));
        }
        assert_eq!(take_all(&shares, stranger("198.51.100.1", Some(2))), 86);
    }

    #[test]
    fn neighbours_have_one_share() {
        for (first, second, are_one) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let shares = Shares::new(1_024);
            take_all(&shares, stranger(first, None));
            let more = take_all(&shares, stranger(second, None));
            assert_eq!(more == 0, are_one, "{first} {second}");
        }
    }
}
