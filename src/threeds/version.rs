//! Versions of the protocol.

use std::fmt;

use crate::domain::words::words;

words! {
    /// The supported versions, oldest first.
    pub enum ProtocolVersion {
        V210 = "2.1.0";
        V220 = "2.2.0";
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version that a directory server or an ACS names, including unsupported ones: they limit the
/// versions that can be used with that server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedVersion {
    parts: [u8; 3],
}

impl NamedVersion {
    /// Parses three numbers separated by dots, 5 to 8 characters.
    pub fn parse(text: &str) -> Option<Self> {
        if !(5..=8).contains(&text.len()) {
            return None;
        }
        let mut numbers = text.split('.');
        let mut parts = [0; 3];
        for part in &mut parts {
            let text = numbers.next()?;
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            *part = is_number.then(|| text.parse().ok()).flatten()?;
        }
        numbers.next().is_none().then_some(Self { parts })
    }
}

impl From<ProtocolVersion> for NamedVersion {
    fn from(version: ProtocolVersion) -> Self {
        match version {
            ProtocolVersion::V210 => Self { parts: [2, 1, 0] },
            ProtocolVersion::V220 => Self { parts: [2, 2, 0] },
        }
    }
}

impl fmt::Display for NamedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.parts;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_and_read_back() {
        assert!(ProtocolVersion::V210 < ProtocolVersion::V220);
        for version in ProtocolVersion::ALL {
            let named = NamedVersion::parse(version.as_str()).unwrap();
            assert_eq!(named, version.into());
            assert_eq!(named.to_string(), version.as_str());
        }
        assert!(NamedVersion::parse("2.3.1.1").is_none());
        assert!(NamedVersion::parse("2.10.0").unwrap() > ProtocolVersion::V220.into());
        for text in ["", "2.1", "2..10", "2.1.x", "2.1.999", "+2.1.0", "2.1.0 "] {
            assert_eq!(NamedVersion::parse(text), None, "{text}");
        }
    }
}
