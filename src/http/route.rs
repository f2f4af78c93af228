//! From method and path to an operation. The table is the whole interface: what it lacks does not
//! exist, and the authorization test walks it.

use hyper::Method;

use crate::domain::permission::Permission;
use crate::http::wire::query::{Plus, decode};
use crate::limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    AuthenticateThreedsSession,
    CreateApplication,
    CreateApplicationKey,
    CreateThreedsSession,
    CreateToken,
    CreateTokenIntent,
    DeleteApplication,
    DeleteApplicationKey,
    DeleteToken,
    DeleteTokenIntent,
    Detokenize,
    ListApplicationKeys,
    ListApplicationTemplates,
    ListApplications,
    ListFormulas,
    ListLogEntityTypes,
    ListLogs,
    ListPermissions,
    ListTokens,
    ListTokensV1,
    ReadApplication,
    ReadApplicationByKey,
    ReadApplicationKey,
    ReadApplicationTemplate,
    ReadChallengeResult,
    ReadFormula,
    ReadTenant,
    ReadThreedsSession,
    ReadToken,
    ReadTokenIntent,
    RegenerateApplicationKey,
    SearchTokens,
    SearchTokensV1,
    Tokenize,
    UpdateApplication,
    UpdateTenant,
    UpdateThreedsSession,
    UpdateToken,
}

/// What a request of this route carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Json,
    /// JSON that says so: a merge patch by RFC 7386.
    MergePatch,
    /// Whatever comes is read and thrown away.
    Nothing,
}

#[derive(Debug)]
pub struct Route {
    pub operation: Operation,
    /// The operation's name, for the log.
    pub name: &'static str,
    pub method: Method,
    /// Segments in braces stand for anything.
    pub path: &'static str,
    /// One of these is needed; when there are none, any valid key will do.
    pub permissions: &'static [Permission],
    pub carries: Carries,
    pub repeated: Repeated,
}

/// What an idempotency key means to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// Nothing: the route only reads, or doing it again changes nothing.
    Again,
    /// The effect happens once; the answer is repeated.
    Once,
}

macro_rules! routes {
    ($($operation:ident $method:ident $path:literal [$($permission:ident)*], $carries:ident, $repeated:ident;)+) => {
        &[$(Route {
            operation: Operation::$operation,
            name: stringify!($operation),
            method: Method::$method,
            path: $path,
            permissions: &[$(Permission::$permission),*],
            carries: Carries::$carries,
            repeated: Repeated::$repeated,
        }),+]
    };
}

