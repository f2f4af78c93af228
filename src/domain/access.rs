//! Access control: the permissions of an application by container, and the part of a token's data that
//! an answer may show.

use crate::domain::condition::{Attribute, Condition, Target, TargetId};
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
    /// The rule covers this container and those inside it, as far as its conditions hold.
    pub container: Container,
    /// Only rules of sessions have conditions.
    pub conditions: Vec<Condition>,
    pub transform: Transform,
    pub permissions: Vec<Permission>,
}

/// The permissions and rules of an application or a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    permissions: Vec<Permission>,
    /// By ascending priority.
    rules: Vec<AccessRule>,
}

impl Transform {
    pub const ALL: [Self; 3] = [Self::Redact, Self::Mask, Self::Reveal];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redact => "redact",
            Self::Mask => "mask",
            Self::Reveal => "reveal",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transform| transform.as_str() == text)
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

    /// True if any right shows data in plain, or sends it to a destination: a rule that reveals, or the
    /// permission without a rule to use tokens in expressions or to invoke proxies.
    pub fn reveals(&self) -> bool {
        let sends = self.rules.is_empty() && self.permissions.contains(&Permission::ProxyInvoke);
        sends
            || self.rules.iter().any(|rule| rule.transform == Transform::Reveal)
            || self.permissions.iter().any(|it| self.plain(*it) == Some(Transform::Reveal))
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

    /// True if a rule grants the permission under conditions. A token must then be opened to decide
    /// if it is granted: its container alone does not say it.
    pub fn is_conditional(&self, permission: Permission) -> bool {
        self.granting_rules(permission).any(|rule| !rule.conditions.is_empty())
    }

    /// True if the permission may be held for a token of this id, in some container.
    pub fn may_name(&self, permission: Permission, id: TargetId<'_>) -> bool {
        self.plain(permission).is_some()
            || self.granting_rules(permission).any(|rule| rule.may_name(id))
    }

    /// For reading, searching and using: one granted container of the token suffices.
    pub fn in_any(&self, permission: Permission, target: Target<'_>) -> Option<Transform> {
        self.decision_in_any(permission, target).map(|(transform, _)| transform)
    }

    /// As [`Access::in_any`], with the rule that decides. Without one, the plain permission does.
    pub fn decision_in_any(
        &self,
        permission: Permission,
        target: Target<'_>,
    ) -> Option<(Transform, Option<&AccessRule>)> {
        self.granting_rules(permission)
            .find(|rule| {
                target.containers.iter().any(|container| rule.covers(target.id, container))
            })
            .map(|rule| (rule.transform, Some(rule)))
            .or_else(|| self.plain(permission).map(|transform| (transform, None)))
    }

    /// For creating, changing and deleting: every container must be granted. The rule of the best
    /// priority among the granting ones gives the transform.
    pub fn in_all(&self, permission: Permission, target: Target<'_>) -> Option<Transform> {
        let plain = self.plain(permission);
        for container in target.containers {
            self.granting_rules(permission)
                .find(|rule| rule.covers(target.id, container))
                .map(|rule| rule.transform)
                .or(plain)?;
        }
        self.in_any(permission, target)
    }

    /// True if tokens in this container may be listed. Conditions on ids are left out: the list
    /// checks them for each token.
    pub fn lists(&self, permission: Permission, container: &Container) -> bool {
        self.plain(permission).is_some()
            || self.granting_rules(permission).any(|rule| rule.may_cover(container))
    }

    /// True if every right of `other` is a right of this access too, with at least its transform. A
    /// rule of `other` is compared in the container that its conditions name. A rule whose conditions
    /// name only ids needs a right with its transform in any container. For each token of such a rule
    /// the caller compares both accesses again.
    pub fn covers(&self, other: &Self) -> bool {
        let plain = other.permissions.iter().all(|permission| {
            // Rules cannot grant permissions that do not concern tokens.
            let root = [Container::root()];
            self.in_any(*permission, Target::unknown(&root)) >= other.plain(*permission)
        });
        let rule = |rule: &AccessRule| {
            let by_id = rule.conditions.iter().any(|it| it.attribute == Attribute::Id)
                && rule.container == Container::root();
            let within = [rule.container.clone()];
            rule.permissions.iter().all(|permission| {
                let held = if by_id {
                    self.highest(*permission)
                } else {
                    self.in_any(*permission, Target::unknown(&within))
                };
                held >= Some(rule.transform)
            })
        };
        plain && other.rules.iter().all(rule)
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

    /// The most that the permission shows in any container.
    fn highest(&self, permission: Permission) -> Option<Transform> {
        let rules = self.granting_rules(permission).map(|rule| rule.transform);
        rules.chain(self.plain(permission)).max()
    }

    /// A permission without a rule covers all containers.
    fn plain(&self, permission: Permission) -> Option<Transform> {
        let transform =
            if permission == Permission::TokenUse { Transform::Reveal } else { Transform::Mask };
        self.permissions.contains(&permission).then_some(transform)
    }
}

impl AccessRule {
    fn covers(&self, id: TargetId<'_>, container: &Container) -> bool {
        self.container.covers(container) && self.conditions.iter().all(|it| it.holds(id, container))
    }

    /// True if the rule covers a token of this id in some container.
    fn may_name(&self, id: TargetId<'_>) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.all(|it| it.attribute == Attribute::Container || it.holds(id, &self.container))
    }

    /// True if the rule covers some token in the container.
    fn may_cover(&self, container: &Container) -> bool {
        let mut conditions = self.conditions.iter();
        self.container.covers(container)
            && conditions
                .all(|it| it.attribute == Attribute::Id || it.holds(TargetId::Unknown, container))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::condition::Operator;

    fn rule(priority: u32, path: &str, transform: Transform, may: &[Permission]) -> AccessRule {
        AccessRule {
            description: None,
            priority,
            container: Container::parse(path).unwrap(),
            conditions: Vec::new(),
            transform,
            permissions: may.to_vec(),
        }
    }

    fn at(containers: &[Container]) -> Target<'_> {
        Target::unknown(containers)
    }

    fn paths(texts: &[&str]) -> Vec<Container> {
        texts.iter().map(|text| Container::parse(text).unwrap()).collect()
    }

    use Permission::{ProxyInvoke, TokenCreate, TokenDelete, TokenRead, TokenUse};
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
        assert_eq!(access.in_any(TokenRead, at(&paths(&["/pci/high/"]))), Some(Reveal));
        assert_eq!(access.in_any(TokenRead, at(&paths(&["/bank/"]))), Some(Redact));
        assert_eq!(access.in_any(TokenCreate, at(&paths(&["/pci/"]))), Some(Mask));
        assert_eq!(access.in_any(TokenCreate, at(&paths(&["/bank/"]))), None);
        assert_eq!(access.in_any(TokenDelete, at(&paths(&["/pci/"]))), None);
    }

    #[test]
    fn plain_permissions_cover_all_containers_with_mask_and_use_reveals() {
        let access = Access::new(vec![TokenRead, TokenUse], vec![]);
        assert_eq!(access.in_any(TokenRead, at(&paths(&["/x/"]))), Some(Mask));
        assert_eq!(access.in_any(TokenUse, at(&paths(&["/x/"]))), Some(Reveal));
        assert_eq!(access.in_all(TokenDelete, at(&paths(&["/x/"]))), None);
    }

    #[test]
    fn writing_needs_the_permission_in_all_containers_and_reading_in_any() {
        let access = Access::new(vec![], vec![rule(1, "/a/", Reveal, &[TokenRead, TokenCreate])]);
        let both = paths(&["/a/", "/b/"]);
        assert_eq!(access.in_any(TokenRead, at(&both)), Some(Reveal));
        assert_eq!(access.in_all(TokenCreate, at(&both)), None);
        assert_eq!(access.in_all(TokenCreate, at(&paths(&["/a/", "/a/c/"]))), Some(Reveal));
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
        // A stored proxy sends any token in plain for it, but not for an application with rules.
        assert!(Access::new(vec![ProxyInvoke], vec![]).reveals());
        let limited = vec![rule(1, "/a/", Mask, &[TokenRead])];
        assert!(!Access::new(vec![ProxyInvoke], limited).reveals());
        let masked = vec![rule(1, "/a/", Mask, &[TokenRead])];
        assert!(!Access::new(vec![TokenRead, TokenCreate], masked).reveals());
    }

    #[test]
    fn of_rules_with_the_same_priority_the_one_that_shows_less_decides() {
        let rules = vec![rule(1, "/", Reveal, &[TokenRead]), rule(1, "/a/", Redact, &[TokenRead])];
        let access = Access::new(vec![], rules);
        assert_eq!(access.in_any(TokenRead, at(&paths(&["/a/"]))), Some(Redact));
        assert_eq!(access.in_any(TokenRead, at(&paths(&["/b/"]))), Some(Reveal));
    }

    #[test]
    fn an_access_covers_rights_that_it_has_with_at_least_their_transform() {
        let grantor = Access::new(vec![TokenUse], vec![rule(1, "/a/", Mask, &[TokenRead])]);
        let check = |other: Access, expected: bool| {
            assert_eq!(grantor.covers(&other), expected, "{other:?}");
        };
        let one = |path: &str, transform, may: &[Permission]| {
            Access::new(vec![], vec![rule(1, path, transform, may)])
        };
        check(Access::default(), true);
        check(one("/a/b/", Mask, &[TokenRead]), true);
        check(one("/a/", Redact, &[TokenRead]), true);
        check(one("/", Reveal, &[TokenUse]), true);
        check(Access::new(vec![TokenUse], vec![]), true);
        check(one("/a/", Reveal, &[TokenRead]), false);
        check(one("/", Redact, &[TokenRead]), false);
        check(one("/a/", Redact, &[TokenRead, TokenDelete]), false);
        check(Access::new(vec![TokenRead], vec![]), false);
        check(Access::new(vec![TokenUse, TokenDelete], vec![]), false);
    }

    #[test]
    fn a_rule_with_conditions_grants_nothing_where_one_of_them_does_not_hold() {
        let condition = |attribute, operator, value: &str| Condition {
            attribute,
            operator,
            value: String::from(value),
        };
        let by_id = condition(Attribute::Id, Operator::Equals, "x");
        let exact = condition(Attribute::Container, Operator::Equals, "/a/");
        let conditions = vec![by_id, exact];
        let conditional = AccessRule { conditions, ..rule(1, "/a/", Reveal, &[TokenRead]) };
        let access = Access::new(vec![], vec![conditional, rule(2, "/b/", Mask, &[TokenRead])]);
        let read = |id: TargetId<'_>, path: &str| {
            access.in_any(TokenRead, Target { containers: &paths(&[path]), id })
        };
        assert_eq!(read(TargetId::Name("x"), "/a/"), Some(Reveal));
        assert_eq!(read(TargetId::Name("y"), "/a/"), None);
        assert_eq!(read(TargetId::Name("x"), "/a/b/"), None);
        assert_eq!(read(TargetId::Unknown, "/a/"), None);
        assert_eq!(read(TargetId::Unknown, "/b/c/"), Some(Mask));
        assert!(access.is_conditional(TokenRead) && !access.is_conditional(TokenUse));
        // The second rule has no condition on ids.
        assert!(access.may_name(TokenRead, TargetId::Name("y")));
        let first = Access::new(vec![], access.rules[..1].to_vec());
        let named = ["x", "y"].map(|id| first.may_name(TokenRead, TargetId::Name(id)));
        assert_eq!((named, first.may_name(TokenUse, TargetId::Name("x"))), ([true, false], false));
        assert!(access.lists(TokenRead, &paths(&["/a/"])[0]));
        assert!(!access.lists(TokenRead, &paths(&["/a/b/"])[0]));
        assert_eq!(access.reach(TokenRead), paths(&["/a/", "/b/"]));
        // Both containers must be granted, by any rule.
        let all = |id| access.in_all(TokenRead, Target { containers: &paths(&["/a/", "/b/"]), id });
        assert_eq!((all(TargetId::Name("x")), all(TargetId::Name("y"))), (Some(Reveal), None));
    }
}
