//! A file that is embedded in the program, and its response headers.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::domain::elements_host::ElementsHost;
use crate::http::Reply;
use crate::secret::SecretBody;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// The policy of a file that is not a page.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

#[derive(Debug)]
pub(in crate::http) struct Asset {
    kind: AssetKind,
    content: fn() -> &'static str,
}

/// The media type of an asset, and the pages that may load it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum AssetKind {
    /// A picture as SVG.
    Image,
    /// A document for programs.
    Json,
    Page(PagePolicy, ScriptPaths),
    Script(Loader),
    Style,
}

/// The pages that may load an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Loader {
    AnySite,
    SameOrigin,
}

/// The paths of a page's scripts; a path that ends with a slash includes all paths below it. Other
/// paths of this server are no scripts of the page: below `/proxy`, destinations choose the
/// content.
pub(in crate::http) type ScriptPaths = &'static [&'static str];

/// The content security policy of a page. No policy allows inline scripts or styles, or resources
/// of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum PagePolicy {
    /// No site may frame the page, and it may call the API of this server.
    Alone,
    /// As [`PagePolicy::Alone`], and the page may frame pages of this server. The published SDK for
    /// 3-D Secure hides an element with the attribute `style="display:none;"`: the policy allows
    /// this one text by its hash.
    Framing,
    /// A page that sites show in frames of their own pages.
    Framed,
    /// As [`PagePolicy::Framed`], and the page may send requests to the hosts that the operator lists
    /// for values of elements.
    FramedSender,
}

impl PagePolicy {
    /// The policy without the directive that names the scripts.
    const fn text(self) -> &'static str {
        match self {
            Self::Alone => {
                "default-src 'none'; style-src 'self'; img-src 'self' data:; \
                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            }
            Self::Framing => {
                "default-src 'none'; style-src 'self' 'unsafe-hashes' \
                 'sha256-0EZqoz+oBhx7gF4nvY2bSqoGyy4zLjNF+SDQXGp/ZrY='; img-src 'self' data:; \
                 connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                 frame-ancestors 'none'"
            }
            Self::Framed | Self::FramedSender => {
                "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                 connect-src 'self'"
            }
        }
    }
}

impl Asset {
    pub(in crate::http) const fn new(kind: AssetKind, content: fn() -> &'static str) -> Self {
        Self { kind, content }
    }

