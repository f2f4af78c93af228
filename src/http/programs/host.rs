//! The requests of a program: to the vault, without leaving the process, and to destinations
//! outside, through the guard of proxies.

use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Uri};
use uuid::Uuid;

use crate::app::programs::{
    FetchFailure, Fetching, ProgramHost, ProgramRequest, ProgramResponse, VAULT_URL,
};
use crate::app::{Credential, Gathered, OutboundFailure, OutboundRequest, ProgramFailure};
use crate::bounds::{
    PROGRAM_HEADER_BYTES_MAX, PROGRAM_HEADERS_MAX, PROGRAM_REQUEST_BYTES_MAX,
    PROGRAM_RESPONSE_BYTES_MAX, PROXY_TIMEOUT,
};
use crate::domain::connection_headers::{is_of_connection, listed};
use crate::domain::hops::HOPS;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::TenantId;
use crate::domain::program::LineLevel;
use crate::domain::time::Timestamp;
use crate::http::Http;
use crate::http::origin::API_KEY;
use crate::http::program_state::lines::{KeptLine, ProgramEnd};
use crate::http::programs::{ProgramMark, answer};
use crate::secret::{Secret, SecretBody};

const ENDED: FetchFailure = FetchFailure("The call of the program has ended.");
const TOO_MANY: FetchFailure = FetchFailure("The program sends too many requests.");
const TOO_LARGE: FetchFailure = FetchFailure("The request or its answer is too large.");
const NOT_A_REQUEST: FetchFailure =
    FetchFailure("The request is not valid: it needs a method, an https URL and headers of text.");
const REFUSED: FetchFailure = FetchFailure("The destination is not allowed.");
const UNREACHABLE: FetchFailure = FetchFailure("The destination cannot be reached.");
const TIMED_OUT: FetchFailure = FetchFailure("The destination did not answer in time.");
const BROKEN: FetchFailure = FetchFailure("The answer of the destination cannot be used.");

const TRACE: HeaderName = HeaderName::from_static("bt-trace-id");
/// Names of the vault's own headers that a destination outside does not get.
const OF_VAULT: [&str; 2] = [API_KEY, "bt-trace-id"];

type Headers = Vec<(String, Secret<Vec<u8>>)>;

/// The services of the vault for one call.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) http: Arc<Http>,
    pub(super) tenant: TenantId,
    pub(super) credential: Credential,
    /// Of the client that called the program. The limits of addresses count it.
    pub(super) address: IpAddr,
    pub(super) trace: String,
    /// On every request, so that a request that comes back to this vault is counted. A plain proxy
    /// passes them on.
    pub(super) marks: String,
    pub(super) mark: ProgramMark,
    /// The reactor or the proxy.
    pub(super) owner: Uuid,
    /// The least level of the lines that are kept.
    pub(super) lines: Option<LineLevel>,
    pub(super) begun: Timestamp,
    /// Notes the values that the requests open.
    pub(super) gathered: Option<Arc<Gathered>>,
}

impl ProgramHost for Host {
    fn caller_address(&self) -> IpAddr {
        self.address
    }

    fn fetch(&self, request: ProgramRequest) -> Fetching<'_> {
        Box::pin(async move {
            if self.mark.identity.as_ref().is_some_and(|identity| identity.has_ended()) {
                return Err(ENDED);
            }
            if !self.mark.fetches.count() {
                return Err(TOO_MANY);
            }
            if request.body.expose().len() > PROGRAM_REQUEST_BYTES_MAX
                || request.headers.len() > PROGRAM_HEADERS_MAX
            {
                return Err(TOO_LARGE);
            }
            // A fragment is not sent; `HttpsUrl` refuses it.
            let text = request.url.expose();
            let text = text.split_once('#').map_or(text.as_str(), |(url, _)| url);
            let url = HttpsUrl::parse_with_query(text).ok_or(NOT_A_REQUEST)?;
            if is_vault(&url) {
                self.call_vault(request, &url).await
            } else {
                self.call_destination(request, url).await
            }
        })
    }

    fn line(&self, level: LineLevel, text: Secret<String>) {
        self.keep(level, text, None);
    }

    fn ended(&self, failure: Option<&ProgramFailure>) {
        let error = failure.map(answer::reason);
        let (level, text) = match error {
            Some(why) => (LineLevel::Error, format!("The call failed: {why}")),
            None => (LineLevel::Info, String::from("The call ended.")),
        };
        let elapsed = self.http.app.now().micros().saturating_sub(self.begun.micros());
        let elapsed_ms = u64::try_from(elapsed / 1_000).unwrap_or_default();
        let end = ProgramEnd { elapsed_ms, error };
        self.keep(level, Secret::new(text), Some(end));
    }
}

fn is_vault(url: &HttpsUrl) -> bool {
    let host = VAULT_URL.strip_prefix("https://").unwrap_or(VAULT_URL);
    url.host.eq_ignore_ascii_case(host) && url.port == 443
}

