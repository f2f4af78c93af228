//! The OpenAPI document of the interface at `/openapi.json`, and a Postman collection that is made
//! from it. The routing table supplies the routes, and `operations` describes each of them by its
//! name; a test fails if a description is missing.

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
