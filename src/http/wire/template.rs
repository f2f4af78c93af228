//! `GET /application-templates`: ready-made sets of permissions to start from.

use crate::domain::access::{AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::container::Container;
use crate::domain::permission::Permission;
use crate::http::wire::application::render_rule;
use crate::http::wire::json::list;
use crate::http::wire::{Json, Object};

struct Template {
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
    list(&TEMPLATES.iter().map(render).collect::<Vec<_>>())
}

pub(crate) fn render_one(id: &str) -> Option<Json> {
    TEMPLATES.iter().find(|template| template.id == id).map(render)
}

fn render(template: &Template) -> Json {
    let mut object = Object::new();
    object.text("id", template.id);
    object.text("name", template.name);
    object.text("description", template.description);
    object.text("application_type", template.kind.as_str());
    object.text("template_type", "official");
    object.flag("is_starter", true);
    let rules = template.rule.iter().map(|(transform, permissions)| {
        render_rule(&AccessRule {
            description: None,
            priority: 1,
            container: Container::root(),
            conditions: Vec::new(),
            transform: *transform,
            permissions: permissions.to_vec(),
        })
    });
    object.list("rules", &rules.collect::<Vec<_>>());
    object.texts("permissions", template.permissions.iter().map(|it| it.as_str()));
    object.close()
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
