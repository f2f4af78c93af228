//! The state that all requests share.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use crate::app::{Error, Vault};
use crate::bounds::{
    REACTOR_CALLBACKS_ALL_MAX, REACTOR_CALLBACKS_MAX, REACTOR_PENDING_ALL_MAX, REACTOR_PENDING_MAX,
};
use crate::domain::elements_host::ElementsHost;
use crate::domain::page_group::PageGroups;
use crate::formulas::Catalog;
use crate::http::Problem;
use crate::http::activity::Activity;
use crate::http::answers::Answers;
use crate::http::bodies::Bodies;
use crate::http::problem::{self};
use crate::http::program_state::{PendingCalls, ProgramLines};
use crate::http::request_counts::Requests;
use crate::http::sign_on::ConsoleAccess;
use crate::limits::{self, Limiter, Network};
use crate::log::Log;
use crate::metrics::Registry;

#[derive(Debug)]
pub struct Http {
    pub app: Arc<Vault>,
    pub limiter: Arc<Limiter>,
    /// The text of a 429 answer.
    pub limit_advice: &'static str,
    pub log: Log,
    pub catalog: Catalog,
    /// Peers whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// The operator's `threeds.public_url`, if it is set: `https://host`.
    pub public_url: Option<String>,
    pub deprecated: DeprecatedOperations,
    pub pages: PageGroups,
    /// Besides the vault, frames of Elements may send values to these hosts.
    pub elements_hosts: Vec<ElementsHost>,
    /// The text of `/.well-known/security.txt`, if the settings have one.
    pub security_text: Option<String>,
    pub console: ConsoleAccess,
    pub requests: Arc<Requests>,
    /// The requests of each tenant, for the console.
    pub activity: Activity,
    pub bodies: Bodies,
    pub answers: Answers,
    pub registry: Arc<Registry>,
    pub programs: ProgramService,
}

/// The state of the interface that programs and their calls need.
#[derive(Debug)]
pub struct ProgramService {
    /// The interface itself, for tasks and programs that outlive a request.
    http: Weak<Http>,
    pub(super) background: Background,
    /// Calls of reactors without a waiting caller.
    pub(super) pending: PendingCalls,
    /// Callbacks that wait for their next attempt.
    pub(super) callbacks: PendingCalls,
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
        Self {
            http: Weak::clone(http),
            background,
            pending: PendingCalls::new(REACTOR_PENDING_MAX, REACTOR_PENDING_ALL_MAX),
            callbacks: PendingCalls::new(REACTOR_CALLBACKS_MAX, REACTOR_CALLBACKS_ALL_MAX),
            lines: ProgramLines::default(),
        }
    }

    /// Fails while the server stops.
    pub(super) fn http(&self) -> Result<Arc<Http>, Error> {
        self.http.upgrade().ok_or(Error::Stopped)
    }
}

/// The handling of operations that have a successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeprecatedOperations {
    Served,
    /// Answered with 410, which names the successor.
    Refused,
}

impl Http {
    /// Charges the request to the limit of the client's address.
    pub(super) fn admit_address(&self, address: IpAddr) -> Result<(), Problem> {
        let admitted = self.limiter.admit_address(address, self.app.now());
        admitted.map(drop).map_err(|refusal| self.limited(refusal))
    }

    pub(super) fn limited(&self, refusal: limits::RateLimitRefusal) -> Problem {
        self.requests.count_limited(refusal.row);
        let mut problem = Problem::from(refusal);
        problem.detail = self.limit_advice;
        problem
    }

    /// Logs an internal fault when it is answered. A disk failure is not logged here: it ends the
    /// process, which logs the reason.
    pub(super) fn note(&self, problem: &Problem) {
        if let Some(fault) = &problem.fault {
            self.log.event(problem::event(**fault));
        }
    }
}
