//! The pages that browsers meet on their way through an authentication. They need no key: a session's
//! id is all that a browser knows, and all that it can do is what the protocol lets a cardholder do.
//!
//! Every page may be framed by anyone, for that is how shops show them; none runs a script or loads
//! a thing that is not its own, and none reads a cookie.

mod html;

use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::Value;

use crate::app::{ChallengeReply, Error};
use crate::http::body;
use crate::http::problem::Problem;
use crate::http::request_counts::NO_ROUTE;
use crate::http::state::Http;
use crate::http::wire::query::Query;
use crate::secret::SecretBody;
use crate::threeds::base64;
use crate::threeds::message::{Creq, Cres};
use crate::threeds::session::WebChallengeMode;
use crate::threeds::simulator::acs::CardholderInput;
use crate::threeds::simulator::cards::ChallengeKind;

/// The longest that an ACS must give back of a shop's own data.
const SESSION_DATA_CHARS_MAX: usize = 1_024;

/// A page, by its method and path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Shows an ACS's fingerprinting to the SDK.
    Method,
    /// Shows an ACS's challenge to the SDK.
    Challenge,
    MethodNotification(String),
    ChallengeNotification(String),
    /// The built-in ACS.
    AcsMethod,
    AcsChallenge,
    /// The path is a page's, the method is not.
    WrongMethod(&'static str),
}

fn find(method: &Method, path: &str) -> Option<Page> {
    let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').skip(1).collect();
    let (page, wanted) = match segments.as_slice() {
        ["pages", "method.html"] => (Page::Method, Method::GET),
        ["pages", "challenge.html"] => (Page::Challenge, Method::GET),
        ["3ds", "sessions", id, "method-notification"] => {
            (Page::MethodNotification(String::from(*id)), Method::POST)
        }
        ["3ds", "sessions", id, "challenge-notification"] => {
            (Page::ChallengeNotification(String::from(*id)), Method::POST)
        }
        ["3ds", "sim", "acs", "method"] => (Page::AcsMethod, Method::POST),
        ["3ds", "sim", "acs", "challenge"] => (Page::AcsChallenge, Method::POST),
        _ => return None,
    };
    Some(if *method == wanted || *method == Method::OPTIONS {
        page
    } else {
        Page::WrongMethod(if wanted == Method::GET { "GET" } else { "POST" })
    })
}

/// Whether a path is one of the built-in ACS, whatever the method.
fn is_simulated(path: &str) -> bool {
    path.starts_with("/3ds/sim/")
}

/// Every name that [`Page::name`] gives.
pub(super) const PAGE_NAMES: [&str; 6] = [
    "ChallengeNotification",
    "ChallengePage",
    "MethodNotification",
    "MethodPage",
    "SimulatedChallenge",
    "SimulatedMethod",
];

impl Page {
    /// For the log and the counters.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Method => "MethodPage",
            Self::Challenge => "ChallengePage",
            Self::MethodNotification(_) => "MethodNotification",
            Self::ChallengeNotification(_) => "ChallengeNotification",
            Self::AcsMethod => "SimulatedMethod",
            Self::AcsChallenge => "SimulatedChallenge",
            Self::WrongMethod(_) => NO_ROUTE,
        }
    }
}

/// What a page is made of, and where its forms may lead.
struct Shown {
    status: StatusCode,
    html: String,
    forms: Forms,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Forms {
    /// To an ACS, wherever it is.
    Anywhere,
    Ours,
}

impl Shown {
    const fn ok(html: String, forms: Forms) -> Self {
        Self { status: StatusCode::OK, html, forms }
    }
}

impl Http {
    /// The page that a request asks for. The simulator's exist where it has a tenant to serve: a
    /// server of production tenants alone has nothing there.
    pub(super) fn page(&self, parts: &Parts) -> Option<Page> {
        let page = find(&parts.method, parts.uri.path())?;
        (!is_simulated(parts.uri.path()) || self.app.threeds().has_test_tenant()).then_some(page)
    }

