//! The client: HTTP/1.1 over TLS by hand, so that it costs far less than the server it measures. It understands the
//! answers of the servers here, one to each request and with a `Content-Length`, and refuses all others.

use crate::Outcome;
use crate::request::{Requests, Work};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A handshake, or an answer past the end of the window, may take this long; then the server counts as hanging.
pub(crate) const ANSWER_MAX: Duration = Duration::from_mins(1);

/// The line that a server prints when it is ready.
#[derive(Clone, Deserialize)]
pub(crate) struct Ready {
    pub(crate) url: String,
    pub(crate) ca: PathBuf,
    pub(crate) keys: Keys,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Keys {
    pub(crate) private: String,
    /// Bare servers have none.
    #[serde(default)]
    pub(crate) management: String,
}

/// The server that requests go to, and the process whose time is measured.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) pid: u32,
    pub(crate) key: String,
    pub(crate) management: String,
    host: String,
    address: SocketAddr,
    tls: TlsConnector,
}

impl Target {
    pub(crate) fn new(ready: Ready, pid: u32) -> Outcome<Self> {
        let host = ready.url.strip_prefix("https://").ok_or("the ready line's url is not https")?;
        let address = host.parse()?;
        let tls = connector(&ready.ca)?;
        let Keys { private: key, management } = ready.keys;
        Ok(Self { pid, key, management, host: host.to_owned(), address, tls })
    }

    /// The same server, for another caller.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), ..self.clone() }
    }

    pub(crate) fn requests(&self, work: Work) -> Requests {
        Requests::new(work, &self.host, &self.key)
    }

    pub(crate) async fn connect(&self) -> Outcome<Connection> {
        self.connect_from(Ipv4Addr::LOCALHOST).await
    }

    /// From one of the many addresses of this machine: the vault bounds the connections of each.
    pub(crate) async fn connect_from(&self, address: Ipv4Addr) -> Outcome<Connection> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((address, 0).into())?;
        let tcp = socket.connect(self.address).await?;
        tcp.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        let stream = self.tls.connect(name, tcp).await?;
        Ok(Connection {
            stream,
            out: Vec::with_capacity(1_024),
            buffer: vec![0; 16 * 1_024],
            filled: 0,
        })
    }
}

/// A client of a server whose certificate is in this file.
pub(crate) fn connector(ca: &Path) -> Outcome<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// For requests that are not part of a load.
pub(crate) fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}

pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    pub(crate) out: Vec<u8>,
    buffer: Vec<u8>,
    filled: usize,
}

/// One parsed answer; the ranges point into the connection's buffer until the next exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: Range<usize>,
    pub(crate) body: Range<usize>,
}

impl Connection {
    /// The same with a deadline, for requests that are not measured.
    pub(crate) async fn exchange_in_time(&mut self) -> Outcome<Answer> {
        match tokio::time::timeout(ANSWER_MAX, self.exchange()).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer for {ANSWER_MAX:?}").into()),
        }
    }

    /// Sends the bytes in `out` and waits for the whole answer.
    pub(crate) async fn exchange(&mut self) -> Outcome<Answer> {
        self.stream.write_all(&self.out).await?;
        self.stream.flush().await?;
        self.filled = 0;
        loop {
            if self.filled == self.buffer.len() {
                if self.filled >= ANSWER_BYTES_MAX {
                    return Err("the answer is too long".into());
                }
                self.buffer.resize(self.filled * 2, 0);
            }
            let read = self.stream.read(&mut self.buffer[self.filled..]).await?;
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            self.filled += read;
            if let Some(answer) = parse(&self.buffer[..self.filled])? {
                return Ok(answer);
            }
        }
    }

    pub(crate) fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.buffer[range.clone()]
    }

    pub(crate) fn cipher(&self) -> String {
        let suite = self.stream.get_ref().1.negotiated_cipher_suite();
        suite.map_or_else(String::new, |suite| format!("{:?}", suite.suite()))
    }
}

/// A whole answer, or `None` while some of it is still to come.
pub(crate) fn parse(bytes: &[u8]) -> Outcome<Option<Answer>> {
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let mut lines = bytes[..head].split(|byte| *byte == b'\n');
    let status =
        lines.next().and_then(|line| std::str::from_utf8(line.get(9..12)?).ok()?.parse().ok());
    let status: u16 = status.ok_or("the answer has no status")?;
    let mut length = if status == 204 { Some(0) } else { None };
    for line in lines {
        let Some((name, value)) = line.split_at_checked(15) else {
            continue;
        };
        if name.eq_ignore_ascii_case(b"content-length:") {
            length = std::str::from_utf8(value).ok().and_then(|value| value.trim().parse().ok());
        }
    }
    let length: usize = length.ok_or("the answer has no content-length")?;
    let body = head + 4..head + 4 + length;
    if bytes.len() > body.end {
        return Err("more came than one answer".into());
    }
    Ok((bytes.len() == body.end).then_some(Answer { status, head: 0..head, body }))
}

/// The `id` member of a token; members of other objects have longer names or come later.
pub(crate) fn id_of(body: &[u8]) -> Option<String> {
    const MEMBER: &[u8] = b"\"id\":\"";
    let from = body.windows(MEMBER.len()).position(|window| window == MEMBER)? + MEMBER.len();
    let rest = &body[from..];
    let id = &rest[..rest.iter().position(|byte| *byte == b'"')?];
    String::from_utf8(id.to_vec()).ok()
}
