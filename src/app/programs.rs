//! The interface to programs of tenants: run one call of a program, get its result or its error.
//!
//! Reactors and code transforms run through it. The room `code` implements it with a worker process
//! for each call; tests implement it without one.

use std::fmt::Debug;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::app::error::Error;
use crate::app::fair_pool::Credential;
use crate::app::program_calls::ProgramFailure;
use crate::domain::id::TenantId;
use crate::secret::Secret;

pub use crate::domain::program::LineLevel;

/// The address of this vault for programs. Requests to it do not leave the process.
pub const VAULT_URL: &str = "https://vault.internal";

pub trait Programs: Debug + Send + Sync {
    /// Runs one call in a worker of its own. [`Error::Busy`] if the share of the tenant is taken and
    /// the program has not started. Dropping the future ends the worker.
    fn run(&self, call: ProgramCall, host: Arc<dyn ProgramHost>) -> Running<'_>;

    fn state(&self) -> ProgramState;

    /// The reason for which no program can run here: the settings or the kernel.
    fn obstacle(&self) -> Option<&'static str> {
        match self.state() {
            ProgramState::Off => Some(SWITCHED_OFF),
            ProgramState::Refused(why) => Some(why),
            ProgramState::Runs(_) => None,
        }
    }
}

/// The reason if the settings do not enable programs.
pub const SWITCHED_OFF: &str = "programs are switched off in the settings of this server";

/// The start of the server decides if programs run on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    Off,
    /// The settings enable them, and this server cannot run them.
    Refused(&'static str),
    Runs(Walls),
}

/// The walls of the kernel around each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walls {
    pub landlock: bool,
    pub seccomp: bool,
}

impl Walls {
    pub const fn are_whole(self) -> bool {
        self.landlock && self.seccomp
    }
}

pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ProgramOutcome, Error>> + Send + 'a>>;

/// One call of a program.
pub struct ProgramCall {
    pub tenant: TenantId,
    /// The reactor or the proxy.
    pub owner: Uuid,
    /// Callers without a secret key have a share of the workers.
    pub credential: Credential,
    pub code: Secret<String>,
    pub contract: Contract,
    /// The argument of the function as JSON, without the members that are functions (`bt`,
    /// `logger`), which the worker adds.
    pub argument: Secret<Vec<u8>>,
    /// The key by which the program calls the vault during this call, if it has rights of its own.
    /// Without it, `bt` is null.
    pub key: Option<Secret<String>>,
    /// From the start of the call to its result, the wait for a worker included.
    pub timeout: Duration,
}

/// The form of the argument of a program and of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    /// `node-bt`: the argument gets `bt`. Errors of the published package become answers.
    Bt,
    /// `node22` and `node24`: the argument gets `logger`.
    Node,
}

/// The end of a call.
#[derive(Debug)]
pub enum ProgramOutcome {
    /// The returned value as JSON text. `undefined` is `null`.
    Returned(Secret<Vec<u8>>),
    Threw(Thrown),
    /// The code does not compile or exports no function. The text says why.
    NotAProgram(Secret<String>),
    Stopped(Stop),
}

/// A thrown value.
#[derive(Debug)]
pub enum Thrown {
    /// An error of the published package of error classes.
    Class { status: u16, title: String, detail: String, errors: Secret<Value> },
    /// `CustomHttpResponseError`. Names and values of headers are not checked yet.
    Response { status: u16, headers: Vec<(String, Secret<String>)>, body: Secret<Value> },
    /// Anything else. The message is the program's own and goes to its caller alone.
    Other { message: Secret<String> },
}

/// The reason for which a worker was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    TimedOut,
    /// The tenant's share of the memory for messages between workers and the vault was taken.
    NoMemory,
    OutOfMemory,
    ResultTooLarge,
    /// The worker ended without a result.
    Died,
}

/// The services of the vault for one call of a program. It decides with the rights of the call; the
/// worker decides nothing.
pub trait ProgramHost: Debug + Send + Sync {
    /// Sends a request to [`VAULT_URL`] or, through the guard of proxies, to a destination outside.
    fn fetch(&self, request: ProgramRequest) -> Fetching<'_>;

    /// The address of the caller, for its share of the memory of messages.
    fn caller_address(&self) -> IpAddr;

    /// A line that the program wrote with `console` or `logger`.
    fn line(&self, level: LineLevel, text: Secret<String>);

    /// The call ended.
    fn ended(&self, _failure: Option<&ProgramFailure>) {}
}

pub type Fetching<'a> =
    Pin<Box<dyn Future<Output = Result<ProgramResponse, FetchFailure>> + Send + 'a>>;

pub struct ProgramRequest {
    pub method: String,
    pub url: Secret<String>,
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
}

pub struct ProgramResponse {
    pub status: u16,
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
}

/// The sentence that the program gets as the message of its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchFailure(pub &'static str);

opaque_debug!(ProgramCall);
opaque_debug!(ProgramRequest);
opaque_debug!(ProgramResponse);
