//! Programs of tenants and the interface: the services of the vault for a call, and the answer that
//! its caller gets.

pub(in crate::http) mod answer;
mod host;
pub(in crate::http) mod later;
pub(in crate::http) mod lines;
mod pending;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use hyper::http::request::Parts;

use crate::app::programs::ProgramHost;
use crate::app::{Credential, Error, HostedCall, ProgramHosts, ProgramIdentity};
use crate::bounds::{PROGRAM_DEPTH_MAX, PROGRAM_FETCHES_MAX};
use crate::http::programs::host::Host;
use crate::http::programs::lines::ProgramLines;
use crate::http::programs::pending::PendingCalls;
use crate::http::{Exchange, Http};

pub(in crate::http) use pending::PendingPlace;

const TOO_DEEP: &str =
    "Too many programs wait for each other: a program called one that called one.";

/// The state of the interface that programs and their calls need.
#[derive(Debug)]
pub struct ProgramService {
    /// The interface itself, for tasks and programs that outlive a request.
    http: Weak<Http>,
    pub(super) background: Background,
    /// Calls of reactors without a waiting caller.
    pub(super) pending: PendingCalls,
    pub(super) lines: ProgramLines,
}

/// Starts a task that ends with the server, which `http` does not know.
pub struct Background(Box<dyn Fn(Task) + Send + Sync>);

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Background {
    pub fn new(start: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self(Box::new(start))
    }

    pub(super) fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        (self.0)(Box::pin(task));
    }
}

opaque_debug!(Background);

impl ProgramService {
    pub fn new(http: &Weak<Http>, background: Background) -> Self {
        let (pending, lines) = (PendingCalls::default(), ProgramLines::default());
        Self { http: Weak::clone(http), background, pending, lines }
    }

    /// Fails while the server stops.
    pub(super) fn http(&self) -> Result<Arc<Http>, Error> {
        self.http.upgrade().ok_or(Error::Stopped)
    }
}

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
    /// Set if a program sent the request.
    parent: Option<ProgramMark>,
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
        Ok(Hosts { http, parent, address, trace: String::from(trace), credential })
    }
}

impl Exchange<'_> {
    pub(super) fn hosts(&self) -> Result<Hosts, Error> {
        let credential = self.caller.credential();
        self.http.program_hosts(self.parts, self.address, &self.context.trace, credential)
    }

    /// True if a program sent the request.
    pub(super) fn is_of_program(&self) -> bool {
        self.parts.extensions.get::<ProgramMark>().is_some()
    }
}

impl ProgramHosts for Hosts {
    fn host(&self, call: HostedCall) -> Result<Arc<dyn ProgramHost>, Error> {
        let depth = self.parent.as_ref().map_or(0, |parent| parent.depth).saturating_add(1);
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
            mark,
            owner: call.owner,
            lines: call.lines,
        }))
    }
}
