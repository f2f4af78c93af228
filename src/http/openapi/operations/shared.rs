//! Schemas that several resources share.

use serde_json::Value;

use crate::bounds::{
    CONTAINER_BYTES_MAX, CURSOR_CHARS_MAX, DESCRIPTION_CHARS_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX,
    PERMISSIONS_MAX,
};
use crate::domain::permission::Permission;
use crate::domain::token_type::TokenType;
use crate::http::openapi::Description;
use crate::http::path::{PathParameter as _, TokenName};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::application::{RuleAnswer, transform_schema};
use crate::http::wire::cursor::CursorPagination;
use crate::http::wire::page::OffsetPagination;
use crate::http::{Schema, absent};

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("Container", container_schema()),
        ("Permission", permission_schema()),
        (
            "TokenType",
            Schema::word(TokenType::ALL.iter().map(|it| it.as_str())).about(
                "The form of the data, which is checked. It decides the container, the mask and the \
                 fingerprint that the token has by default.",
            ),
        ),
        ("AccessRule", RuleAnswer::schema()),
        ("CursorPagination", CursorPagination::schema()),
        ("OffsetPagination", OffsetPagination::schema()),
    ]
}

fn permission_schema() -> Schema {
    let is_absent = |it: &&Permission| absent::of_permission(**it).is_some();
    let absent: Vec<_> = Permission::ALL.iter().filter(is_absent).map(|it| it.as_str()).collect();
    Schema::word(Permission::ALL.iter().map(|it| it.as_str())).about(&format!(
        "These can be granted and have no effect, since this server does not have their features: `{}`.",
        absent.join("`, `")
    ))
}

fn container_schema() -> Schema {
    Schema::text()
        .about("The path of a container, in any case; it is kept in lower case.")
        .chars(1, CONTAINER_BYTES_MAX)
        .pattern("^/([A-Za-z0-9_-]+/)*$")
        .example("/pci/high/")
}

pub(super) fn container() -> Schema {
    Schema::reference("Container")
}

pub(super) fn permissions() -> Schema {
    Schema::list(Schema::reference("Permission"))
}

pub(super) fn token_type() -> Schema {
    Schema::reference("TokenType")
}

/// The members of a rule in a request, without the tokens that it covers.
pub(super) fn rule_request() -> Schema {
    Schema::object()
        .takes("description", Schema::text().chars(0, DESCRIPTION_CHARS_MAX))
        .has("priority", Schema::integer().between(1, 4_294_967_295))
        .has("transform", transform_schema())
        .has("permissions", permissions().at_least_items(1).up_to_items(PERMISSIONS_MAX))
}

pub(super) fn permissions_request() -> Schema {
    permissions().up_to_items(PERMISSIONS_MAX)
}

/// The members that say by whom and when a resource was made and changed.
pub(super) fn authors(schema: Schema) -> Schema {
    schema
        .may_have("created_by", Schema::uuid().about("The application that made it."))
        .has("created_at", Schema::time())
        .may_have("modified_by", Schema::uuid())
        .may_have("modified_at", Schema::time())
}

fn page(pagination: &'static str, items: Schema) -> Schema {
    Schema::object()
        .has("pagination", Schema::reference(pagination))
        .has("data", Schema::list(items))
        .closed()
}

pub(super) fn cursor_page(items: Schema) -> Schema {
    page("CursorPagination", items)
}

pub(super) fn offset_page(items: Schema) -> Schema {
    page("OffsetPagination", items)
}

pub(super) fn size() -> Schema {
    Schema::integer()
        .about("The number of items of a page.")
        .between(1, PAGE_SIZE_MAX)
        .or_else(PAGE_SIZE_DEFAULT)
}

pub(super) fn page_number() -> Schema {
    Schema::integer().about("The number of the page, from 1.").between(1, 1_000_000_000).or_else(1)
}

pub(super) fn start() -> Schema {
    Schema::text().about("The `next` of the page before.").chars(0, CURSOR_CHARS_MAX)
}

pub(super) fn by_number(described: Description) -> Description {
    described.query("page", page_number()).query("size", size())
}

pub(super) fn by_cursor(described: Description) -> Description {
    described.query("start", start()).query("size", size())
}

pub(super) fn token_id() -> Schema {
    TokenName::schema()
}

pub(super) fn expires_at() -> Schema {
    Schema::text()
        .about("A time of ISO 8601; without an offset it is UTC.")
        .example("2030-11-14T09:30:00Z")
}

/// An example of an object without these members.
pub(super) fn without(object: &str, names: &[&str]) -> String {
    // A test checks that the examples are JSON.
    let mut value: Value = serde_json::from_str(object).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
    value.to_string()
}

pub(super) fn cursor_page_of(item: &str) -> String {
    format!(r#"{{"pagination":{{"page_size":20}},"data":[{item}]}}"#)
}

/// An example of a numbered page with one item.
pub(super) fn offset_page_of(item: &str) -> String {
    let pagination = r#"{"total_items":1,"page_number":1,"page_size":20,"total_pages":1}"#;
    format!(r#"{{"pagination":{pagination},"data":[{item}]}}"#)
}

pub(super) fn list_of(item: &str) -> String {
    format!("[{item}]")
}
