//! `[console]`: the people and keys that may use the console, and the ways to sign on.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use uuid::Uuid;

use super::Switch;
use super::reader::SettingsReader;
use crate::bounds::{CONSOLE_NAMES_MAX, PERSON_BYTES_MAX};
use crate::domain::connection_headers::is_of_connection;
use crate::domain::id::TenantId;
use crate::limits::Network;

#[derive(Debug, PartialEq, Eq)]
pub struct ConsoleSettings {
    /// Off if the console takes no API key, and only the sign-on opens it.
    pub management_keys: Switch,
    /// Absent if people do not sign on.
    pub sign_on: Option<SignOnSettings>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct SignOnSettings {
    /// The tenants that people administer.
    pub tenants: Vec<TenantId>,
    /// Groups of the sign-on.
    pub viewers: Vec<String>,
    pub administrators: Vec<String>,
    /// The address of the link to sign out.
    pub sign_out: Option<String>,
    pub by_proxy: Option<ProxySignOn>,
    pub by_certificate: Option<CertificateSignOn>,
}

/// A reverse proxy that names the person in headers.
#[derive(Debug, PartialEq, Eq)]
pub struct ProxySignOn {
    pub peers: Vec<Network>,
    /// Names of headers, in lower case.
    pub user_header: String,
    pub email_header: Option<String>,
    pub groups_header: String,
    pub secret_header: String,
    /// The file of the secret that the proxy sends.
    pub secret_file: Option<PathBuf>,
}

/// A listener for people with client certificates.
#[derive(Debug, PartialEq, Eq)]
pub struct CertificateSignOn {
    pub listen: Vec<SocketAddr>,
    pub client_ca: PathBuf,
}

/// Headers that mean something else to the vault or to a browser.
const TAKEN: [&str; 12] = [
    "accept",
    "authorization",
    "bt-api-key",
    "content-length",
    "content-type",
    "cookie",
    "forwarded",
    "host",
    "origin",
    "strongroom-console",
    "user-agent",
    "x-forwarded-for",
];

impl SettingsReader {
    pub(super) fn console(&mut self) -> ConsoleSettings {
        const NOBODY: &str = "must be true without a sign-on: the console would admit no person";
        let management_keys = self.switch("console.management_keys");
        let sign_on = self.sign_on();
        if management_keys == Switch::Off && sign_on.is_none() {
            self.wrong("console.management_keys", NOBODY);
        }
        ConsoleSettings { management_keys, sign_on }
    }

    /// `None` if neither a proxy nor a certificate says who a person is.
    fn sign_on(&mut self) -> Option<SignOnSettings> {
        const WAY: &str = "is used only with console.proxies or console.listen, which say how people \
                           sign on";
        const GROUPS: &str =
            "or console.viewers must name a group: without one no person is admitted";
        let names = ["tenants", "viewers", "administrators", "sign_out"];
        let given = names.map(|name| format!("console.{name}")).map(|name| (self.has(&name), name));
        let by_proxy = self.proxy_sign_on();
        let by_certificate = self.certificate_sign_on();
        let before = self.mistakes.len();
        let tenants = self.tenants("console.tenants");
        let viewers = self.groups("console.viewers");
        let administrators = self.groups("console.administrators");
        let sign_out = self.sign_out("console.sign_out");
        if by_proxy.is_none() && by_certificate.is_none() {
            given.iter().filter(|(is_given, _)| *is_given).for_each(|(_, it)| self.wrong(it, WAY));
            return None;
        }
        if tenants.is_empty() && self.mistakes.len() == before {
            self.wrong("console.tenants", "must name the tenants that people administer");
        }
        if viewers.is_empty() && administrators.is_empty() && self.mistakes.len() == before {
            self.wrong("console.administrators", GROUPS);
        }
        Some(SignOnSettings {
            tenants,
            viewers,
            administrators,
            sign_out,
            by_proxy,
            by_certificate,
        })
    }

