//! The headers of a destination's answer that the caller of a proxy gets.
//!
//! Browsers and reverse proxies act on the headers of an answer: they redirect, cache, execute and
//! store. The answer comes from the vault's origin, so only names pass that neither of them acts
//! on. A list of the names to refuse would be out of date with their next version.

/// Descriptions of the body, and facts about a request that published payment services state. In
/// lower case.
const NAMES: [&str; 20] = [
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-range",
    "content-type",
    "digest",
    "etag",
    "idempotency-key",
    "last-modified",
    "original-request",
    "pspreference",
    "ratelimit",
    "ratelimit-policy",
    "repr-digest",
    "retry-after",
    "signature",
    "signature-input",
    "stripe-should-retry",
];
/// The last word of a name that informs: `x-request-id`, `ratelimit-remaining`, `stripe-version`.
/// No known server, cache or browser acts on a name of this shape.
const LAST_WORDS: [&str; 13] = [
    "code",
    "count",
    "digest",
    "id",
    "limit",
    "reason",
    "reference",
    "remaining",
    "replayed",
    "reset",
    "signature",
    "timestamp",
    "version",
];
/// Prefixes that belong to protocols and to the vault.
const RESERVED: [&str; 4] = ["access-control-", "bt-", "proxy-", "sec-"];

/// `name` is in lower case. `location` is not listed: it passes in a rewritten form.
pub fn passes(name: &str) -> bool {
    let has_last_word =
        || name.rsplit_once('-').is_some_and(|(_, last)| LAST_WORDS.contains(&last));
    NAMES.contains(&name)
        || (has_last_word() && !RESERVED.iter().any(|family| name.starts_with(family)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_inform_pass() {
        for name in [
            "content-type",
            "content-language",
            "content-encoding",
            "etag",
            "retry-after",
            "request-id",
            "x-request-id",
            "x-correlation-id",
            "x-amz-request-id",
            "cko-request-id",
            "paypal-debug-id",
            "pspreference",
            "idempotency-key",
            "idempotent-replayed",
            "original-request",
            "stripe-version",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "ratelimit-reset",
            "x-signature",
        ] {
            assert!(passes(name), "{name}");
        }
    }

    #[test]
    fn headers_that_software_acts_on_do_not() {
        for name in [
            "access-control-allow-origin",
            "age",
            "alt-svc",
            "bt-proxy-destination-status",
            "bt-trace-id",
            "cache-control",
            "cdn-cache-control",
            "clear-site-data",
            "cloudflare-cdn-cache-control",
            "connection",
            "content-length",
            "content-location",
            "content-security-policy",
            "cross-origin-opener-policy",
            "edge-control",
            "expires",
            "last-event-id-x",
            "link",
            "location",
            "nel",
            "pragma",
            "proxy-authenticate",
            "refresh",
            "sec-websocket-version",
            "server",
            "server-timing",
            "service-worker-allowed",
            "set-cookie",
            "sourcemap",
            "speculation-rules",
            "strict-transport-security",
            "surrogate-control",
            "surrogate-key",
            "transfer-encoding",
            "vary",
            "www-authenticate",
            "x-accel-buffering",
            "x-accel-charset",
            "x-accel-expires",
            "x-accel-limit-rate",
            "x-accel-redirect",
            "x-cache",
            "x-cascade",
            "x-content-type-options",
            "x-dns-prefetch-control",
            "x-download-options",
            "x-forwarded-for",
            "x-frame-options",
            "x-http-method-override",
            "x-json",
            "x-lighttpd-send-file",
            "x-litespeed-cache-control",
            "x-litespeed-location",
            "x-middleware-rewrite",
            "x-permitted-cross-domain-policies",
            "x-powered-by",
            "x-reproxy-url",
            "x-robots-tag",
            "x-sendfile",
            "x-sourcemap",
            "x-turbolinks-location",
            "x-ua-compatible",
            "x-xss-protection",
            "id",
            "version",
        ] {
            assert!(!passes(name), "{name}");
        }
    }
}
