//! Keys of the server, of tenants and of card verification codes, and recovery shares.

pub(in crate::app) mod cvc;
pub(in crate::app) mod facts;
pub(in crate::app) mod masters;
pub(in crate::app) mod ring;
pub(in crate::app) mod share_sets;