/// A literal segment stands before the braces that would take it too.
#[rustfmt::skip]
pub const ROUTES: &[Route] = routes! {
    CreateToken POST "/tokens" [TokenCreate], Json, Once;
    ListTokensV1 GET "/tokens" [TokenRead], Nothing, Again;
    ListTokens GET "/v2/tokens" [TokenRead], Nothing, Again;
    SearchTokensV1 POST "/tokens/search" [TokenSearch], Json, Again;
    SearchTokens POST "/v2/tokens/search" [TokenSearch], Json, Again;
    ReadToken GET "/tokens/{id}" [TokenRead], Nothing, Again;
    UpdateToken PATCH "/tokens/{id}" [TokenUpdate], MergePatch, Once;
    DeleteToken DELETE "/tokens/{id}" [TokenDelete], Nothing, Again;
    Tokenize POST "/tokenize" [TokenCreate], Json, Once;
    Detokenize POST "/detokenize" [TokenUse TokenRead], Json, Again;
    CreateTokenIntent POST "/token-intents" [TokenIntentCreate], Json, Once;
    ReadTokenIntent GET "/token-intents/{id}" [TokenIntentRead], Nothing, Again;
    DeleteTokenIntent DELETE "/token-intents/{id}" [TokenIntentDelete], Nothing, Again;
    CreateApplication POST "/applications" [ApplicationCreate], Json, Once;
    ListApplications GET "/applications" [ApplicationRead], Nothing, Again;
    ReadApplicationByKey GET "/applications/key" [], Nothing, Again;
    ReadApplication GET "/applications/{id}" [ApplicationRead], Nothing, Again;
    UpdateApplication PUT "/applications/{id}" [ApplicationUpdate], Json, Once;
    DeleteApplication DELETE "/applications/{id}" [ApplicationDelete], Nothing, Again;
    RegenerateApplicationKey POST "/applications/{id}/regenerate" [ApplicationUpdate], Nothing, Again;
    CreateApplicationKey POST "/applications/{id}/keys" [ApplicationCreate], Nothing, Once;
    ListApplicationKeys GET "/applications/{id}/keys" [ApplicationRead], Nothing, Again;
    ReadApplicationKey GET "/applications/{id}/keys/{key}" [ApplicationRead], Nothing, Again;
    DeleteApplicationKey DELETE "/applications/{id}/keys/{key}" [ApplicationDelete], Nothing, Again;
    ListPermissions GET "/permissions" [], Nothing, Again;
    ListApplicationTemplates GET "/application-templates" [], Nothing, Again;
    ReadApplicationTemplate GET "/application-templates/{id}" [], Nothing, Again;
    ListLogs GET "/logs" [LogRead], Nothing, Again;
    ListLogEntityTypes GET "/logs/entity-types" [LogRead], Nothing, Again;
    ReadTenant GET "/tenants/self" [TenantRead], Nothing, Again;
    UpdateTenant PUT "/tenants/self" [TenantUpdate], Json, Once;
    CreateThreedsSession POST "/3ds/sessions" [ThreedsSessionCreate], Json, Once;
    ReadThreedsSession GET "/3ds/sessions/{id}" [ThreedsSessionRead], Nothing, Again;
    // The mobile SDK, which has made the session.
    UpdateThreedsSession PUT "/3ds/sessions/{id}" [ThreedsSessionCreate], Json, Once;
    AuthenticateThreedsSession POST "/3ds/sessions/{id}/authenticate" [ThreedsSessionAuthenticate], Json, Once;
    ReadChallengeResult GET "/3ds/sessions/{id}/challenge-result" [ThreedsSessionAuthenticate], Nothing, Again;
    ListFormulas GET "/orchestration/connection_formulas" [ConnectionFormulas], Nothing, Again;
    ListFormulas POST "/orchestration/connection_formulas" [ConnectionFormulas], Nothing, Again;
    ReadFormula GET "/orchestration/connection_formulas/{id}" [ConnectionFormulas], Nothing, Again;
    ReadFormula POST "/orchestration/connection_formulas/{id}" [ConnectionFormulas], Nothing, Again;
    ListFormulas GET "/orchestration/connection/formulas" [ConnectionFormulas], Nothing, Again;
    ListFormulas POST "/orchestration/connection/formulas" [ConnectionFormulas], Nothing, Again;
    ReadFormula GET "/orchestration/connection/formulas/{id}" [ConnectionFormulas], Nothing, Again;
    ReadFormula POST "/orchestration/connection/formulas/{id}" [ConnectionFormulas], Nothing, Again;
};

/// What the published interface names and this server does not have: first segments of paths.
const ELSEWHERE: &[&str] = &[
    "account-updater",
    "agentic",
    "apple-pay",
    "connections",
    "documents",
    "enrichments",
    "events",
    "google-pay",
    "keys",
    "network-tokens",
    "proxies",
    "proxy",
    "reactors",
    "roles",
    "sessions",
    "webhooks",
];

impl Operation {
    /// The rate limit row that counts it.
    pub(crate) const fn counted_as(self) -> limits::Operation {
        match self {
            Self::CreateToken => limits::Operation::CreateToken,
            Self::DeleteToken => limits::Operation::DeleteToken,
            Self::ListTokens | Self::ListTokensV1 => limits::Operation::ListTokens,
            Self::SearchTokens | Self::SearchTokensV1 => limits::Operation::SearchTokens,
            Self::Detokenize => limits::Operation::Detokenize,
            Self::Tokenize => limits::Operation::Tokenize,
            Self::UpdateToken => limits::Operation::UpdateToken,
            Self::AuthenticateThreedsSession
            | Self::CreateApplication
            | Self::CreateApplicationKey
            | Self::CreateThreedsSession
            | Self::CreateTokenIntent
            | Self::DeleteApplication
            | Self::DeleteApplicationKey
            | Self::DeleteTokenIntent
            | Self::ListApplicationKeys
            | Self::ListApplicationTemplates
            | Self::ListApplications
            | Self::ListFormulas
            | Self::ListLogEntityTypes
            | Self::ListLogs
            | Self::ListPermissions
            | Self::ReadApplication
            | Self::ReadApplicationByKey
            | Self::ReadApplicationKey
            | Self::ReadApplicationTemplate
            | Self::ReadChallengeResult
            | Self::ReadFormula
            | Self::ReadTenant
            | Self::ReadThreedsSession
            | Self::ReadToken
            | Self::ReadTokenIntent
            | Self::RegenerateApplicationKey
            | Self::UpdateApplication
            | Self::UpdateTenant
            | Self::UpdateThreedsSession => limits::Operation::Other,
        }
    }
}

