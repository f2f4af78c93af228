//! Access control: the permissions of an application by container, and the part of a token's data that
//! an answer may show.

use crate::domain::container::Container;
use crate::domain::permission::Permission;

/// The part of the data that an answer shows, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transform {
    Redact,
    Mask,
    Reveal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    pub description: Option<String>,
    /// The lowest decides.
    pub priority: u32,
    pub container: Container,
    pub transform: Transform,
    pub permissions: Vec<Permission>,
}

/// The permissions and rules of an application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    permissions: Vec<Permission>,
    /// By ascending priority.
    rules: Vec<AccessRule>,
}

impl Transform {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redact => "redact",
            Self::Mask => "mask",
            Self::Reveal => "reveal",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "redact" => Some(Self::Redact),
            "mask" => Some(Self::Mask),
            "reveal" => Some(Self::Reveal),
            _ => None,
        }
    }
}

impl Access {
    pub fn new(mut permissions: Vec<Permission>, mut rules: Vec<AccessRule>) -> Self {
        permissions.sort_unstable();
        permissions.dedup();
        // Of two rules with the same priority the one that shows less comes first.
        rules.sort_by_key(|rule| (rule.priority, rule.transform));
        Self { permissions, rules }
    }

    pub fn permissions(&self) -> &[Permission] {
        &self.permissions
    }

    pub fn rules(&self) -> &[AccessRule] {
        &self.rules
    }

    /// True if any right shows data in plain: a rule that reveals, or the permission without a rule to
    /// use tokens in expressions.
    pub fn reveals(&self) -> bool {
        self.rules.iter().any(|rule| rule.transform == Transform::Reveal)
            || self.permissions.iter().any(|it| self.plain(*it) == Some(Transform::Reveal))
    }

    pub fn is_empty(&self) -> bool {
        self.permissions.is_empty() && self.rules.is_empty()
    }

    /// True if the permission is held in at least one container. A request without it is refused before
    /// its body is read.
    pub fn holds_somewhere(&self, permission: Permission) -> bool {
        self.permissions.contains(&permission)
            || self.rules.iter().any(|rule| rule.permissions.contains(&permission))
    }

    /// True if any rule grants the permission without showing any data.
    pub fn redacts_somewhere(&self, permission: Permission) -> bool {
        self.granting_rules(permission).any(|rule| rule.transform == Transform::Redact)
    }

    /// For reading, searching and using: one granted container of the token suffices.
    pub fn in_any(&self, permission: Permission, containers: &[Container]) -> Option<Transform> {
        self.granting_rules(permission)
            .find(|rule| containers.iter().any(|container| rule.container.covers(container)))
            .map(|rule| rule.transform)
            .or_else(|| self.plain(permission))
    }

    /// For creating, changing and deleting: every container must be granted. The rule of the best
    /// priority among the granting ones gives the transform.
    pub fn in_all(&self, permission: Permission, containers: &[Container]) -> Option<Transform> {
        let plain = self.plain(permission);
        for container in containers {
            self.granting_rules(permission)
                .find(|rule| rule.container.covers(container))
                .map(|rule| rule.transform)
                .or(plain)?;
        }
        self.in_any(permission, containers)
    }

    /// The containers that the permission is held in, in order and without containers inside another
    /// one of the list.
    pub fn reach(&self, permission: Permission) -> Vec<Container> {
        if self.plain(permission).is_some() {
            return vec![Container::root()];
        }
        let mut granted: Vec<_> =
            self.granting_rules(permission).map(|rule| &rule.container).collect();
        granted.sort_unstable();
        let mut reach: Vec<Container> = Vec::new();
        for container in granted {
            if !reach.last().is_some_and(|last| last.covers(container)) {
                reach.push(container.clone());
            }
        }
        reach
    }

    fn granting_rules(&self, permission: Permission) -> impl Iterator<Item = &AccessRule> {
        self.rules.iter().filter(move |rule| rule.permissions.contains(&permission))
    }

