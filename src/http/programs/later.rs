//! A call whose caller does not wait: it runs in a task, and its answer is stored, and sent to the
//! callback if there is one.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use crate::app::{Caller, Credential, Error, OutboundRequest, PreparedReaction};
use crate::bounds::{
    CALLBACK_ANSWER_BYTES_MAX, CALLBACK_PAUSES, CALLBACK_TIMEOUT, REACTOR_PENDING_PAUSE,
    REACTOR_RESULT_BYTES_MAX,
};
use crate::domain::https_url::HttpsUrl;
use crate::domain::reactor::ProgramAnswer;
use crate::http::Http;
use crate::http::program_state::PendingPlace;
use crate::http::programs::finish::finish;
use crate::http::programs::{Hosts, answer};
use crate::secret::Secret;

pub(in crate::http) struct LaterCall {
    pub(in crate::http) http: Arc<Http>,
    pub(in crate::http) caller: Arc<Caller>,
    pub(in crate::http) prepared: PreparedReaction,
    pub(in crate::http) hosts: Hosts,
    pub(in crate::http) callback: Option<HttpsUrl>,
    pub(in crate::http) place: PendingPlace,
}

impl LaterCall {
    pub(in crate::http) async fn run(self) {
        let (answer, error) = self.outcome().await;
        let copy = self.callback.as_ref().map(|_| Secret::new(answer.body.expose().clone()));
        let app = &self.http.app;
        // If this fails, the row says after its deadline that the answer was lost.
        app.reactors().settle(&self.caller, &self.prepared, answer, error).await.ok();
        let Self { http, caller, callback, place, .. } = self;
        if let (Some(url), Some(body)) = (callback, copy) {
            let (tenant, credential) = (caller.tenant.id, caller.credential());
            // The keys of the tenant and the place are not held during the pauses.
            drop((caller, place));
            call_back(&http, tenant, credential, &url, &body).await;
        }
    }

    async fn outcome(&self) -> (ProgramAnswer, Option<&'static str>) {
        let (reactors, deadline) =
            (self.http.app.reactors(), Instant::now() + self.prepared.timeout());
        let reacted = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match reactors.run(&self.caller, &self.prepared, &self.hosts, left).await {
                // The program has not started.
                Err(Error::Busy) if Instant::now() + REACTOR_PENDING_PAUSE < deadline => {
                    sleep(REACTOR_PENDING_PAUSE).await;
                }
                reacted => break reacted,
            }
        };
        let finished = match reacted {
            Ok(reacted) => finish(&self.http.app, &self.caller, &self.prepared, reacted).await,
            Err(Error::Busy) => return (answer::unstarted(), Some("no worker was free")),
            Err(error) => Err(error),
        };
        let (answer, error) = match finished {
            Ok(finished) => finished.into_answer(),
            Err(error) => (answer::refusal(error), Some("the call was refused")),
        };
        if answer.body.expose().len() > REACTOR_RESULT_BYTES_MAX {
            return (answer::too_large(), Some("the answer is too large"));
        }
        (answer, error)
    }
}

/// Sends the answer until the receiver acknowledges it. A stop of the server ends the repetitions;
/// the result stays readable.
async fn call_back(
    http: &Http,
    tenant: crate::domain::id::TenantId,
    credential: Credential,
    url: &HttpsUrl,
    body: &Secret<String>,
) {
    let mut pauses = CALLBACK_PAUSES.into_iter();
    loop {
        let json = Secret::new(b"application/json".to_vec());
        let request = OutboundRequest {
            tenant,
            credential,
            method: String::from("POST"),
            url: url.clone(),
            headers: vec![(String::from("content-type"), json)],
            body: Secret::new(body.expose().clone().into_bytes()),
            timeout: CALLBACK_TIMEOUT,
            response_bytes_max: CALLBACK_ANSWER_BYTES_MAX,
            identity: None,
        };
        let sent = http.app.send_for_program(request).await;
        if sent.is_ok_and(|answer| (200..300).contains(&answer.status)) {
            return;
        }
        let Some(pause) = pauses.next() else { return };
        sleep(pause).await;
    }
}

opaque_debug!(LaterCall);
