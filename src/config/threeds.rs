//! `[threeds]`: the directory servers of the schemes, our identity towards them, and the retention
//! of sessions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::reader::SettingsReader;
use crate::bounds::{
    THREEDS_REPLY_DEFAULT, THREEDS_REPLY_MAX, THREEDS_RETENTION, THREEDS_RETENTION_DAYS_MAX,
};
use crate::domain::https_url::{HttpsUrl, URL_CHARS_MAX};
use crate::threeds::scheme::Scheme;

#[derive(Debug, PartialEq, Eq)]
pub struct ThreedsSettings {
    pub retention: Duration,
    /// `None` without directory servers: production tenants cannot authenticate cards.
    pub directory: Option<DirectorySettings>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectorySettings {
    pub servers: Vec<DirectoryServer>,
    /// Our URL for browsers: `https://host`, without a slash at the end.
    pub public_url: String,
    /// Our URL for directory servers, without the path.
    pub results_url: String,
    pub results_listen: Vec<SocketAddr>,
    pub results_certificate: PathBuf,
    pub results_private_key: PathBuf,
    /// The reference number that `EMVCo` has assigned to this server.
    pub reference: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryServer {
    pub scheme: Scheme,
    pub url: HttpsUrl,
    /// Our client certificate for this server, and its key.
    pub certificate: PathBuf,
    pub private_key: PathBuf,
    /// The authority of this server's certificates, as a server and as a client.
    pub ca: PathBuf,
    pub operator: Option<String>,
    pub timeout: Duration,
}

/// The longest identifier of a 3DS server in the protocol.
const IDENTIFIER_CHARS_MAX: usize = 32;
/// Notification URLs have at most 256 characters, of which a session's path takes 76.
const PUBLIC_URL_CHARS_MAX: usize = 180;
const TIMEOUT_MIN: Duration = Duration::from_millis(100);
const URL_WANTED: &str = "must be an https:// URL with a host, without a user, a query or a \
                          fragment, such as \"https://ds.example.com:8443/3ds\"";

impl SettingsReader {
    pub(super) fn threeds(&mut self) -> ThreedsSettings {
        let default = THREEDS_RETENTION.as_secs() / (24 * 3_600);
        let days = self.days("threeds.retention", default, THREEDS_RETENTION_DAYS_MAX);
        let retention = Duration::from_secs(days.saturating_mul(24 * 3_600));
        let servers: Vec<_> = Scheme::ALL
            .into_iter()
            .filter(|scheme| self.has_section(&format!("threeds.{}", scheme.as_str())))
            .collect();
        // Without directory servers, their settings count as unknown.
        let directory = (!servers.is_empty()).then(|| self.directory(&servers));
        ThreedsSettings { retention, directory }
    }

    fn directory(&mut self, schemes: &[Scheme]) -> DirectorySettings {
        DirectorySettings {
            public_url: self.base_url("threeds.public_url", PUBLIC_URL_CHARS_MAX),
            results_url: self.base_url("threeds.results_url", URL_CHARS_MAX),
            results_listen: self.required_addresses("threeds.results_listen"),
            results_certificate: self.path("threeds.results_certificate"),
            results_private_key: self.path("threeds.results_private_key"),
            reference: self.required_identifier("threeds.server_reference"),
            servers: schemes.iter().map(|scheme| self.directory_server(*scheme)).collect(),
        }
    }

    fn directory_server(&mut self, scheme: Scheme) -> DirectoryServer {
        let name = |key: &str| format!("threeds.{}.{key}", scheme.as_str());
        let timeout = self.time_limit(
            &name("timeout"),
            THREEDS_REPLY_DEFAULT,
            TIMEOUT_MIN,
            THREEDS_REPLY_MAX,
        );
        DirectoryServer {
            scheme,
            url: self.url(&name("url")),
            certificate: self.path(&name("certificate")),
            private_key: self.path(&name("private_key")),
            ca: self.path(&name("ca")),
            operator: self.identifier(&name("operator")),
            timeout,
        }
    }

    fn url(&mut self, name: &str) -> HttpsUrl {
        let text = self.required_text(name);
        HttpsUrl::parse(&text).unwrap_or_else(|| {
            if !text.is_empty() {
                self.wrong(name, URL_WANTED);
            }
            HttpsUrl { host: String::new(), port: 0, path: String::new() }
        })
    }

    /// A URL without a path; our paths are appended to it.
    fn base_url(&mut self, name: &str, chars_max: usize) -> String {
        let text = self.required_text(name);
        let base = text.strip_suffix('/').unwrap_or(&text);
        let is_base = HttpsUrl::parse(base).is_some_and(|url| url.path == "/");
        if !text.is_empty() && (!is_base || base.len() > chars_max) {
            let wanted = "must be an https:// URL with a host and without a path";
            self.wrong(name, &format!("{wanted}, of at most {chars_max} characters"));
        }
        String::from(base)
    }

    fn identifier(&mut self, name: &str) -> Option<String> {
        let text = self.text(name);
        self.check_identifier(name, text.as_deref().unwrap_or_default());
        text
    }

    fn required_identifier(&mut self, name: &str) -> String {
        let text = self.required_text(name);
        self.check_identifier(name, &text);
        text
    }

    fn check_identifier(&mut self, name: &str, text: &str) {
        if text.chars().count() > IDENTIFIER_CHARS_MAX {
            self.wrong(name, &format!("must have at most {IDENTIFIER_CHARS_MAX} characters"));
        }
    }
}
