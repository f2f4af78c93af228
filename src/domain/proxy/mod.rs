//! Pre-configured proxies: a fixed destination with its configuration and transforms.

pub mod certificate;
pub mod location;
pub mod mask;
pub mod read;
pub mod transform;

use crate::bounds::{PROXY_KEY_CHARS_MAX, PROXY_URL_CHARS_MAX};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::base58;
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::{ApplicationId, ProxyId, TenantId};
use crate::domain::proxy::certificate::ClientCertificate;
use crate::domain::proxy::transform::Transforms;
use crate::domain::time::Timestamp;
use crate::secret::Secret;

/// Calls through proxies use this path and every path below it.
pub const PROXY_PATH: &str = "/proxy";

/// 22 base58 digits hold 128 bits.
const KEY_DIGITS: usize = 22;

#[derive(Debug)]
pub struct Proxy {
    pub id: ProxyId,
    pub tenant: TenantId,
    pub key: ProxyKey,
    pub settings: ProxySettings,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    /// The key that seals the proxy's parts of remembered answers is derived from it.
    pub answer_seed: AnswerSeed,
}

/// The part of a proxy that a request sets.
#[derive(Debug)]
pub struct ProxySettings {
    pub name: String,
    pub destination: Destination,
    /// False if callers need no API key. The proxy's application then uses the tokens.
    pub require_auth: bool,
    pub application: Option<ApplicationId>,
    /// In the order of the request.
    pub configuration: Configuration,
    pub disable_detokenization: bool,
    /// A successful call destroys the card verification codes that it used.
    pub destroy_cvc_after_use: bool,
    pub request_transforms: Transforms,
    pub response_transforms: Transforms,
    pub client_certificate: Option<ClientCertificate>,
}

/// Names and secret values.
#[derive(Debug, Default)]
pub struct Configuration(pub Vec<(String, Secret<String>)>);

/// The destination as the request spelled it, and its parsed parts.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    text: String,
    url: HttpsUrl,
}

impl Destination {
    /// The host may be an address: the guard of outbound requests decides at every call which
    /// destinations are allowed, since a name may resolve to any address too.
    pub fn parse(text: &str) -> Option<Self> {
        let url = HttpsUrl::parse_with_query(text)?;
        (text.len() <= PROXY_URL_CHARS_MAX).then(|| Self { text: String::from(text), url })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[cfg(test)]
    pub const fn url(&self) -> &HttpsUrl {
        &self.url
    }
}

// The path of a destination may hold a secret of the destination.
opaque_debug!(Destination);

/// The text with which a caller selects a proxy. With `require_auth: false` the caller needs
/// nothing else, so it is secret.
#[derive(Debug)]
pub struct ProxyKey(Secret<String>);

impl ProxyKey {
    pub fn new(random: &[u8; 16]) -> Self {
        Self(Secret::new(base58::encode_padded(random, KEY_DIGITS)))
    }

    /// A text that a client presented.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = (1..=PROXY_KEY_CHARS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_key.then(|| Self(Secret::new(String::from(text))))
    }

    pub const fn expose(&self) -> &str {
        self.0.expose().as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_letters_and_digits_and_never_longer_than_published() {
        let key = ProxyKey::new(&[0xff; 16]);
        assert_eq!(key.expose().len(), KEY_DIGITS);
        assert_eq!(ProxyKey::parse(key.expose()).unwrap().expose(), key.expose());
        assert_eq!(format!("{key:?}"), "ProxyKey(Secret(..))");
        assert!(ProxyKey::parse(&"a".repeat(100)).is_some());
        for text in ["", "a b", "a-b", "k\u{e9}y", "a\n", &"a".repeat(101)] {
            assert!(ProxyKey::parse(text).is_none());
        }
    }

    #[test]
    fn destinations_are_https_urls_of_at_most_400_characters() {
        let url = Destination::parse("https://psp.example/v1/charge.php?a=b").unwrap();
        assert_eq!(
            (url.url().host.as_str(), url.url().path.as_str()),
            ("psp.example", "/v1/charge.php?a=b")
        );
        assert_eq!(url.as_str(), "https://psp.example/v1/charge.php?a=b");
        assert_eq!(format!("{url:?}"), "Destination(..)");
        let long = |length: usize| format!("https://psp.example/{}", "a".repeat(length - 20));
        assert!(Destination::parse(&long(400)).is_some());
        for text in ["http://psp.example", "psp.example", "https://a b", "", &long(401)] {
            assert!(Destination::parse(text).is_none(), "{text}");
        }
    }
}
