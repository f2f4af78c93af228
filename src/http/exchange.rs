//! An authenticated request to an operation, and its results other than a reply.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;

use hyper::http::request::Parts;
use serde_json::Value;

use crate::app::{Caller, Error, Guard, Vault, Write};
use crate::domain::mistakes::Mistakes;
use crate::formulas::Catalog;
use crate::http::wire::Query;
use crate::http::{Http, Problem, Reply, RequestContext};
use crate::idempotency::RememberedAnswer;
use crate::limits::{self, KeyHash};
use crate::secret::Secret;

/// The future of a function in the routing table. It is boxed, since one future for all functions
/// would be as large as the largest.
pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An operation's function in the routing table, with the parameters of its path.
pub(super) type OperationCall =
    Box<dyn for<'a> FnOnce(Exchange<'a>) -> BoxFuture<'a, WriteAnswer> + Send>;

/// The result of an operation without replays.
pub(super) type Answer = Result<Reply, Problem>;
/// The result of an operation with an idempotency key.
pub(super) type WriteAnswer = Result<Reply, OperationFailure>;

/// A request of an authenticated caller, with its body.
pub(super) struct Exchange<'a> {
    pub(super) http: &'a Http,
    pub(super) app: &'a Vault,
    pub(super) caller: &'a Caller,
    /// The same, for a task that outlives the request.
    pub(super) shared_caller: &'a Arc<Caller>,
    pub(super) context: &'a RequestContext,
    pub(super) query: Query,
    pub(super) body: Secret<Value>,
    pub(super) guard: Option<Guard>,
    pub(super) catalog: &'a Catalog,
    pub(super) if_none_match: Option<String>,
    /// The head of the request. 3DS sessions describe the client with it.
    pub(super) parts: &'a Parts,
    pub(super) address: IpAddr,
}

impl Exchange<'_> {
    /// Charges the rate limit for the tokens of a call beyond the first. The first is charged with
    /// the request.
    pub(super) fn charge_tokens(&self, tokens: usize) -> Result<(), Problem> {
        let further = u32::try_from(tokens.saturating_sub(1)).unwrap_or(u32::MAX);
        let Some(further) = NonZeroU32::new(further) else { return Ok(()) };
        let request = counted(self.caller, self.address, limits::Operation::Tokenize);
        let charged = self.http.limiter.admit_more(&request, further, self.app.now());
        charged.map_err(|refusal| self.http.limited(refusal))
    }

    /// A write whose answer is remembered if the request has an idempotency key.
    pub(super) fn write<'w, T>(
        &'w self,
        render: &'w (dyn Fn(&T) -> RememberedAnswer + Sync),
    ) -> Write<'w, T> {
        Write { guard: self.guard.as_ref(), render }
    }
}

/// The reason why an operation made no reply: an error of `app`, which may be an earlier answer
/// ([`Error::Replayed`]), or a problem of the request.
pub(super) enum OperationFailure {
    App(Error),
    Problem(Problem),
}

/// The request as the rate limits count it.
pub(super) fn counted(
    caller: &Caller,
    address: IpAddr,
    operation: limits::Operation,
) -> limits::Request {
    limits::Request {
        address,
        key: KeyHash::of(&caller.tag),
        key_form: caller.key.form,
        tenant: caller.tenant.kind,
        application: caller.application.kind,
        operation,
        rate_limit: caller.tenant.quotas.rate_limit,
    }
}

from_causes!(OperationFailure:
    Problem => Self::Problem,
    Mistakes => Self::Problem,
    Error => Self::App,
);
