//! Access control: the permissions of an application by container, and the part of a token's data
//! that an answer may show.

#[cfg(test)]
pub(super) mod tests;

use crate::domain::condition::{Attribute, Condition, Target, TargetId};
use crate::domain::container::Container;
use crate::domain::permission::Permission;
use crate::domain::words::words;

words! {
    /// The part of the data that an answer shows, from least to most.
    pub enum Transform {
        Redact = "redact";
        Mask = "mask";
        Reveal = "reveal";
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    pub description: Option<String>,
    /// The rule with the lowest number decides.
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

    /// True if any right shows data in plain, or sends it to a destination: a rule that reveals, or
    /// the permission without a rule to use tokens in expressions or to invoke proxies.
    pub fn reveals(&self) -> bool {
        let sends = self.rules.is_empty() && self.permissions.contains(&Permission::ProxyInvoke);
        sends
            || self.rules.iter().any(|rule| rule.transform == Transform::Reveal)
            || self.permissions.iter().any(|it| self.plain(*it) == Some(Transform::Reveal))
    }

    /// True if the permission is held in at least one container. A request without it is refused
    /// before its body is read.
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
    /// rule of `other` is compared in the container that its conditions name. A rule whose
    /// conditions name only ids needs a right with its transform in some container; the caller
    /// compares both accesses again for each token of such a rule.
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

    /// The containers that the permission is held in, in order and without containers inside
    /// another one of the list.
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
