//! `GET /application-templates`: ready-made sets of permissions to start from.

use crate::domain::access::{AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::container::Container;
use crate::domain::permission::Permission;
use crate::http::wire::Json;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::application::RuleAnswer;
use crate::http::wire::json::list;

pub(crate) struct Template {
    id: &'static str,
    name: &'static str,
    description: &'static str,
    kind: ApplicationKind,
    permissions: &'static [Permission],
    /// Permissions on all containers, with their transform.
    rule: Option<(Transform, &'static [Permission])>,
}

const TEMPLATES: &[Template] = &[
    Template {
        id: "5b9a3d3c-6f0e-4c1a-9a55-3b1d2c7e4f01",
        name: "Collect data",
        description: "For browsers and apps: puts values in and gets no plain value out.",
        kind: ApplicationKind::Public,
        permissions: &[Permission::TokenIntentCreate],
        rule: Some((Transform::Mask, &[Permission::TokenCreate])),
    },
    Template {
        id: "5b9a3d3c-6f0e-4c1a-9a55-3b1d2c7e4f02",
        name: "Full access to tokens",
        description: "For a back end that stores, reads, changes and deletes plain values.",
        kind: ApplicationKind::Private,
        permissions: &[
            Permission::TokenIntentCreate,
            Permission::TokenIntentRead,
            Permission::TokenIntentDelete,
        ],
        rule: Some((
            Transform::Reveal,
            &[
                Permission::TokenCreate,
                Permission::TokenRead,
                Permission::TokenSearch,
                Permission::TokenUpdate,
                Permission::TokenDelete,
                Permission::TokenUse,
            ],
        )),
    },
    Template {
        id: "5b9a3d3c-6f0e-4c1a-9a55-3b1d2c7e4f03",
        name: "Use tokens without seeing them",
        description: "For a back end that works with tokens whose values it reads masked.",
        kind: ApplicationKind::Private,
        permissions: &[],
        rule: Some((Transform::Mask, &[Permission::TokenRead, Permission::TokenSearch])),
    },
    Template {
        id: "5b9a3d3c-6f0e-4c1a-9a55-3b1d2c7e4f04",
        name: "Manage applications",
        description: "For scripts that set up applications and keys; it cannot read tokens.",
        kind: ApplicationKind::Management,
        permissions: &[
            Permission::TenantRead,
            Permission::TenantUpdate,
            Permission::ApplicationCreate,
            Permission::ApplicationRead,
            Permission::ApplicationUpdate,
            Permission::ApplicationDelete,
        ],
        rule: None,
    },
];

pub(crate) fn render_all() -> Json {
    list(&TEMPLATES.iter().map(TemplateAnswer::render).collect::<Vec<_>>())
}

pub(crate) fn render_one(id: &str) -> Option<Json> {
    TEMPLATES.iter().find(|template| template.id == id).map(TemplateAnswer::render)
}

answer! {
    pub(crate) TemplateAnswer<'a>(it: &'a Template) {
        has id: text(Schema::uuid()) = it.id;
        has name: text = it.name;
        has description: text = it.description;
        has application_type: word(ApplicationKind::ALL.map(ApplicationKind::as_str))
            = it.kind.as_str();
        has template_type: word(["official"]) = "official";
        has is_starter: flag = true;
        has rules: list(RuleAnswer "AccessRule") = &it.rule();
        has permissions: texts(Schema::reference("Permission"))
            = it.permissions.iter().map(|it| it.as_str());
    }
}

impl Template {
    fn rule(&self) -> Option<AccessRule> {
        self.rule.map(|(transform, permissions)| AccessRule {
            description: None,
            priority: 1,
            container: Container::root(),
            conditions: Vec::new(),
            transform,
            permissions: permissions.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_grant_only_what_their_type_may_hold() {
        for template in TEMPLATES {
            let ruled = template.rule.map(|(_, permissions)| permissions).unwrap_or_default();
            for permission in template.permissions.iter().chain(ruled) {
                assert!(permission.may_be_held_by(template.kind), "{}", template.name);
            }
            assert!(render_one(template.id).is_some());
        }
    }
}
