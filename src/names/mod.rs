//! A resolver of host names without the C library, which a static program cannot use. It reads
//! `/etc/hosts`, then asks the name servers of `/etc/resolv.conf` over UDP, and over TCP for a long
//! answer. Names are fully qualified, so there is no search list. A wrong address is harmless: the
//! certificate proves the server's name.

mod attempts;
#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use crate::bounds::{
    NAME_ADDRESSES_MAX, NAME_ANSWER_BYTES_MAX, NAME_FILE_BYTES_MAX, NAME_LOOKUP_MAX,
    NAME_SERVERS_MAX,
};
use crate::crypto::Random;
pub use crate::names::attempts::first_success;

const SILENT: &str = "the name server did not answer";

#[derive(Debug)]
pub struct Resolver {
    hosts: PathBuf,
    servers: PathBuf,
    /// The port of name servers; tests use another one.
    port: u16,
    random: Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordType {
    V4,
    V6,
}

#[derive(Debug, PartialEq, Eq)]
enum DnsAnswer {
    Addresses(Vec<IpAddr>),
    /// The answer is truncated; ask again over TCP.
    Truncated,
}

impl Resolver {
    pub fn of_this_machine(random: Random) -> Self {
        Self {
            hosts: PathBuf::from("/etc/hosts"),
            servers: PathBuf::from("/etc/resolv.conf"),
            port: 53,
            random,
        }
    }

    /// Returns the addresses in the order in which to try them; none if the name is unknown.
    pub async fn resolve(&self, host: &str) -> Vec<IpAddr> {
        if let Ok(address) = host.parse() {
            return vec![address];
        }
        let (hosts, servers) = (self.hosts.clone(), self.servers.clone());
        let read = move || Some((read(&hosts)?, read(&servers)?));
        let Ok(Some((hosts, servers))) = tokio::task::spawn_blocking(read).await else {
            return Vec::new();
        };
        let mut addresses = in_hosts(&hosts, host);
        if addresses.is_empty() && host.eq_ignore_ascii_case("localhost") {
            // `localhost` is this machine, whatever the files and name servers say.
            addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        }
        if addresses.is_empty() {
            let servers = name_servers(&servers);
            let count = u32::try_from(servers.len()).unwrap_or(u32::MAX);
            let share = NAME_LOOKUP_MAX.checked_div(count).unwrap_or_default();
            let found = first_success(servers, share, SILENT, |server| async move {
                let found = self.ask_both(SocketAddr::new(server, self.port), host).await;
                found.ok_or(SILENT)
            });
            addresses = found.await.and_then(Result::ok).unwrap_or_default();
        }
        addresses.truncate(NAME_ADDRESSES_MAX);
        addresses
    }

    /// Asks for both kinds of addresses. `None` if the server does not answer; another one may.
    async fn ask_both(&self, server: SocketAddr, host: &str) -> Option<Vec<IpAddr>> {
        let (four, six) = tokio::join!(
            self.ask(server, host, RecordType::V4),
            self.ask(server, host, RecordType::V6)
        );
        match (four, six) {
            (None, None) => None,
            (four, six) => Some([four.unwrap_or_default(), six.unwrap_or_default()].concat()),
        }
    }

    async fn ask(&self, server: SocketAddr, host: &str, kind: RecordType) -> Option<Vec<IpAddr>> {
        let id = self.random.bytes();
        let query = query(id, host, kind)?;
        let answer = by_udp(server, &query).await?;
        match parse(&answer, id, kind)? {
            DnsAnswer::Addresses(addresses) => Some(addresses),
            DnsAnswer::Truncated => {
                let answer = by_tcp(server, &query).await?;
                match parse(&answer, id, kind)? {
                    DnsAnswer::Addresses(addresses) => Some(addresses),
                    DnsAnswer::Truncated => None,
                }
            }
        }
    }
}

/// A file that does not exist is empty. `None` if it cannot be read or is too large: a part of it
/// could name another machine.
fn read(path: &PathBuf) -> Option<String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(String::new()),
        Err(_) => return None,
    };
    let mut text = String::new();
    let read = file.take(NAME_FILE_BYTES_MAX.saturating_add(1)).read_to_string(&mut text).ok()?;
    u64::try_from(read).is_ok_and(|read| read <= NAME_FILE_BYTES_MAX).then_some(text)
}

