//! Origins of web pages, as browsers spell them.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::bounds::{ORIGIN_BYTES_MAX, ORIGINS_MAX};
use crate::domain::tenant::TenantKind;

/// `https://shop.example` or `http://localhost:3000`: a scheme, a host and a port that is not the
/// scheme's own. Two pages have the same origin exactly if these texts are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WebOrigin(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidOrigin {
    /// The port is the default of the scheme, which browsers leave out.
    DefaultPort,
    Host,
    /// Without TLS, anyone on the path could change the page.
    PlainHttp,
    Port,
    Scheme,
    TooLong,
}

impl WebOrigin {
    /// Takes the exact text that browsers use, so that a comparison of texts is enough.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        if text.len() > ORIGIN_BYTES_MAX {
            return Err(InvalidOrigin::TooLong);
        }
        let (scheme, rest) = text.split_once("://").ok_or(InvalidOrigin::Scheme)?;
        let default_port = match scheme {
            "https" => 443,
            "http" => 80,
            _ => return Err(InvalidOrigin::Scheme),
        };
        let (host, port) = split_port(rest);
        let host = Host::parse(host).ok_or(InvalidOrigin::Host)?;
        match port.map(parse_port) {
            Some(None) => return Err(InvalidOrigin::Port),
            Some(Some(port)) if port == default_port => return Err(InvalidOrigin::DefaultPort),
            Some(Some(_)) | None => (),
        }
        if scheme == "http" && host == Host::Elsewhere {
            return Err(InvalidOrigin::PlainHttp);
        }
        Ok(Self(String::from(text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the page comes from a server on the same machine as the browser.
    pub fn is_loopback(&self) -> bool {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        Host::parse(split_port(rest).0) == Some(Host::Loopback)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Elsewhere,
    Loopback,
}

impl Host {
    /// `None` unless the host is spelled as browsers do: lower case, names of other scripts as
    /// `xn--`, addresses without leading zeros.
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            let is_canonical = format!("[{address}]") == text;
            return is_canonical.then(|| Self::of(address.is_loopback()));
        }
        let last = text.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            // Browsers read a name that ends in a number as an address.
            let address: Ipv4Addr = text.parse().ok()?;
            return Some(Self::of(address.is_loopback()));
        }
        let is_name = text.len() <= HOST_BYTES_MAX && text.split('.').all(is_label);
        is_name.then(|| Self::of(last == "localhost"))
    }

    const fn of(is_loopback: bool) -> Self {
        if is_loopback { Self::Loopback } else { Self::Elsewhere }
    }
}

/// The longest name of a host in DNS.
const HOST_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_BYTES_MAX).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// The host and the text after its colon. An IPv6 address has colons inside its brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_plain = !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DefaultPort => f.write_str("Leave out the default port of the scheme."),
            Self::Host => f.write_str(
                "An origin is a scheme and a host in lower case, such as https://shop.example, with a \
                 port if it has one, and without a path.",
            ),
            Self::PlainHttp => {
                f.write_str("An origin with http is taken for this machine only; use https.")
            }
            Self::Port => f.write_str("The port is a number from 1 to 65535."),
            Self::Scheme => f.write_str("An origin begins with https:// or http://."),
            Self::TooLong => write!(f, "An origin has at most {ORIGIN_BYTES_MAX} bytes."),
        }
    }
}

/// The origins that a public application's keys may be used from in hosted card fields, sorted and
/// without repetitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<WebOrigin>);

