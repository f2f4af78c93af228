//! A preview of an application's access in one container: what each permission on tokens allows
//! there, by which rule, and what answers then show. It decides nothing itself: [`Access`] and
//! [`Grants`] do.

use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::condition::Target;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Extent, Grants, Right, ValueOrigin};
use crate::domain::permission::Permission;

/// The effect of one permission on the tokens of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermissionPreview {
    pub permission: Permission,
    /// `None` if requests that need the permission are refused.
    pub grant: Option<PreviewedGrant>,
    /// The part of a token that the answer of such a request shows. `None` if it shows none.
    pub shows: Option<Exposure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviewedGrant {
    /// The place in the list of rules of the rule that decides. `None` if the permission is held
    /// without a rule.
    pub rule: Option<usize>,
    pub transform: Transform,
}

/// Previews the access that these permissions and rules make, in the order of [`Permission::ALL`].
/// A creation shows the caller's own value, the other requests one that was stored before.
pub fn preview(
    permissions: &[Permission],
    rules: &[AccessRule],
    container: &Container,
) -> Vec<PermissionPreview> {
    let access = Access::new(permissions.to_vec(), rules.to_vec());
    let containers = [container.clone()];
    let target = Target::unknown(&containers);
    let grants = Grants::new(
        |permission| access.in_any(permission, target),
        |permission| access.in_all(permission, target),
    );
    let of_tokens = Permission::ALL.iter().filter(|permission| permission.concerns_tokens());
    of_tokens
        .map(|permission| {
            let decision = access.decision_in_any(*permission, target);
            let grant = decision.map(|(transform, decides)| PreviewedGrant {
                // The sort is stable, so the first of several equal rules decides.
                rule: decides.and_then(|decides| rules.iter().position(|rule| rule == decides)),
                transform,
            });
            let shows = grant.and_then(|_| exposure(grants, *permission));
            PermissionPreview { permission: *permission, grant, shows }
        })
        .collect()
}

/// The permissions whose requests are answered with a token. The answer of a deletion is empty.
const ANSWERS: [(Permission, Right, ValueOrigin); 5] = [
    (Permission::TokenCreate, Right::Create, ValueOrigin::Own),
    (Permission::TokenRead, Right::Read, ValueOrigin::Stored),
    (Permission::TokenSearch, Right::Search, ValueOrigin::Stored),
    (Permission::TokenUpdate, Right::Update, ValueOrigin::Stored),
    (Permission::TokenUse, Right::Use, ValueOrigin::Stored),
];

fn exposure(grants: Grants, permission: Permission) -> Option<Exposure> {
    let (_, right, origin) = ANSWERS.into_iter().find(|(of, ..)| *of == permission)?;
    grants.exposure(right, origin)
}

impl Exposure {
    pub const fn word(self) -> &'static str {
        match self.extent {
            Extent::Full => self.transform.as_str(),
            Extent::Outline => "outline",
        }
    }
}

#[cfg(test)]
mod tests {
    use Permission::{TokenCreate, TokenDelete, TokenRead, TokenUpdate, TokenUse};
    use Transform::{Mask, Redact, Reveal};

    use super::*;
    use crate::domain::access::tests::rule;

    /// Each allowed permission: its rule or `-`, its transform, and what answers show.
    fn shown(permissions: &[Permission], rules: &[AccessRule], path: &str) -> Vec<String> {
        let container = Container::parse(path).unwrap();
        let all = preview(permissions, rules, &container);
        assert_eq!(all.len(), 6);
        let line = |it: PermissionPreview| {
            let grant = it.grant?;
            let rule = grant.rule.map_or_else(|| String::from("-"), |rule| rule.to_string());
            let shows = it.shows.map_or("nothing", Exposure::word);
            let (permission, transform) = (it.permission.as_str(), grant.transform.as_str());
            Some(format!("{permission} {rule} {transform} {shows}"))
        };
        all.into_iter().filter_map(line).collect()
    }

    #[test]
    fn the_rule_that_decides_is_named_by_its_place_in_the_list() {
        let rules = [
            rule(3, "/", Redact, &[TokenRead]),
            rule(2, "/pci/", Reveal, &[TokenRead, TokenUpdate, TokenDelete]),
            rule(2, "/pci/", Reveal, &[TokenRead, TokenUpdate, TokenDelete]),
        ];
        assert_eq!(
            shown(&[TokenUse], &rules, "/pci/high/"),
            [
                "token:read 1 reveal reveal",
                "token:update 1 reveal reveal",
                "token:delete 1 reveal nothing",
                "token:use - reveal reveal",
            ]
        );
        assert_eq!(
            shown(&[TokenUse], &rules, "/bank/"),
            ["token:read 0 redact redact", "token:use - reveal reveal"]
        );
    }

    #[test]
    fn an_answer_shows_less_than_the_transform_where_reading_does_not_allow_it() {
        assert_eq!(
            shown(&[], &[rule(1, "/", Reveal, &[TokenCreate, TokenUpdate])], "/a/"),
            ["token:create 0 reveal reveal", "token:update 0 reveal outline"]
        );
        let rules = [rule(1, "/", Reveal, &[TokenUpdate]), rule(1, "/a/", Mask, &[TokenRead])];
        assert_eq!(
            shown(&[], &rules, "/a/"),
            ["token:read 1 mask mask", "token:update 0 reveal mask"]
        );
    }

    #[test]
    fn without_permissions_nothing_is_allowed() {
        assert_eq!(shown(&[], &[], "/"), Vec::<String>::new());
        assert_eq!(shown(&[Permission::ProxyInvoke], &[], "/"), Vec::<String>::new());
    }
}
