//! The arguments of a reactor's program: values of tokens in place of expressions, by the rules of
//! calls through proxies.

use crate::app::Vault;
use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::proxy_calls::invoke::Invocation;
use crate::app::proxy_calls::{ProxyCall, ProxyFailure};
use crate::app::tokens::codes::UsedCode;
use crate::app::tokens::evaluations::Work;
use crate::domain::id::ReactorId;
use crate::expressions::Budget;
use crate::secret::Secret;

/// Arguments as JSON, with values in them.
pub(in crate::app) struct FilledArguments {
    pub(in crate::app) json: Secret<Vec<u8>>,
    /// The codes to destroy if the program succeeds.
    pub(in crate::app) codes: Vec<UsedCode>,
}

/// Takes JSON. The call and the values that it uses have their entries when this
/// returns, also if it fails.
pub(in crate::app) async fn fill(
    vault: &Vault,
    caller: &Caller,
    reactor: ReactorId,
    body: Secret<Vec<u8>>,
) -> Result<FilledArguments, Error> {
    let (tenant, party) = (caller.tenant.id, caller.party());
    let reactor = Some(reactor);
    let invocation =
        Invocation { vault, caller: Some(caller), tenant, party, stored: None, reactor };
    let json = Secret::new(b"application/json".to_vec());
    let call = ProxyCall {
        method: String::from("POST"),
        rest: String::new(),
        query: None,
        headers: vec![(String::from("content-type"), json)],
        body,
        encrypted: None,
    };
    let (now, opened) = (vault.now(), Opened::by(vault, caller));
    let prepare = |budget: &Budget| match invocation.prepare(&call, now, budget, &opened) {
        Err(ProxyFailure::App(error)) => Err(error),
        prepared => Ok(prepared),
    };
    let prepared = vault.evaluating(party, Work::Page.budget(), prepare).await;
    let prepared = prepared.map_err(ProxyFailure::from).flatten();
    let prepared = opened.settle(prepared.map_err(refused)).await?;
    Ok(FilledArguments { json: prepared.body.unwrap_or(call.body), codes: prepared.codes })
}

fn refused(failure: ProxyFailure) -> Error {
    match failure {
        ProxyFailure::App(error) => error,
        ProxyFailure::Invalid(detail) => Error::invalid("args", detail),
        // Nothing was sent yet.
        ProxyFailure::Answer(_)
        | ProxyFailure::Answered(_)
        | ProxyFailure::Outbound(_)
        | ProxyFailure::Program { .. } => Error::invalid("args", "The arguments cannot be used."),
    }
}