impl AllowedOrigins {
    /// `None` if there are more than [`ORIGINS_MAX`].
    pub fn new(mut origins: Vec<WebOrigin>) -> Option<Self> {
        origins.sort_unstable();
        origins.dedup();
        (origins.len() <= ORIGINS_MAX).then_some(Self(origins))
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decides if a page of this origin may show card fields with a key of the application. `own`
    /// is the vault's origin, if pages of the program itself show card fields. A test tenant
    /// without a list accepts pages of the developer's own machine, so that a first try needs no
    /// setup.
    pub fn allow(&self, page: &WebOrigin, own: Option<&WebOrigin>, tenant: TenantKind) -> bool {
        let is_trial = self.0.is_empty() && tenant == TenantKind::Test && page.is_loopback();
        Some(page) == own || self.0.contains(page) || is_trial
    }

    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(WebOrigin::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_the_text_that_browsers_use() {
        for (text, is_loopback) in [
            ("https://shop.example", false),
            ("https://shop.example:8443", false),
            ("https://xn--bcher-kva.example", false),
            ("https://a", false),
            ("https://192.0.2.7", false),
            ("https://[2001:db8::1]:444", false),
            ("https://localhost", true),
            ("http://localhost:3000", true),
            ("http://shop.localhost", true),
            ("http://127.0.0.1:3000", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:3000", true),
        ] {
            let origin = WebOrigin::parse(text).map_err(|why| (text, why)).unwrap();
            assert_eq!((origin.as_str(), origin.is_loopback()), (text, is_loopback));
        }
    }

    #[test]
    fn a_text_that_no_browser_sends_is_refused() {
        use InvalidOrigin::{DefaultPort, Host, PlainHttp, Port, Scheme, TooLong};
        for (text, why) in [
            ("", Scheme),
            ("null", Scheme),
            ("*", Scheme),
            ("shop.example", Scheme),
            ("//shop.example", Scheme),
            ("HTTPS://shop.example", Scheme),
            ("ftp://shop.example", Scheme),
            ("file://", Scheme),
            ("https://", Host),
            ("https://Shop.example", Host),
            ("https://shop.example/", Host),
            ("https://shop.example/path", Host),
            ("https://shop.example?", Host),
            ("https://shop.example#", Host),
            ("https://user@shop.example", Host),
            ("https://user:pass@shop.example", Port),
            ("https://*.shop.example", Host),
            ("https://shop..example", Host),
            ("https://shop.example.", Host),
            ("https://-shop.example", Host),
            ("https://shop_1.example", Host),
            ("https://b\u{fc}cher.example", Host),
            ("https://shop.example ", Host),
            ("https://shop.example\n", Host),
            ("https://01.2.3.4", Host),
            ("https://1.2.3", Host),
            ("https://[::1", Host),
            ("https://[0:0:0:0:0:0:0:1]", Host),
            ("https://shop.example:", Port),
            ("https://shop.example:0", Port),
            ("https://shop.example:65536", Port),
            ("https://shop.example:+444", Port),
            ("https://shop.example:0444", Port),
            ("https://shop.example:443", DefaultPort),
            ("http://localhost:80", DefaultPort),
            ("http://shop.example", PlainHttp),
            ("http://localhost.example", PlainHttp),
            ("http://192.0.2.7:3000", PlainHttp),
        ] {
            assert_eq!(WebOrigin::parse(text), Err(why), "{text:?}");
        }
        let long = format!("https://{}.example", "a.".repeat(ORIGIN_BYTES_MAX));
        assert_eq!(WebOrigin::parse(&long), Err(TooLong));
    }

    #[test]
    fn a_page_is_allowed_by_the_list_or_without_one_on_a_test_tenants_machine() {
        use TenantKind::{Production, Test};
        let origin = |text: &str| WebOrigin::parse(text).unwrap();
        let own = origin("https://vault.example");
        let listed = AllowedOrigins::new(vec![origin("https://shop.example")]).unwrap();
        let none = AllowedOrigins::default();
        for (list, page, tenant, expected) in [
            (&none, "https://vault.example", Production, true),
            (&none, "https://shop.example", Production, false),
            (&none, "https://shop.example", Test, false),
            (&none, "http://localhost:3000", Production, false),
            (&none, "http://localhost:3000", Test, true),
            (&none, "http://[::1]", Test, true),
            (&listed, "https://vault.example", Production, true),
            (&listed, "https://shop.example", Production, true),
            (&listed, "https://shop.example:444", Production, false),
            (&listed, "https://www.shop.example", Production, false),
            (&listed, "http://localhost:3000", Test, false),
        ] {
            assert_eq!(list.allow(&origin(page), Some(&own), tenant), expected, "{page}");
        }
        assert!(!none.allow(&own, None, Production));
    }

    #[test]
    fn a_list_has_no_repetitions_and_an_end() {
        let origin = |at: usize| WebOrigin::parse(&format!("https://s{at}.example")).unwrap();
        let twice = AllowedOrigins::new(vec![origin(2), origin(1), origin(2)]).unwrap();
        assert_eq!(twice.texts().collect::<Vec<_>>(), ["https://s1.example", "https://s2.example"]);
        assert!(AllowedOrigins::new((0..ORIGINS_MAX).map(origin).collect()).is_some());
        assert!(AllowedOrigins::new((0..=ORIGINS_MAX).map(origin).collect()).is_none());
    }
}