/// What takes the place of a deprecated operation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Successor {
    pub(crate) path: &'static str,
    /// What callers are told once the deprecated operation is turned off.
    pub(crate) gone: &'static str,
}

impl Operation {
    /// `None` for all that is not deprecated.
    pub(crate) fn successor(self) -> Option<Successor> {
        if self == Self::ListTokensV1 {
            let gone = "GET /tokens is turned off: use GET /v2/tokens.";
            Some(Successor { path: "/v2/tokens", gone })
        } else if self == Self::SearchTokensV1 {
            let gone = "POST /tokens/search is turned off: use POST /v2/tokens/search.";
            Some(Successor { path: "/v2/tokens/search", gone })
        } else {
            None
        }
    }
}

/// A route and what stood in the place of its braces, decoded.
#[derive(Debug)]
pub(crate) struct Matched {
    pub(crate) route: &'static Route,
    pub(crate) parameters: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// The published interface names it, but this server does not have it.
    Elsewhere,
    /// The path exists; these are its methods.
    Method(String),
    Path,
}

/// A trailing slash is tolerated.
pub(crate) fn route(method: &Method, path: &str) -> Result<Matched, Unmatched> {
    let mut methods: Vec<&str> = Vec::new();
    for route in ROUTES {
        // Most routes end here, before anything is taken apart.
        let (literal, _) = route.path.split_once('{').unwrap_or((route.path, ""));
        if !path.starts_with(literal) {
            continue;
        }
        let Some(parameters) = parameters(route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Ok(Matched { route, parameters });
        }
        methods.push(route.method.as_str());
    }
    if !methods.is_empty() {
        return Err(Unmatched::Method(methods.join(", ")));
    }
    let first = path.split('/').nth(1).unwrap_or_default();
    Err(if ELSEWHERE.contains(&first) { Unmatched::Elsewhere } else { Unmatched::Path })
}

fn parameters(pattern: &str, path: &str) -> Option<Vec<String>> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut segments = path.split('/');
    let mut parameters = Vec::new();
    for wanted in pattern.split('/') {
        let found = segments.next()?;
        if wanted.starts_with('{') {
            parameters.push(decode(found, Plus::Itself).filter(|text| !text.is_empty())?);
        } else if wanted != found {
            return None;
        }
    }
    segments.next().is_none().then_some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &Method, path: &str, expected: Result<(Operation, &[&str]), Unmatched>) {
        let found = route(method, path).map(|it| (it.route.operation, it.parameters));
        let expected = expected.map(|(operation, parameters)| {
            (operation, parameters.iter().map(|text| String::from(*text)).collect())
        });
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn routes() {
        check(&Method::POST, "/tokens", Ok((Operation::CreateToken, &[])));
        check(&Method::POST, "/tokens/", Ok((Operation::CreateToken, &[])));
        check(&Method::GET, "/tokens", Ok((Operation::ListTokensV1, &[])));
        check(&Method::GET, "/v2/tokens", Ok((Operation::ListTokens, &[])));
        check(&Method::POST, "/tokens/search", Ok((Operation::SearchTokensV1, &[])));
        check(&Method::POST, "/v2/tokens/search", Ok((Operation::SearchTokens, &[])));
        check(&Method::GET, "/tokens/abc", Ok((Operation::ReadToken, &["abc"])));
        check(&Method::GET, "/tokens/a%40b%20+", Ok((Operation::ReadToken, &["a@b +"])));
        check(&Method::GET, "/applications/key", Ok((Operation::ReadApplicationByKey, &[])));
        check(
            &Method::GET,
            "/applications/a/keys/b",
            Ok((Operation::ReadApplicationKey, &["a", "b"])),
        );
        check(
            &Method::PUT,
            "/tokens/abc",
            Err(Unmatched::Method(String::from("GET, PATCH, DELETE"))),
        );
        for path in ["/", "", "/token", "/tokens//", "/tokens/a/b", "/tokens/%ff", "/tokens/%"] {
            check(&Method::GET, path, Err(Unmatched::Path));
        }
    }
}
