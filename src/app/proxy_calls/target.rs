//! The URL of a call: the proxy's base, and the rest of the caller's path and query.
//!
//! The caller's part is sent byte for byte. It never changes the host or the port, and never leaves
//! the path of the base: dot segments are refused, also in escapes, since a server may resolve them
//! after decoding.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::app::proxy_calls::ProxyFailure;
use crate::domain::https_url::HttpsUrl;
use crate::domain::proxy::PROXY_PATH;

const NOT_HTTPS: &str = "The URL of the destination must be https://, a host name, and optionally a port, a path and \
     a query.";
const DOT_SEGMENTS: &str =
    "The path must not hold the segments . and .. in any spelling, nor control characters.";
/// A path that is escaped more often is refused.
const DECODINGS_MAX: usize = 4;
const NOT_JOINED: &str = "The URL of the destination with the path and the query of the request is not a valid URL, \
     or it is too long.";

/// The query parameter that names a proxy. It is never sent to the destination.
const KEY_PARAMETER: &str = "bt-proxy-key";

/// The base may have a path and a query.
pub(super) fn join(base: &str, rest: &str, query: Option<&str>) -> Result<HttpsUrl, ProxyFailure> {
    let host = HttpsUrl::parse_with_query(base);
    let host = host.ok_or_else(|| ProxyFailure::invalid(NOT_HTTPS))?;
    if is_ambiguous(rest) {
        return Err(ProxyFailure::invalid(DOT_SEGMENTS));
    }
    let (path, own_query) = match base.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (base, None),
    };
    let query = query.map(without_key);
    let queries = [own_query, query.as_deref()];
    let queries: Vec<_> = queries.into_iter().flatten().filter(|it| !it.is_empty()).collect();
    let mark = if queries.is_empty() { "" } else { "?" };
    let text = format!("{}{rest}{mark}{}", path.trim_end_matches('/'), queries.join("&"));
    HttpsUrl::parse_with_query(&text)
        .filter(|joined| joined.host == host.host && joined.port == host.port)
        .ok_or_else(|| ProxyFailure::invalid(NOT_JOINED))
}

/// Rewrites the `Location` of an answer to a path of the vault, so that a client that follows it
/// stays inside the proxy: a path of the destination would lead to another route of the vault, and
/// another host would get the caller's headers. `None` if the location is not below the base.
pub(super) fn location(base: &str, location: &str) -> Option<String> {
    let own = HttpsUrl::parse_with_query(base)?;
    let location = location.split('#').next()?;
    let is_path = location.starts_with('/') && !location.starts_with("//");
    let url = if is_path {
        HttpsUrl::parse_with_query(&format!("https://{}{location}", own.authority()))?
    } else {
        HttpsUrl::parse_with_query(location)?
    };
    if !url.host.eq_ignore_ascii_case(&own.host) || url.port != own.port {
        return None;
    }
    let path = own.path.split('?').next()?.trim_end_matches('/');
    let rest = url.path.strip_prefix(path)?;
    let is_below = rest.is_empty() || rest.starts_with(['/', '?']);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // The destination must not choose the proxy that the client calls next.
    let is_safe = is_below && !is_ambiguous(path) && without_key(query) == query;
    is_safe.then(|| format!("{PROXY_PATH}{rest}"))
}

/// Every other byte stays.
fn without_key(query: &str) -> Cow<'_, str> {
    let is_key = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        percent_decode_str(name).decode_utf8().is_ok_and(|name| name == KEY_PARAMETER)
    };
    if query.split('&').any(is_key) {
        let others: Vec<_> = query.split('&').filter(|pair| !is_key(pair)).collect();
        Cow::Owned(others.join("&"))
    } else {
        Cow::Borrowed(query)
    }
}

/// True if some server may find a segment `.` or `..` in the path, or may cut the path at another
/// place than we do: after any number of decodings, at a semicolon, at an escaped `#` or `?`, at a
/// control character, or in bytes that are not UTF-8.
fn is_ambiguous(path: &str) -> bool {
    let mut path = Cow::Borrowed(path.as_bytes());
    for _ in 0..DECODINGS_MAX {
        let decoded: Vec<u8> = percent_encoding::percent_decode(&path).collect();
        if is_unsafe(&decoded) {
            return true;
        }
        if decoded == *path {
            return false;
        }
        path = Cow::Owned(decoded);
    }
    true
}

