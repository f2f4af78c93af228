//! Results of challenges, which directory servers send to a separate listener. Its peers have shown
//! a certificate of a scheme.

use crate::http::{Answer, BoxFuture, Http, Reply};
use crate::secret::SecretBody;
use crate::threeds::Scheme;

/// The function of the results listener in the routing table.
pub(in crate::http) type ResultsFunction =
    for<'a> fn(&'a Http, &'a [u8], &'a [Scheme]) -> BoxFuture<'a, Answer>;

/// Takes a message from a peer with certificates of these schemes. A mistake in a message is
/// answered with a message; a body that is not a message is a problem.
pub(in crate::http) fn take_message<'a>(
    http: &'a Http,
    message: &'a [u8],
    schemes: &'a [Scheme],
) -> BoxFuture<'a, Answer> {
    Box::pin(async move {
        let receipt = http.app.threeds().take_message(message, schemes).await?;
        Ok(Reply::ok(receipt.map(SecretBody::new).unwrap_or_default()))
    })
}
