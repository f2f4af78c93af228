//! `GET /permissions`.

use crate::domain::application::ApplicationKind;
use crate::domain::permission::Permission;
use crate::http::absent;
use crate::http::wire::json::list;
use crate::http::wire::{Json, Object};

pub(crate) fn render_all(kind: Option<ApplicationKind>) -> Json {
    let wanted = |permission: &&Permission| kind.is_none_or(|kind| permission.may_be_held_by(kind));
    list(&Permission::ALL.iter().filter(wanted).copied().map(render).collect::<Vec<_>>())
}

fn render(permission: Permission) -> Json {
    let mut object = Object::new();
    object.text("type", permission.as_str());
    object.text("description", permission.description());
    object.texts("application_types", permission.kinds().iter().map(|kind| kind.as_str()));
    if let Some(feature) = absent::of_permission(permission) {
        object.text("absent_feature", feature.name);
    }
    object.close()
}
