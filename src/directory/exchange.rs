//! One connection, one POST, one body.

use std::future::poll_fn;
use std::pin::pin;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use crate::bounds::{H1_BUFFER_BYTES_MAX, THREEDS_CONNECT_MAX};
use crate::config::HttpsUrl;
use crate::directory::DirectoryEndpoint;
use crate::directory::attempts::first_success;
use crate::directory::names::Resolver;
use crate::secret::{Secret, SecretBody, SecretBuffer};

/// As the protocol spells it.
const CONTENT: &str = "application/JSON; charset=utf-8";

impl DirectoryEndpoint {
    /// Finds it, connects and shakes hands, each by its deadline. `begin` says which of its
    /// addresses comes first.
    pub(super) async fn connect(
        &self,
        resolver: &Resolver,
        begin: usize,
    ) -> Result<TlsStream<TcpStream>, &'static str> {
        let mut addresses = resolver.resolve(&self.url.host).await;
        let begin = begin.checked_rem(addresses.len()).unwrap_or(0);
        addresses.rotate_left(begin);
        // The handshake has a share too.
        let shares = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_add(1);
        let share = THREEDS_CONNECT_MAX.checked_div(shares).unwrap_or_default();
        let connected = async {
            let socket = first_success(addresses, share, |address| async move {
                let connected = TcpStream::connect((address, self.url.port)).await;
                connected.ok().ok_or("it refused the connection")
            });
            let socket = socket.await.unwrap_or(Err("its name has no address"))?;
            // The message is written whole, so there is nothing that waiting could gather.
            socket.set_nodelay(true).ok();
            self.tls.connect(self.name.clone(), socket).await.map_err(|error| explain(&error))
        };
        timeout(THREEDS_CONNECT_MAX, connected)
            .await
            .unwrap_or(Err("it could not be reached in time"))
    }
}

fn explain(error: &std::io::Error) -> &'static str {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "its certificate is not one that the settings trust"
        }
        Some(rustls::Error::AlertReceived(_)) => REFUSED,
        Some(_) | None => "the TLS handshake failed",
    }
}

/// In the newer TLS a server that does not want our certificate says so after the handshake.
const REFUSED: &str = "it refused this server's certificate";

pub(super) async fn post(
    stream: TlsStream<TcpStream>,
    url: &HttpsUrl,
    message: &Secret<Vec<u8>>,
    bytes_max: usize,
) -> Result<Secret<Vec<u8>>, &'static str> {
    let body = SecretBody::from(message.expose().clone());
    let request = Request::post(url.path.as_str())
        .header(HOST, url.authority())
        .header(CONTENT_TYPE, CONTENT)
        .header(ACCEPT, "application/json")
        .body(body);
    let request = request.ok().ok_or("its URL cannot be asked for")?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(H1_BUFFER_BYTES_MAX);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        if response.status() != StatusCode::OK {
            return Err("it answered with another status than 200");
        }
        read(response.into_body(), bytes_max).await
    };
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut is_over = false;
    // The connection moves the bytes. When it is over, what it brought is still to be taken.
    poll_fn(|cx| {
        is_over = is_over || connection.as_mut().poll(cx).is_ready();
        answer.as_mut().poll(cx)
    })
    .await
}

fn broken(error: &hyper::Error) -> &'static str {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let io = inner.downcast_ref::<std::io::Error>();
        if let Some(io) = io {
            let told = explain(io);
            return if told == REFUSED { told } else { "the connection broke" };
        }
        source = inner.source();
    }
    "it does not speak HTTP"
}

async fn read(mut body: Incoming, bytes_max: usize) -> Result<Secret<Vec<u8>>, &'static str> {
    const TOO_LARGE: &str = "its answer is too large";
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(TOO_LARGE);
    }
    let mut bytes = SecretBuffer::with_capacity(announced);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len().saturating_add(data.len()) > bytes_max {
            return Err(TOO_LARGE);
        }
        bytes.extend(data);
    }
    Ok(bytes.finish())
}
