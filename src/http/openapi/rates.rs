//! The published rate limits in the document, from the limiter's own table.

use serde_json::{Value, json};

use crate::domain::application::ApplicationKind;
use crate::domain::permission::Permission;
use crate::http::route::{Handler, PROXY_PERMISSIONS, Route};
use crate::limits::{self, CounterKey, ProxyKind, ROWS, Row, RowAction, RowScope};

/// The name of a row in the document. Only the row for hostnames has another name than in metrics.
fn id(scope: RowScope) -> &'static str {
    match scope {
        RowScope::Proxy(ProxyKind::Hostname) => "proxy_hostname",
        RowScope::Application(_)
        | RowScope::Global
        | RowScope::LegacyKey
        | RowScope::Operations(_)
        | RowScope::Proxy(ProxyKind::Keyed)
        | RowScope::TestTenant => scope.name(),
    }
}

/// `x-rate-limit-rows`.
pub(super) fn table() -> Value {
    ROWS.iter().map(row).collect()
}

fn row(row: &Row) -> Value {
    let (title, applies_to) = texts(row.scope);
    let counted_by = match row.counter {
        CounterKey::Address => "address",
        CounterKey::Key => "key",
        CounterKey::KeyAndAddress => "key and address",
        CounterKey::KeyOrAddress => "key, and address",
    };
    let (over, block) = match row.action {
        RowAction::Block { for_s } => ("block", Some(for_s)),
        RowAction::Throttle => ("throttle", None),
    };
    json!({
        "id": id(row.scope), "title": title, "applies_to": applies_to,
        "requests": row.requests, "seconds": row.period_s,
        "counted_by": counted_by, "over_the_limit": over, "block_seconds": block,
    })
}

const fn texts(scope: RowScope) -> (&'static str, &'static str) {
    use limits::Operation;
    match scope {
        RowScope::Application(ApplicationKind::Management) => {
            ("Management keys", "Requests with a key of a management application.")
        }
        RowScope::Application(ApplicationKind::Private) => {
            ("Private keys", "Requests with a key of a private application.")
        }
        RowScope::Application(ApplicationKind::Public) => {
            ("Public keys", "Requests with a key of a public application, or of its sessions.")
        }
        RowScope::Global => ("All requests", "Every request of a client address."),
        RowScope::LegacyKey => {
            ("Legacy keys", "Requests with a key of the older form, without `_test_` or `_prod_`.")
        }
        RowScope::Operations(&[Operation::SearchTokens, ..]) => {
            ("Searching tokens", "Both searches of tokens.")
        }
        RowScope::Operations(&[Operation::ListTokens, ..]) => {
            ("Listing tokens and detokenize", "Both lists of tokens, and detokenize.")
        }
        RowScope::Operations(&[Operation::CreateToken, ..]) => (
            "Creating tokens and tokenize",
            "Creating tokens, and tokenize, which counts each token that it makes.",
        ),
        RowScope::Operations(&[Operation::UpdateToken, ..]) => {
            ("Updating tokens", "Updates of tokens.")
        }
        RowScope::Operations(&[Operation::DeleteToken, ..]) => {
            ("Deleting tokens", "Deletions of tokens.")
        }
        RowScope::Operations(&[Operation::AccountUpdater, ..]) => {
            ("Account updater", "Account updates, which this server does not have.")
        }
        RowScope::Operations(_) => ("Operations", "Single operations."),
        RowScope::Proxy(ProxyKind::Keyed) => {
            ("Proxies without a key", "Calls of proxies that need no API key.")
        }
        RowScope::Proxy(ProxyKind::Hostname) => (
            "Proxies by hostname",
            "Calls of proxies by a hostname of their own, which this server does not have.",
        ),
        RowScope::TestTenant => ("Test tenants", "Requests with a key of a test tenant."),
    }
}

/// The rows that count a request to a route.
pub(super) fn of_route(route: &Route) -> Vec<&'static str> {
    ROWS.iter().map(|row| row.scope).filter(|scope| counts(*scope, route)).map(id).collect()
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
