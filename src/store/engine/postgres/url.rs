//! The address of a database: `postgres://user:password@host:port/database?sslmode=verify-full`.
//!
//! The text is a secret. Error messages name the wrong part and never quote it, and `Debug` shows
//! only hosts and database.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::bounds::DATABASE_HOSTS_MAX;
use crate::secret::Secret;

/// Several hosts are servers of one database, one of which is writable.
pub struct DatabaseUrl {
    pub(super) user: String,
    pub(super) password: Option<Secret<String>>,
    pub(super) hosts: Vec<Host>,
    pub(super) database: String,
    /// TLS is required even for hosts that may be reached without it.
    pub(super) wants_tls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// The directory of the socket, and the port in the socket's name.
    Socket(PathBuf, u16),
    Tcp(String, u16),
}

/// The wrong part of an address, as a sentence for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUrl(pub &'static str);

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidUrl {}

const PORT: u16 = 5432;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SslMode {
    Disable,
    Verify,
}

/// The query parameters.
#[derive(Default)]
struct Parameters {
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    password: Option<String>,
    sslmode: Option<SslMode>,
}

impl DatabaseUrl {
    /// Parses the content of the operator's file. Surrounding white space is ignored.
    pub fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let text = text.trim();
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or(InvalidUrl("it does not begin with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parameters = Parameters::parse(query)?;
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may hold an unencoded @.
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (login, hosts),
            None => ("", authority),
        };
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        let user = match parameters.user {
            Some(user) => user,
            None => decode(user)?,
        };
        let database = decode(database)?;
        if user.is_empty() {
            return Err(InvalidUrl("it names no user"));
        }
        if database.is_empty() || database.contains('/') {
            return Err(InvalidUrl("it names no database"));
        }
        let hosts = match &parameters.host {
            Some(host) => parse_hosts(host, parameters.port, false)?,
            None => parse_hosts(hosts, parameters.port, true)?,
        };
        let password = parameters.password.or(password).map(Secret::new);
        let wants_tls = parameters.sslmode == Some(SslMode::Verify);
        if parameters.sslmode == Some(SslMode::Disable) && !hosts.iter().all(Host::is_near) {
            return Err(InvalidUrl(
                "sslmode=disable is only for a socket or an address of this machine",
            ));
        }
        Ok(Self { user, password, hosts, database, wants_tls })
    }

    /// Returns true if a host is on another machine, or the operator requires TLS.
    pub fn needs_tls(&self) -> bool {
        self.wants_tls || !self.hosts.iter().all(Host::is_near)
    }

    #[cfg(test)]
    pub(super) fn with_hosts(mut self, hosts: Vec<Host>) -> Self {
        self.hosts = hosts;
        self
    }
}

impl Parameters {
    fn parse(query: &str) -> Result<Self, InvalidUrl> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            match name {
                "host" => parameters.host = Some(value),
                "port" => parameters.port = Some(parse_port(&value)?),
                "user" => parameters.user = Some(value),
                "password" => parameters.password = Some(value),
                "sslmode" => parameters.sslmode = Some(parse_sslmode(&value)?),
                // The program always connects to the writable server, and sets its own name.
                "target_session_attrs" if value == "read-write" || value == "primary" => (),
                "target_session_attrs" => {
                    return Err(InvalidUrl("target_session_attrs must be read-write"));
                }
                "application_name" => (),
                _ => {
                    return Err(InvalidUrl(
                        "it has a parameter other than host, port, user, password, sslmode and \
                         target_session_attrs",
                    ));
                }
            }
        }
        Ok(parameters)
    }
}

fn parse_sslmode(value: &str) -> Result<SslMode, InvalidUrl> {
    match value {
        "disable" => Ok(SslMode::Disable),
        // The certificate and the name are always checked.
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Verify),
        _ => Err(InvalidUrl("sslmode must be verify-full, or disable on this machine")),
    }
}

fn parse_port(value: &str) -> Result<u16, InvalidUrl> {
    let port = value.parse().ok().filter(|port| *port != 0);
    port.ok_or(InvalidUrl("a port is no number from 1 to 65535"))
}

/// Parses a comma-separated list. Hosts in the authority are percent-encoded and may have ports.
fn parse_hosts(list: &str, port: Option<u16>, is_authority: bool) -> Result<Vec<Host>, InvalidUrl> {
    let common = port.unwrap_or(PORT);
    let parse = |item: &str| {
        let (name, port) = match is_authority.then(|| split_port(item)).flatten() {
            Some((name, port)) => (name, parse_port(port)?),
            None => (item, common),
        };
        let name = if is_authority { decode(name)? } else { name.to_owned() };
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        if name.is_empty() {
            return Err(InvalidUrl("it names no host"));
        }
        if name.starts_with('/') {
            return Ok(Host::Socket(PathBuf::from(name), port));
        }
        Ok(Host::Tcp(name.to_owned(), port))
    };
    let hosts: Vec<Host> = list.split(',').map(parse).collect::<Result<_, _>>()?;
    if hosts.len() > DATABASE_HOSTS_MAX {
        return Err(InvalidUrl("it names too many hosts"));
    }
    Ok(hosts)
}

/// Splits `name:port`. An IPv6 address is in brackets.
fn split_port(item: &str) -> Option<(&str, &str)> {
    let (name, port) = item.rsplit_once(':')?;
    (!port.contains(']')).then_some((name, port))
}

fn decode(text: &str) -> Result<String, InvalidUrl> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.ok().filter(|text| !text.contains('\0'));
    decoded.map(String::from).ok_or(InvalidUrl("a part of it is not valid text"))
}

impl Host {
    /// Returns true for a host on this machine, which is reached without a network.
    pub(super) fn is_near(&self) -> bool {
        match self {
            Self::Socket(..) => true,
            Self::Tcp(name, _) => {
                name.eq_ignore_ascii_case("localhost")
                    || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(directory, port) => write!(f, "{} port {port}", directory.display()),
            Self::Tcp(name, port) => write!(f, "{name} port {port}"),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database {} at ", self.database)?;
        for (place, host) in self.hosts.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{host}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}
