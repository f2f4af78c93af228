//! The interface to systemd: inherited sockets, readiness and the watchdog.
//!
//! systemd keeps the listening sockets open during a restart, so that clients wait in the kernel's
//! queue instead of being refused. The server notifies systemd when it is ready, when it stops, and
//! at intervals for the watchdog. Without systemd it does none of this.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use listenfd::ListenFd;

use crate::app::Vault;
use crate::bounds::NOTIFY_SEND_MAX;
use crate::cli::support::{Exit, Failure, Result};
use crate::store::CommitFailure;

/// More than one notification a period, so that a short delay does not look like a hang.
const SIGNS_PER_PERIOD: u32 = 3;

/// The notify socket of systemd, if it set one.
#[derive(Debug, Default)]
pub struct ServiceManager {
    notify_socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    pub fn from_environment() -> Result<Self> {
        let Some(address) = env::var_os("NOTIFY_SOCKET").filter(|it| !it.is_empty()) else {
            return Ok(Self::default());
        };
        let notify_socket = connect(&address).map_err(|error| {
            Failure::new(Exit::Unavailable, "cannot reach the service manager")
                .line("socket", address.display())
                .why(error)
                .try_this("start the server with systemctl, or without NOTIFY_SOCKET")
        })?;
        // Without WATCHDOG_PID the period applies to every process that has the variable.
        let is_ours = number("WATCHDOG_PID")?.is_none_or(is_this_process);
        let period = number("WATCHDOG_USEC")?.filter(|&period| is_ours && period > 0);
        Ok(Self { notify_socket: Some(notify_socket), watchdog: period.map(Duration::from_micros) })
    }

    pub fn ready(&self) {
        self.notify("READY=1\nSTATUS=Serving.");
    }

    pub fn stopping(&self) {
        self.notify("STOPPING=1\nSTATUS=Finishing requests in flight.");
    }

    /// Sends WATCHDOG=1 after each round trip through the writer. The task runs on the threads that
    /// answer requests, so a hang of either stops the notifications. A writer that waits for its
    /// database is no hang: a restart would not bring the database back.
    pub async fn notify_watchdog(self: Arc<Self>, vault: Arc<Vault>) {
        let Some(period) = self.watchdog else { return };
        let pause = period / SIGNS_PER_PERIOD;
        loop {
            // The writer may begin to wait for its database after this check, so the wait has a
            // deadline.
            match tokio::time::timeout(pause, vault.store().reach_writer()).await {
                Ok(Ok(()) | Err(CommitFailure::Unavailable)) => self.notify("WATCHDOG=1"),
                // A full queue or a missing answer may mean a busy or a stuck writer; the next
                // round trip distinguishes them.
                Ok(Err(CommitFailure::QueueFull)) | Err(_) => (),
                Ok(Err(
                    CommitFailure::Impossible(_) | CommitFailure::Stopped | CommitFailure::TooLarge,
                )) => return,
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Ignores errors: the server can serve without systemd, which has deadlines of its own.
    fn notify(&self, what: &str) {
        if let Some(notify_socket) = &self.notify_socket {
            notify_socket.send(what.as_bytes()).ok();
        }
    }
}

/// Connects to a path, or to an abstract name, which begins with `@`.
fn connect(address: &OsStr) -> io::Result<UnixDatagram> {
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(address),
    }?;
    let notify_socket = UnixDatagram::unbound()?;
    notify_socket.connect_addr(&address)?;
    notify_socket.set_write_timeout(Some(NOTIFY_SEND_MAX))?;
    Ok(notify_socket)
}

pub fn sockets() -> Result<Vec<TcpListener>> {
    // The crate accepts a missing LISTEN_PID; the protocol does not. The crate contains the unsafe
    // code that takes over a descriptor, and it checks that the descriptor is a TCP socket. A text
    // that is not a number names no process, so the sockets are not for this one.
    let process = env::var_os("LISTEN_PID").and_then(|text| text.to_str()?.parse().ok());
    if !process.is_some_and(is_this_process) {
        return Ok(Vec::new());
    }
    let mut handed = ListenFd::from_env();
    let taken = (0..handed.len()).filter_map(|at| handed.take_tcp_listener(at).transpose());
    taken.collect::<io::Result<_>>().map_err(|error| {
        Failure::new(Exit::Config, "cannot use the sockets of the service manager")
            .why(error)
            .try_this("pass only TCP sockets (ListenStream= in strongroom.socket)")
    })
}

fn number(variable: &str) -> Result<Option<u64>> {
    env::var_os(variable).map(|text| parse_number(variable, &text)).transpose()
}

fn parse_number(variable: &str, text: &OsStr) -> Result<u64> {
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Failure::new(Exit::Config, format!("{variable} is not a number"))
            .why("systemd sets this variable to a whole number")
            .try_this("start the server with systemctl, or without this variable")
    })
}

fn is_this_process(id: u64) -> bool {
    id == u64::from(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(address: &str) -> ServiceManager {
        ServiceManager {
            notify_socket: Some(connect(OsStr::new(address)).unwrap()),
            watchdog: None,
        }
    }

    #[track_caller]
    fn check_hears(notify_socket: &UnixDatagram, manager: &ServiceManager) {
        manager.ready();
        manager.stopping();
        let mut heard = [0; 64];
        for beginning in [b"READY=1\n".as_slice(), b"STOPPING=1\n"] {
            let length = notify_socket.recv(&mut heard).unwrap();
            assert!(heard[..length].starts_with(beginning));
        }
    }

    #[test]
    fn it_is_told_at_a_path_or_at_an_abstract_name() {
        let name = format!("strongroom-notify-{}", std::process::id());
        let path = env::temp_dir().join(&name);
        std::fs::remove_file(&path).ok();
        check_hears(&UnixDatagram::bind(&path).unwrap(), &manager(path.to_str().unwrap()));
        std::fs::remove_file(&path).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        check_hears(&UnixDatagram::bind_addr(&address).unwrap(), &manager(&format!("@{name}")));
    }

    #[test]
    fn nobody_is_told_without_a_manager_and_one_that_left_does_no_harm() {
        ServiceManager::default().ready();
        let name = format!("strongroom-left-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let notify_socket = UnixDatagram::bind_addr(&address).unwrap();
        let manager = manager(&format!("@{name}"));
        drop(notify_socket);
        manager.ready();
    }

    #[test]
    fn a_variable_that_is_no_number_is_refused() {
        assert_eq!(parse_number("WATCHDOG_PID", OsStr::new("12")).unwrap(), 12);
        for text in ["", "-1", "1 ", "self"] {
            let failure = parse_number("WATCHDOG_PID", OsStr::new(text)).unwrap_err();
            assert_eq!(failure.exit, Exit::Config, "{text}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for address in ["@", "/nowhere/at/all", &"x".repeat(200)] {
            assert!(connect(OsStr::new(address)).is_err(), "{address}");
        }
    }
}
