//! The pages that browsers load during an authentication. They need no key: a browser has the id of
//! its session, which allows it what the protocol allows a cardholder.
//!
//! Any site may frame a page, since shops show them in frames. No page runs a script or loads a
//! resource that is not its own, and no page reads a cookie.

mod amount;
mod html;
pub(super) mod language;
mod question;
mod texts;

use std::net::IpAddr;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::app::{ChallengeReply, Error};
use crate::domain::outside_json;
use crate::domain::shares::Claimant;
use crate::http::body::RequestBody;
use crate::http::pages::language::Language;
use crate::http::pages::question::{CarriedFields, question};
use crate::http::pages::texts::Texts;
use crate::http::path::VisitedSession;
use crate::http::wire::Query;
use crate::http::{BoxFuture, Http, Problem, body};
use crate::secret::{Secret, SecretBody};
use crate::threeds::base64;
use crate::threeds::message::{Creq, Cres};
use crate::threeds::session::WebChallengeMode;
use crate::threeds::simulator::acs::CardholderInput;

/// The most characters of a shop's own data that an ACS must return.
const SESSION_DATA_CHARS_MAX: usize = 1_024;

/// A page's function in the routing table, with the parameters of its path.
pub(super) type PageCall = Box<
    dyn for<'a> FnOnce(&'a PageRequest<'a>) -> BoxFuture<'a, Result<PageContent, Problem>> + Send,
>;

pub(super) struct PageRequest<'a> {
    http: &'a Http,
    parts: &'a Parts,
    form: Query,
    /// Allows the scripts and styles of this one page.
    nonce: String,
    texts: &'static Texts,
}

/// A page, and the targets that its forms may have.
pub(super) struct PageContent {
    status: StatusCode,
    html: String,
    forms: FormTargets,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FormTargets {
    /// Any ACS.
    Anywhere,
    Ours,
}

impl PageContent {
    const fn ok(html: String, forms: FormTargets) -> Self {
        Self { status: StatusCode::OK, html, forms }
    }
}

impl Http {
    /// Reads the form of a request for a page and answers it.
    pub(super) async fn show(
        &self,
        call: PageCall,
        parts: &Parts,
        body: RequestBody,
        address: IpAddr,
    ) -> Response<SecretBody> {
        let share = self.bodies.share(Claimant::Stranger { address, tenant: None });
        let form = match body::read_form(body, share).await {
            Ok(Some(form)) => form,
            Ok(None) => {
                let problem = Problem::new(400, "The form is too long or not text.");
                return self.show_failure(&problem, parts);
            }
            Err(problem) => return self.show_failure(&problem, parts),
        };
        let texts = Language::preferred(&parts.headers).texts();
        let request = PageRequest { http: self, parts, form, nonce: self.nonce(), texts };
        match call(&request).await {
            Ok(content) => respond(content, &request.nonce, texts.language),
            Err(problem) => self.show_failure(&problem, parts),
        }
    }

    /// A problem as a page for people.
    pub(super) fn show_failure(&self, problem: &Problem, parts: &Parts) -> Response<SecretBody> {
        self.note(problem);
        let nonce = self.nonce();
        let texts = Language::preferred(&parts.headers).texts();
        let html = html::failure(&nonce, texts, problem.status, problem.detail);
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let content = PageContent { status, html, forms: FormTargets::Ours };
        let mut response = respond(content, &nonce, texts.language);
        let headers = response.headers_mut();
        if let Some(after_s) = problem.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after_s));
        }
        if let Some(allow) = problem.allow() {
            headers.insert(header::ALLOW, allow);
        }
        response
    }

    fn nonce(&self) -> String {
        base64::encode(&self.app.random().bytes::<18>())
    }
}

