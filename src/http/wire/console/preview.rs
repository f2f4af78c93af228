//! `POST /console/data/rules-preview`. The code of `POST /applications` reads the body, so both
//! report the same mistakes.

use serde_json::Value;

use crate::domain::access::{Access, AccessRule};
use crate::domain::access_preview::{PermissionPreview, preview};
use crate::domain::container::Container;
use crate::domain::exposure::Exposure;
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::http::wire::application::{self, Holder};
use crate::http::wire::{Fields, Json, Object};

pub(crate) fn answer(body: &Value) -> Json {
    match Draft::parse(body) {
        Ok(draft) => draft.render(),
        Err(mistakes) => render_mistakes(&mistakes),
    }
}

/// The rights of an application before its creation, and the container of the preview.
struct Draft {
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

    fn render(&self) -> Json {
        let Self { permissions, rules, container } = self;
        let access = Access::new(permissions.clone(), rules.clone());
        let mut object = Object::new();
        object.flag("valid", true);
        object.object("errors", |_| ());
        object.text("container", container.as_str());
        object.flag("reveals", access.reveals());
        let previews = preview(permissions, rules, container);
        object.objects("token_permissions", previews, |object, it| render_one(object, &it));
        let others = access.permissions().iter().filter(|it| !it.concerns_tokens());
        object.texts("other_permissions", others.map(|it| it.as_str()));
        object.close()
    }
}

fn render_one(object: &mut Object, it: &PermissionPreview) {
    object.text("permission", it.permission.as_str());
    object.flag("allowed", it.grant.is_some());
    if let Some(grant) = it.grant {
        object.text("by", if grant.rule.is_some() { "rule" } else { "permission" });
        if let Some(rule) = grant.rule {
            object.number("rule", u64::try_from(rule).unwrap_or(u64::MAX));
        }
        object.text("transform", grant.transform.as_str());
    }
    object.text("shows", it.shows.map_or("nothing", Exposure::word));
}

fn render_mistakes(mistakes: &Mistakes) -> Json {
    let mut object = Object::new();
    object.flag("valid", false);
    object.object("errors", |errors| {
        for (path, messages) in mistakes.by_path() {
            errors.texts(path, messages.iter().map(String::as_str));
        }
    });
    object.flag("reveals", false);
    object.objects("token_permissions", [(); 0], |_, ()| ());
    object.texts("other_permissions", std::iter::empty());
    object.close()
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