    /// A permission without a rule covers all containers.
    fn plain(&self, permission: Permission) -> Option<Transform> {
        let transform =
            if permission == Permission::TokenUse { Transform::Reveal } else { Transform::Mask };
        self.permissions.contains(&permission).then_some(transform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(priority: u32, path: &str, transform: Transform, may: &[Permission]) -> AccessRule {
        AccessRule {
            description: None,
            priority,
            container: Container::parse(path).unwrap(),
            transform,
            permissions: may.to_vec(),
        }
    }

    fn paths(texts: &[&str]) -> Vec<Container> {
        texts.iter().map(|text| Container::parse(text).unwrap()).collect()
    }

    use Permission::{TokenCreate, TokenDelete, TokenRead, TokenUse};
    use Transform::{Mask, Redact, Reveal};

    #[test]
    fn the_matching_rule_of_the_lowest_priority_that_holds_the_permission_decides() {
        let access = Access::new(
            vec![],
            vec![
                rule(3, "/", Redact, &[TokenRead]),
                rule(1, "/pci/", Mask, &[TokenCreate]),
                rule(2, "/pci/", Reveal, &[TokenRead]),
            ],
        );
        assert_eq!(access.in_any(TokenRead, &paths(&["/pci/high/"])), Some(Reveal));
        assert_eq!(access.in_any(TokenRead, &paths(&["/bank/"])), Some(Redact));
        assert_eq!(access.in_any(TokenCreate, &paths(&["/pci/"])), Some(Mask));
        assert_eq!(access.in_any(TokenCreate, &paths(&["/bank/"])), None);
        assert_eq!(access.in_any(TokenDelete, &paths(&["/pci/"])), None);
    }

    #[test]
    fn plain_permissions_cover_all_containers_with_mask_and_use_reveals() {
        let access = Access::new(vec![TokenRead, TokenUse], vec![]);
        assert_eq!(access.in_any(TokenRead, &paths(&["/x/"])), Some(Mask));
        assert_eq!(access.in_any(TokenUse, &paths(&["/x/"])), Some(Reveal));
        assert_eq!(access.in_all(TokenDelete, &paths(&["/x/"])), None);
    }

    #[test]
    fn writing_needs_the_permission_in_all_containers_and_reading_in_any() {
        let access = Access::new(vec![], vec![rule(1, "/a/", Reveal, &[TokenRead, TokenCreate])]);
        let both = paths(&["/a/", "/b/"]);
        assert_eq!(access.in_any(TokenRead, &both), Some(Reveal));
        assert_eq!(access.in_all(TokenCreate, &both), None);
        assert_eq!(access.in_all(TokenCreate, &paths(&["/a/", "/a/c/"])), Some(Reveal));
    }

    #[test]
    fn the_reach_of_a_permission_is_its_outermost_containers_in_order() {
        let granted = |texts: &[&str]| {
            let rules = texts.iter().map(|path| rule(1, path, Mask, &[TokenRead])).collect();
            Access::new(vec![TokenUse], rules).reach(TokenRead)
        };
        let check = |texts: &[&str], expected: &[&str]| {
            assert_eq!(granted(texts), paths(expected), "{texts:?}");
        };
        check(&[], &[]);
        check(&["/b/", "/a/c/", "/a/", "/a/"], &["/a/", "/b/"]);
        check(&["/a/b/", "/a-/", "/ab/"], &["/a-/", "/a/b/", "/ab/"]);
        check(&["/a/b/", "/", "/z/"], &["/"]);
        let access = Access::new(vec![TokenUse], vec![rule(1, "/a/", Mask, &[TokenUse])]);
        assert_eq!(access.reach(TokenUse), paths(&["/"]));
        assert_eq!(access.reach(TokenRead), paths(&[]));
    }

    #[test]
    fn a_permission_of_any_rule_is_held_somewhere() {
        let access = Access::new(vec![], vec![rule(1, "/a/", Redact, &[TokenRead])]);
        assert!(access.holds_somewhere(TokenRead));
        assert!(!access.holds_somewhere(TokenCreate));
        assert!(access.redacts_somewhere(TokenRead));
        assert!(!access.redacts_somewhere(TokenCreate));
        assert!(!Access::new(vec![TokenRead], vec![]).redacts_somewhere(TokenRead));
    }

    #[test]
    fn a_rule_that_reveals_and_the_plain_right_to_use_show_data_in_plain() {
        assert!(Access::new(vec![], vec![rule(1, "/a/", Reveal, &[TokenCreate])]).reveals());
        assert!(Access::new(vec![TokenUse], vec![]).reveals());
        let masked = vec![rule(1, "/a/", Mask, &[TokenRead])];
        assert!(!Access::new(vec![TokenRead, TokenCreate], masked).reveals());
    }

    #[test]
    fn of_rules_with_the_same_priority_the_one_that_shows_less_decides() {
        let rules = vec![rule(1, "/", Reveal, &[TokenRead]), rule(1, "/a/", Redact, &[TokenRead])];
        let access = Access::new(vec![], rules);
        assert_eq!(access.in_any(TokenRead, &paths(&["/a/"])), Some(Redact));
        assert_eq!(access.in_any(TokenRead, &paths(&["/b/"])), Some(Reveal));
    }
}
