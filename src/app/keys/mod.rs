//! Keys: opening a vault with its master key, rotation, the inventory of keys, keys of CVCs, recovery
//! shares.

pub(in crate::app) mod cvc;
pub(in crate::app) mod masters;
pub(in crate::app) mod open;
pub(in crate::app) mod rotation;
pub(in crate::app) mod share_sets;
