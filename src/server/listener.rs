//! Listening sockets: bound here, or inherited from the service manager.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

use crate::bounds::BACKLOG_MAX;

pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait until the kernel drops the connections of the last run.
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it: the kernel detects peers that vanished.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG_MAX)
}

pub(super) fn adopt(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
