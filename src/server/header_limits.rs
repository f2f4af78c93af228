//! Checks of a request's head that hyper's parser does not make.

use std::sync::OnceLock;

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::Authority;
use hyper::{Request, Uri, Version};

use crate::server::problem::ServerProblem;

/// The valid host of a connection's first request. Most requests have the same one, which need not be
/// parsed again.
#[derive(Debug, Default)]
pub(super) struct KnownHost(OnceLock<Box<[u8]>>);

impl KnownHost {
    /// A name and a port.
    const BYTES_MAX: usize = 260;

    fn is_of(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let only = hosts.next().filter(|_| hosts.next().is_none() && uri.authority().is_none());
        only.is_some_and(|host| self.0.get().is_some_and(|known| **known == *host.as_bytes()))
    }

    /// A copy: a header's value shares the memory of the whole head.
    fn keep(&self, headers: &HeaderMap) {
        let host = headers.get(HOST).map(HeaderValue::as_bytes);
        if let Some(host) = host.filter(|host| host.len() <= Self::BYTES_MAX) {
            self.0.get_or_init(|| Box::from(host));
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderLimits {
    pub(super) count_max: usize,
    /// `None` for HTTP/1, whose heads `framing` measures.
    pub(super) bytes_max: Option<usize>,
}

impl HeaderLimits {
    pub(super) fn admit(
        self,
        request: &Request<Incoming>,
        known: &KnownHost,
    ) -> Result<(), ServerProblem> {
        if request.headers().len() > self.count_max {
            return Err(ServerProblem::HeadersTooLarge);
        }
        let (uri, headers) = (request.uri(), request.headers());
        if !known.is_of(uri, headers) {
            check_host(request.version(), uri, headers)?;
            known.keep(headers);
        }
        check_codings(request.headers())?;
        let Some(bytes_max) = self.bytes_max else {
            return Ok(());
        };
        let headers = request.headers().iter();
        let bytes = headers.fold(request.uri().path().len(), |bytes, (name, value)| {
            bytes.saturating_add(name.as_str().len()).saturating_add(value.len())
        });
        if bytes > bytes_max { Err(ServerProblem::HeadersTooLarge) } else { Ok(()) }
    }
}

/// Checks that the request names one valid host. URLs in answers are made from it.
//= RFC 9112, 3.2: HTTP/1.1 without a Host, with two or with a bad one is answered with 400.
//= RFC 9113, 8.3.1: a Host that differs from :authority makes the request malformed.
fn check_host(version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), ServerProblem> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (_, Some(_)) => return Err(ServerProblem::BadHost),
        (Some(host), None) => {
            Some(host.to_str().ok().and_then(parse_host).ok_or(ServerProblem::BadHost)?)
        }
        (None, None) if version == Version::HTTP_11 => return Err(ServerProblem::BadHost),
        (None, None) => None,
    };
    match (uri.authority(), host) {
        (Some(authority), _) if parse_host(authority.as_str()).is_none() => {
            Err(ServerProblem::BadHost)
        }
        (Some(authority), Some(host)) if *authority != host => Err(ServerProblem::BadHost),
        (Some(_) | None, _) => Ok(()),
    }
}

/// Parses `host` or `host:port`, without characters that would change the meaning of a URL.
fn parse_host(text: &str) -> Option<Authority> {
    let host: Authority = text.parse().ok()?;
    let tail = text.rsplit(']').next()?;
    let port = host.port().is_some() || !tail.contains(':');
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte);
    (port && !host.host().is_empty() && text.bytes().all(plain)).then_some(host)
}

/// `chunked` is the only coding that the server decodes.
//= RFC 9112, 6.1: a coding that the server does not understand is answered with 501.
fn check_codings(headers: &HeaderMap) -> Result<(), ServerProblem> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if is_chunked(coding) => Ok(()),
        (Some(_), _) => Err(ServerProblem::TransferCoding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: Version, uri: &str, hosts: &[&str], good: bool) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        let checked = check_host(version, &uri.parse().unwrap(), &headers);
        let expected = if good { Ok(()) } else { Err(ServerProblem::BadHost) };
        assert_eq!(checked, expected, "{version:?} {uri} {hosts:?}");
    }

    #[test]
    fn a_request_names_its_host_once_and_it_is_a_host() {
        for good in ["a", "vault.example.com:443", "127.0.0.1:8080", "[::1]", "[::1]:443"] {
            check(Version::HTTP_11, "/", &[good], true);
        }
        for bad in [
            "", "a b", "a/b", "a@b", "a,b", "a:x", "a:", "a:1:2", "a?b", "[::1", "a\"b", "<a>",
            "a:99999", ":443",
        ] {
            check(Version::HTTP_11, "/", &[bad], false);
        }
        check(Version::HTTP_11, "/", &[], false);
        check(Version::HTTP_11, "/", &["a", "a"], false);
        check(Version::HTTP_10, "/", &[], true);
        check(Version::HTTP_10, "/", &["a", "b"], false);
        check(Version::HTTP_11, "https://a/", &["a"], true);
        check(Version::HTTP_11, "https://a/", &["b"], false);
        check(Version::HTTP_2, "https://a:1/", &[], true);
        check(Version::HTTP_2, "https://a:1/", &["A:1"], true);
        check(Version::HTTP_2, "https://a:1/", &["a:2"], false);
        check(Version::HTTP_2, "https://u@a/", &[], false);
        check(Version::HTTP_2, "/", &[], true);
    }

    #[test]
    fn only_the_host_that_was_checked_need_not_be_parsed_again() {
        let known = KnownHost::default();
        let head = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (HOST, HeaderValue::from_str(host).unwrap()));
            hosts.collect::<HeaderMap>()
        };
        let uri = Uri::from_static("/");
        assert!(!known.is_of(&uri, &head(&["a:1"])));
        known.keep(&head(&["a:1"]));
        assert!(known.is_of(&uri, &head(&["a:1"])));
        let others: [&[&str]; 5] = [&["a:2"], &["A:1"], &["a:1 "], &[], &["a:1", "b"]];
        for other in others {
            assert!(!known.is_of(&uri, &head(other)), "{other:?}");
        }
        assert!(!known.is_of(&Uri::from_static("https://b/"), &head(&["a:1"])));
        known.keep(&head(&["b"]));
        assert!(known.is_of(&uri, &head(&["a:1"])) && !known.is_of(&uri, &head(&["b"])));
        let large = KnownHost::default();
        large.keep(&head(&["a".repeat(KnownHost::BYTES_MAX + 1).as_str()]));
        assert!(large.0.get().is_none());
    }

    #[track_caller]
    fn check_coding(codings: &[&str], good: bool) {
        let mut headers = HeaderMap::new();
        for coding in codings {
            headers.append(TRANSFER_ENCODING, HeaderValue::from_str(coding).unwrap());
        }
        assert_eq!(check_codings(&headers).is_ok(), good, "{codings:?}");
    }

    #[test]
    fn chunked_is_the_one_transfer_coding() {
        check_coding(&[], true);
        check_coding(&["chunked"], true);
        check_coding(&["Chunked"], true);
        check_coding(&["gzip, chunked"], false);
        check_coding(&["gzip", "chunked"], false);
        check_coding(&["chunked", "chunked"], false);
        check_coding(&["identity"], false);
    }
}
