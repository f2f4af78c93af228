//! The OpenAPI document of the interface at `/openapi.json`, and a Postman collection that is made
//! from it. The document comes out of the routing table, so it has every route, and out of
//! `operations`, which describes each route by its name; a test fails if one of them is missing.

mod description;
mod document;
mod errors;
mod headers;
mod operations;
mod postman;
mod rates;
mod tags;
#[cfg(test)]
mod tests;

pub(in crate::http::openapi) use description::Description;
pub(in crate::http::openapi) use headers::{DESTINATION_STATUS, ETAG, LOCATION};
pub(in crate::http::openapi) use tags::Tag;

use std::sync::LazyLock;

use crate::http::front::asset::{Asset, AssetKind};
use crate::http::route::ROUTES;

pub(in crate::http) static DOCUMENT: Asset = Asset::new(AssetKind::Json, || &DOCUMENT_TEXT);
pub(in crate::http) static POSTMAN: Asset = Asset::new(AssetKind::Json, || &POSTMAN_TEXT);

static DOCUMENT_TEXT: LazyLock<String> = LazyLock::new(|| document::document(ROUTES).to_string());
static POSTMAN_TEXT: LazyLock<String> =
    LazyLock::new(|| postman::collection(&document::document(ROUTES)).to_string());
