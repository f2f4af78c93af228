//! The published rate limits in the document, from the limiter's own table.

use serde_json::{Value, json};

use crate::domain::application::ApplicationKind;
use crate::domain::permission::Permission;
use crate::http::route::{Handler, PROXY_PERMISSIONS, Route};
use crate::limits::{self, ProxyKind, ROWS, Row, RowAction, RowScope};

/// `x-rate-limit-rows`.
pub(super) fn table() -> Value {
    ROWS.iter().filter(|row| !row.scope.is_of_absent_feature()).map(row).collect()
}

fn row(row: &Row) -> Value {
    let (over, block) = match row.action {
        RowAction::Block { for_s } => ("block", Some(for_s)),
        RowAction::Throttle => ("throttle", None),
    };
    json!({
        "id": row.scope.name(), "title": capitalized(row.scope.requests()),
        "requests": row.requests, "seconds": row.period_s,
        "counted_by": row.counted_by(), "over_the_limit": over, "block_seconds": block,
    })
}

/// The words as the beginning of a sentence.
fn capitalized(words: &str) -> String {
    let (first, rest) = words.split_at_checked(1).unwrap_or((words, ""));
    format!("{}{rest}", first.to_ascii_uppercase())
}

/// The rows that count a request to a route.
pub(super) fn of_route(route: &Route) -> Vec<&'static str> {
    let here = ROWS.iter().map(|row| row.scope).filter(|scope| !scope.is_of_absent_feature());
    here.filter(|scope| counts(*scope, route)).map(RowScope::name).collect()
}

fn counts(scope: RowScope, route: &Route) -> bool {
    let (permissions, operation) = match &route.handler {
        Handler::Operation(operation) => (operation.permissions, operation.limit),
        Handler::Proxy => (PROXY_PERMISSIONS, limits::Operation::Other),
        Handler::Asset(_)
        | Handler::Folder(_)
        | Handler::Operator(_)
        | Handler::Page(_)
        | Handler::Preflight
        | Handler::Probe(_)
        | Handler::Results(_) => return scope == RowScope::Global,
    };
    match scope {
        RowScope::Application(kind) => {
            permissions.is_empty() || permissions.iter().any(|it| may_call(*it, kind))
        }
        RowScope::Global | RowScope::LegacyKey | RowScope::TestTenant => true,
        RowScope::Operations(operations) => operations.contains(&operation),
        RowScope::Proxy(kind) => {
            matches!(route.handler, Handler::Proxy) && kind == ProxyKind::Keyed
        }
    }
}

/// Sessions count as requests of their public application.
fn may_call(permission: Permission, kind: ApplicationKind) -> bool {
    permission.may_be_held_by(kind)
        || (kind == ApplicationKind::Public && permission.may_be_granted_to_sessions())
}
