//! One call: evaluate, audit, send.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::app::error::Error;
use crate::app::outbound::{OutboundFailure, OutboundRequest, OutboundResponse};
use crate::app::proxy_calls::body::BodySlots;
use crate::app::proxy_calls::fill::{Filling, Unfilled};
use crate::app::proxy_calls::headers::HeaderSlots;
use crate::app::proxy_calls::scope::ProxyScope;
use crate::app::proxy_calls::target;
use crate::app::proxy_calls::{ProxyCall, ProxyCalls, ProxyFailure};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::{NamedReferences, Usage};
use crate::bounds::{PROXY_ANSWER_BYTES_MAX, PROXY_TIMEOUT, PROXY_TOKENS_MAX};
use crate::domain::audit::{Act, Entity};
use crate::domain::https_url::HttpsUrl;
use crate::domain::time::Timestamp;
use crate::expressions::{Budget, Reference};
use crate::secret::Secret;

const SWITCHED_OFF: &str =
    "The tenant's setting disable_ephemeral_proxy allows pre-configured proxies only.";
/// The tenant's setting that switches ephemeral proxies off.
const DISABLE_EPHEMERAL: &str = "disable_ephemeral_proxy";

/// A call with its values, and the tokens that it uses.
struct Prepared {
    /// `None` if the body goes on as it came.
    body: Option<Secret<Vec<u8>>>,
    /// New values of headers, with their places.
    headers: Vec<(usize, Secret<Vec<u8>>)>,
    used: BTreeMap<Uuid, Entity>,
}

impl ProxyCalls<'_> {
    /// Sends the call to the URL that the caller names.
    pub async fn invoke_ephemeral(
        self,
        url: &str,
        call: ProxyCall,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let settings = &self.caller.tenant.settings;
        if settings.get(DISABLE_EPHEMERAL).is_some_and(|value| value == "true") {
            return Err(Error::Forbidden(SWITCHED_OFF).into());
        }
        let url = target::join(url, &call.rest, call.query.as_deref())?;
        self.invoke(url, call, Usage::Plain).await
    }

    async fn invoke(
        self,
        url: HttpsUrl,
        call: ProxyCall,
        usage: Usage,
    ) -> Result<OutboundResponse, ProxyFailure> {
        let now = self.vault.now();
        let prepare = |budget: &Budget| match self.prepare(&call, usage, now, budget) {
            Err(ProxyFailure::App(error)) => Err(error),
            prepared => Ok(prepared),
        };
        let prepared = self.vault.evaluating(Work::Page, prepare).await??;
        let entries =
            prepared.used.into_values().map(|token| self.caller.did(Act::Use, token, now));
        self.vault.audit().note_acts(self.caller.tenant.id, entries.collect()).await?;
        let mut headers = call.headers;
        for (number, value) in prepared.headers {
            if let Some((_, old)) = headers.get_mut(number) {
                *old = value;
            }
        }
        let request = OutboundRequest {
            method: call.method,
            url,
            headers,
            body: prepared.body.unwrap_or(call.body),
            timeout: PROXY_TIMEOUT,
            response_bytes_max: PROXY_ANSWER_BYTES_MAX,
            identity: None,
        };
        self.send(request).await
    }

    async fn send(self, request: OutboundRequest) -> Result<OutboundResponse, ProxyFailure> {
        const NO_CLIENT: OutboundFailure =
            OutboundFailure::Unreachable("This server sends nothing to destinations.");
        let outbound = self.vault.outbound.get().ok_or(NO_CLIENT)?;
        let response = outbound.send(request).await?;
        if (200..=599).contains(&response.status) {
            Ok(response)
        } else {
            Err(OutboundFailure::Broken("The destination's answer has an unknown status.").into())
        }
    }

    /// Evaluates all expressions of the call.
    fn prepare(
        self,
        call: &ProxyCall,
        usage: Usage,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Prepared, ProxyFailure> {
        let body = BodySlots::find(call, budget)?;
        let headers = HeaderSlots::find(call, budget)?;
        let references = body.references().into_iter().chain(headers.references());
        let (named, used) = self.open(references, usage, now, budget)?;
        let config = Secret::new(Value::Object(Map::new()));
        let mut scope = ProxyScope::new(named, config, call.encrypted.as_ref());
        if body.names("proxy") {
            scope.describe(call, None);
        }
        let filled = body.fill(Filling { scope: &scope, vault: self.vault, budget })?;
        if headers.names("proxy") {
            let body = filled.as_ref().unwrap_or(&call.body);
            scope.describe(call, Some(body.expose()));
        }
        let headers = headers.fill(Filling { scope: &scope, vault: self.vault, budget })?;
        Ok(Prepared { body: filled, headers, used })
    }

    /// Opens the tokens and intents that the expressions name, each once.
    fn open<'r>(
        self,
        references: impl Iterator<Item = &'r Reference>,
        usage: Usage,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<(NamedReferences, BTreeMap<Uuid, Entity>), ProxyFailure> {
        let mut named = NamedReferences(HashMap::new());
        let mut used = BTreeMap::new();
        let mut ids = BTreeSet::new();
        let mut missing = BTreeSet::new();
        let mut snapshot = None;
        for reference in references {
            if named.0.contains_key(reference) || missing.contains(reference.id()) {
                continue;
            }
            ids.insert(reference.id());
            if ids.len() > PROXY_TOKENS_MAX {
                let detail = format!("At most {PROXY_TOKENS_MAX} tokens may be used in a call.");
                return Err(ProxyFailure::Invalid(detail));
            }
            let snapshot = match &mut snapshot {
                Some(snapshot) => snapshot,
                none => none.insert(self.vault.snapshot()?),
            };
            let tokens = self.vault.tokens(self.caller);
            match tokens.open_reference(snapshot, reference, usage, now, budget)? {
                Some((value, entity)) => {
                    used.insert(entity.id, entity);
                    named.0.insert(reference.clone(), value);
                }
                None => {
                    missing.insert(reference.id());
                }
            }
        }
        if missing.is_empty() {
            return Ok((named, used));
        }
        let ids = missing.into_iter().collect::<Vec<_>>().join(", ");
        Err(ProxyFailure::Invalid(format!(
            "Failed to detokenize some tokens: {ids}. Tokens were not found."
        )))
    }
}

impl From<Unfilled> for ProxyFailure {
    fn from(unfilled: Unfilled) -> Self {
        Self::Invalid(unfilled.into_text())
    }
}
