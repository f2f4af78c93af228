//! A client without manners: it opens connections from several addresses of this machine and sends
//! whatever bytes it likes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, split};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::Vault;
use crate::harness::frames::goaway_reason;

#[derive(Clone)]
pub(crate) struct Stranger {
    server: SocketAddr,
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Flooded {
    pub(crate) sent: usize,
    pub(crate) is_closed: bool,
    pub(crate) reason: Option<u32>,
}

impl Stranger {
    pub(crate) fn of(vault: &Vault) -> Self {
        let speaking = |protocol: &[u8]| {
            let mut config = vault.client().as_ref().clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            Arc::new(config)
        };
        Self { server: vault.address, http1: speaking(b"http/1.1"), http2: speaking(b"h2") }
    }

    /// Connections with numbers of the same remainder by eight have the same address.
    pub(crate) async fn tcp(&self, number: usize) -> io::Result<TcpStream> {
        let host = u8::try_from(2 + number % 8).unwrap();
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)))?;
        let stream = socket.connect(self.server).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub(crate) async fn http1(&self, number: usize) -> io::Result<TlsStream<TcpStream>> {
        self.tls(number, &self.http1).await
    }

    pub(crate) async fn http2(&self, number: usize) -> io::Result<TlsStream<TcpStream>> {
        self.tls(number, &self.http2).await
    }

    async fn tls(
        &self,
        number: usize,
        config: &Arc<ClientConfig>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let stream = self.tcp(number).await?;
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        TlsConnector::from(Arc::clone(config)).connect(name, stream).await
    }
}

/// The time in which a server closes the connection of a flood after the last piece. It closes idle
/// connections too, after a minute and more.
const CLOSED_MAX: Duration = Duration::from_secs(25);

/// Sends pieces until there are no more or the server closes, and reads meanwhile. After the last
/// piece it waits for the server to close.
pub(crate) async fn flood(
    stream: TlsStream<TcpStream>,
    pieces: impl Iterator<Item = Vec<u8>>,
) -> Flooded {
    let (mut reader, mut writer) = split(stream);
    let mut sent = 0;
    let mut received = Vec::new();
    let write = async {
        for piece in pieces {
            // Flushed: a piece that waits in a buffer is not sent.
            if writer.write_all(&piece).await.is_err() || writer.flush().await.is_err() {
                break;
            }
            sent += piece.len();
        }
        // The server's last words may still be on their way.
        sleep(CLOSED_MAX).await;
    };
    let read = async {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(read) = reader.read(&mut piece).await {
            if read == 0 {
                break;
            }
            received.extend_from_slice(&piece[..read]);
        }
    };
    let is_closed = tokio::select! {
        () = write => false,
        () = read => true,
    };
    Flooded { sent, is_closed, reason: goaway_reason(&received) }
}
