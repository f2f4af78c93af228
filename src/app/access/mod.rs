//! Access: API keys, sessions, tenants and applications.

pub(in crate::app) mod api_keys;
pub(in crate::app) mod applications;
pub(in crate::app) mod authenticate;
mod last_use_rows;
mod operator_caller;
pub(in crate::app) mod people;
pub(in crate::app) mod sessions;
pub(in crate::app) mod tenants;