    fn proxy_sign_on(&mut self) -> Option<ProxySignOn> {
        const PROXIES: &str = "console.proxies";
        const EVERYBODY: &str = "must not be all addresses without console.secret_file: every peer \
                                 could speak for every person";
        const NEAR_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
        const FAR_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
        let is_here = self.has(PROXIES);
        let peers = self.networks(PROXIES);
        let user_header = self.header("user_header", Some("x-forwarded-user"));
        let email_header = self.header("email_header", None);
        let groups_header = self.header("groups_header", Some("x-forwarded-groups"));
        let secret_header = self.header("secret_header", Some("x-console-secret"));
        let secret_file = self.optional_path("console.secret_file");
        let (Some(user_header), Some(groups_header), Some(secret_header)) =
            (user_header, groups_header, secret_header)
        else {
            return None;
        };
        let mut all: Vec<_> = [&user_header, &groups_header, &secret_header].into();
        all.extend(&email_header);
        all.sort_unstable();
        if all.windows(2).any(|pair| matches!(pair, [one, two] if one == two)) {
            self.wrong("console.user_header", "must differ from the other headers of [console]");
        }
        if is_here && peers.is_empty() {
            self.wrong(
                PROXIES,
                "must name the addresses of the reverse proxies, such as \"10.0.0.5\"",
            );
        }
        let far = [IpAddr::from([1, 1, 1, 1]), IpAddr::from([200, 1, 1, 1]), FAR_V6, NEAR_V6];
        let is_open = |pair: &[IpAddr]| {
            peers.iter().any(|network| pair.iter().all(|address| network.contains(*address)))
        };
        if secret_file.is_none() && far.chunks(2).any(is_open) {
            self.wrong(PROXIES, EVERYBODY);
        }
        is_here.then_some(ProxySignOn {
            peers,
            user_header,
            email_header,
            groups_header,
            secret_header,
            secret_file,
        })
    }

    fn certificate_sign_on(&mut self) -> Option<CertificateSignOn> {
        let (listen, client_ca) = ("console.listen", "console.client_ca");
        if !self.has(listen) && !self.has(client_ca) {
            self.known.extend([listen, client_ca].map(String::from));
            return None;
        }
        Some(CertificateSignOn {
            listen: self.required_addresses(listen),
            client_ca: self.path(client_ca),
        })
    }

    /// The name of a header in lower case. `None` if it is wrong, or absent without a default.
    fn header(&mut self, name: &str, default: Option<&str>) -> Option<String> {
        const HEADER: &str = "must be the name of a header, of letters, digits and hyphens";
        let name = format!("console.{name}");
        if !self.has(&name) {
            self.known.insert(name);
            return default.map(String::from);
        }
        let header = self.text(&name)?.to_ascii_lowercase();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !header.bytes().all(is_plain) || header.len() > PERSON_BYTES_MAX {
            self.wrong(&name, HEADER);
            return None;
        }
        if TAKEN.contains(&header.as_str()) || is_of_connection(&header) {
            self.wrong(&name, "must not be a header with another meaning");
            return None;
        }
        Some(header)
    }

    fn tenants(&mut self, name: &str) -> Vec<TenantId> {
        let texts = self.few_texts(name);
        self.items(name, &texts, |text| {
            let id = Uuid::try_parse(text).ok().filter(|id| !id.is_nil());
            id.map(TenantId::new)
                .ok_or("must be the id of a tenant, as `strongroom tenant list` shows it")
        })
    }

    fn groups(&mut self, name: &str) -> Vec<String> {
        let texts = self.few_texts(name);
        self.items(name, &texts, |text| {
            let is_whole =
                text.trim() == text && !text.is_empty() && text.len() <= PERSON_BYTES_MAX;
            let is_plain = is_whole && !text.contains(|it: char| it.is_control() || it == ',');
            is_plain.then(|| String::from(text)).ok_or("must be a group, without commas")
        })
    }

    fn few_texts(&mut self, name: &str) -> Vec<String> {
        let texts = self.texts(name).unwrap_or_default();
        if texts.len() > CONSOLE_NAMES_MAX {
            self.wrong(name, &format!("must have at most {CONSOLE_NAMES_MAX} entries"));
        }
        texts
    }