impl PageRequest<'_> {
    /// The frame in which the SDK shows an ACS's fingerprinting.
    pub(super) fn method_page(&self) -> PageContent {
        PageContent::ok(html::method(&self.nonce, self.texts), FormTargets::Anywhere)
    }

    /// The frame in which the SDK shows an ACS's challenge.
    pub(super) fn challenge_page(&self) -> PageContent {
        PageContent::ok(html::challenge(&self.nonce, self.texts), FormTargets::Anywhere)
    }

    /// Called when the ACS has finished its fingerprinting.
    pub(super) async fn method_notification(
        &self,
        id: &VisitedSession,
    ) -> Result<PageContent, Problem> {
        let claimed =
            method_data(&self.form).and_then(|data| member(data.expose(), "threeDSServerTransID"));
        let claimed = claimed.ok_or(Problem::new(400, "The form names no transaction."))?;
        let visitor = self.http.app.threeds().complete_method(id.as_str(), &claimed).await?;
        let query = Query::parse(self.parts.uri.query().unwrap_or_default()).unwrap_or_default();
        let html = if query.first("mode") == Some("redirect") {
            html::close(&self.nonce, self.texts)
        } else {
            html::method_done(&self.nonce, self.texts, visitor.session)
        };
        Ok(PageContent::ok(html, FormTargets::Ours))
    }

    /// Called when the ACS has finished its challenge.
    pub(super) fn challenge_notification(
        &self,
        id: &VisitedSession,
    ) -> Result<PageContent, Problem> {
        let cres = self.form.first("cres").and_then(|field| Cres::from_form(field).ok());
        let visitor = self.http.app.threeds().close_challenge(id.as_str(), cres.as_ref())?;
        let target = match visitor.mode {
            WebChallengeMode::Iframe => html::MessageTarget::Parent,
            WebChallengeMode::Redirect => html::MessageTarget::Opener,
        };
        let (session, status) = (visitor.session, visitor.status);
        let html = html::challenge_done(&self.nonce, self.texts, session, status, target);
        Ok(PageContent::ok(html, FormTargets::Ours))
    }

    pub(super) async fn simulated_challenge(&self) -> Result<PageContent, Problem> {
        let (form, nonce, texts) = (&self.form, &self.nonce, self.texts);
        let not_one = || Problem::new(400, "This is not a request for a challenge.");
        let field = form.first("creq").ok_or_else(not_one)?;
        // The reason is dropped: the page is for the cardholder, who cannot correct the message.
        let creq = Creq::from_form(field).ok().ok_or_else(not_one)?;
        let answer = match (form.first("action"), form.first("code")) {
            (Some("cancel"), _) => Some(CardholderInput::Canceled),
            (Some("approve"), _) => Some(CardholderInput::Approved),
            (_, Some(code)) => Some(CardholderInput::Code(code)),
            (_, None) => None,
        };
        let data = form.first("threeDSSessionData").unwrap_or_default();
        let data: String = data.chars().take(SESSION_DATA_CHARS_MAX).collect();
        match self.http.app.threeds().challenge_step(&creq, answer).await? {
            ChallengeReply::Ask(asked) => {
                let carried = CarriedFields { creq: field, data: &data };
                let html = question(nonce, texts, &asked, &carried);
                Ok(PageContent::ok(html, FormTargets::Ours))
            }
            ChallengeReply::Done { session, cres } => {
                let action = format!("/3ds/sessions/{session}/challenge-notification");
                let fields = [("cres", cres.as_str()), ("threeDSSessionData", &data)];
                let html = html::send_on(nonce, texts, &action, &fields);
                Ok(PageContent::ok(html, FormTargets::Ours))
            }
        }
    }

    /// The fingerprinting of the built-in ACS. It collects nothing about a browser and finishes at
    /// once. It sends browsers to this server only, whatever URL the form names.
    pub(super) fn simulated_method(&self) -> Result<PageContent, Problem> {
        let not_one = || Problem::new(400, "This is not a request for fingerprinting.");
        let data = method_data(&self.form).ok_or_else(not_one)?;
        let id = member(data.expose(), "threeDSServerTransID").ok_or_else(not_one)?;
        let url = member(data.expose(), "threeDSMethodNotificationURL").ok_or_else(not_one)?;
        let path = format!("/3ds/sessions/{id}/method-notification");
        let ours = self.http.base(self.parts).map(|base| format!("{base}{path}"));
        let (place, query) = url.split_once('?').unwrap_or((url.as_str(), ""));
        if ours.as_deref() != Some(place) || crate::domain::id::SessionId::parse(&id).is_none() {
            return Err(Error::NotFound("session").into());
        }
        let mode = if query == "mode=redirect" { "?mode=redirect" } else { "" };
        let done = serde_json::json!({ "threeDSServerTransID": id }).to_string();
        let done = base64::encode_url(done.as_bytes());
        let fields = [("threeDSMethodData", done.as_str())];
        Ok(PageContent::ok(
            html::send_on(&self.nonce, self.texts, &format!("{path}{mode}"), &fields),
            FormTargets::Ours,
        ))
    }
}

fn method_data(form: &Query) -> Option<Secret<Value>> {
    let bytes = base64::decode_url(form.first("threeDSMethodData")?.trim())?;
    outside_json::parse(&bytes)
}

fn member(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(String::from)
}

fn respond(content: PageContent, nonce: &str, language: Language) -> Response<SecretBody> {
    let mut response = Response::new(SecretBody::from(content.html));
    *response.status_mut() = content.status;
    let headers = response.headers_mut();
    let places = match content.forms {
        FormTargets::Anywhere => "form-action https:; frame-src https:",
        FormTargets::Ours => "form-action 'self'",
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         base-uri 'none'; {places}"
    );
    // A page without a policy could load anything, so the fallback allows nothing.
    let policy = HeaderValue::try_from(policy);
    let policy = policy.unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_LANGUAGE, language.tag()),
        (header::VARY, "accept-language"),
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

    #[track_caller]
    fn check_policy(nonce: &str, expected: &str) {
        let content = PageContent::ok(String::new(), FormTargets::Ours);
        let response = respond(content, nonce, Language::English);
        let policy = response.headers().get(header::CONTENT_SECURITY_POLICY).unwrap();
        assert_eq!(policy, expected);
    }

    #[test]
    fn a_page_whose_policy_cannot_be_sent_may_load_nothing() {
        check_policy("\n", "default-src 'none'");
        check_policy(
            "n",
            "default-src 'none'; script-src 'nonce-n'; style-src 'nonce-n'; base-uri 'none'; \
             form-action 'self'",
        );
    }
}
