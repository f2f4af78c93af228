//! Access: API keys and the callers that they stand for, tenants and applications.

pub(in crate::app) mod api_keys;
pub(in crate::app) mod applications;
pub(in crate::app) mod authenticate;
pub(in crate::app) mod callers;
pub(in crate::app) mod tenants;
