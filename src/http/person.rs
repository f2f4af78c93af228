//! The person of the sign-on as the caller of an operation, and the check that a page of this server
//! sent the request.

use std::sync::Arc;

use hyper::header::{HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use uuid::Uuid;

use crate::app::{Caller, Error};
use crate::domain::id::TenantId;
use crate::http::sign_on::{CONSOLE, SignOn, SignedOn, only, text_of};
use crate::http::{Http, Problem};

const FETCH_SITE: &str = "sec-fetch-site";
const OTHER_SITE: &str = "Only a page of this server may use the sign-on: the request comes from \
                          another site.";
const NO_TENANT: &str = "The header Strongroom-Console must name one tenant of the console.";

impl Http {
    /// The person as the caller of an operation, for a request without an API key.
    pub(super) fn person(&self, parts: &Parts, sign_on: &SignOn) -> Result<Arc<Caller>, Problem> {
        if let Some((status, why)) = sign_on.refusal() {
            return Err(Problem::new(status, why));
        }
        let SignOn::Person(SignedOn { person, role }) = sign_on else {
            return Err(Error::Unauthenticated.into());
        };
        // Without the header nothing says that the person meant the request.
        if !parts.headers.contains_key(CONSOLE) {
            return Err(Error::Unauthenticated.into());
        }
        if !self.is_own_page(parts) {
            return Err(Problem::new(403, OTHER_SITE));
        }
        let tenants = self.console.sign_on.as_ref().map(|rules| rules.tenants.as_slice());
        let named = only(&parts.headers, CONSOLE).and_then(text_of);
        let tenant = named.and_then(|id| Uuid::try_parse(id).ok()).map(TenantId::new);
        let tenant = tenant.filter(|id| tenants.is_some_and(|known| known.contains(id)));
        let tenant = tenant.ok_or(Problem::new(403, NO_TENANT))?;
        Ok(self.app.access().person(tenant, person, *role)?)
    }

    /// True unless the browser says that another site caused the request.
    pub(super) fn is_own_page(&self, parts: &Parts) -> bool {
        let sites = parts.headers.get_all(FETCH_SITE).iter();
        let is_own_site = sites.map(HeaderValue::as_bytes).all(|site| site == b"same-origin");
        let hosts = self.hosts(parts);
        let is_own = |origin: &HeaderValue| {
            let host = text_of(origin).and_then(|origin| origin.strip_prefix("https://"));
            host.is_some_and(|host| hosts.contains(&host))
        };
        is_own_site && parts.headers.get_all(ORIGIN).iter().all(is_own)
    }
}
