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
use crate::directory::DirectoryEndpoint;
use crate::directory::attempts::first_success;
use crate::directory::names::Resolver;
use crate::domain::https_url::HttpsUrl;
use crate::secret::{Secret, SecretBody, SecretBuffer};

/// The content type as the protocol spells it.
const CONTENT: &str = "application/JSON; charset=utf-8";

impl DirectoryEndpoint {
    /// Resolves the name, connects and completes the TLS handshake, each with a deadline. `begin`
    /// is the index of the address to try first.
    pub(super) async fn connect(
        &self,
        resolver: &Resolver,
        begin: usize,
    ) -> Result<TlsStream<TcpStream>, &'static str> {
        let mut addresses = resolver.resolve(&self.url.host).await;
        let begin = begin.checked_rem(addresses.len()).unwrap_or(0);
        addresses.rotate_left(begin);
        // The handshake has a share of the time too.
        let shares = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_add(1);
        let share = THREEDS_CONNECT_MAX.checked_div(shares).unwrap_or_default();
        let connected = async {
            let socket = first_success(addresses, share, |address| async move {
                let connected = TcpStream::connect((address, self.url.port)).await;
                connected.ok().ok_or("the server refused the connection")
            });
            let socket = socket.await.unwrap_or(Err("the server's name has no address"))?;
            // The message is written whole, so delaying small writes would only cost time.
            socket.set_nodelay(true).ok();
            self.tls.connect(self.name.clone(), socket).await.map_err(|error| explain(&error))
        };
        timeout(THREEDS_CONNECT_MAX, connected)
            .await
            .unwrap_or(Err("the server could not be reached in time"))
    }
}

fn explain(error: &std::io::Error) -> &'static str {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "the server's certificate is not signed by the configured authority"
        }
        Some(rustls::Error::AlertReceived(_)) => REFUSED,
        Some(_) | None => "the TLS handshake failed",
    }
}

/// In TLS 1.3 a server refuses a client certificate after the handshake.
const REFUSED: &str = "the server refused our client certificate";

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
    let request = request.ok().ok_or("the server's URL is not valid")?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(H1_BUFFER_BYTES_MAX);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        if response.status() != StatusCode::OK {
            return Err("the server answered with a status other than 200");
        }
        read(response.into_body(), bytes_max).await
    };
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    let mut is_over = false;
    // The connection moves the bytes. After it has ended, the answer may still have to read them.
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
            let why = explain(io);
            return if why == REFUSED { why } else { "the connection broke" };
        }
        source = inner.source();
    }
    "the server does not speak HTTP"
}

async fn read(mut body: Incoming, bytes_max: usize) -> Result<Secret<Vec<u8>>, &'static str> {
    const TOO_LARGE: &str = "the server's answer is too large";
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
