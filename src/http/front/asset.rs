//! A file that the program has in itself, and the headers that it is sent with.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::http::reply::Reply;
use crate::secret::SecretBody;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// A file that is part of the program.
#[derive(Debug)]
pub(in crate::http) struct Asset {
    kind: AssetKind,
    content: fn() -> &'static str,
}

/// The media type of an asset, and who may load it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum AssetKind {
    /// A document for programs.
    Json,
    Page(PagePolicy),
    Script(Loader),
    Style,
}

/// The pages that may load an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Loader {
    /// Pages of any site.
    AnySite,
    /// Pages of this server.
    SameOrigin,
}

/// The content security policy of a page. No policy allows inline scripts or styles, or a resource
/// of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum PagePolicy {
    /// No site may frame the page, and it may call the API of this server.
    Alone,
    /// As [`PagePolicy::Alone`], and the page may frame pages of this server. The published SDK for
    /// 3-D Secure hides an element by the attribute `style="display:none;"`: the policy allows this
    /// one text, by its hash.
    Framing,
    /// A page that sites show in frames of their own pages.
    Framed,
}

impl PagePolicy {
    const fn text(self) -> &'static str {
        match self {
            Self::Alone => {
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            }
            Self::Framing => {
                "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-hashes' \
                 'sha256-0EZqoz+oBhx7gF4nvY2bSqoGyy4zLjNF+SDQXGp/ZrY='; img-src 'self' data:; \
                 connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                 frame-ancestors 'none'"
            }
            Self::Framed => {
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                 base-uri 'none'; form-action 'none'"
            }
        }
    }
}

impl Asset {
    pub(in crate::http) const fn new(kind: AssetKind, content: fn() -> &'static str) -> Self {
        Self { kind, content }
    }

    /// The asset, or 304 if the client has it.
    pub(in crate::http) fn reply(&self, asked: &HeaderMap) -> Reply {
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
        // The next version of the program has other files at the same paths.
        let reply = reply.with(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let reply = match HeaderValue::try_from(tag) {
            Ok(tag) => reply.with(header::ETAG, tag),
            Err(_) => reply,
        };
        self.protected(reply)
    }

    const fn media_type(&self) -> HeaderValue {
        HeaderValue::from_static(self.media_type_text())
    }

    pub(in crate::http) const fn media_type_text(&self) -> &'static str {
        match self.kind {
            AssetKind::Json => "application/json",
            AssetKind::Page(_) => "text/html; charset=utf-8",
            AssetKind::Script(_) => "text/javascript; charset=utf-8",
            AssetKind::Style => "text/css; charset=utf-8",
        }
    }

    pub(in crate::http) const fn is_json(&self) -> bool {
        matches!(self.kind, AssetKind::Json)
    }

    /// With the headers that limit what the browser does with the asset.
    fn protected(&self, reply: Reply) -> Reply {
        let (policy, loader) = match self.kind {
            AssetKind::Page(policy) => (policy.text(), Loader::SameOrigin),
            AssetKind::Script(loader) => ("default-src 'none'", loader),
            AssetKind::Json | AssetKind::Style => ("default-src 'none'", Loader::SameOrigin),
        };
        let loader = match (self.kind, loader) {
            // A frame is loaded by the site that shows it.
            (AssetKind::Page(PagePolicy::Framed), _) | (_, Loader::AnySite) => "cross-origin",
            (_, Loader::SameOrigin) => "same-origin",
        };
        let reply = reply
            .with(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy))
            .with(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
            .with(RESOURCE_POLICY, HeaderValue::from_static(loader));
        match self.kind {
            AssetKind::Page(PagePolicy::Alone | PagePolicy::Framing) => {
                reply.with(OPENER_POLICY, HeaderValue::from_static("same-origin")).with(
                    PERMISSIONS_POLICY,
                    HeaderValue::from_static("camera=(), microphone=(), geolocation=()"),
                )
            }
            AssetKind::Json
            | AssetKind::Page(PagePolicy::Framed)
            | AssetKind::Script(_)
            | AssetKind::Style => reply,
        }
    }
}
