//! HTTP/1.1 over TLS, blocking, by hand: the tests send requests that a client library would refuse.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::harness::answer::Answer;
use crate::harness::contract::{self, Asked};
use crate::harness::wait::{PATIENCE, within};

pub(crate) struct Connection {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    /// Requests without an answer yet, if the API document describes the listener.
    asked: Option<VecDeque<Asked>>,
    /// Set when the last answer announced the end of the connection.
    pub(crate) closing: bool,
}

/// A client that trusts the certificates of this file and nothing else.
pub(crate) fn trusting(ca: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

impl Connection {
    pub(crate) fn open(address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, PATIENCE)?, address, config)
    }

    /// From this address of this machine.
    pub(crate) fn open_from(
        source: SocketAddr,
        address: SocketAddr,
        config: &Arc<ClientConfig>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let tcp = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(source)?;
            within("a connection from another address", socket.connect(address)).await?.into_std()
        })?;
        tcp.set_nonblocking(false)?;
        Self::over(tcp, address, config)
    }

    fn over(tcp: TcpStream, address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.set_write_timeout(Some(PATIENCE))?;
        let name = ServerName::from(address.ip());
        let client = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(client, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self { stream: BufReader::new(stream), asked: None, closing: false })
    }

    /// To the API listener, whose answers are held to the API document.
    pub(crate) fn open_api(address: SocketAddr, config: &Arc<ClientConfig>) -> io::Result<Self> {
        let mut connection = Self::open(address, config)?;
        connection.asked = Some(VecDeque::new());
        Ok(connection)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(asked) = &mut self.asked {
            // Bytes that begin no request are the rest of one that was begun.
            asked.extend(Asked::read(bytes));
        }
        let stream = self.stream.get_mut();
        stream.write_all(bytes)?;
        stream.flush()
    }

    /// The next answer. `Continue` answers are answers too.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status: u16 = status.ok_or_else(|| broken("no status line"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken("no header"))?;
            headers.push((name.to_ascii_lowercase(), String::from(value.trim())));
        }
        let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|it| &it.1);
        self.closing = find("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let length = match (status, find("content-length")) {
            (100 | 204 | 304, None) => 0,
            (_, Some(length)) => length.parse().map_err(io::Error::other)?,
            (_, None) => return Err(broken("neither a length nor an empty answer")),
        };
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        let answer = Answer::new(status, headers, body);
        if status != 100
            && let Some(asked) = self.asked.as_mut().and_then(VecDeque::pop_front)
        {
            contract::check(&asked, &answer);
        }
        Ok(answer)
    }

    /// All bytes until the server closes the connection, by a reset too. A server that does not
    /// close it has failed the test.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut bytes) {
            assert!(!is_timeout(&error), "waited {PATIENCE:?} in vain: the connection closes");
        }
        bytes
    }

    /// All text that the server sent on a connection whose sending side is broken. An ordinary read
    /// would first try to send the rest of the request, and fail.
    #[track_caller]
    pub(crate) fn last_words(&mut self) -> String {
        let StreamOwned { conn, sock } = self.stream.get_mut();
        let mut text = Vec::new();
        loop {
            match conn.read_tls(sock) {
                Ok(0) => break,
                Ok(_) if conn.process_new_packets().is_err() => break,
                Ok(_) => conn.reader().read_to_end(&mut text).ok(),
                Err(error) => {
                    assert!(!is_timeout(&error), "waited {PATIENCE:?} in vain: the server closes");
                    break;
                }
            };
        }
        String::from_utf8(text).unwrap()
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from(line.trim_end_matches(['\r', '\n'])))
    }
}

/// A read that ran into the socket's timeout ends with either kind.
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
