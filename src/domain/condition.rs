//! The token that a right is checked for, and the conditions that rules of sessions put on it.

use uuid::Uuid;

use crate::domain::container::Container;
use crate::domain::words::words;

/// The token that a right is checked for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub containers: &'a [Container],
    pub id: TargetId<'a>,
}

/// A condition on an unknown id does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetId<'a> {
    /// An id that the vault assigned, to a token or a token intent.
    Assigned(Uuid),
    /// An id that a caller chose.
    Name(&'a str),
    /// There is no token yet, and its id is not known in advance.
    Unknown,
}

/// A condition of a rule. All conditions of a rule must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub attribute: Attribute,
    pub operator: Operator,
    /// Container paths are in lower case.
    pub value: String,
}

words! {
    pub enum Attribute {
        Container = "container";
        Id = "id";
    }
}

words! {
    pub enum Operator {
        Equals = "equals";
        StartsWith = "starts_with";
    }
}

impl<'a> Target<'a> {
    /// A token that does not exist, or any token in these containers.
    pub const fn unknown(containers: &'a [Container]) -> Self {
        Self { containers, id: TargetId::Unknown }
    }
}

impl Condition {
    /// True if the condition holds for a token of this id, in this one of its containers.
    pub fn holds(&self, id: TargetId<'_>, container: &Container) -> bool {
        match (self.attribute, id) {
            (Attribute::Container, _) => self.compare(container.as_str()),
            (Attribute::Id, TargetId::Name(name)) => self.compare(name),
            (Attribute::Id, TargetId::Assigned(id)) => {
                self.compare(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
            (Attribute::Id, TargetId::Unknown) => false,
        }
    }

    /// The innermost container that contains every container for which the condition holds.
    pub fn outermost(&self) -> Container {
        let path = match (self.attribute, self.operator) {
            (Attribute::Id, _) => "/",
            (Attribute::Container, Operator::Equals) => self.value.as_str(),
            (Attribute::Container, Operator::StartsWith) => {
                // A prefix such as `/a/b` also holds for `/a/bc/`, so its last part is cut off.
                self.value
                    .rsplit_once('/')
                    .map_or("/", |(whole, _)| self.value.get(..=whole.len()).unwrap_or("/"))
            }
        };
        Container::parse(path).unwrap_or_else(|_| Container::root())
    }

    fn compare(&self, text: &str) -> bool {
        match self.operator {
            Operator::Equals => text == self.value,
            Operator::StartsWith => text.starts_with(&self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn condition(attribute: Attribute, operator: Operator, value: &str) -> Condition {
        Condition { attribute, operator, value: String::from(value) }
    }

    #[test]
    fn a_condition_on_an_id_compares_the_id_that_callers_use() {
        let id = Uuid::from_u128(0x0190_a1b2_c3d4_4e5f_8a6b_7c8d_9e0f_1a2b);
        let root = Container::root();
        let check = |operator, value: &str, id: TargetId<'_>, expected: bool| {
            let holds = condition(Attribute::Id, operator, value).holds(id, &root);
            assert_eq!(holds, expected, "{value} {id:?}");
        };
        let text = "0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b";
        check(Operator::Equals, text, TargetId::Assigned(id), true);
        check(Operator::Equals, &text.to_uppercase(), TargetId::Assigned(id), false);
        check(Operator::StartsWith, "0190a1", TargetId::Assigned(id), true);
        check(Operator::Equals, "0190a1", TargetId::Assigned(id), false);
        check(Operator::Equals, "order-1", TargetId::Name("order-1"), true);
        check(Operator::StartsWith, "order-", TargetId::Name("order-1"), true);
        check(Operator::Equals, "order-1", TargetId::Name("order-12"), false);
        for value in ["", "order-1", text] {
            check(Operator::StartsWith, value, TargetId::Unknown, false);
            check(Operator::Equals, value, TargetId::Unknown, false);
        }
    }

    #[test]
    fn the_outermost_container_of_a_prefix_ends_at_a_slash() {
        let check = |operator, value: &str, expected: &str| {
            let found = condition(Attribute::Container, operator, value).outermost();
            assert_eq!(found.as_str(), expected, "{value}");
        };
        check(Operator::Equals, "/a/b/", "/a/b/");
        check(Operator::StartsWith, "/a/b/", "/a/b/");
        check(Operator::StartsWith, "/a/b", "/a/");
        check(Operator::StartsWith, "/a", "/");
        check(Operator::StartsWith, "/", "/");
        let id = condition(Attribute::Id, Operator::Equals, "/a/");
        assert_eq!(id.outermost(), Container::root());
    }

    proptest! {
        #[test]
        fn every_container_that_fulfils_a_condition_is_inside_its_outermost_one(
            prefix in "/([ab]{1,2}/){0,2}[ab]{0,1}",
            path in "/([ab]{1,2}/){0,3}",
        ) {
            let container = Container::parse(&path).unwrap();
            for operator in [Operator::Equals, Operator::StartsWith] {
                let it = condition(Attribute::Container, operator, &prefix);
                if it.holds(TargetId::Unknown, &container) {
                    prop_assert!(it.outermost().covers(&container));
                }
            }
        }
    }
}
