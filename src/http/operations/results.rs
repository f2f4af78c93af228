//! The listener that directory servers send results of challenges to. Whoever gets here has shown a
//! certificate of a scheme.

use std::time::Instant;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};

use crate::bounds::BODY_BYTES_MAX;
use crate::http::body;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::state::Http;
use crate::log::{RequestLine, Trace};
use crate::secret::SecretBody;
use crate::threeds::scheme::Scheme;

/// As requests for authentications name it to directory servers.
pub const RESULTS_PATH: &str = "/3ds/results";

impl Http {
    /// `schemes` are those whose authorities vouch for the peer.
    pub async fn answer_results(
        &self,
        request: Request<Incoming>,
        schemes: &[Scheme],
    ) -> Response<SecretBody> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let asked = self.asked(&parts);
        let response = match self.take_message(&parts, body, schemes).await {
            Ok(reply) => asked.success(reply),
            Err(problem) => {
                self.note(&problem);
                asked.failure(&problem)
            }
        };
        self.log.request(RequestLine {
            trace: Trace::from_client(&asked.trace),
            route: "ThreedsResults",
            tenant: None,
            application: None,
            status: response.status().as_u16(),
            duration: started.elapsed(),
        });
        response
    }

    /// Mistakes of messages are answered by messages: only what is none is a problem.
    async fn take_message(
        &self,
        parts: &Parts,
        body: Incoming,
        schemes: &[Scheme],
    ) -> Result<Reply, Problem> {
        let problem = match (parts.uri.path() == RESULTS_PATH, &parts.method) {
            (true, &Method::POST) => None,
            (true, _) => Some(Problem::method_not_allowed(String::from("POST"))),
            (false, _) => Some(Problem::new(404, "There is no such path.")),
        };
        if let Some(problem) = problem {
            body::drain(body).await;
            return Err(problem);
        }
        let (bytes, _share) = body::read(body, BODY_BYTES_MAX, &self.bodies).await?;
        let receipt = self.app.threeds().take_message(bytes.expose(), schemes).await?;
        Ok(Reply::ok(receipt.map(SecretBody::new).unwrap_or_default()))
    }
}
