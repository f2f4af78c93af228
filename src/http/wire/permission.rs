//! `GET /permissions`.

use crate::domain::application::ApplicationKind;
use crate::domain::permission::Permission;
use crate::http::absent;
use crate::http::wire::Json;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::json::list;

pub(crate) fn render_all(kind: Option<ApplicationKind>) -> Json {
    let wanted = |permission: &&Permission| kind.is_none_or(|kind| permission.may_be_held_by(kind));
    let wanted = Permission::ALL.iter().filter(wanted).copied();
    list(&wanted.map(PermissionAnswer::render).collect::<Vec<_>>())
}

answer! {
    pub(crate) PermissionAnswer<'a>(it: Permission) {
        has type: text(Schema::reference("Permission")) = it.as_str();
        has description: text = it.description();
        has application_types: texts(Schema::word(ApplicationKind::ALL.map(ApplicationKind::as_str)))
            = it.kinds().iter().map(|kind| kind.as_str());
        may_have absent_feature: text = absent::of_permission(it).map(|feature| feature.name),
            "The feature that it is for, which this server does not have.";
    }
}
