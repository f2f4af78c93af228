//! Container paths: `/pci/high/`. They group tokens; access rules refer to them.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::bounds::CONTAINER_BYTES_MAX;

/// The containers of a token, which most often has one.
pub type Containers = SmallVec<[Container; 1]>;

/// Starts and ends with `/`, has no empty segment, is lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Container(Arc<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidContainer {
    Character,
    Ends,
    Length,
    Segment,
}

impl Container {
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Paths are case-insensitive and stored in lower case.
    pub fn parse(text: &str) -> Result<Self, InvalidContainer> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
        if text.len() > CONTAINER_BYTES_MAX {
            Err(InvalidContainer::Length)
        } else if !(text.starts_with('/') && text.ends_with('/')) {
            Err(InvalidContainer::Ends)
        } else if text.contains("//") {
            Err(InvalidContainer::Segment)
        } else if !text.bytes().all(legal) {
            Err(InvalidContainer::Character)
        } else {
            let is_low = !text.bytes().any(|byte| byte.is_ascii_uppercase());
            Ok(Self(if is_low { text.into() } else { text.to_ascii_lowercase().into() }))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if `other` is this container or inside it. Paths end with a slash, so a prefix of the
    /// text is a prefix of the path.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&*self.0)
    }

    /// True for `/pci/` and every container inside it.
    pub fn is_for_cards(&self) -> bool {
        self.0.starts_with("/pci/")
    }
}

impl fmt::Display for InvalidContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character => f.write_str(
                "A container may hold only letters, digits, hyphens, underscores and slashes.",
            ),
            Self::Ends => f.write_str("A container must start and end with a slash."),
            Self::Length => write!(f, "A container has at most {CONTAINER_BYTES_MAX} characters."),
            Self::Segment => f.write_str("A container may not have an empty segment."),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, InvalidContainer>) {
        assert_eq!(
            Container::parse(text).as_ref().map(Container::as_str),
            expected.as_ref().copied()
        );
    }

    #[test]
    fn containers() {
        check("/", Ok("/"));
        check("/pci/high/", Ok("/pci/high/"));
        check("/PCI/High-1_a/", Ok("/pci/high-1_a/"));
        check("", Err(InvalidContainer::Ends));
        check("pci/", Err(InvalidContainer::Ends));
        check("/pci", Err(InvalidContainer::Ends));
        check("//", Err(InvalidContainer::Segment));
        check("/a//b/", Err(InvalidContainer::Segment));
        check("/a b/", Err(InvalidContainer::Character));
        check("/\u{e9}/", Err(InvalidContainer::Character));
        let longest = format!("/{}/", "a".repeat(CONTAINER_BYTES_MAX - 2));
        check(&longest, Ok(&longest));
        check(
            &format!("/a{}/", "a".repeat(CONTAINER_BYTES_MAX - 2)),
            Err(InvalidContainer::Length),
        );
    }

    #[test]
    fn a_container_covers_itself_and_its_children_but_not_its_namesakes() {
        let pci = Container::parse("/pci/").unwrap();
        for (path, covered) in
            [("/pci/", true), ("/pci/high/", true), ("/pcif/", false), ("/", false)]
        {
            assert_eq!(pci.covers(&Container::parse(path).unwrap()), covered, "{path}");
        }
        assert!(Container::root().covers(&pci));
    }

    #[test]
    fn cards_belong_below_pci() {
        for (path, expected) in [
            ("/pci/", true),
            ("/PCI/high/", true),
            ("/", false),
            ("/pcif/", false),
            ("/general/pci/", false),
        ] {
            assert_eq!(Container::parse(path).unwrap().is_for_cards(), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn what_parses_is_in_its_normal_form(text in "[/A-Za-z0-9_.\\- ]{0,12}|\\PC{0,12}") {
            if let Ok(container) = Container::parse(&text) {
                prop_assert_eq!(container.as_str(), text.to_ascii_lowercase());
                prop_assert_eq!(Container::parse(container.as_str()), Ok(container));
            }
        }

        #[test]
        fn covering_is_being_above(one in "/([ab]{1,2}/){0,3}", other in "/([ab]{1,2}/){0,3}") {
            let (upper, lower) = (Container::parse(&one).unwrap(), Container::parse(&other).unwrap());
            let parts = |text: &str| text.split_terminator('/').map(String::from).collect::<Vec<_>>();
            prop_assert_eq!(upper.covers(&lower), parts(&other).starts_with(&parts(&one)));
        }
    }
}