/// Parses lines such as `127.0.0.1 localhost other`.
fn in_hosts(text: &str, host: &str) -> Vec<IpAddr> {
    let line = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
    };
    text.lines().filter_map(line).collect()
}

/// Parses lines such as `nameserver 10.0.0.2`. Without one, uses the server on this machine.
fn name_servers(text: &str) -> Vec<IpAddr> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next()? == "nameserver").then(|| words.next()?.parse().ok()).flatten()
    };
    let mut servers: Vec<IpAddr> = text.lines().filter_map(line).collect();
    servers.truncate(NAME_SERVERS_MAX);
    if servers.is_empty() {
        servers.push(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    servers
}

/// A message with one question that requests recursion.
fn query(id: [u8; 2], host: &str, kind: RecordType) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(id);
    bytes.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in host.strip_suffix('.').unwrap_or(host).split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        bytes.push(length);
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    bytes.extend(kind.code().to_be_bytes());
    bytes.extend([0, 1]);
    Some(bytes)
}

impl RecordType {
    const fn code(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 28,
        }
    }
}

async fn by_udp(server: SocketAddr, query: &[u8]) -> Option<Vec<u8>> {
    let ours: IpAddr = match server.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((ours, 0)).await.ok()?;
    // A connected socket receives only datagrams of this server.
    socket.connect(server).await.ok()?;
    socket.send(query).await.ok()?;
    let mut buffer = vec![0; 4_096];
    loop {
        let length = socket.recv(&mut buffer).await.ok()?;
        let answer = buffer.get(..length)?;
        // Datagrams with another id are ignored.
        if answer.get(..2) == query.get(..2) {
            return Some(answer.to_vec());
        }
    }
}

async fn by_tcp(server: SocketAddr, query: &[u8]) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await.ok()?;
    let length = u16::try_from(query.len()).ok()?;
    stream.write_all(&[&length.to_be_bytes(), query].concat()).await.ok()?;
    let length = usize::from(stream.read_u16().await.ok()?);
    let mut answer = vec![0; length.min(NAME_ANSWER_BYTES_MAX)];
    stream.read_exact(&mut answer).await.ok()?;
    Some(answer)
}

/// Returns `None` if this is not an answer to the question, or if it is an error of the server.
fn parse(bytes: &[u8], id: [u8; 2], kind: RecordType) -> Option<DnsAnswer> {
    let mut rest = ResponseReader(bytes);
    let is_ours = rest.take(2)? == id;
    let flags = rest.number()?;
    let is_answer = flags & 0x8000 != 0;
    // "No such name" is a valid answer without addresses.
    let is_valid = matches!(flags & 0x000f, 0 | 3);
    if !is_ours || !is_answer || !is_valid {
        return None;
    }
    if flags & 0x0200 != 0 {
        return Some(DnsAnswer::Truncated);
    }
    let (questions, answers) = (rest.number()?, rest.number()?);
    rest.take(4)?;
    for _ in 0..questions {
        rest.skip_name()?;
        rest.take(4)?;
    }
    let mut addresses = Vec::new();
    for _ in 0..answers {
        rest.skip_name()?;
        let found = rest.number()?;
        rest.take(6)?;
        let length = rest.number()?;
        let data = rest.take(usize::from(length))?;
        // Records of other types, such as CNAME, are skipped.
        if found == kind.code() && addresses.len() < NAME_ADDRESSES_MAX {
            addresses.extend(address(data, kind));
        }
    }
    Some(DnsAnswer::Addresses(addresses))
}

/// `None` if the length does not match the type of the record.
fn address(data: &[u8], kind: RecordType) -> Option<IpAddr> {
    match kind {
        RecordType::V4 => <[u8; 4]>::try_from(data).ok().map(IpAddr::from),
        RecordType::V6 => <[u8; 16]>::try_from(data).ok().map(IpAddr::from),
    }
}

struct ResponseReader<'a>(&'a [u8]);

impl<'a> ResponseReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
    }

    /// Skips labels up to an empty one, or up to a pointer to earlier labels.
    fn skip_name(&mut self) -> Option<()> {
        loop {
            match *self.take(1)?.first()? {
                0 => return Some(()),
                length if length & 0xc0 == 0xc0 => return self.take(1).map(drop),
                length => drop(self.take(usize::from(length))?),
            }
        }
    }
}

#[cfg(test)]
mod tests;
