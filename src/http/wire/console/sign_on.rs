//! `GET` and `POST /console/data/sign-on`.

use std::sync::Arc;

use crate::app::Caller;
use crate::domain::permission::Permission;
use crate::domain::person::{ConsoleRole, Person};
use crate::http::absent;
use crate::http::wire::{Json, Object};

pub(crate) struct SignOnWays<'a> {
    pub(crate) takes_keys: bool,
    pub(crate) has_sign_on: bool,
    pub(crate) sign_out: Option<&'a str>,
    pub(crate) person: Option<(&'a Person, ConsoleRole)>,
    /// The person as the caller of each tenant.
    pub(crate) tenants: Vec<Arc<Caller>>,
    pub(crate) refusal: Option<&'static str>,
}

pub(crate) fn render_ways(ways: &SignOnWays<'_>) -> Json {
    let mut object = Object::new();
    object.flag("management_keys", ways.takes_keys);
    object.flag("sign_on", ways.has_sign_on);
    object.optional_text("sign_out", ways.sign_out);
    if let Some((of, role)) = ways.person {
        person(&mut object, of, role);
        object.objects("tenants", &ways.tenants, |object, it| {
            object.display("id", it.tenant.id);
            object.text("name", &it.tenant.name);
        });
    }
    object.optional_text("refusal", ways.refusal);
    object.close()
}

/// The person, and the rights that the page offers actions by.
pub(crate) fn render(caller: &Caller) -> Json {
    let mut object = Object::new();
    if let Some((of, role)) = caller.person_with_role() {
        person(&mut object, of, role);
        let offered = role.permissions().filter(|it| absent::of_permission(*it).is_none());
        object.texts("permissions", offered.map(Permission::as_str));
    }
    object.display("tenant_id", caller.tenant.id);
    object.text("tenant_name", &caller.tenant.name);
    object.close()
}

fn person(object: &mut Object, person: &Person, role: ConsoleRole) {
    object.text("person", &person.name);
    object.text("role", role.as_str());
    object.text("way", person.way.as_str());
}
