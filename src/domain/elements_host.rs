//! The hosts of `pages.elements_hosts`: besides the vault, frames of Elements send values to these.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::domain::web_origin::WebOrigin;

/// `api.shop.example` or `api.shop.example:8443`, always with HTTPS.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElementsHost(WebOrigin);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidElementsHost;

impl ElementsHost {
    /// `https://api.shop.example`, as browsers spell it, and as a source of a policy.
    pub fn origin(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for ElementsHost {
    type Err = InvalidElementsHost;

    fn from_str(text: &str) -> Result<Self, InvalidElementsHost> {
        let name = text.split(':').next().unwrap_or_default();
        // A policy of a page cannot name another address.
        let is_address = text.starts_with('[') || name.parse::<Ipv4Addr>().is_ok();
        if is_address && name != "127.0.0.1" {
            return Err(InvalidElementsHost);
        }
        let origin = WebOrigin::parse(&format!("https://{text}"));
        origin.ok().map(Self).ok_or(InvalidElementsHost)
    }
}

impl fmt::Display for InvalidElementsHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be the name of a host in lower case, such as \"api.shop.example\", with a port \
             other than 443 if it has one, as in \"api.shop.example:8443\"",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_with_an_optional_port() {
        let origin = |text: &str| text.parse::<ElementsHost>().map(|it| String::from(it.origin()));
        for text in ["api.shop.example", "api.shop.example:8443", "localhost", "127.0.0.1:8443"] {
            assert_eq!(origin(text), Ok(format!("https://{text}")));
        }
        for text in [
            "",
            "*",
            "*.shop.example",
            "https://api.shop.example",
            "http://api.shop.example",
            "api.shop.example/",
            "api.shop.example/pay",
            "api.shop.example:443",
            "api.shop.example:0",
            "api.shop.example:*",
            "API.shop.example",
            "user@api.shop.example",
            "a.example b.example",
            "a.example;script-src",
            "a.example,b.example",
            "'self'",
            "192.0.2.7",
            "192.0.2.7:8443",
            "[::1]",
            "[::1]:8443",
            "127.0.0.1.",
        ] {
            assert_eq!(origin(text), Err(InvalidElementsHost), "{text:?}");
        }
    }
}
