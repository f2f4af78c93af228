//! The rule that decides, and the accesses that a grantor covers.

use super::*;
use crate::domain::condition::Operator;

pub(in crate::domain) fn rule(
    priority: u32,
    path: &str,
    transform: Transform,
    may: &[Permission],
) -> AccessRule {
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
    // The better priority decides, not the closer path, and any rule overrides a plain permission.
    let rules = vec![rule(2, "/a/b/", Reveal, &[TokenRead]), rule(1, "/a/", Redact, &[TokenRead])];
    let access = Access::new(vec![TokenRead], rules);
    assert_eq!(access.in_any(TokenRead, at(&paths(&["/a/b/"]))), Some(Redact));
    assert_eq!(access.in_any(TokenRead, at(&paths(&["/c/"]))), Some(Mask));
    // A rule without the permission leaves the plain permission in force.
    let access = Access::new(vec![TokenRead], vec![rule(1, "/a/", Redact, &[TokenCreate])]);
    assert_eq!(access.in_any(TokenRead, at(&paths(&["/a/"]))), Some(Mask));
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

#[test]
fn only_a_rule_with_conditions_makes_a_permission_conditional() {
    let plain = rule(1, "/a/", Mask, &[TokenRead]);
    assert!(!Access::new(vec![TokenRead], vec![plain.clone()]).is_conditional(TokenRead));
    let access = Access::new(vec![], vec![plain, named("x", "/", Mask, &[TokenRead])]);
    assert!(access.is_conditional(TokenRead) && !access.is_conditional(TokenUse));
}

/// A rule for the tokens of one id.
fn named(id: &str, path: &str, transform: Transform, may: &[Permission]) -> AccessRule {
    let (attribute, operator) = (Attribute::Id, Operator::Equals);
    let condition = Condition { attribute, operator, value: String::from(id) };
    AccessRule { conditions: vec![condition], ..rule(1, path, transform, may) }
}

#[test]
fn a_rule_by_id_alone_needs_its_transform_in_some_container() {
    let grantor = Access::new(vec![TokenUse], vec![rule(1, "/a/", Mask, &[TokenRead])]);
    let check = |granted: AccessRule, expected: bool| {
        let other = Access::new(vec![], vec![granted]);
        assert_eq!(grantor.covers(&other), expected, "{other:?}");
    };
    check(named("x", "/", Mask, &[TokenRead]), true);
    check(named("x", "/", Redact, &[TokenRead]), true);
    check(named("x", "/", Reveal, &[TokenUse]), true);
    check(named("x", "/", Reveal, &[TokenRead]), false);
    check(named("x", "/", Redact, &[TokenRead, TokenDelete]), false);
    // With a container the rule is compared there, and a rule without an id in its own container.
    check(named("x", "/a/b/", Mask, &[TokenRead]), true);
    check(named("x", "/b/", Mask, &[TokenRead]), false);
    check(rule(1, "/", Mask, &[TokenRead]), false);
    let (attribute, operator) = (Attribute::Container, Operator::StartsWith);
    let anywhere = Condition { attribute, operator, value: String::from("/") };
    check(AccessRule { conditions: vec![anywhere], ..rule(1, "/", Mask, &[TokenRead]) }, false);
}

#[test]
fn an_access_keeps_its_permissions_once_and_its_rules_by_priority() {
    let rules = [rule(2, "/b/", Mask, &[TokenRead]), rule(1, "/a/", Mask, &[TokenRead])];
    let access = Access::new(vec![TokenUse, TokenRead, TokenUse], rules.to_vec());
    assert_eq!(access.permissions().len(), 2);
    assert!([TokenRead, TokenUse].iter().all(|it| access.permissions().contains(it)));
    let [second, first] = rules;
    assert_eq!(access.rules(), [first, second]);
}