fn is_unsafe(path: &[u8]) -> bool {
    // C0 and C1 begin overlong encodings of ASCII characters, which are not UTF-8.
    let is_odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, 0xc0 | 0xc1);
    let is_dots = |segment: &[u8]| {
        let name = segment.split(|byte| matches!(byte, b';' | b'#' | b'?')).next();
        matches!(name.unwrap_or_default(), b"." | b"..")
    };
    path.iter().any(is_odd) || path.split(|byte| matches!(byte, b'/' | b'\\')).any(is_dots)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(base: &str, rest: &str, query: Option<&str>, host: &str, path: &str) {
        let url = join(base, rest, query).unwrap();
        assert_eq!((url.host.as_str(), url.path.as_str()), (host, path), "{base} {rest}");
    }

    #[test]
    fn the_path_after_proxy_follows_the_base_without_its_trailing_slashes() {
        check("https://psp.example", "", None, "psp.example", "/");
        check("https://psp.example/", "", None, "psp.example", "/");
        check("https://psp.example//", "/v1", None, "psp.example", "/v1");
        check("https://psp.example/v1/", "/charges", None, "psp.example", "/v1/charges");
        check("https://psp.example/v1/", "", None, "psp.example", "/v1");
        check("https://psp.example/v1", "/", None, "psp.example", "/v1/");
        check("https://nmi.example/api/transact.php", "", None, "nmi.example", "/api/transact.php");
    }

    #[test]
    fn the_path_travels_byte_for_byte() {
        for rest in
            ["/a%2Fb", "/%41", "/a//b", "/a+b", "/{{x}}", "/@evil.example", "/a;b=c", "/..."]
        {
            check("https://psp.example/v1", rest, None, "psp.example", &format!("/v1{rest}"));
        }
    }

    #[test]
    fn queries_are_joined_and_the_proxy_key_is_left_out() {
        let base = "https://psp.example/pay?merchant=1";
        check(base, "", None, "psp.example", "/pay?merchant=1");
        check(base, "/x", Some("a=b"), "psp.example", "/pay/x?merchant=1&a=b");
        let plain = "https://psp.example";
        check(plain, "/x", Some("a=%7B&a=+"), "psp.example", "/x?a=%7B&a=+");
        check(plain, "/x", Some("bt-proxy-key=k"), "psp.example", "/x");
        check(plain, "/x", Some("a=1&bt-proxy-key=k&b"), "psp.example", "/x?a=1&b");
        check(plain, "/x", Some("a=1&bt%2Dproxy%2dkey=k"), "psp.example", "/x?a=1");
        check(plain, "/x", Some("bt-proxy-keys=k"), "psp.example", "/x?bt-proxy-keys=k");
    }

    #[test]
    fn dot_segments_are_refused_in_every_spelling() {
        for rest in [
            "/..",
            "/../admin",
            "/a/./b",
            "/%2e%2e/admin",
            "/.%2E/admin",
            "/a%2f..%2fb",
            "/a%5c..%5cb",
            "/..;x=1/admin",
            "/%252e%252e/admin",
            "/%25252e%25252e/admin",
            "/..%00",
            "/.%00.",
            "/..%09",
            "/..%23x",
            "/..%3fx",
            "/%c0%ae%c0%ae/admin",
            "/%2525252525252e",
        ] {
            assert!(join("https://psp.example/v1", rest, None).is_err(), "{rest}");
        }
    }

    #[test]
    fn a_location_below_the_base_leads_through_the_proxy_and_no_other_passes() {
        for (base, answer, expected) in [
            ("https://psp.example", "/echo", "/proxy/echo"),
            ("https://psp.example/v1/", "https://psp.example/v1/a?b=c#d", "/proxy/a?b=c"),
            ("https://psp.example/v1?m=1", "https://PSP.example:443/v1", "/proxy"),
            ("https://psp.example:8443", "https://psp.example:8443/", "/proxy/"),
        ] {
            assert_eq!(location(base, answer).as_deref(), Some(expected), "{answer}");
        }
        for answer in [
            "",
            "a",
            "?a",
            "//psp.example/v1/a",
            "/tokens/id",
            "/v1x",
            "/v1/../tokens",
            "/v1/%2e%2e/a",
            "/v1\\a",
            "https://evil.example/v1/a",
            "https://psp.example:8443/v1/a",
            "https://psp.example@evil.example/v1",
            "http://psp.example/v1/a",
            "javascript:alert(1)",
            "/v1/a?b=c&bt-proxy-key=other",
            "/v1/a?bt%2dproxy-key=other",
        ] {
            assert_eq!(location("https://psp.example/v1", answer), None, "{answer}");
        }
    }

    #[test]
    fn a_base_that_is_no_https_url_is_refused() {
        for base in [
            "",
            "undefined",
            "http://psp.example",
            "https://",
            "https://user@psp.example",
            "https://psp.example#x",
            "https://psp.example\\@evil.example",
            "HTTPS://psp.example",
        ] {
            assert!(join(base, "/x", None).is_err(), "{base}");
        }
        assert!(join("https://psp.example", &"/x".repeat(2_000), None).is_err());
    }

    proptest! {
        #[test]
        fn no_path_and_no_query_changes_the_host_or_leaves_the_base(
            rest in "(/[!-~]{0,12}){0,3}",
            query in proptest::option::of("[!-~]{0,20}"),
        ) {
            if let Ok(url) = join("https://good.example:8443/base", &rest, query.as_deref()) {
                prop_assert_eq!((url.host.as_str(), url.port), ("good.example", 8_443));
                prop_assert!(url.path.starts_with("/base"));
                let after = url.path.strip_prefix("/base").unwrap();
                prop_assert!(after.is_empty() || after.starts_with(['/', '?']), "{}", after);
            }
        }

        #[test]
        fn no_text_is_joined_so_that_it_means_another_host(rest in "[!-~]{0,20}") {
            if let Ok(url) = join("https://good.example", &rest, None) {
                prop_assert_eq!((url.host.as_str(), url.port), ("good.example", 443));
            }
        }
    }
}
