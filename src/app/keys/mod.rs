//! Keys: opening a vault with its master key, rotation, the inventory of keys, the keys of card
//! verification codes, and recovery shares.

pub(in crate::app) mod cvc;
pub(in crate::app) mod masters;
pub(in crate::app) mod open;
pub(in crate::app) mod open_cvc_keys;
pub(in crate::app) mod received_cvc_keys;
pub(in crate::app) mod ring;
pub(in crate::app) mod rotation;
pub(in crate::app) mod share_sets;
use crate::app::vault::Vault;

/// The keys of the server and of tenants, opened with the master key.
#[derive(Debug, Clone, Copy)]
pub struct KeyRing<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn keys(&self) -> KeyRing<'_> {
        KeyRing { vault: self }
    }
}