    /// A path of this host or an HTTPS URL: nothing that a browser would run.
    fn sign_out(&mut self, name: &str) -> Option<String> {
        let text = self.text(name)?;
        let is_path = text.starts_with('/') && !text.starts_with("//") && !text.contains('\\');
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_plain && (is_path || text.starts_with("https://")) {
            return Some(text);
        }
        self.wrong(name, "must be a path such as \"/oauth2/sign_out\", or an https URL");
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::InvalidConfig;

    const TENANT: &str = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed";

    fn read(text: &str) -> Result<ConsoleSettings, Vec<String>> {
        let mut reader = SettingsReader::new(text).map_err(|InvalidConfig(mistakes)| mistakes)?;
        let console = reader.console();
        reader.refuse_the_rest();
        if reader.mistakes.is_empty() { Ok(console) } else { Err(reader.mistakes) }
    }

    #[test]
    fn without_the_section_management_keys_open_the_console() {
        let expected = ConsoleSettings { management_keys: Switch::On, sign_on: None };
        assert_eq!(read(""), Ok(expected));
    }

    #[test]
    fn a_sign_on_by_proxy_has_the_headers_of_the_usual_programs() {
        let found = read(&format!(
            "[console]\nproxies = [\"127.0.0.1\"]\ntenants = [\"{TENANT}\"]\n\
             administrators = [\"vault-admins\"]\nmanagement_keys = false\n\
             email_header = \"X-Forwarded-Email\"\nsign_out = \"/oauth2/sign_out\""
        ))
        .unwrap();
        assert_eq!(found.management_keys, Switch::Off);
        let sign_on = found.sign_on.unwrap();
        assert_eq!(sign_on.administrators, ["vault-admins"]);
        assert_eq!(sign_on.sign_out.as_deref(), Some("/oauth2/sign_out"));
        let proxy = sign_on.by_proxy.unwrap();
        assert_eq!(proxy.user_header, "x-forwarded-user");
        assert_eq!(proxy.groups_header, "x-forwarded-groups");
        assert_eq!(proxy.email_header.as_deref(), Some("x-forwarded-email"));
    }

    #[test]
    fn mistakes_that_would_admit_nobody_or_anybody_are_refused() {
        let good =
            format!("proxies = [\"127.0.0.1\"]\ntenants = [\"{TENANT}\"]\nviewers = [\"v\"]\n");
        for (lines, name) in [
            ("management_keys = false", "console.management_keys"),
            ("viewers = [\"v\"]", "console.viewers"),
            ("proxies = []", "console.proxies"),
            ("proxies = [\"0.0.0.0/0\"]", "console.proxies"),
            ("proxies = [\"::/0\"]", "console.proxies"),
            ("proxies = [\"127.0.0.1\"]\nviewers = [\"v\"]", "console.tenants"),
            ("listen = [\"127.0.0.1:1\"]", "console.client_ca"),
            ("client_ca = \"/ca.pem\"", "console.listen"),
            (&format!("{good}user_header = \"X_User\""), "console.user_header"),
            (&format!("{good}user_header = \"Host\""), "console.user_header"),
            (&format!("{good}user_header = \"X-Forwarded-Groups\""), "console.user_header"),
            (&format!("{good}groups_header = \"Connection\""), "console.groups_header"),
            (&format!("{good}sign_out = \"//other.example\""), "console.sign_out"),
            (&format!("{good}sign_out = \"javascript:alert(1)\""), "console.sign_out"),
            (&format!("{good}administrators = [\"a,b\"]"), "console.administrators[0]"),
            (&format!("{good}administrators = [\"\"]"), "console.administrators[0]"),
            (
                &format!("proxies = [\"127.0.0.1\"]\ntenants = [\"{TENANT}\"]"),
                "console.administrators",
            ),
            ("proxies = [\"127.0.0.1\"]\ntenants = [\"x\"]", "console.tenants[0]"),
            (&format!("{good}user = \"X-User\""), "console.user"),
        ] {
            let mistakes = read(&format!("[console]\n{lines}")).unwrap_err();
            assert!(mistakes[0].starts_with(&format!("{name}: ")), "{lines}: {mistakes:?}");
        }
    }
}
