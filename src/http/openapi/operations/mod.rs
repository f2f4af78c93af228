//! The descriptions of routes, a file for each resource: the effect, the body and the answers of
//! each operation. Maxima come from `bounds` and lists of words from the program's types, so that
//! the document always states the ones that the server applies.

mod applications;
mod client_keys;
mod connections;
mod console;
mod enrichments;
mod fields;
mod health;
mod logs;
mod pages;
mod proxies;
mod reactors;
mod sessions;
mod shared;
mod tenant;
mod threeds;
mod token_intents;
mod token_schemas;
mod tokens;
mod webhooks;

use crate::http::Schema;
use crate::http::openapi::Description;

/// The operations of a resource, and the schemas that they refer to.
type Resource = (fn() -> Vec<Description>, fn() -> Vec<(&'static str, Schema)>);

const RESOURCES: &[Resource] = &[
    (tokens::operations, token_schemas::schemas),
    (token_intents::operations, token_intents::schemas),
    (proxies::operations, proxies::schemas),
    (reactors::operations, reactors::schemas),
    (sessions::operations, sessions::schemas),
    (client_keys::operations, client_keys::schemas),
    (threeds::operations, threeds::schemas),
    (webhooks::operations, webhooks::schemas),
    (applications::operations, applications::schemas),
    (tenant::operations, tenant::schemas),
    (logs::operations, logs::schemas),
    (enrichments::operations, Vec::new),
    (connections::operations, connections::schemas),
    (fields::operations, Vec::new),
    (console::operations, console::schemas),
    (health::operations, Vec::new),
    (pages::operations, Vec::new),
    (Vec::new, shared::schemas),
];

/// One description for each name of a route.
pub(super) fn all() -> Vec<Description> {
    RESOURCES.iter().flat_map(|(operations, _)| operations()).collect()
}

/// `components.schemas`, by name.
pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    RESOURCES.iter().flat_map(|(_, schemas)| schemas()).collect()
}
