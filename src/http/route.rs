//! From method and path to an operation. The table is the whole interface: what it lacks does not
//! exist, and the authorization test walks it.

use hyper::Method;

use crate::domain::permission::Permission;
use crate::http::wire::query::{Plus, decode};
use crate::limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    CreateApplication,
    CreateApplicationKey,
    CreateToken,
    DeleteApplication,
    DeleteApplicationKey,
    DeleteToken,
    ListApplicationKeys,
    ListApplicationTemplates,
    ListApplications,
    ListPermissions,
    ListTokens,
    ListTokensV1,
    ReadApplication,
    ReadApplicationByKey,
    ReadApplicationKey,
    ReadApplicationTemplate,
    ReadTenant,
    ReadToken,
    RegenerateApplicationKey,
    SearchTokens,
    SearchTokensV1,
    UpdateApplication,
    UpdateTenant,
}

/// What a request of this route carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    Json,
    /// Whatever comes is read and thrown away.
    Nothing,
}

#[derive(Debug)]
pub struct Route {
    pub operation: Operation,
    pub method: Method,
    /// Segments in braces stand for anything.
    pub path: &'static str,
    /// `None`: any valid key will do.
    pub permission: Option<Permission>,
    pub carries: Carries,
}

macro_rules! routes {
    ($($operation:ident $method:ident $path:literal $permission:expr, $carries:ident;)+) => {
        &[$(Route {
            operation: Operation::$operation,
            method: Method::$method,
            path: $path,
            permission: $permission,
            carries: Carries::$carries,
        }),+]
    };
}

use Permission::{
    ApplicationCreate, ApplicationDelete, ApplicationRead, ApplicationUpdate, TenantRead,
    TenantUpdate, TokenCreate, TokenDelete, TokenRead, TokenSearch,
};

/// A literal segment stands before the braces that would take it too.
pub const ROUTES: &[Route] = routes! {
    CreateToken POST "/tokens" Some(TokenCreate), Json;
    ListTokensV1 GET "/tokens" Some(TokenRead), Nothing;
    ListTokens GET "/v2/tokens" Some(TokenRead), Nothing;
    SearchTokensV1 POST "/tokens/search" Some(TokenSearch), Json;
    SearchTokens POST "/v2/tokens/search" Some(TokenSearch), Json;
    ReadToken GET "/tokens/{id}" Some(TokenRead), Nothing;
    DeleteToken DELETE "/tokens/{id}" Some(TokenDelete), Nothing;
    CreateApplication POST "/applications" Some(ApplicationCreate), Json;
    ListApplications GET "/applications" Some(ApplicationRead), Nothing;
    ReadApplicationByKey GET "/applications/key" None, Nothing;
    ReadApplication GET "/applications/{id}" Some(ApplicationRead), Nothing;
    UpdateApplication PUT "/applications/{id}" Some(ApplicationUpdate), Json;
    DeleteApplication DELETE "/applications/{id}" Some(ApplicationDelete), Nothing;
    RegenerateApplicationKey POST "/applications/{id}/regenerate" Some(ApplicationUpdate), Nothing;
    CreateApplicationKey POST "/applications/{id}/keys" Some(ApplicationCreate), Nothing;
    ListApplicationKeys GET "/applications/{id}/keys" Some(ApplicationRead), Nothing;
    ReadApplicationKey GET "/applications/{id}/keys/{key}" Some(ApplicationRead), Nothing;
    DeleteApplicationKey DELETE "/applications/{id}/keys/{key}" Some(ApplicationDelete), Nothing;
    ListPermissions GET "/permissions" None, Nothing;
    ListApplicationTemplates GET "/application-templates" None, Nothing;
    ReadApplicationTemplate GET "/application-templates/{id}" None, Nothing;
    ReadTenant GET "/tenants/self" Some(TenantRead), Nothing;
    UpdateTenant PUT "/tenants/self" Some(TenantUpdate), Json;
};

impl Operation {
    /// The rate limit row that counts it.
    pub(crate) const fn counted_as(self) -> limits::Operation {
        match self {
            Self::CreateToken => limits::Operation::CreateToken,
            Self::DeleteToken => limits::Operation::DeleteToken,
            Self::ListTokens | Self::ListTokensV1 => limits::Operation::ListTokens,
            Self::SearchTokens | Self::SearchTokensV1 => limits::Operation::SearchTokens,
            Self::CreateApplication
            | Self::CreateApplicationKey
            | Self::DeleteApplication
            | Self::DeleteApplicationKey
            | Self::ListApplicationKeys
            | Self::ListApplicationTemplates
            | Self::ListApplications
            | Self::ListPermissions
            | Self::ReadApplication
            | Self::ReadApplicationByKey
            | Self::ReadApplicationKey
            | Self::ReadApplicationTemplate
            | Self::ReadTenant
            | Self::ReadToken
            | Self::RegenerateApplicationKey
            | Self::UpdateApplication
            | Self::UpdateTenant => limits::Operation::Other,
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
    /// The path exists; these are its methods.
    Method(String),
    Path,
}

/// A trailing slash is tolerated.
pub(crate) fn route(method: &Method, path: &str) -> Result<Matched, Unmatched> {
    let mut methods: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(parameters) = parameters(route.path, path) else {
            continue;
        };
        if route.method == *method {
            return Ok(Matched { route, parameters });
        }
        methods.push(route.method.as_str());
    }
    if methods.is_empty() {
        Err(Unmatched::Path)
    } else {
        Err(Unmatched::Method(methods.join(", ")))
    }
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
        check(&Method::PUT, "/tokens/abc", Err(Unmatched::Method(String::from("GET, DELETE"))));
        for path in ["/", "", "/token", "/tokens//", "/tokens/a/b", "/tokens/%ff", "/tokens/%"] {
            check(&Method::GET, path, Err(Unmatched::Path));
        }
    }
}
