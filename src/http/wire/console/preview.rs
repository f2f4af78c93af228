//! `POST /console/data/rules-preview`. The code of `POST /applications` reads the body, so both
//! report the same mistakes.

use serde_json::Value;

use crate::bounds::PERMISSIONS_MAX;
use crate::domain::access::{Access, AccessRule};
use crate::domain::access_preview::{PermissionPreview, preview};
use crate::domain::container::Container;
use crate::domain::exposure::Exposure;
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::application::{self, Holder, transform_schema};
use crate::http::wire::{Fields, Json, Object};

pub(crate) fn answer(body: &Value) -> Json {
    match Draft::parse(body) {
        Ok(draft) => ConsoleRulesPreview::render((Some(&draft), &Mistakes::new())),
        Err(mistakes) => ConsoleRulesPreview::render((None, &mistakes)),
    }
}

answer! {
    pub(crate) ConsoleRulesPreview<'a>(it: (Option<&'a Draft>, &'a Mistakes)) {
        has valid: flag = it.0.is_some();
        has errors: filled(Schema::map(Schema::list(Schema::text()))) = |errors: &mut Object| {
            for (path, messages) in it.1.by_path() {
                errors.texts(path, messages.iter().map(String::as_str));
            }
        }, "Messages by the path of the member.";
        may_have container: text(Schema::reference("Container"))
            = it.0.map(|draft| draft.container.as_str());
        has reveals: flag = it.0.is_some_and(|draft| draft.access().reveals()),
            "Some right shows values in plain.";
        has token_permissions: list(PreviewedPermission)
            = it.0.into_iter().flat_map(Draft::previews);
        has other_permissions: texts(Schema::reference("Permission")).up_to_items(PERMISSIONS_MAX)
            = it.0.into_iter().flat_map(Draft::others).map(Permission::as_str);
    }

    PreviewedPermission<'a>(it: PermissionPreview) {
        has permission: text(Schema::reference("Permission")) = it.permission.as_str();
        has allowed: flag = it.grant.is_some();
        may_have by: word(["permission", "rule"])
            = it.grant.map(|grant| if grant.rule.is_some() { "rule" } else { "permission" });
        may_have rule: number = it.grant.and_then(|grant| grant.rule).map(place),
            "The place of the rule in the body's `rules`.";
        may_have transform: text(transform_schema()) = it.grant.map(|it| it.transform.as_str());
        has shows: word(["mask", "nothing", "outline", "redact", "reveal"])
            = it.shows.map_or("nothing", Exposure::word),
            "The part of a token that the answer of such a request shows.";
    }
}

fn place(rule: usize) -> u64 {
    u64::try_from(rule).unwrap_or(u64::MAX)
}

/// The rights of an application before its creation, and the container of the preview.
pub(crate) struct Draft {
    permissions: Vec<Permission>,
    /// In the order of the body.
    rules: Vec<AccessRule>,
    container: Container,
}

impl Draft {
    fn parse(body: &Value) -> Result<Self, Mistakes> {
        let mut fields = Fields::of_body(body);
        let kind = application::kind(&mut fields);
        let (permissions, rules) = application::rights(&mut fields, Holder::Application(kind));
        let container = application::container(&mut fields);
        match (kind, container) {
            (Some(_), Some(container)) if fields.mistakes.is_empty() => {
                Ok(Self { permissions, rules, container })
            }
            _ => Err(fields.mistakes),
        }
    }

    fn access(&self) -> Access {
        Access::new(self.permissions.clone(), self.rules.clone())
    }

    fn previews(&self) -> impl Iterator<Item = PermissionPreview> {
        preview(&self.permissions, &self.rules, &self.container).into_iter()
    }

    fn others(&self) -> Vec<Permission> {
        let mut others = self.access().permissions().to_vec();
        others.retain(|it| !it.concerns_tokens());
        others
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(body: &Value) -> Value {
        serde_json::from_slice(answer(body).expose()).unwrap()
    }

    fn rule(priority: u32, container: &str) -> Value {
        json!({"priority": priority, "container": container, "transform": "mask",
               "permissions": ["token:read"]})
    }

    #[test]
    fn a_preview_names_the_rule_of_the_body_and_other_permissions() {
        let shown = answered(&json!({
            "type": "private", "permissions": ["proxy:invoke", "token:use"],
            "rules": [rule(7, "/"), rule(2, "/PCI/")], "container": "/pci/High/",
        }));
        assert_eq!((&shown["valid"], &shown["errors"]), (&json!(true), &json!({})));
        assert_eq!((&shown["container"], &shown["reveals"]), (&json!("/pci/high/"), &json!(true)));
        let of = |name: &str| {
            let mut all = shown["token_permissions"].as_array().unwrap().iter();
            all.find(|it| it["permission"] == name).unwrap().clone()
        };
        assert_eq!(
            of("token:read"),
            json!({"permission": "token:read", "allowed": true, "by": "rule", "rule": 1,
                   "transform": "mask", "shows": "mask"})
        );
        assert_eq!(of("token:use")["by"], "permission");
        let refused = json!({"permission": "token:delete", "allowed": false, "shows": "nothing"});
        assert_eq!(of("token:delete"), refused);
        assert_eq!(shown["other_permissions"], json!(["proxy:invoke"]));
    }
}
