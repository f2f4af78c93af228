//! Connects to the first server in the URL that is reachable and writable.
//!
//! A standby that is promoted begins a new timeline of the database's log. If the old server comes
//! back, or never went, both are writable, and what the old one accepts is lost. A process that has
//! seen the newer timeline therefore refuses servers of older ones, and drops its connections to
//! them. A process that has only ever reached the old server cannot know; keeping that server from
//! accepting writes is the task of the database's operator.

use std::error::Error as _;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::TlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, SimpleQueryMessage};

use crate::bounds::{
    DATABASE_ALIVE_AFTER, DATABASE_ALIVE_PAUSE, DATABASE_ALIVE_PROBES, DATABASE_ANSWER_MAX,
    DATABASE_CONNECT_MAX, DATABASE_IDLE_READ_MAX, DATABASE_IDLE_WRITE_MAX, DATABASE_STATEMENT_MAX,
    DATABASE_TURN_MAX,
};
use crate::crypto::Random;
use crate::names::{Resolver, first_success};
use crate::store::engine::postgres::faults::{Fault, Refusal};
use crate::store::engine::postgres::socket::Socket;
use crate::store::engine::postgres::tls::{Handshake, HandshakeFailed};
use crate::store::engine::postgres::url::{DatabaseUrl, Host};
use crate::store::engine::postgres::wait::{send, wait};
use crate::store::engine::postgres::wire::{Wire, run};

/// The purpose of a connection, which decides its server-side timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Reading,
    Writing,
}

/// A connection with its settings applied.
pub(super) struct Dialed {
    pub(super) client: Client,
    pub(super) wire: Wire,
    /// Notified when a message of LISTEN arrives.
    pub(super) heard: Arc<Notify>,
    /// The timeline of the server's log; 0 if the server does not say.
    pub(super) timeline: u32,
}

pub(super) struct Dialer {
    url: DatabaseUrl,
    tls: Option<Arc<ClientConfig>>,
    names: Resolver,
    /// The host that answered last, which is tried first.
    last_good: AtomicUsize,
    /// The newest timeline that a server had.
    newest_timeline: AtomicU32,
}

const UNREACHABLE: &str = "no server accepts connections at the address of the database";
const NOT_ACCEPTED: &str = "the database did not accept in time";
const STANDBY: &str = "no server of the database is writable";
const REPLACED: &str = "the database's server was replaced by one that was promoted";
/// The first eight digits of a log file's name are the timeline.
const TIMELINE: &str = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

impl Dialer {
    pub(super) fn new(url: DatabaseUrl, tls: Option<Arc<ClientConfig>>) -> Self {
        let names = Resolver::of_this_machine(Random::new());
        let newest_timeline = AtomicU32::new(0);
        Self { url, tls, names, last_good: AtomicUsize::new(0), newest_timeline }
    }

