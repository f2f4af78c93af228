//! One connection, one POST, one body.

use std::time::Duration;

use tokio::time::Instant;

use crate::app::{DirectoryFailure, OutboundFailure};
use crate::bounds::THREEDS_CONNECT_MAX;
use crate::directory::{DirectoryClient, DirectoryEndpoint};
use crate::outbound::{Channel, DialFailure, ExchangeFailure, Limits, Message, dial};
use crate::secret::Secret;

/// The content type as the protocol spells it.
const CONTENT: &str = "application/JSON; charset=utf-8";

impl DirectoryClient {
    pub(super) async fn exchange(
        &self,
        peer: &DirectoryEndpoint,
        message: &Secret<Vec<u8>>,
        bytes_max: usize,
        time_max: Duration,
    ) -> Result<Secret<Vec<u8>>, DirectoryFailure> {
        let header =
            |name: &str, value: &str| (String::from(name), Secret::new(value.as_bytes().to_vec()));
        let headers = [header("content-type", CONTENT), header("accept", "application/json")];
        let body = Secret::new(message.expose().clone());
        let message = Message::new("POST", &peer.url, &headers, body);
        let message = message.map_err(DirectoryFailure::Unreachable)?;
        // Try once more, because nothing was sent yet. Begin with another address, if there is one:
        // a host may accept a connection and then stay silent.
        let connected = match self.connect(peer, 0).await {
            Ok(channel) => Ok(channel),
            Err(_) => self.connect(peer, 1).await,
        };
        let mut channel = connected.map_err(DirectoryFailure::Unreachable)?;
        let now = Instant::now();
        let deadline = now.checked_add(time_max).unwrap_or(now);
        let limits = Limits { deadline, response_bytes_max: bytes_max, budgets: &[] };
        let answer = channel.exchange(&message, limits).await.map_err(|failed| match failed {
            ExchangeFailure::Sent(OutboundFailure::TimedOut) => DirectoryFailure::TimedOut,
            ExchangeFailure::Sent(
                OutboundFailure::Broken(why)
                | OutboundFailure::Refused(why)
                | OutboundFailure::Unreachable(why),
            )
            | ExchangeFailure::Unsent(why) => DirectoryFailure::Broken(why),
        })?;
        if answer.status != 200 {
            let why = "the server answered with a status other than 200";
            return Err(DirectoryFailure::Broken(why));
        }
        Ok(answer.body)
    }

    /// Resolves the name, connects and completes the TLS handshake, each with a deadline. `begin`
    /// is the index of the address to try first.
    async fn connect(
        &self,
        peer: &DirectoryEndpoint,
        begin: usize,
    ) -> Result<Channel, &'static str> {
        let mut addresses = self.addresses.find(&peer.url.host).await;
        let begin = begin.checked_rem(addresses.len()).unwrap_or(0);
        addresses.rotate_left(begin);
        let (name, port) = (peer.name.clone(), peer.url.port);
        let stream = dial(addresses, port, name, &peer.tls, THREEDS_CONNECT_MAX).await;
        let stream = stream.map_err(|failure| {
            let of_other = "the server's certificate is not signed by the configured authority";
            if failure == DialFailure::Certificate { of_other } else { failure.text() }
        })?;
        Channel::open(stream, &self.tasks, &self.open).await
    }
}