    pub(super) async fn show(
        &self,
        page: &Page,
        parts: &Parts,
        body: Incoming,
        peer: SocketAddr,
    ) -> Response<SecretBody> {
        let nonce = base64::encode(&self.app.random().bytes::<18>());
        let admitted = self.admit_address(parts, peer);
        let shown = match admitted {
            Ok(_) => self.compose(page, parts, body, &nonce).await,
            Err(refused) => {
                body::drain(body).await;
                Err(refused)
            }
        };
        let retry_after_s = shown.as_ref().err().and_then(|problem| problem.retry_after_s);
        let shown = shown.unwrap_or_else(|problem| {
            self.note(&problem);
            let status = StatusCode::from_u16(problem.status);
            let html = html::failure(&nonce, problem.detail);
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Shown { status, html, forms: Forms::Ours }
        });
        let mut response = respond(shown, &nonce);
        if let Some(after_s) = retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after_s));
        }
        if let Page::WrongMethod(allow) = page {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    }

    async fn compose(
        &self,
        page: &Page,
        parts: &Parts,
        body: Incoming,
        nonce: &str,
    ) -> Result<Shown, Problem> {
        let form = body::read_form(body, &self.bodies).await?;
        let form = form.ok_or(Problem::new(400, "The form is too long or not text."))?;
        match page {
            Page::Method => Ok(Shown::ok(html::method(nonce), Forms::Anywhere)),
            Page::Challenge => Ok(Shown::ok(html::challenge(nonce), Forms::Anywhere)),
            Page::MethodNotification(id) => self.method_notification(id, parts, &form, nonce).await,
            Page::ChallengeNotification(id) => self.challenge_notification(id, &form, nonce),
            Page::AcsMethod => acs_method(self.base(parts), &form, nonce),
            Page::AcsChallenge => self.acs_challenge(&form, nonce).await,
            Page::WrongMethod(_) => Err(Problem::new(405, "This path does not know this method.")),
        }
    }

    async fn method_notification(
        &self,
        id: &str,
        parts: &Parts,
        form: &Query,
        nonce: &str,
    ) -> Result<Shown, Problem> {
        let claimed = method_data(form).and_then(|data| member(&data, "threeDSServerTransID"));
        let claimed = claimed.ok_or(Problem::new(400, "The form names no transaction."))?;
        let visitor = self.app.threeds().complete_method(id, &claimed).await?;
        let query = Query::parse(parts.uri.query().unwrap_or_default()).unwrap_or_default();
        let html = if query.first("mode") == Some("redirect") {
            html::close(nonce)
        } else {
            html::method_done(nonce, visitor.session)
        };
        Ok(Shown::ok(html, Forms::Ours))
    }

    fn challenge_notification(
        &self,
        id: &str,
        form: &Query,
        nonce: &str,
    ) -> Result<Shown, Problem> {
        let cres = form.first("cres").and_then(|field| Cres::from_form(field).ok());
        let visitor = self.app.threeds().close_challenge(id, cres.as_ref())?;
        let target = match visitor.mode {
            WebChallengeMode::Iframe => html::Target::Parent,
            WebChallengeMode::Redirect => html::Target::Opener,
        };
        let html = html::challenge_done(nonce, visitor.session, visitor.status, target);
        Ok(Shown::ok(html, Forms::Ours))
    }

    async fn acs_challenge(&self, form: &Query, nonce: &str) -> Result<Shown, Problem> {
        let not_one = || Problem::new(400, "This is not a request for a challenge.");
        let field = form.first("creq").ok_or_else(not_one)?;
        // What is wrong with it is between the SDK and us; the cardholder cannot help it.
        let creq = Creq::from_form(field).ok().ok_or_else(not_one)?;
        let answer = match (form.first("action"), form.first("code")) {
            (Some("cancel"), _) => Some(CardholderInput::Canceled),
            (Some("approve"), _) => Some(CardholderInput::Approved),
            (_, Some(code)) => Some(CardholderInput::Code(code)),
            (_, None) => None,
        };
        let data = form.first("threeDSSessionData").unwrap_or_default();
        let data: String = data.chars().take(SESSION_DATA_CHARS_MAX).collect();
        match self.app.threeds().challenge_step(&creq, answer).await? {
            ChallengeReply::Ask { means, wrong_codes } => {
                let asked = html::Asked { creq: field, data: &data, wrong_codes };
                let html = match means {
                    ChallengeKind::Code => html::code(nonce, &asked),
                    ChallengeKind::OutOfBand => html::out_of_band(nonce, &asked),
                };
                Ok(Shown::ok(html, Forms::Ours))
            }
            ChallengeReply::Done { session, cres } => {
                let action = format!("/3ds/sessions/{session}/challenge-notification");
                let fields = [("cres", cres.as_str()), ("threeDSSessionData", &data)];
                Ok(Shown::ok(html::send_on(nonce, &action, &fields), Forms::Ours))
            }
        }
    }
}

