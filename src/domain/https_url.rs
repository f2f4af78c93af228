//! The URLs that this server calls.

pub const URL_CHARS_MAX: usize = 2_048;

/// `https://host[:port][/path]`, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpsUrl {
    /// A name or an address, the latter without brackets.
    pub host: String,
    pub port: u16,
    /// The path, and the query if there is one.
    pub path: String,
}

impl HttpsUrl {
    /// Refuses URLs with a query.
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_with_query(text).filter(|_| !text.contains('?'))
    }

    pub fn parse_with_query(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_url = is_plain && text.len() <= URL_CHARS_MAX && !text.contains(['#', '\\']);
        let rest = text.strip_prefix("https://").filter(|_| is_url)?;
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at_checked(at)?,
            None => (rest, "/"),
        };
        let (host, port) = if let Some(literal) = authority.strip_prefix('[') {
            let (address, port) = literal.split_once(']')?;
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, port)
        } else {
            let (host, _) = authority.split_once(':').unwrap_or((authority, ""));
            let is_host = host.len() <= 253 && host.split('.').all(is_label);
            (host, authority.strip_prefix(host).filter(|_| is_host)?)
        };
        let port = match port.strip_prefix(':') {
            // `u16::from_str` also accepts a plus sign.
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.parse().ok().filter(|port| *port > 0)?
            }
            None if port.is_empty() => 443,
            Some(_) | None => return None,
        };
        let slash = if path.starts_with('?') { "/" } else { "" };
        Some(Self { host: String::from(host), port, path: format!("{slash}{path}") })
    }

    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == 443 { host } else { format!("{host}:{port}") }
    }
}

fn is_label(label: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let has_ends = !label.starts_with('-') && !label.ends_with('-');
    (1..=63).contains(&label.len()) && has_ends && label.bytes().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, host: &str, port: u16, path: &str, authority: &str) {
        let url = HttpsUrl::parse_with_query(text).unwrap();
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), (host, port, path));
        assert_eq!(url.authority(), authority);
        assert_eq!(HttpsUrl::parse(text).is_some(), !text.contains('?'));
    }

    #[test]
    fn urls_are_taken_apart() {
        check("https://ds.example", "ds.example", 443, "/", "ds.example");
        check("https://ds.example:443/", "ds.example", 443, "/", "ds.example");
        check("https://127.0.0.1:8443/a/b", "127.0.0.1", 8_443, "/a/b", "127.0.0.1:8443");
        check("https://[::1]:8443/a", "::1", 8_443, "/a", "[::1]:8443");
        check("https://[::1]", "::1", 443, "/", "[::1]");
        check("https://psp.example?a=b", "psp.example", 443, "/?a=b", "psp.example");
        check("https://psp.example/c?a=@b", "psp.example", 443, "/c?a=@b", "psp.example");
    }

    #[test]
    fn what_is_no_plain_https_url_is_refused() {
        for text in [
            "",
            "https://ds.example:+443/",
            "ds.example",
            "http://ds.example",
            "https://",
            "https:///a",
            "https://?a",
            "https://user@ds.example",
            "https://user:word@ds.example/?a",
            "https://ds.example:0",
            "https://ds.example:port",
            "https://ds.example:65536",
            "https://ds.example/#x",
            "https://ds.example\\@other.example",
            "https://ds example",
            "https://ds..example",
            "https://-ds.example",
            "https://.",
            "https://[::1",
            "https://[ds.example]",
            "https://[::1]x",
            "https://[fe80::1%25eth0]",
            "https://d\u{e4}.example",
        ] {
            assert_eq!(HttpsUrl::parse_with_query(text), None, "{text}");
        }
    }
}
