//! A call whose caller does not wait: it runs in a task, and its answer is stored, and sent to the
//! callback if there is one.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use crate::app::{Caller, Error, OutboundFailure, OutboundRequest, Party, PreparedReaction};
use crate::bounds::{
    CALLBACK_ANSWER_BYTES_MAX, CALLBACK_PAUSES, CALLBACK_TIMEOUT, REACTOR_PENDING_PAUSE,
};
use crate::domain::hops::HOPS;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::ReactorRequestId;
use crate::http::Http;
use crate::http::program_state::PendingPlace;
use crate::http::programs::finish::finish;
use crate::http::programs::{Hosts, answer};
use crate::idempotency::RememberedAnswer;
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
        let Self { http, caller, prepared, hosts, callback, place } = self;
        // If this fails, the row says after its deadline that the answer was lost.
        let settled = http.app.reactors().settle(&caller, &prepared, &answer, error).await;
        if let (Some(url), Some(request), Ok(())) = (callback, prepared.request(), settled) {
            // A callback may run a program, too.
            let Ok(marks) = hosts.marks() else { return };
            let callback = Callback { party: caller.party(), request, url, marks };
            // The pauses take hours. The keys of the tenant and the arguments are not held meanwhile.
            drop((caller, prepared, hosts));
            callback.send(&http, place).await;
        }
    }

    async fn outcome(&self) -> (RememberedAnswer, Option<&'static str>) {
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
            Err(Error::Busy) => {
                return (answer::remembered(&answer::unstarted()), Some("no worker was free"));
            }
            Err(error) => Err(error),
        };
        match finished {
            Ok(finished) => (finished.remembered(&self.prepared), finished.failure()),
            Err(error) => {
                (answer::remembered(&answer::refusal(error)), Some("the call was refused"))
            }
        }
    }
}

/// An answer that is on its way to its receiver. The answer itself is in its row alone.
struct Callback {
    party: Party,
    request: ReactorRequestId,
    url: HttpsUrl,
    marks: String,
}

impl Callback {
    /// Sends the answer until the receiver acknowledges it. A stop of the server ends the
    /// repetitions, and there are none without a place for them; the result stays readable.
    async fn send(self, http: &Http, place: PendingPlace) {
        if self.attempt(http).await == Attempt::Last {
            return;
        }
        // The first attempt holds the answer in memory, so the call still counts among those under
        // way.
        drop(place);
        let Some(_place) = http.programs.callbacks.take(self.party) else { return };
        for pause in CALLBACK_PAUSES {
            sleep(pause).await;
            if self.attempt(http).await == Attempt::Last {
                return;
            }
        }
    }

    async fn attempt(&self, http: &Http) -> Attempt {
        let body = match http.app.reactors().stored_body(self.party.tenant, self.request) {
            Ok(Some(body)) => body,
            // The receiver waits for the end of the call.
            Err(error @ Error::AnswerGone) => {
                answer::remembered(&answer::refusal(error)).into_body()
            }
            // Without its row, which expires or is deleted with the tenant, there is nothing to send.
            Ok(None) | Err(_) => return Attempt::Last,
        };
        let json = Secret::new(b"application/json".to_vec());
        let marks = Secret::new(self.marks.clone().into_bytes());
        let request = OutboundRequest {
            tenant: self.party.tenant,
            credential: self.party.credential,
            method: String::from("POST"),
            url: self.url.clone(),
            headers: vec![(String::from("content-type"), json), (String::from(HOPS), marks)],
            body,
            timeout: CALLBACK_TIMEOUT,
            response_bytes_max: CALLBACK_ANSWER_BYTES_MAX,
            identity: None,
        };
        let sent = http.app.send_for_program(request).await;
        Attempt::of(sent.map(|answer| answer.status))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// Another attempt would change nothing.
    Last,
    Repeated,
}

impl Attempt {
    const fn of(sent: Result<u16, OutboundFailure>) -> Self {
        match sent {
            Ok(200..300) | Err(OutboundFailure::Refused(_)) => Self::Last,
            Ok(_)
            | Err(
                OutboundFailure::Unreachable(_)
                | OutboundFailure::TimedOut
                | OutboundFailure::Broken(_),
            ) => Self::Repeated,
        }
    }
}

opaque_debug!(LaterCall);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_ends_with_success_and_at_a_destination_that_is_not_allowed() {
        for (sent, expected) in [
            (Ok(200), Attempt::Last),
            (Ok(299), Attempt::Last),
            (Ok(301), Attempt::Repeated),
            (Ok(404), Attempt::Repeated),
            (Ok(500), Attempt::Repeated),
            (Err(OutboundFailure::Refused("x")), Attempt::Last),
            (Err(OutboundFailure::Unreachable("x")), Attempt::Repeated),
            (Err(OutboundFailure::TimedOut), Attempt::Repeated),
            (Err(OutboundFailure::Broken("x")), Attempt::Repeated),
        ] {
            assert_eq!(Attempt::of(sent), expected, "{sent:?}");
        }
    }
}
