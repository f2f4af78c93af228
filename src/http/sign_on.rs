//! The sign-on of people at the console: a trusted proxy names the person in headers, or the
//! person's client certificate does.
//!
//! The vault keeps no session: every request brings the person. A browser adds that authority to
//! requests that other sites cause, so a request without an API key counts as the person's only if
//! a page of this server sent it: it has the header `Strongroom-Console`, which a page of another
//! site cannot send without a preflight that this server refuses, and neither `Origin` nor
//! `Sec-Fetch-Site` says otherwise.

use std::net::IpAddr;

use hyper::header::{HeaderMap, HeaderValue};

use crate::app::is_secret_of_sign_on;
use crate::bounds::{PERSON_GROUPS_BYTES_MAX, PERSON_GROUPS_MAX};
use crate::domain::id::TenantId;
use crate::domain::person::{ConsoleRole, Person, PersonWithGroups, SignOnWay};
use crate::limits::Network;
use crate::secret::Secret;

/// The header of the console's page. Its value is the id of the tenant that it shows.
pub(super) const CONSOLE: &str = "strongroom-console";

/// The people and keys that may use the console.
#[derive(Debug)]
pub struct ConsoleAccess {
    /// False if the console takes no API key.
    pub takes_keys: bool,
    pub sign_on: Option<SignOnRules>,
}

#[derive(Debug)]
pub struct SignOnRules {
    pub tenants: Vec<TenantId>,
    pub viewers: Vec<String>,
    pub administrators: Vec<String>,
    pub sign_out: Option<String>,
    pub by_proxy: Option<ProxyHeaders>,
}

#[derive(Debug)]
pub struct ProxyHeaders {
    /// The peers whose headers count.
    pub peers: Vec<Network>,
    /// Names of headers, in lower case.
    pub user: String,
    pub email: Option<String>,
    pub groups: String,
    pub secret_header: String,
    pub secret: Option<Secret<String>>,
}

/// The facts of a request about a person.
#[derive(Debug, Default)]
pub(super) enum SignOn {
    #[default]
    Absent,
    Person(SignedOn),
    /// The sign-on vouches for the person, whose groups give no role.
    NoRole(Person),
    /// There are facts about a person, and they cannot be read: the sentence.
    Malformed(&'static str),
    /// The request names a person without the secret of the sign-on. Its name is not believed.
    WrongSecret,
}

#[derive(Debug)]
pub(super) struct SignedOn {
    pub(super) person: Person,
    pub(super) role: ConsoleRole,
}

const SECRET: &str = "The request names a person without the secret of the sign-on.";
const USER: &str = "The sign-on must name the person in one header line, in at most 120 bytes of UTF-8 \
                    without commas and control characters.";
const EMAIL: &str = "The sign-on must give the person's email address in one header line, in at most \
                     120 bytes of UTF-8 without commas and control characters.";
const GROUPS: &str = "The sign-on must list the person's groups in one header line, separated by commas, \
                      as UTF-8 without control characters.";
const CERTIFICATE: &str = "The certificate must have one common name of at most 120 bytes of UTF-8, \
                           without commas and control characters.";
const NO_ROLE: &str = "The groups of this person give no access to the console.";

impl SignOn {
    /// The person that the sign-on vouches for, with or without a role.
    pub(super) const fn person(&self) -> Option<&Person> {
        match self {
            Self::Person(found) => Some(&found.person),
            Self::NoRole(person) => Some(person),
            Self::Absent | Self::Malformed(_) | Self::WrongSecret => None,
        }
    }

    /// The status and the sentence, if there are facts about a person that give no access.
    pub(super) const fn refusal(&self) -> Option<(u16, &'static str)> {
        match self {
            Self::NoRole(_) => Some((403, NO_ROLE)),
            Self::Malformed(why) => Some((401, why)),
            Self::WrongSecret => Some((401, SECRET)),
            Self::Absent | Self::Person(_) => None,
        }
    }
}

impl ConsoleAccess {
    /// `peer` is the address of the connection, not one that a header claims. `certified` is set on
    /// the listener for certificates, where headers do not count.
    pub(super) fn sign_on(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        certified: Option<Certified>,
    ) -> SignOn {
        let Some(rules) = &self.sign_on else { return SignOn::Absent };
        let found = match (certified, &rules.by_proxy) {
            (Some(Certified(Some(person))), _) => Ok(Some(person)),
            (Some(Certified(None)), _) => Err(SignOn::Malformed(CERTIFICATE)),
            (None, Some(proxy)) => proxy.read(headers, peer),
            (None, None) => Ok(None),
        };
        match found {
            Ok(None) => SignOn::Absent,
            Ok(Some(found)) => match rules.role(&found.groups) {
                Some(role) => SignOn::Person(SignedOn { person: found.person, role }),
                None => SignOn::NoRole(found.person),
            },
            Err(refused) => refused,
        }
    }

