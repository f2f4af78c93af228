//! The client certificate that a proxy shows to its destination: PEM blocks of a chain and a key.

use crate::bounds::PROXY_CERTIFICATE_BYTES_MAX;
use crate::secret::Secret;

const CERTIFICATE: &str = "CERTIFICATE";
const KEYS: &[&str] = &["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"];

/// A chain and one private key. Only the PEM blocks are parsed here, so that the chain can be shown
/// without the key; the outbound client parses their content.
#[derive(Debug)]
pub struct ClientCertificate {
    pem: Secret<String>,
}

impl ClientCertificate {
    /// `None` unless the text has at least one certificate and exactly one private key.
    pub fn parse(text: &str) -> Option<Self> {
        let labels: Vec<_> = labels(text)?;
        let keys = labels.iter().filter(|label| KEYS.contains(label)).count();
        let certificates = labels.iter().filter(|label| **label == CERTIFICATE).count();
        let is_whole =
            keys == 1 && certificates >= 1 && labels.len() == keys.checked_add(certificates)?;
        let fits = text.len() <= PROXY_CERTIFICATE_BYTES_MAX;
        (is_whole && fits).then(|| Self { pem: Secret::new(String::from(text)) })
    }

    pub const fn pem(&self) -> &Secret<String> {
        &self.pem
    }

    /// The chain without the key.
    pub fn chain(&self) -> String {
        let mut chain = String::new();
        let mut is_certificate = false;
        for line in self.pem.expose().lines().map(str::trim) {
            if let Some(label) = begin(line) {
                is_certificate = label == CERTIFICATE;
            }
            if is_certificate && !line.is_empty() {
                chain.push_str(line);
                chain.push('\n');
            }
            if end(line).is_some() {
                is_certificate = false;
            }
        }
        chain
    }
}

/// The labels of all blocks; `None` if one is not closed by its own label.
fn labels(text: &str) -> Option<Vec<&str>> {
    let mut open = None;
    let mut labels = Vec::new();
    for line in text.lines().map(str::trim) {
        match (open, begin(line), end(line)) {
            (None, Some(label), _) => open = Some(label),
            (Some(label), _, Some(closed)) if label == closed => {
                labels.push(label);
                open = None;
            }
            (_, None, Some(_)) | (Some(_), Some(_), _) => return None,
            (_, None, None) => (),
        }
    }
    open.is_none().then_some(labels)
}

fn begin(line: &str) -> Option<&str> {
    line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")
}

fn end(line: &str) -> Option<&str> {
    line.strip_prefix("-----END ")?.strip_suffix("-----")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nBBBB\n-----END PRIVATE KEY-----\n";

    #[test]
    fn a_chain_and_one_key_are_taken_and_only_the_chain_is_shown() {
        for text in [[CHAIN, KEY].concat(), [KEY, CHAIN].concat(), [CHAIN, KEY].join("\r\n")] {
            let parsed = ClientCertificate::parse(&text).unwrap();
            assert_eq!(parsed.pem().expose(), &text);
            assert_eq!(parsed.chain(), CHAIN);
            assert!(!format!("{parsed:?}").contains("AAAA"));
        }
        let two = ClientCertificate::parse(&[CHAIN, CHAIN, KEY].concat()).unwrap();
        assert_eq!(two.chain(), [CHAIN, CHAIN].concat());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            String::new(),
            String::from(CHAIN),
            String::from(KEY),
            [CHAIN, KEY, KEY].concat(),
            [CHAIN, KEY, "-----BEGIN CERTIFICATE-----\nAAAA"].concat(),
            KEY.replace("END PRIVATE", "END CERTIFICATE") + CHAIN,
            ["-----END CERTIFICATE-----\n", CHAIN, KEY].concat(),
            [CHAIN, KEY, &CHAIN.replace("CERTIFICATE", "PUBLIC KEY")].concat(),
            [CHAIN, KEY, &" ".repeat(PROXY_CERTIFICATE_BYTES_MAX)].concat(),
        ] {
            assert!(ClientCertificate::parse(&text).is_none(), "{text}");
        }
    }
}