impl Host {
    fn keep(&self, level: LineLevel, text: Secret<String>, end: Option<ProgramEnd>) {
        if self.lines.is_some_and(|least| level >= least) {
            let app = &self.http.app;
            let line = KeptLine {
                id: uuid::Builder::from_random_bytes(app.random().bytes()).into_uuid(),
                owner: self.owner,
                at: app.now(),
                level,
                text,
                trace: self.trace.clone(),
                end,
            };
            self.http.programs.lines.add(self.tenant, line);
        }
    }

    async fn call_vault(
        &self,
        request: ProgramRequest,
        url: &HttpsUrl,
    ) -> Result<ProgramResponse, FetchFailure> {
        let mut parts = self.head(&request, url).ok_or(NOT_A_REQUEST)?;
        parts.extensions.insert(self.mark.clone());
        let body = SecretBody::from(request.body);
        let answered = Box::pin(self.http.answer_program(&parts, body, self.address));
        let answer = match &self.gathered {
            Some(gathered) => gathered.during(answered).await,
            None => answered.await,
        };
        let (head, body) = answer.into_parts();
        if body.len() > PROGRAM_RESPONSE_BYTES_MAX {
            return Err(TOO_LARGE);
        }
        let headers = head.headers.iter().map(|(name, value)| {
            (String::from(name.as_str()), Secret::new(value.as_bytes().to_vec()))
        });
        let headers = headers.collect();
        let body = whole(Response::new(body)).await;
        Ok(ProgramResponse { status: head.status.as_u16(), headers, body })
    }

    /// The head of a request to the vault. The address of its client and its trace id are those of
    /// the call.
    fn head(&self, request: &ProgramRequest, url: &HttpsUrl) -> Option<Parts> {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = Method::from_bytes(request.method.as_bytes()).ok()?;
        parts.uri = Uri::try_from(url.path.as_str()).ok()?;
        for (name, value) in &request.headers {
            let name = name.to_ascii_lowercase();
            let is_dropped = is_of_connection(&name)
                || name == "x-forwarded-for"
                || self.http.console.is_own_header(&name);
            if is_dropped {
                continue;
            }
            let value = HeaderValue::from_bytes(value.expose()).ok()?;
            parts.headers.append(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
        }
        parts.headers.insert(TRACE, HeaderValue::try_from(self.trace.as_str()).ok()?);
        parts.headers.append(HOPS, HeaderValue::try_from(self.marks.as_str()).ok()?);
        Some(parts)
    }

    async fn call_destination(
        &self,
        request: ProgramRequest,
        url: HttpsUrl,
    ) -> Result<ProgramResponse, FetchFailure> {
        let ProgramRequest { method, headers, body, .. } = request;
        Method::from_bytes(method.as_bytes()).ok().ok_or(NOT_A_REQUEST)?;
        let headers = self.outside(headers)?;
        let request = OutboundRequest {
            tenant: self.tenant,
            credential: self.credential,
            method,
            url,
            headers,
            body,
            timeout: PROXY_TIMEOUT,
            response_bytes_max: PROGRAM_RESPONSE_BYTES_MAX,
            identity: None,
        };
        let answer = self.http.app.send_for_program(request).await.map_err(failure)?;
        let headers = answer.headers.into_iter().filter(|(name, _)| !is_of_connection(name));
        let headers = headers.collect();
        Ok(ProgramResponse { status: answer.status, headers, body: answer.body })
    }

    /// The key of the call does not leave the vault in its own header; a key of another service under
    /// the same name does. A program may send its key elsewhere in other ways, where it is of no use:
    /// it is honoured only inside the call.
    fn outside(&self, headers: Headers) -> Result<Headers, FetchFailure> {
        let connection = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
        let listed = listed(connection.map(|(_, value)| value.expose().as_slice()));
        let is_own_key = |value: &[u8]| {
            self.mark.identity.as_ref().is_some_and(|identity| identity.is_key(value))
        };
        let mut passed = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let is_dropped = is_of_connection(&name)
                || listed.contains(&name)
                || (OF_VAULT.contains(&name.as_str()) && is_own_key(value.expose()));
            if is_dropped {
                continue;
            }
            let is_header = HeaderName::from_bytes(name.as_bytes()).is_ok()
                && HeaderValue::from_bytes(value.expose()).is_ok()
                && value.expose().len() <= PROGRAM_HEADER_BYTES_MAX;
            if !is_header {
                return Err(NOT_A_REQUEST);
            }
            passed.push((name, value));
        }
        passed.push((String::from(HOPS), Secret::new(self.marks.clone().into_bytes())));
        Ok(passed)
    }
}

/// The bytes of an answer of this process, which has no connection that could break.
async fn whole(answer: Response<SecretBody>) -> Secret<Vec<u8>> {
    let mut body = answer.into_body();
    let mut bytes = crate::secret::SecretBuffer::with_capacity(body.len());
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            bytes.extend(data);
        }
    }
    bytes.finish()
}

const fn failure(failure: OutboundFailure) -> FetchFailure {
    match failure {
        OutboundFailure::Broken(_) => BROKEN,
        OutboundFailure::Refused(_) => REFUSED,
        OutboundFailure::TimedOut => TIMED_OUT,
        OutboundFailure::Unreachable(_) => UNREACHABLE,
    }
}
