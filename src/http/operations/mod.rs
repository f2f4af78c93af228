//! The operations of the interface, by resource: they convert between the wire and `app`.

pub(in crate::http) mod applications;
pub(in crate::http) mod client_keys;
pub(in crate::http) mod console;
pub(in crate::http) mod enrichments;
pub(in crate::http) mod fields;
pub(in crate::http) mod formulas;
pub(in crate::http) mod lists;
pub(in crate::http) mod logs;
pub(in crate::http) mod named;
pub(in crate::http) mod reactors;
pub(in crate::http) mod results;
pub(in crate::http) mod sessions;
pub(in crate::http) mod tenants;
pub(in crate::http) mod threeds;
pub(in crate::http) mod token_intents;
pub(in crate::http) mod tokens;
pub(in crate::http) mod webhooks;
