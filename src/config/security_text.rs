//! `[security_txt]`: whom to tell about a weakness, as `/.well-known/security.txt` (RFC 9116).

use super::reader::SettingsReader;
use crate::bounds::{SECURITY_CONTACT_CHARS_MAX, SECURITY_CONTACTS_MAX};
use crate::domain::time::Timestamp;

const CONTACT: &str = "security_txt.contact";
const EXPIRES: &str = "security_txt.expires";
const POLICY: &str = "security_txt.policy";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecurityText {
    /// URIs, the preferred one first.
    pub contacts: Vec<String>,
    /// After this time the contacts must not be used.
    pub expires: Timestamp,
    pub policy: Option<String>,
}

impl SecurityText {
    /// The file. Its values have no line ends: the settings refuse them.
    pub fn render(&self) -> String {
        let contacts = self.contacts.iter().map(|uri| format!("Contact: {uri}\r\n"));
        let policy = self.policy.iter().map(|uri| format!("Policy: {uri}\r\n"));
        let expires = format!("Expires: {}\r\n", self.expires.shown());
        contacts.chain([expires]).chain(policy).collect()
    }
}

impl SettingsReader {
    /// `None` without the section. Both required fields of the RFC are required here.
    pub(super) fn security_text(&mut self) -> Option<SecurityText> {
        if !self.has_section("security_txt") {
            return None;
        }
        let contacts = self.contacts();
        let expires = self.required_text(EXPIRES);
        let expires = Timestamp::parse_rfc3339(&expires).filter(|at| !at.shown().is_empty());
        if expires.is_none() {
            self.wrong(EXPIRES, "must be a time such as \"2027-11-14T00:00:00Z\"");
        }
        let policy = self.text(POLICY);
        if policy.as_ref().is_some_and(|it| !is_uri(it, &["https://"])) {
            self.wrong(POLICY, "must be a URL that begins with https://");
        }
        Some(SecurityText { contacts, expires: expires?, policy })
    }

    fn contacts(&mut self) -> Vec<String> {
        let before = self.mistakes.len();
        let contacts = self.texts(CONTACT).unwrap_or_default();
        if self.mistakes.len() > before {
            return contacts;
        }
        if contacts.is_empty() || contacts.len() > SECURITY_CONTACTS_MAX {
            self.wrong(CONTACT, &format!("must have 1 to {SECURITY_CONTACTS_MAX} addresses"));
        }
        if !contacts.iter().all(|it| is_uri(it, &["mailto:", "https://", "tel:"])) {
            let wanted = "each address must begin with mailto:, https:// or tel:, without blanks";
            self.wrong(CONTACT, wanted);
        }
        contacts
    }
}

/// Printable ASCII without blanks, so that a value is one line and cannot begin another field.
fn is_uri(text: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty())
        && text.len() <= SECURITY_CONTACT_CHARS_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::with;

    fn parse(lines: &str) -> Result<Option<SecurityText>, Vec<String>> {
        let config = with(&format!("[security_txt]\n{lines}"));
        config.map(|config| config.security_text).map_err(|invalid| invalid.0)
    }

    #[test]
    fn the_file_has_its_contacts_in_order_and_one_time() {
        let lines = "contact = [\"mailto:security@example.com\", \"https://example.com/report\"]\n\
                     expires = \"2027-11-14T01:00:00+01:00\"\npolicy = \"https://example.com/policy\"";
        let text = parse(lines).unwrap().unwrap().render();
        let expected = "Contact: mailto:security@example.com\r\nContact: https://example.com/report\r\n\
                        Expires: 2027-11-14T00:00:00Z\r\nPolicy: https://example.com/policy\r\n";
        assert_eq!(text, expected);
        assert_eq!(with("").unwrap().security_text, None);
    }

    #[test]
    fn a_contact_or_a_time_that_is_missing_or_malformed_is_refused() {
        let good = "contact = [\"mailto:a@b.example\"]\nexpires = \"2027-11-14T00:00:00Z\"";
        assert!(parse(good).is_ok());
        for (lines, setting) in [
            ("expires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = []\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = \"mailto:a@b\"\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"a@b.example\"]\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"mailto:\"]\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"http://b.example\"]\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"mailto:a\\nPolicy:x\"]\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"mailto:a b\"]\nexpires = \"2027-11-14T00:00:00Z\"", "contact"),
            ("contact = [\"mailto:a@b.example\"]", "expires"),
            ("contact = [\"mailto:a@b.example\"]\nexpires = \"2027-11-14\"", "expires"),
            ("contact = [\"mailto:a@b.example\"]\nexpires = 7", "expires"),
            (&format!("{good}\npolicy = \"ftp://x\""), "policy"),
            (&format!("{good}\nhiring = \"https://x\""), "hiring"),
        ] {
            let mistakes = parse(lines).unwrap_err();
            let name = format!("security_txt.{setting}: ");
            assert!(mistakes.iter().any(|it| it.starts_with(&name)), "{lines}: {mistakes:?}");
        }
        let long = format!("contact = [\"mailto:{}\"]", "a".repeat(SECURITY_CONTACT_CHARS_MAX));
        assert!(parse(&format!("{long}\nexpires = \"2027-11-14T00:00:00Z\"")).is_err());
        let many = ["\"mailto:a@b.example\""; SECURITY_CONTACTS_MAX + 1].join(",");
        assert!(parse(&format!("contact = [{many}]\nexpires = \"2027-11-14T00:00:00Z\"")).is_err());
    }
}
