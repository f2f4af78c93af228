//! `[outbound]`: exceptions for destinations, and the authorities of their certificates.

use std::path::PathBuf;

use super::reader::SettingsReader;
use crate::bounds::OUTBOUND_ALLOWED_MAX;
use crate::domain::https_url::HttpsUrl;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct OutboundSettings {
    /// Destinations that may be called although their port or their addresses are not public.
    pub allow: Vec<AllowedDestination>,
    /// The authorities of destinations, instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// A host, as callers write it, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedDestination {
    /// A name or an address, the latter without brackets.
    pub host: String,
    pub port: u16,
}

impl AllowedDestination {
    /// Parses `host:port`. The port is required, so that an entry allows no more than it states.
    fn parse(text: &str) -> Option<Self> {
        let HttpsUrl { host, port, path } = HttpsUrl::parse(&format!("https://{text}"))?;
        let is_whole = path == "/" && text.ends_with(&format!(":{port}"));
        is_whole.then_some(Self { host, port })
    }
}

impl SettingsReader {
    pub(super) fn outbound(&mut self) -> OutboundSettings {
        const ALLOW: &str = "outbound.allow";
        const DESTINATION: &str =
            "must be a host and a port, such as \"psp.internal:8443\" or \"[fd00::1]:443\"";
        let texts = self.texts(ALLOW).unwrap_or_default();
        if texts.len() > OUTBOUND_ALLOWED_MAX {
            self.wrong(ALLOW, &format!("must have at most {OUTBOUND_ALLOWED_MAX} entries"));
        }
        let allow =
            self.items(ALLOW, &texts, |text| AllowedDestination::parse(text).ok_or(DESTINATION));
        OutboundSettings { allow, ca_file: self.optional_path("outbound.ca_file") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_destination_is_a_host_and_a_port() {
        let parse = |text: &str| AllowedDestination::parse(text).map(|it| (it.host, it.port));
        let found = |host: &str, port| Some((String::from(host), port));
        assert_eq!(parse("psp.internal:8443"), found("psp.internal", 8_443));
        assert_eq!(parse("10.0.0.1:443"), found("10.0.0.1", 443));
        assert_eq!(parse("[fd00::1]:443"), found("fd00::1", 443));
        for wrong in [
            "",
            "psp.internal",
            "*:443",
            "*.internal:443",
            "psp.internal:",
            "psp.internal:0",
            "psp.internal:443/",
            "psp.internal:443/a:443",
            "psp.internal/a:443",
            "psp.internal?a:443",
            "user@psp.internal:443",
            "https://psp.internal:443",
            "fd00::1:443",
            "[fe80::1%eth0]:443",
            "10.0.0.0/8:443",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
