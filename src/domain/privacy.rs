//! The deprecated `privacy` of a token, which containers have replaced.
//!
//! A token without containers lies in `/<classification>/<impact_level>/`. An answer derives
//! `privacy` from a container of this form. The restriction policy has no effect: access rules
//! decide.

use crate::domain::container::Container;
use crate::domain::token_type::TokenType;

pub const CLASSIFICATIONS: [&str; 4] = ["general", "bank", "pci", "pii"];
pub const IMPACT_LEVELS: [&str; 3] = ["low", "moderate", "high"];

/// The `privacy` of a request. A missing part comes from the type's default container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Privacy {
    pub classification: Option<&'static str>,
    pub impact_level: Option<&'static str>,
}

impl Privacy {
    pub fn parse_classification(text: &str) -> Option<&'static str> {
        CLASSIFICATIONS.into_iter().find(|known| known.eq_ignore_ascii_case(text))
    }

    pub fn parse_impact_level(text: &str) -> Option<&'static str> {
        IMPACT_LEVELS.into_iter().find(|known| known.eq_ignore_ascii_case(text))
    }

    /// The classification and the impact level in the path of the container.
    pub fn of(container: &Container) -> Option<(&'static str, &'static str)> {
        let path = container.as_str().strip_prefix('/')?.strip_suffix('/')?;
        let (classification, impact_level) = path.split_once('/')?;
        let classification = Self::parse_classification(classification)?;
        Some((classification, Self::parse_impact_level(impact_level)?))
    }

    /// The container of a token that has no containers of its own. `None` is a bug: every type has
    /// a default container of this form.
    pub fn container(self, kind: TokenType) -> Option<Container> {
        let default = Container::parse(kind.default_container()).ok()?;
        if self.classification.is_none() && self.impact_level.is_none() {
            return Some(default);
        }
        let (classification, impact_level) = Self::of(&default)?;
        let classification = self.classification.unwrap_or(classification);
        let impact_level = self.impact_level.unwrap_or(impact_level);
        Container::parse(&format!("/{classification}/{impact_level}/")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(container: &str, expected: Option<(&str, &str)>) {
        assert_eq!(Privacy::of(&Container::parse(container).unwrap()), expected, "{container}");
    }

    #[test]
    fn a_container_of_two_known_names_has_a_privacy() {
        check("/pii/moderate/", Some(("pii", "moderate")));
        check("/General/LOW/", Some(("general", "low")));
        for other in ["/", "/pci/", "/pci/high/more/", "/high/pci/", "/pci/none/", "/shop/high/"] {
            check(other, None);
        }
    }

    #[test]
    fn a_privacy_names_a_container_and_its_type_fills_the_gaps() {
        for kind in TokenType::ALL {
            let default = Privacy::default().container(kind).unwrap();
            assert_eq!(default.as_str(), kind.default_container());
            let privacy = Privacy { classification: Some("pii"), impact_level: Some("moderate") };
            assert_eq!(privacy.container(kind).unwrap().as_str(), "/pii/moderate/");
        }
        let low =
            Privacy { impact_level: Privacy::parse_impact_level("Low"), ..Privacy::default() };
        assert_eq!(low.container(TokenType::Card).unwrap().as_str(), "/pci/low/");
        assert_eq!(Privacy::parse_classification("secret"), None);
        assert_eq!(Privacy::parse_impact_level(""), None);
    }
}
