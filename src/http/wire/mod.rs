//! Conversion between JSON on the wire and the arguments and results of operations. Names are those
//! of the published interface.

pub(crate) mod answer;
pub(crate) mod application;
pub(crate) mod card;
pub(crate) mod client_key;
pub(crate) mod console;
pub(crate) mod cursor;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod key;
pub(crate) mod log;
pub(crate) mod named;
pub(crate) mod page;
pub(crate) mod permission;
pub(crate) mod privacy;
pub(crate) mod proxy;
pub(crate) mod query;
pub(crate) mod reactor;
pub(crate) mod session;
pub(crate) mod template;
pub(crate) mod tenant;
pub(crate) mod threeds;
pub(crate) mod token;
pub(crate) mod token_intent;
pub(crate) mod token_query;
pub(crate) mod tokenize;
pub(crate) mod webhook;

pub(crate) use fields::{Fields, WRONG_TYPE};
pub(crate) use json::{Json, Object};
pub(crate) use page::OffsetPage;
pub(crate) use query::Query;
