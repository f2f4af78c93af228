//! Calls through proxies: a caller's request goes to a destination with values of tokens in place
//! of expressions, and the caller gets the destination's answer.
//!
//! Everything that can be refused is refused before anything is sent: a caller may repeat a refused
//! call. The use of each token is in the queue of the audit chain before the request leaves.

mod answer_headers;
pub(in crate::app) mod arguments;
mod body;
pub(in crate::app) mod called;
mod choose;
mod event;
mod fill;
mod form;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
mod headers;
mod invoke;
mod json;
mod rights;
mod scope;
mod slots;
mod target;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::app::error::Error;
use crate::app::outbound::OutboundFailure;
use crate::app::proxies::transforms::TransformFailure;
use crate::app::proxies::transforms::code::FailedProgram;
use crate::secret::Secret;

pub use choose::ChosenProxy;

/// Without the parts that are meant for the vault.
#[derive(Debug)]
pub struct ProxyCall {
    pub method: String,
    /// The path after `/proxy`, byte for byte: empty or starting with a slash.
    pub rest: String,
    pub query: Option<String>,
    /// Names in lower case.
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
    pub encrypted: Option<Secret<String>>,
}

#[derive(Debug)]
pub enum ProxyFailure {
    /// Not a failure: a program answers the call with this `res`, and nothing was sent.
    Answered(Secret<Value>),
    /// Nothing was sent.
    App(Error),
    /// The destination has answered, but the transforms of its answer failed.
    Answer(TransformFailure),
    /// A mistake in the call. Nothing was sent.
    Invalid(String),
    Outbound(OutboundFailure),
    /// A code transform failed. Nothing was sent, unless there is a status of the destination.
    Program {
        failed: Box<FailedProgram>,
        destination_status: Option<u16>,
    },
}

impl ProxyFailure {
    fn invalid(detail: &str) -> Self {
        Self::Invalid(String::from(detail))
    }
}

from_causes!(ProxyFailure: Error => Self::App, OutboundFailure => Self::Outbound);