    /// Returns true for the newest timeline of all, and for a server that does not say its own.
    pub(super) fn is_newest(&self, timeline: u32) -> bool {
        timeline == 0 || timeline >= self.newest_timeline.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn database_name(&self) -> &str {
        &self.url.database
    }

    /// Tries each host in turn. `runtime` looks up names and connects.
    ///
    /// A process that has just started does not know the newest timeline. It asks all hosts and takes
    /// the newest: an old primary that was started again is writable as well.
    pub(super) fn dial(self: &Arc<Self>, runtime: &Handle, purpose: Use) -> Result<Dialed, Fault> {
        let first = self.last_good.load(Ordering::Relaxed);
        let knows_timeline = self.newest_timeline.load(Ordering::Relaxed) != 0;
        let mut found: Result<(usize, Dialed), Fault> = Err(Fault::Lost(UNREACHABLE));
        let hosts = self.url.hosts.iter().enumerate();
        for (place, host) in hosts.clone().skip(first).chain(hosts.take(first)) {
            match (self.dial_host(runtime, host, purpose), &found) {
                (Ok(dialed), Ok((_, best))) if dialed.timeline <= best.timeline => (),
                (Ok(dialed), _) => found = Ok((place, dialed)),
                (Err(fault), Err(_)) => found = Err(fault),
                (Err(_), Ok(_)) => (),
            }
            if knows_timeline && found.is_ok() {
                break;
            }
        }
        let (place, dialed) = found?;
        self.last_good.store(place, Ordering::Relaxed);
        Ok(dialed)
    }

    fn dial_host(
        self: &Arc<Self>,
        runtime: &Handle,
        host: &Host,
        purpose: Use,
    ) -> Result<Dialed, Fault> {
        let begun = Instant::now();
        let left = || DATABASE_CONNECT_MAX.saturating_sub(begun.elapsed());
        let (own, place) = (Arc::clone(self), host.clone());
        let connecting = runtime.spawn(async move { connect(&own.names, &place).await });
        let socket = wait(connecting, left()).ok_or(Fault::Lost(NOT_ACCEPTED))?;
        let socket = socket.or(Err(Fault::Lost("the engine is closed")))??;
        let mut config = Config::new();
        config.user(&self.url.user).dbname(&self.url.database).application_name("strongroom");
        if let Some(password) = &self.url.password {
            config.password(password.expose());
        }
        let mut dialed = if self.url.wants_tls || !host.is_near() {
            config.ssl_mode(SslMode::Require);
            start(&config, socket, self.handshake(host)?, left())?
        } else {
            config.ssl_mode(SslMode::Disable);
            start(&config, socket, NoTls, left())?
        };
        let preparing = prepare_session(&dialed.client, purpose);
        dialed.timeline = dialed.wire.run(preparing, left()).ok_or(Fault::Lost(NOT_ACCEPTED))??;
        self.newest_timeline.fetch_max(dialed.timeline, Ordering::Relaxed);
        if !self.is_newest(dialed.timeline) {
            return Err(Fault::Lost(REPLACED));
        }
        Ok(dialed)
    }

    fn handshake(&self, host: &Host) -> Result<Handshake, Fault> {
        let config = self.tls.clone().ok_or(Fault::Lost("no certificate authority is known"))?;
        let name = match host {
            Host::Socket(..) => String::from("localhost"),
            Host::Tcp(name, _) => name.clone(),
        };
        let name = ServerName::try_from(name);
        let name = name.or(Err(Fault::Lost("the name of the database's host is not valid")))?;
        Ok(Handshake { config, name })
    }
}

async fn connect(names: &Resolver, host: &Host) -> Result<Socket, Fault> {
    let unreachable = |_| Fault::Lost(UNREACHABLE);
    match host {
        Host::Socket(directory, port) => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            let stream = UnixStream::connect(path).await.and_then(UnixStream::into_std);
            Socket::new(stream.map_err(unreachable)?.into()).map_err(unreachable)
        }
        Host::Tcp(name, port) => {
            let stream = connect_to(names, name, *port).await?;
            stream.set_nodelay(true).map_err(unreachable)?;
            keep_alive(&stream).or(Err(Fault::Lost(UNREACHABLE)))?;
            let stream = stream.into_std().map_err(unreachable)?;
            Socket::new(stream.into()).map_err(unreachable)
        }
    }
}

/// Tries each address of the name.
async fn connect_to(names: &Resolver, name: &str, port: u16) -> Result<TcpStream, Fault> {
    let addresses = names.resolve(name).await;
    let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let share = DATABASE_CONNECT_MAX.checked_div(count).unwrap_or_default();
    let connected = first_success(addresses, share, UNREACHABLE, |address| async move {
        TcpStream::connect((address, port)).await.or(Err(UNREACHABLE))
    });
    let unknown = Fault::Lost("the name of the database's host is not known");
    connected.await.ok_or(unknown)?.map_err(Fault::Lost)
}

/// An idle connection in the pool must notice soon that its server is gone.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, DATABASE_ALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, DATABASE_ALIVE_PAUSE)?;
    sockopt::set_tcp_keepcnt(stream, DATABASE_ALIVE_PROBES)?;
    let unsent_max = u32::try_from(DATABASE_ANSWER_MAX.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, unsent_max)
}

