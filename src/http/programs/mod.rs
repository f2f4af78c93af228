//! Programs of tenants and the interface: the services of the vault for a call, and the answer that
//! its caller gets.

pub(in crate::http) mod answer;
pub(in crate::http) mod finish;
mod host;
pub(in crate::http) mod later;
pub(in crate::http) mod line_page;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use crate::app::programs::ProgramHost;
use crate::app::{Credential, Error, HostedCall, ProgramHosts, ProgramIdentity};
use crate::bounds::{PROGRAM_DEPTH_MAX, PROGRAM_FETCHES_MAX};
use crate::domain::hops::HOPS;
use crate::http::Http;
use crate::http::programs::host::Host;

const TOO_DEEP: &str =
    "Too many programs wait for each other: a program called one that called one.";

/// Marks a request that a program sends. It is in the extensions of the request.
#[derive(Debug, Clone)]
pub(in crate::http) struct ProgramMark {
    /// The identity of the call that sends it.
    pub(in crate::http) identity: Option<Arc<ProgramIdentity>>,
    /// The number of programs that wait for the answer.
    depth: usize,
    fetches: Arc<Fetches>,
}

/// The requests of a call and of all calls that it causes.
#[derive(Debug, Default)]
struct Fetches(AtomicUsize);

impl Fetches {
    /// False if there were too many.
    fn count(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) < PROGRAM_FETCHES_MAX
    }
}

/// Makes hosts for the programs that one request runs.
#[derive(Debug, Clone)]
pub(in crate::http) struct Hosts {
    http: Arc<Http>,
    /// Set if a program sent the request without leaving the process.
    parent: Option<ProgramMark>,
    /// The number of programs that wait for the answer to the request.
    waiting: usize,
    address: IpAddr,
    trace: String,
    credential: Credential,
}

impl Http {
    /// Fails while the server stops.
    pub(super) fn program_hosts(
        &self,
        parts: &Parts,
        address: IpAddr,
        trace: &str,
        credential: Credential,
    ) -> Result<Hosts, Error> {
        let http = self.programs.http()?;
        let parent = parts.extensions.get::<ProgramMark>().cloned();
        let waiting = match &parent {
            Some(parent) => parent.depth,
            None if parts.headers.contains_key(HOPS) => {
                let marks = parts.headers.get_all(HOPS).iter().map(HeaderValue::as_bytes);
                self.app.hop_name()?.count(marks)
            }
            None => 0,
        };
        Ok(Hosts { http, parent, waiting, address, trace: String::from(trace), credential })
    }
}

impl Hosts {
    /// The depth of a program that the request runs.
    const fn depth(&self) -> usize {
        self.waiting.saturating_add(1)
    }

    /// The marks on the requests of such a program.
    fn marks(&self) -> Result<String, Error> {
        Ok(self.http.app.hop_name()?.marks(self.depth()))
    }
}

impl ProgramHosts for Hosts {
    fn host(&self, call: HostedCall) -> Result<Arc<dyn ProgramHost>, Error> {
        let depth = self.depth();
        if depth > PROGRAM_DEPTH_MAX {
            return Err(Error::Forbidden(TOO_DEEP));
        }
        let fetches = self.parent.as_ref().map(|parent| Arc::clone(&parent.fetches));
        let mark =
            ProgramMark { identity: call.identity, depth, fetches: fetches.unwrap_or_default() };
        Ok(Arc::new(Host {
            http: Arc::clone(&self.http),
            tenant: call.tenant,
            credential: self.credential,
            address: self.address,
            trace: self.trace.clone(),
            marks: self.marks()?,
            mark,
            owner: call.owner,
            lines: call.lines,
            begun: self.http.app.now(),
            gathered: call.gathered,
        }))
    }
}
