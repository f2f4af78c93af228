//! Finds the function that answers a method and path. [`ROUTES`] is the whole interface: a request
//! that matches no row is refused, and the authorization test walks every row.

mod table;

use hyper::Method;

use crate::domain::page_group::PageGroup;
use crate::domain::permission::Permission;
use crate::http::absent::{self, AbsentFeature};
use crate::http::exchange::OperationCall;
use crate::http::front::folder::{VERSION, name_below};
use crate::http::front::{Asset, Folder};
use crate::http::operations::results::ResultsFunction;
use crate::http::pages::PageCall;
use crate::http::path::PathReader;
use crate::http::probes::{OperatorFunction, ProbeFunction};
use crate::http::request_counts::Requests;
use crate::http::{Problem, Schema};
use crate::limits;

pub use crate::domain::proxy::PROXY_PATH;
pub use table::{RESULTS_PATH, ROUTES};

/// The name of a parameter of a path, and its description in the API document.
pub(in crate::http) type PathParameterRow = (&'static str, fn() -> Schema);

#[derive(Debug)]
pub struct Route {
    /// The name in logs and metrics.
    pub name: &'static str,
    pub methods: &'static [Method],
    /// Names in braces are parameters. `*` is every path.
    pub path: &'static str,
    pub(in crate::http) parameters: &'static [PathParameterRow],
    pub(in crate::http) presence: Presence,
    pub body: BodyKind,
    pub(in crate::http) handler: Handler,
}

/// The callers that a route answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone who can connect to the API listener.
    Anyone,
    /// Callers with an API key that holds one of these permissions; with any valid key if the list
    /// is empty.
    Key(&'static [Permission]),
    /// Peers of the results listener, whose certificate a scheme has issued.
    MutualTls,
    /// Everyone who can connect to the operator's socket or address.
    OperatorListener,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// JSON with the arguments of a program.
    Arguments,
    /// The form that a browser posts.
    Form,
    Json,
    /// JSON with the media type of a merge patch by RFC 7386.
    MergePatch,
    /// An EMV message of a directory server.
    Message,
    /// The server reads and discards any body.
    Nothing,
    /// Bytes of any media type.
    Raw,
}

/// The function that answers, with the facts that only functions of its kind need. The kind decides
/// who may call: a function that takes a caller cannot be in a row that anyone may call.
#[derive(Debug)]
pub(in crate::http) enum Handler {
    Asset(&'static Asset),
    /// The files below the row's path. The parameter of the path is the name of a file.
    Folder(&'static Folder),
    Operation(OperationRoute),
    Operator(OperatorFunction),
    Page(PageRoute),
    Preflight,
    Probe(ProbeFunction),
    /// A call through a proxy, on the row's path and on every path below it.
    Proxy,
    Results(ResultsFunction),
}

/// A caller of a proxy needs one of these.
pub(in crate::http) const PROXY_PERMISSIONS: &[Permission] =
    &[Permission::ProxyInvoke, Permission::TokenUse];

/// An operation of the API, for callers with a key.
#[derive(Debug)]
pub(in crate::http) struct OperationRoute {
    /// The caller needs one of these. If the list is empty, any valid key is enough.
    pub(in crate::http) permissions: &'static [Permission],
    pub(in crate::http) idempotency: Idempotency,
    /// The rate limit that counts it, besides the limits of the address and the key.
    pub(in crate::http) limit: limits::Operation,
    /// `Some` if it is deprecated.
    pub(in crate::http) successor: Option<&'static Successor>,
    /// Parses the path. `None` if it is not this route's.
    pub(in crate::http) bind: fn(&str) -> Option<OperationCall>,
    /// The size of the future that the function returns.
    #[cfg(test)]
    future_bytes: fn() -> usize,
}

/// A page for browsers, which have no key.
#[derive(Debug)]
pub(in crate::http) struct PageRoute {
    /// Parses the path. `None` if it is not this route's.
    pub(in crate::http) bind: fn(&str) -> Option<PageCall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Presence {
    All,
    /// Servers whose operator has enabled one of these groups of pages.
    With(&'static [PageGroup]),
    /// Servers with a test tenant: the page belongs to the simulator, which serves no production
    /// tenant.
    WithTestTenant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Idempotency {
    /// The route only reads, or a repetition changes nothing.
    Ignored,
    /// The effect happens once, and a repetition gets the first answer.
    Once,
}

/// The operation that replaces a deprecated one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct Successor {
    pub(in crate::http) path: &'static str,
    /// The problem's detail if the deprecated operation is turned off.
    pub(in crate::http) refusal: &'static str,
}

impl Route {
    pub const fn access(&self) -> Access {
        match &self.handler {
            Handler::Operation(operation) => Access::Key(operation.permissions),
            Handler::Operator(_) => Access::OperatorListener,
            Handler::Asset(_)
            | Handler::Folder(_)
            | Handler::Page(_)
            | Handler::Preflight
            | Handler::Probe(_) => Access::Anyone,
            // A proxy may be configured to need no key.
            Handler::Proxy => Access::Key(PROXY_PERMISSIONS),
            Handler::Results(_) => Access::MutualTls,
        }
    }

    pub(in crate::http) const fn is_page(&self) -> bool {
        matches!(self.handler, Handler::Page(_))
    }

    /// True for an operation that only the console's page calls.
    pub(in crate::http) const fn is_of_console(&self) -> bool {
        matches!(self.presence, Presence::With([PageGroup::Console]))
    }

    /// True for an operation that changes nothing, although some of these are posted.
    pub fn is_reading(&self) -> bool {
        let posted = [
            "ConsoleRulesPreview",
            "ConsoleSignOn",
            "ListFormulas",
            "ReadFormula",
            "SearchTokens",
            "SearchTokensV1",
        ];
        self.methods.iter().all(|method| *method == Method::GET) || posted.contains(&self.name)
    }

    /// The paths of the files that it serves; those of all versions of a package by one of them.
    pub fn files(&self) -> Vec<String> {
        match (&self.handler, self.folder_path()) {
            (Handler::Asset(_), _) => vec![String::from(self.path)],
            (Handler::Folder(folder), Some(path)) => {
                let path = path.replace(VERSION, "2.17.0");
                folder.0.iter().map(|(name, _)| format!("{path}{name}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The path before the name of a file.
    fn folder_path(&self) -> Option<&'static str> {
        self.path.strip_suffix("{file}")
    }

    /// True if callers choose the name in the path. A token may be named `search`: then
    /// `GET /tokens/search` reads it, although `POST /tokens/search` is another operation.
    fn has_chosen_name(&self) -> bool {
        self.path == "/tokens/{id}"
    }

    fn is_literal(&self) -> bool {
        !self.path.contains('{')
    }

    /// True if the path is this route's, which has no parameters.
    fn is_at(&self, path: &str) -> bool {
        // The reader treats the only slash of `/` as a trailing one, and would accept `//` as `/`.
        if self.path == "/" {
            return path == self.path;
        }
        let mut reader = PathReader::new(path);
        reader.literal(self.path).and_then(|()| reader.end()).is_some()
    }
}

/// The function for a request to the API listener, with its path parameters.
pub(in crate::http) enum ApiCall {
    Asset(&'static Asset),
    Operation(&'static OperationRoute, OperationCall),
    Page(PageCall),
    Preflight,
    Probe(ProbeFunction),
    Proxy,
}

impl ApiCall {
    /// True for operations and proxies, the part of the interface that programs of tenants may call.
    pub(in crate::http) const fn is_for_programs(&self) -> bool {
        match self {
            Self::Operation(..) | Self::Proxy => true,
            Self::Asset(_) | Self::Page(_) | Self::Preflight | Self::Probe(_) => false,
        }
    }
}

/// No row has this method and path.
#[derive(Debug)]
pub(in crate::http) enum NoMatch {
    /// The published interface has the path, and this server does not have the feature.
    Absent(&'static AbsentFeature),
    /// The path exists with other methods, which `Allow` lists. `route` is its first row.
    Method {
        allow: String,
        route: &'static Route,
    },
    Path,
}

pub(in crate::http) fn find_api(
    method: &Method,
    path: &str,
    is_here: impl Fn(Presence) -> bool,
) -> Result<(&'static Route, ApiCall), NoMatch> {
    let bind = |route: &'static Route| match &route.handler {
        Handler::Asset(asset) => route.is_at(path).then_some(ApiCall::Asset(asset)),
        Handler::Folder(folder) => {
            folder.find(name_below(route.folder_path()?, path)?).map(ApiCall::Asset)
        }
        Handler::Operation(operation) => {
            (operation.bind)(path).map(|call| ApiCall::Operation(operation, call))
        }
        Handler::Page(page) => (page.bind)(path).map(ApiCall::Page),
        // Browsers also ask about paths that do not exist. `Allow` does not list the method.
        Handler::Preflight => (*method == Method::OPTIONS).then_some(ApiCall::Preflight),
        Handler::Probe(probe) => route.is_at(path).then_some(ApiCall::Probe(*probe)),
        Handler::Proxy => proxy_rest(path).map(|_| ApiCall::Proxy),
        Handler::Operator(_) | Handler::Results(_) => None,
    };
    let found = find(method, |route| bind(route).filter(|_| is_here(route.presence)));
    found.map_err(|no_match| match (absent::of_path(path), &no_match) {
        (Some(feature), NoMatch::Path) => NoMatch::Absent(feature),
        _ => no_match,
    })
}

/// The rest of the path of a call through a proxy, unchanged: empty or from a slash on.
pub(in crate::http) fn proxy_rest(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(PROXY_PATH)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Finds the route of a request to the operator's listeners.
pub(in crate::http) fn find_operator(
    method: &Method,
    path: &str,
) -> Result<(&'static Route, OperatorFunction), NoMatch> {
    find(method, |route| {
        let Handler::Operator(function) = route.handler else { return None };
        route.is_at(path).then_some(function)
    })
}

pub(in crate::http) fn find_results(
    method: &Method,
    path: &str,
) -> Result<(&'static Route, ResultsFunction), NoMatch> {
    find(method, |route| {
        let Handler::Results(function) = route.handler else { return None };
        route.is_at(path).then_some(function)
    })
}

/// The first row that `bind` accepts and that has the method. Literal rows come first, and a
/// literal path is no id: with a method that it does not have, it is refused and not looked up.
fn find<C>(
    method: &Method,
    bind: impl Fn(&'static Route) -> Option<C>,
) -> Result<(&'static Route, C), NoMatch> {
    let mut others: Vec<&'static Route> = Vec::new();
    let mut has_literal = false;
    for route in ROUTES {
        if has_literal && !route.is_literal() && !route.has_chosen_name() {
            continue;
        }
        let Some(call) = bind(route) else { continue };
        if route.methods.contains(method) {
            return Ok((route, call));
        }
        has_literal |= route.is_literal();
        others.push(route);
    }
    let Some(route) = others.first() else { return Err(NoMatch::Path) };
    let methods = others.iter().flat_map(|route| route.methods).map(Method::as_str);
    Err(NoMatch::Method { allow: methods.collect::<Vec<_>>().join(", "), route })
}

impl From<NoMatch> for Problem {
    fn from(no_match: NoMatch) -> Self {
        match no_match {
            NoMatch::Absent(feature) => Self::absent(feature),
            NoMatch::Method { allow, .. } => Self::method_not_allowed(allow),
            NoMatch::Path => Self::new(404, "There is no such path."),
        }
    }
}

/// A counter for every name in the routing table.
impl Default for Requests {
    fn default() -> Self {
        Self::with_routes(ROUTES.iter().map(|route| route.name))
    }
}

#[cfg(test)]
mod tests;