fn start<T>(config: &Config, socket: Socket, tls: T, at_most: Duration) -> Result<Dialed, Fault>
where
    T: TlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let connected = run(&socket, config.connect_raw(socket.clone(), tls), at_most);
    let connected = connected.ok_or(Fault::Lost(NOT_ACCEPTED))?;
    let (client, connection) = connected.map_err(|error| connect_fault(&error))?;
    let heard = Arc::new(Notify::new());
    let connection = carry(connection, Arc::clone(&heard));
    Ok(Dialed { client, wire: Wire::new(socket, Box::pin(connection)), heard, timeline: 0 })
}

/// Drives the connection until it ends. Statements that wait on it get its error.
async fn carry<T>(mut connection: Connection<Socket, T>, heard: Arc<Notify>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            heard.notify_one();
        }
    }
}

fn connect_fault(error: &tokio_postgres::Error) -> Fault {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<HandshakeFailed>());
    if let Some(HandshakeFailed(why)) = cause {
        return Fault::Lost(why);
    }
    let text = error.source().map(ToString::to_string);
    if text.is_some_and(|text| text.contains("does not support TLS")) {
        return Fault::Lost("the database does not offer TLS");
    }
    match Fault::of(error) {
        Fault::Refused(Refusal::ForNow(why)) | Fault::Lost(why) => Fault::Lost(why),
        Fault::Refused(_) | Fault::Conflict => Fault::Lost("the database refused the connection"),
    }
}

/// Settings that other databases may lack; refusals are ignored. Query plans must not depend on
/// statistics: a scan of the whole table would be slow and would conflict with every other
/// transaction.
const OPTIONAL_SETTINGS: &[&str] = &[
    "SET enable_seqscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_bitmapscan = off",
    "SET plan_cache_mode = force_generic_plan",
    "SET jit = off",
    // A process whose host is gone must not keep its turn.
    "SET tcp_keepalives_idle = 5",
    "SET tcp_keepalives_interval = 2",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 10000",
    // An answered write is durable. A stricter setting of the operator is kept.
    "SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') IN ('off', 'local')",
];

/// Applies the session's settings, checks that the server is writable, and returns its timeline.
async fn prepare_session(client: &Client, purpose: Use) -> Result<u32, Fault> {
    // A COMMIT that waits for a replica must not be cut off: the server would report success.
    let (statement, idle) = match purpose {
        Use::Reading => (DATABASE_STATEMENT_MAX.as_millis(), DATABASE_IDLE_READ_MAX),
        Use::Writing => (0, DATABASE_IDLE_WRITE_MAX),
    };
    let needed = format!(
        "SET statement_timeout = {statement}; SET lock_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}",
        DATABASE_TURN_MAX.as_millis(),
        idle.as_millis()
    );
    for setting in OPTIONAL_SETTINGS {
        send(client.batch_execute(setting));
    }
    let needed = client.batch_execute(&needed);
    let writable = client.simple_query("SHOW transaction_read_only");
    let timeline = client.simple_query(TIMELINE);
    let (needed, writable, timeline) = tokio::join!(biased; needed, writable, timeline);
    needed.map_err(|error| Fault::of(&error))?;
    let writable = writable.map_err(|error| Fault::of(&error))?;
    if first_value(&writable) == Some("on") {
        return Err(Fault::Lost(STANDBY));
    }
    // Other databases may lack the function.
    let timeline = timeline.unwrap_or_default();
    let timeline = first_value(&timeline).and_then(|text| u32::from_str_radix(text, 16).ok());
    Ok(timeline.unwrap_or(0))
}

fn first_value(messages: &[SimpleQueryMessage]) -> Option<&str> {
    messages.iter().find_map(|message| {
        if let SimpleQueryMessage::Row(row) = message { row.get(0) } else { None }
    })
}

impl fmt::Display for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.url)
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialer({})", self.url)
    }
}