/// The built-in ACS has nothing to find out about a browser, and says so at once. It sends browsers
/// to this very server alone, whatever the form asks for.
fn acs_method(base: Option<String>, form: &Query, nonce: &str) -> Result<Shown, Problem> {
    let not_one = || Problem::new(400, "This is not a request for fingerprinting.");
    let data = method_data(form).ok_or_else(not_one)?;
    let id = member(&data, "threeDSServerTransID").ok_or_else(not_one)?;
    let url = member(&data, "threeDSMethodNotificationURL").ok_or_else(not_one)?;
    let path = format!("/3ds/sessions/{id}/method-notification");
    let ours = base.map(|base| format!("{base}{path}"));
    let (place, query) = url.split_once('?').unwrap_or((url.as_str(), ""));
    if ours.as_deref() != Some(place) || crate::domain::id::SessionId::parse(&id).is_none() {
        return Err(Error::NotFound("session").into());
    }
    let mode = if query == "mode=redirect" { "?mode=redirect" } else { "" };
    let done = serde_json::json!({ "threeDSServerTransID": id }).to_string();
    let done = base64::encode_url(done.as_bytes());
    let fields = [("threeDSMethodData", done.as_str())];
    Ok(Shown::ok(html::send_on(nonce, &format!("{path}{mode}"), &fields), Forms::Ours))
}

fn method_data(form: &Query) -> Option<Value> {
    let bytes = base64::decode_url(form.first("threeDSMethodData")?.trim())?;
    serde_json::from_slice(&bytes).ok()
}

fn member(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(String::from)
}

fn respond(shown: Shown, nonce: &str) -> Response<SecretBody> {
    let mut response = Response::new(SecretBody::from(shown.html));
    *response.status_mut() = shown.status;
    let headers = response.headers_mut();
    let places = match shown.forms {
        Forms::Anywhere => "form-action https:; frame-src https:",
        Forms::Ours => "form-action 'self'",
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         base-uri 'none'; {places}"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_method_and_path() {
        let id = || String::from("abc");
        for (method, path, expected) in [
            (Method::GET, "/pages/method.html", Some(Page::Method)),
            (Method::GET, "/pages/challenge.html", Some(Page::Challenge)),
            (
                Method::POST,
                "/3ds/sessions/abc/method-notification",
                Some(Page::MethodNotification(id())),
            ),
            (
                Method::POST,
                "/3ds/sessions/abc/challenge-notification/",
                Some(Page::ChallengeNotification(id())),
            ),
            (Method::POST, "/3ds/sim/acs/method", Some(Page::AcsMethod)),
            (Method::POST, "/3ds/sim/acs/challenge", Some(Page::AcsChallenge)),
            (Method::GET, "/3ds/sim/acs/challenge", Some(Page::WrongMethod("POST"))),
            (Method::GET, "/3ds/sessions/abc", None),
            (Method::GET, "/pages/other.html", None),
        ] {
            let found = find(&method, path);
            let acs = matches!(found, Some(Page::AcsMethod | Page::AcsChallenge));
            assert!(!acs || is_simulated(path), "{path}");
            if let Some(name) = found.as_ref().map(Page::name) {
                assert!(name == NO_ROUTE || PAGE_NAMES.contains(&name), "{name}");
            }
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}
