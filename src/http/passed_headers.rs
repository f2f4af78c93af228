//! The headers that pass through a proxy, in both directions.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::domain::connection_headers::{is_of_connection, listed};
use crate::secret::Secret;

/// Headers that are meant for the vault.
const OF_VAULT: [&str; 6] = [
    "bt-api-key",
    "bt-client-user-agent",
    "bt-device-info",
    "bt-encrypted",
    "bt-idempotency-key",
    TRACE,
];
const TRACE: &str = "bt-trace-id";
/// Alt-Svc, HSTS, cookies, caching, reporting and the like, which browsers and caches would apply
/// to the vault's origin, and headers that say whose answer it is. Headers of the destination have
/// already passed an allowlist; this list is for headers that the transforms of a proxy set.
const OF_ANSWERS: [&str; 30] = [
    "accept-ch",
    "activate-storage-access",
    "age",
    "alt-svc",
    "bt-proxy-destination-status",
    "cache-control",
    "clear-site-data",
    "content-security-policy",
    "critical-ch",
    "date",
    "edge-control",
    "link",
    "nel",
    "origin-agent-cluster",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "server",
    "service-worker-allowed",
    "set-cookie",
    "set-cookie2",
    "set-login",
    "sourcemap",
    "speculation-rules",
    "strict-transport-security",
    "supports-loading-mode",
    "www-authenticate",
    "x-content-type-options",
    "x-sourcemap",
    TRACE,
];
/// Prefixes of headers that reverse proxies and caches act on.
const OF_SERVERS: [&str; 9] = [
    "access-control-",
    "cdn-",
    "surrogate-",
    "x-accel-",
    "x-forwarded-",
    "x-lighttpd-",
    "x-litespeed-",
    "x-reproxy-",
    "x-sendfile",
];

/// The caller's headers without those for the vault, its sign-on and the connection, and the trace
/// id.
pub(in crate::http) fn for_destination(
    headers: &HeaderMap,
    trace: &str,
    is_of_sign_on: impl Fn(&str) -> bool,
) -> Vec<(String, Secret<Vec<u8>>)> {
    let listed = listed(headers.get_all("connection").iter().map(HeaderValue::as_bytes));
    let mut passed = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        let name = name.as_str();
        let is_kept = is_of_sign_on(&name.replace('_', "-")) || listed.iter().any(|it| it == name);
        if is_for_destination(name) && !is_kept {
            passed.push((String::from(name), Secret::new(value.as_bytes().to_vec())));
        }
    }
    passed.push((String::from(TRACE), Secret::new(trace.as_bytes().to_vec())));
    passed
}

fn is_for_destination(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    // CGI variables do not distinguish an underscore from a hyphen.
    let hyphenated = name.replace('_', "-");
    name.bytes().all(is_plain)
        && !is_of_connection(&hyphenated)
        && !OF_VAULT.contains(&hyphenated.as_str())
        && !hyphenated.starts_with("bt-proxy-")
        && !hyphenated.starts_with("x-fern-")
}

/// The headers of the answer. Headers of the connection and headers that only the vault may set are
/// left out. A page among the answers gets an opaque origin: otherwise its scripts would run with
/// the origin of the vault.
pub(in crate::http) fn for_caller(headers: &[(String, Secret<Vec<u8>>)]) -> HeaderMap {
    let connection = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    let listed = listed(connection.map(|(_, value)| value.expose().as_slice()));
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        let is_own = is_of_connection(name.as_str())
            || OF_ANSWERS.contains(&name.as_str())
            || OF_SERVERS.iter().any(|family| name.starts_with(family))
            || listed.contains(&name);
        if is_own {
            continue;
        }
        let header = HeaderName::from_bytes(name.as_bytes()).ok();
        if let (Some(name), Ok(value)) = (header, HeaderValue::from_bytes(value.expose())) {
            passed.append(name, value);
        }
    }
    passed.append("content-security-policy", HeaderValue::from_static("sandbox"));
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[track_caller]
    fn check_sent(headers: &[(&'static str, &'static str)], expected: &[(&str, &str)]) {
        let sent = for_destination(&map(headers), "t-1", |name| name == "x-person");
        let sent: Vec<_> = sent
            .iter()
            .map(|(name, value)| (name.as_str(), std::str::from_utf8(value.expose()).unwrap()))
            .collect();
        let (trace, others) = sent.split_last().unwrap();
        assert_eq!(*trace, ("bt-trace-id", "t-1"));
        assert_eq!(others, expected);
    }

    #[test]
    fn the_callers_own_headers_go_on_and_those_for_the_vault_do_not() {
        check_sent(
            &[("authorization", "Bearer x"), ("user-agent", "u"), ("accept", "*/*")],
            &[("authorization", "Bearer x"), ("user-agent", "u"), ("accept", "*/*")],
        );
        check_sent(
            &[("x-own_name", "1"), ("x-own_name", "2")],
            &[("x-own_name", "1"), ("x-own_name", "2")],
        );
        for name in [
            "bt-api-key",
            "bt_api_key",
            "bt-proxy-url",
            "bt_proxy_url",
            "bt-proxy-key",
            "bt-proxy-id",
            "bt-proxy-connection",
            "bt-proxy-keep-alive",
            "bt-encrypted",
            "bt-idempotency-key",
            "bt-device-info",
            "bt-client-user-agent",
            "bt-trace-id",
            "x-fern-language",
            "host",
            "content-length",
            "content_length",
            "transfer-encoding",
            "transfer_encoding",
            "te",
            "upgrade",
            "connection",
            "x.dotted",
            "x!name",
        ] {
            check_sent(&[(name, "1")], &[]);
        }
        check_sent(
            &[("bt-expose-raw-proxy-response", "1")],
            &[("bt-expose-raw-proxy-response", "1")],
        );
    }

    #[test]
    fn names_that_the_connection_header_lists_stay_here() {
        check_sent(
            &[("connection", "close, X-Hop"), ("x-hop", "1"), ("x-kept", "2")],
            &[("x-kept", "2")],
        );
    }

    #[test]
    fn the_destinations_headers_come_back_without_those_that_are_the_vaults_to_say() {
        let answer = [
            ("Content-Type", "text/html"),
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("Connection", "X-Hop"),
            ("X-Hop", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "7"),
            ("BT-PROXY-DESTINATION-STATUS", "200"),
            ("BT-TRACE-ID", "other"),
            ("Access-Control-Allow-Origin", "https://evil.example"),
            ("Alt-Svc", "h3=\":443\""),
            ("Clear-Site-Data", "\"*\""),
            ("NEL", "{}"),
            ("Report-To", "{}"),
            ("X-Accel-Redirect", "/tokens/id"),
            ("CDN-Cache-Control", "max-age=9"),
            ("X-Content-Type-Options", "none"),
            ("Cache-Control", "public"),
            ("Set-Login", "logged-in"),
            ("Accept-CH", "Sec-CH-UA-Model"),
            ("Speculation-Rules", "\"/rules\""),
            ("X-Reproxy-URL", "/tokens/id"),
            ("Date", "then"),
            ("X-RateLimit-Limit", "9"),
            ("X-Bad", "a\nb"),
        ];
        let answer: Vec<_> = answer
            .map(|(name, value)| (String::from(name), Secret::new(value.as_bytes().to_vec())))
            .into_iter()
            .collect();
        let passed = for_caller(&answer);
        let names: Vec<_> =
            passed.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            names,
            [
                ("content-type", "text/html"),
                ("x-ratelimit-limit", "9"),
                ("content-security-policy", "sandbox"),
            ]
        );
    }
}
