//! People who use the console: their names, the way in which they signed on, and their roles.

use crate::bounds::PERSON_BYTES_MAX;
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::ApplicationKind::Management;
use crate::domain::container::Container;
use crate::domain::permission::Permission;
use crate::domain::words::words;

/// A person for whom the operator's sign-on has answered. Audit entries carry the name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Person {
    pub name: Box<str>,
    pub way: SignOnWay,
}

/// A person with the groups of the sign-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonWithGroups {
    pub person: Person,
    pub groups: Vec<String>,
}

words! {
    pub enum SignOnWay:
        /// Its code in the file. Never change a code and never use one again.
        code -> u8 [from_code]
    {
        /// A trusted proxy named the person in its headers.
        Proxy = "proxy", 1;
        /// The person's client certificate.
        Certificate = "certificate", 2;
    }
}

words! {
    /// From least to most.
    pub enum ConsoleRole {
        Viewer = "viewer";
        Administrator = "administrator";
    }
}

impl Person {
    /// `None` for a name that a log cannot show, or that looks like another one there: it is empty,
    /// too long, has a space at an end, or has characters that are not shown. A comma joins the
    /// values of two header lines, so that no name has one.
    pub fn parse_name(text: &str) -> Option<&str> {
        let is_shown = |letter: char| !letter.is_control() && !is_steering(letter) && letter != ',';
        let is_whole = !text.is_empty() && text.len() <= PERSON_BYTES_MAX && text.trim() == text;
        (is_whole && text.chars().all(is_shown)).then_some(text)
    }
}

/// Characters that have no picture, or change the direction of a text.
const fn is_steering(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}'
    )
}

/// The rights on tokens, which the console shows masked.
const ON_TOKENS: [Permission; 5] = [
    Permission::TokenCreate,
    Permission::TokenRead,
    Permission::TokenSearch,
    Permission::TokenUpdate,
    Permission::TokenDelete,
];

impl ConsoleRole {
    pub fn may_hold(self, permission: Permission) -> bool {
        // No page deletes a whole tenant: a browser that is led astray must not be able to.
        let is_offered = permission != Permission::TenantDelete
            && (ON_TOKENS.contains(&permission) || permission.may_be_held_by(Management));
        is_offered
            && match self {
                Self::Administrator => true,
                Self::Viewer => is_reading(permission),
            }
    }

    pub fn permissions(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |it| self.may_hold(*it))
    }

    /// No role shows a value in plain, uses one, or sends one to a destination.
    pub fn access(self) -> Access {
        let (on_tokens, others): (Vec<_>, Vec<_>) =
            self.permissions().partition(|it| it.concerns_tokens());
        let rule = AccessRule {
            description: None,
            priority: 1,
            container: Container::root(),
            conditions: Vec::new(),
            transform: Transform::Mask,
            permissions: on_tokens,
        };
        Access::new(others, vec![rule])
    }
}

fn is_reading(permission: Permission) -> bool {
    matches!(permission, Permission::TokenSearch | Permission::ConnectionFormulas)
        || permission.as_str().ends_with(":read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::condition::Target;

    #[test]
    fn names_that_a_log_cannot_show_are_refused() {
        let longest = "n".repeat(PERSON_BYTES_MAX);
        for good in ["alice", "Al\u{ef}ce B. O'Hara", "alice@example.com", "DOM\\alice", &longest] {
            assert_eq!(Person::parse_name(good), Some(good));
        }
        let long = "n".repeat(PERSON_BYTES_MAX + 1);
        for bad in [
            "",
            " ",
            " alice",
            "alice ",
            "alice,mallory",
            "alice\n",
            "a\tb",
            "a\u{0}b",
            "a\u{7f}b",
            "a\u{85}b",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{feff}b",
            &long,
        ] {
            assert_eq!(Person::parse_name(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_viewer_holds_only_permissions_to_read_and_no_role_sees_or_sends_a_plain_value() {
        for permission in ConsoleRole::Viewer.permissions() {
            assert!(ConsoleRole::Administrator.may_hold(permission), "{permission:?}");
            let word = permission.as_str().rsplit(':').next().unwrap();
            assert!(["read", "search", "connection_formulas"].contains(&word), "{permission:?}");
        }
        for role in ConsoleRole::ALL {
            for never in [
                Permission::TenantDelete,
                Permission::TokenUse,
                Permission::ProxyInvoke,
                Permission::ReactorInvoke,
                Permission::NetworkTokenReveal,
                Permission::ThreedsSessionRead,
            ] {
                assert!(!role.may_hold(never), "{never:?}");
            }
            let access = role.access();
            assert!(!access.reveals());
            let pci = [Container::parse("/pci/high/").unwrap()];
            let shown = access.in_any(Permission::TokenRead, Target::unknown(&pci));
            assert_eq!(shown, Some(Transform::Mask));
            for permission in Permission::ALL {
                assert_eq!(access.holds_somewhere(permission), role.may_hold(permission));
            }
        }
    }
}