    pub(in crate::http) fn content(&self) -> &'static str {
        (self.content)()
    }

    /// The asset, or 304 if the client has it. `hosts` are the names of this server.
    pub(in crate::http) fn reply(
        &self,
        asked: &HeaderMap,
        hosts: &[&str],
        destinations: &[ElementsHost],
    ) -> Reply {
        let content = (self.content)();
        let tag = format!("\"{:08x}-{}\"", crc32fast::hash(content.as_bytes()), content.len());
        let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let known = known.unwrap_or_default().split(',').map(str::trim);
        let is_known = known.map(|it| it.strip_prefix("W/").unwrap_or(it)).any(|it| it == tag);
        let reply = if is_known {
            Reply::not_modified()
        } else {
            let body = SecretBody::shared(Bytes::from_static(content.as_bytes()));
            Reply::ok(body).with(header::CONTENT_TYPE, self.media_type())
        };
        // The next version of the program has other files under the same paths.
        let reply = reply.with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let reply = match HeaderValue::try_from(tag) {
            Ok(tag) => reply.with(header::ETAG, tag),
            Err(_) => reply,
        };
        self.protected(reply, hosts, destinations)
    }

    const fn media_type(&self) -> HeaderValue {
        HeaderValue::from_static(self.media_type_text())
    }

    pub(in crate::http) const fn media_type_text(&self) -> &'static str {
        match self.kind {
            AssetKind::Image => "image/svg+xml",
            AssetKind::Json => "application/json",
            AssetKind::Page(..) => "text/html; charset=utf-8",
            AssetKind::Script(_) => "text/javascript; charset=utf-8",
            AssetKind::Style => "text/css; charset=utf-8",
        }
    }

    pub(in crate::http) const fn is_json(&self) -> bool {
        matches!(self.kind, AssetKind::Json)
    }

    /// Adds the headers that restrict the browser's use of the asset.
    fn protected(&self, reply: Reply, hosts: &[&str], destinations: &[ElementsHost]) -> Reply {
        let (policy, loader) = match self.kind {
            AssetKind::Page(policy, scripts) => {
                let scripts = script_sources(hosts, scripts);
                let destinations = match policy {
                    PagePolicy::FramedSender => destinations,
                    PagePolicy::Alone | PagePolicy::Framing | PagePolicy::Framed => &[],
                };
                let destinations: Vec<_> = destinations.iter().map(ElementsHost::origin).collect();
                // The text of a policy for senders ends with the sources of its requests.
                let policy = [&[policy.text()], &destinations[..]].concat().join(" ");
                let policy = format!("{policy}; script-src {scripts}");
                let policy = HeaderValue::try_from(policy).unwrap_or(NOTHING);
                (policy, Loader::SameOrigin)
            }
            AssetKind::Script(loader) => (NOTHING, loader),
            AssetKind::Image | AssetKind::Json | AssetKind::Style => (NOTHING, Loader::SameOrigin),
        };
        let loader = match (self.kind, loader) {
            // The site that shows a frame loads it.
            (AssetKind::Page(PagePolicy::Framed | PagePolicy::FramedSender, _), _)
            | (_, Loader::AnySite) => "cross-origin",
            (_, Loader::SameOrigin) => "same-origin",
        };
        let reply = reply
            .with(header::CONTENT_SECURITY_POLICY, policy)
            .with(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
            .with(RESOURCE_POLICY, HeaderValue::from_static(loader));
        match self.kind {
            AssetKind::Page(PagePolicy::Alone | PagePolicy::Framing, _) => {
                reply.with(OPENER_POLICY, HeaderValue::from_static("same-origin")).with(
                    PERMISSIONS_POLICY,
                    HeaderValue::from_static("camera=(), microphone=(), geolocation=()"),
                )
            }
            AssetKind::Image
            | AssetKind::Json
            | AssetKind::Page(PagePolicy::Framed | PagePolicy::FramedSender, _)
            | AssetKind::Script(_)
            | AssetKind::Style => reply,
        }
    }
}

/// The paths as sources of a policy. A source with a path needs a host, and the syntax of policies
/// cannot express most addresses: a page that was opened by an address may load scripts from the
/// whole server.
fn script_sources(hosts: &[&str], paths: ScriptPaths) -> String {
    let is_name = |host: &&str| {
        let name = host.split(':').next().unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
        let is_address = name.parse::<std::net::Ipv4Addr>().is_ok() && name != "127.0.0.1";
        !name.is_empty() && host.bytes().all(is_plain) && !is_address
    };
    if paths.is_empty() {
        return String::from("'none'");
    }
    if hosts.is_empty() || !hosts.iter().all(is_name) {
        return String::from("'self'");
    }
    let sources = hosts.iter().flat_map(|host| paths.iter().map(move |path| (host, path)));
    sources.map(|(host, path)| format!("{host}{path}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_named_by_host_and_path() {
        let check = |hosts: &[&str], expected| {
            assert_eq!(script_sources(hosts, &["/a/", "/b.js"]), expected);
        };
        check(&["vault.example"], "vault.example/a/ vault.example/b.js");
        check(&["a:8443", "b"], "a:8443/a/ a:8443/b.js b/a/ b/b.js");
        check(&["127.0.0.1:80"], "127.0.0.1:80/a/ 127.0.0.1:80/b.js");
        check(&[], "'self'");
        assert_eq!(script_sources(&["vault.example"], &[]), "'none'");
        for host in ["192.0.2.1", "[::1]:8443", "", "a;b", "a b"] {
            check(&[host], "'self'");
        }
    }
}