    /// True for the headers that only the sign-on and the vault may read.
    pub(super) fn is_own_header(&self, name: &str) -> bool {
        let proxy = self.sign_on.as_ref().and_then(|rules| rules.by_proxy.as_ref());
        let is_of_proxy = |proxy: &ProxyHeaders| {
            let email = proxy.email.as_ref();
            let all = [&proxy.user, &proxy.groups, &proxy.secret_header];
            all.into_iter().chain(email).any(|own| own == name)
        };
        name == CONSOLE || proxy.is_some_and(is_of_proxy)
    }
}

/// The person of a client certificate; `None` if its subject cannot be read.
#[derive(Debug, Clone)]
pub struct Certified(pub Option<PersonWithGroups>);

impl Certified {
    pub fn of(common_name: Option<&str>, groups: Vec<String>) -> Self {
        let name = common_name.and_then(Person::parse_name);
        Self(name.map(|name| PersonWithGroups {
            person: Person { name: Box::from(name), way: SignOnWay::Certificate },
            groups,
        }))
    }
}

impl SignOnRules {
    /// The highest role that a group gives.
    fn role(&self, groups: &[String]) -> Option<ConsoleRole> {
        let has_one = |of: &[String]| groups.iter().any(|group| of.contains(group));
        if has_one(&self.administrators) {
            Some(ConsoleRole::Administrator)
        } else if has_one(&self.viewers) {
            Some(ConsoleRole::Viewer)
        } else {
            None
        }
    }
}

impl ProxyHeaders {
    /// `None` for a peer that is not trusted, and for a request without a person: a proxy also
    /// passes on requests that need none.
    fn read(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Option<PersonWithGroups>, SignOn> {
        if !self.peers.iter().any(|network| network.contains(peer)) {
            return Ok(None);
        }
        if !headers.contains_key(&self.user) {
            return Ok(None);
        }
        if let Some(secret) = &self.secret {
            let given = only(headers, &self.secret_header).ok_or(SignOn::WrongSecret)?;
            if !is_secret_of_sign_on(secret, given.as_bytes()) {
                return Err(SignOn::WrongSecret);
            }
        }
        let name = |header: &str, wrong| {
            let text = only(headers, header).and_then(text_of).and_then(Person::parse_name);
            text.ok_or(SignOn::Malformed(wrong))
        };
        let user = name(&self.user, USER)?;
        let email = self.email.as_ref().map(|header| name(header, EMAIL)).transpose()?;
        let name = match email {
            Some(email) if email != user => format!("{user} <{email}>"),
            _ => String::from(user),
        };
        let groups = if headers.contains_key(&self.groups) {
            only(headers, &self.groups)
                .and_then(text_of)
                .and_then(groups)
                .ok_or(SignOn::Malformed(GROUPS))?
        } else {
            Vec::new()
        };
        let person = Person { name: name.into_boxed_str(), way: SignOnWay::Proxy };
        Ok(Some(PersonWithGroups { person, groups }))
    }
}

/// `None` if there is no such header, or more than one.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    first.filter(|_| values.next().is_none())
}

/// `HeaderValue::to_str` refuses everything but ASCII; names of people have other letters.
pub(super) fn text_of(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

fn groups(text: &str) -> Option<Vec<String>> {
    let is_plain = text.len() <= PERSON_GROUPS_BYTES_MAX && !text.contains(char::is_control);
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<_> = names.take(PERSON_GROUPS_MAX.saturating_add(1)).map(String::from).collect();
    (is_plain && names.len() <= PERSON_GROUPS_MAX).then_some(names)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;
    use uuid::Uuid;

    use super::*;

    const PEER: &str = "192.0.2.7";
    const SHARED: &str = "0123456789abcdef0123456789abcdef";

    fn access(secret: Option<&str>, email: bool) -> ConsoleAccess {
        let texts = |list: &[&str]| list.iter().copied().map(String::from).collect();
        ConsoleAccess {
            takes_keys: true,
            sign_on: Some(SignOnRules {
                tenants: vec![TenantId::new(Uuid::from_u128(1))],
                viewers: texts(&["viewers", "auditors"]),
                administrators: texts(&["admins"]),
                sign_out: None,
                by_proxy: Some(ProxyHeaders {
                    peers: vec!["192.0.2.0/24".parse().unwrap()],
                    user: String::from("x-forwarded-user"),
                    email: email.then(|| String::from("x-forwarded-email")),
                    groups: String::from("x-forwarded-groups"),
                    secret_header: String::from("x-console-secret"),
                    secret: secret.map(|text| Secret::new(String::from(text))),
                }),
            }),
        }
    }

    fn map(headers: &[(&'static str, &[u8])]) -> HeaderMap {
        let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).unwrap();
        headers.iter().map(|(name, it)| (HeaderName::from_static(name), value(it))).collect()
    }

    /// The name and role, or the status of the refusal, or nothing.
    fn found(access: &ConsoleAccess, peer: &str, headers: &[(&'static str, &[u8])]) -> String {
        match access.sign_on(&map(headers), peer.parse().unwrap(), None) {
            SignOn::Absent => String::from("absent"),
            SignOn::Person(it) => format!("{} {}", it.person.name, it.role.as_str()),
            refused @ (SignOn::NoRole(_) | SignOn::Malformed(_) | SignOn::WrongSecret) => {
                let (status, why) = refused.refusal().unwrap();
                assert!(why.ends_with('.'), "{why}");
                assert_eq!(refused.person().is_some(), status == 403, "named only if vouched for");
                status.to_string()
            }
        }
    }

    const USER: &str = "x-forwarded-user";
    const GROUPS: &str = "x-forwarded-groups";

    #[test]
    fn a_trusted_peer_names_the_person_and_the_highest_group_decides() {
        let access = access(None, false);
        for (groups, expected) in [
            (&b"admins"[..], "alice administrator"),
            (b"viewers", "alice viewer"),
            (b"others, admins ,viewers", "alice administrator"),
            (b"auditors,", "alice viewer"),
            (b"admin", "403"),
            (b"Admins", "403"),
            (b"", "403"),
            (b"admins viewers", "403"),
        ] {
            let headers = [(USER, &b"alice"[..]), (GROUPS, groups)];
            assert_eq!(found(&access, PEER, &headers), expected, "{groups:?}");
        }
        assert_eq!(found(&access, PEER, &[(USER, b"alice")]), "403");
        let letters = "Z\u{fc}rich \u{5c0f}".as_bytes();
        let named = found(&access, PEER, &[(USER, letters), (GROUPS, b"viewers")]);
        assert_eq!(named, "Z\u{fc}rich \u{5c0f} viewer");
    }

    #[test]
    fn headers_of_other_peers_and_other_spellings_are_nothing() {
        let access = access(None, false);
        let headers = [(USER, &b"alice"[..]), (GROUPS, &b"admins"[..])];
        for other in ["192.0.3.7", "127.0.0.1", "::1", "2001:db8::7"] {
            assert_eq!(found(&access, other, &headers), "absent", "{other}");
        }
        // The same address in its other form.
        assert_eq!(found(&access, "::ffff:192.0.2.7", &headers), "alice administrator");
        for name in ["x_forwarded_user", "x-forwarded_user", "x-auth-request-user", "remote-user"] {
            let headers = [(name, &b"alice"[..]), (GROUPS, &b"admins"[..])];
            assert_eq!(found(&access, PEER, &headers), "absent", "{name}");
        }
        let none = ConsoleAccess { takes_keys: true, sign_on: None };
        assert_eq!(found(&none, PEER, &headers), "absent");
    }

    #[test]
    fn malformed_repeated_and_long_values_are_refused() {
        let access = access(None, false);
        let long = vec![b'a'; 121];
        let names: [&[u8]; 8] =
            [b"", b" ", b"a,b", b"a\tb", b"\xff", b"a\xc2\x85b", b"\xe2\x80\xaeecila", &long];
        for name in names {
            let headers = [(USER, name), (GROUPS, &b"admins"[..])];
            assert_eq!(found(&access, PEER, &headers), "401", "{name:?}");
        }
        let twice = [(USER, &b"alice"[..]), (USER, b"alice"), (GROUPS, b"admins")];
        assert_eq!(found(&access, PEER, &twice), "401");
        let groups = [(USER, &b"alice"[..]), (GROUPS, b"viewers"), (GROUPS, b"admins")];
        assert_eq!(found(&access, PEER, &groups), "401");
        let many = vec!["g"; PERSON_GROUPS_MAX + 1].join(",");
        let wide = "g".repeat(PERSON_GROUPS_BYTES_MAX + 1);
        for groups in [&b"admins\xff"[..], b"admins\tx", many.as_bytes(), wide.as_bytes()] {
            let headers = [(USER, &b"alice"[..]), (GROUPS, groups)];
            assert_eq!(found(&access, PEER, &headers), "401", "{}", groups.len());
        }
    }

    #[test]
    fn with_a_secret_only_its_one_whole_value_admits() {
        let access = access(Some(SHARED), false);
        let mut headers = vec![(USER, &b"alice"[..]), (GROUPS, &b"admins"[..])];
        assert_eq!(found(&access, PEER, &headers), "401");
        for wrong in [&b""[..], b"0123456789abcdef0123456789abcdee", b"0123456789abcdef"] {
            let given = [headers.clone(), vec![("x-console-secret", wrong)]].concat();
            assert_eq!(found(&access, PEER, &given), "401");
        }
        headers.push(("x-console-secret", SHARED.as_bytes()));
        assert_eq!(found(&access, PEER, &headers), "alice administrator");
        assert_eq!(found(&access, "127.0.0.1", &headers), "absent");
        headers.push(("x-console-secret", SHARED.as_bytes()));
        assert_eq!(found(&access, PEER, &headers), "401");
        assert_eq!(found(&access, PEER, &[(GROUPS, b"admins")]), "absent");
    }

    #[test]
    fn the_email_address_is_part_of_the_name_and_required_if_it_is_set() {
        let access = access(None, true);
        let with = |email: Option<&'static [u8]>| {
            let mut headers = vec![(USER, &b"8d7f"[..]), (GROUPS, &b"admins"[..])];
            headers.extend(email.map(|email| ("x-forwarded-email", email)));
            found(&access, PEER, &headers)
        };
        assert_eq!(with(Some(b"a@example.com")), "8d7f <a@example.com> administrator");
        assert_eq!(with(Some(b"8d7f")), "8d7f administrator");
        assert_eq!(with(None), "401");
        assert_eq!(with(Some(b"")), "401");
    }

    #[test]
    fn a_certificate_counts_alone_and_headers_beside_it_do_not() {
        let access = access(None, false);
        let sign_on = |name: Option<&str>, groups: &[&str]| {
            let groups = groups.iter().copied().map(String::from).collect();
            let headers = map(&[(USER, b"mallory"), (GROUPS, b"admins")]);
            let certified = Some(Certified::of(name, groups));
            access.sign_on(&headers, PEER.parse().unwrap(), certified)
        };
        match sign_on(Some("bob"), &["viewers"]) {
            SignOn::Person(SignedOn { person, role: ConsoleRole::Viewer }) => {
                let bob = Person { name: Box::from("bob"), way: SignOnWay::Certificate };
                assert_eq!(person, bob);
            }
            SignOn::Absent
            | SignOn::Malformed(_)
            | SignOn::NoRole(_)
            | SignOn::Person(_)
            | SignOn::WrongSecret => panic!("no viewer"),
        }
        assert!(matches!(sign_on(Some("bob"), &[]), SignOn::NoRole(_)));
        assert!(matches!(sign_on(None, &["admins"]), SignOn::Malformed(_)));
        assert!(matches!(sign_on(Some("a,b"), &["admins"]), SignOn::Malformed(_)));
    }
}
