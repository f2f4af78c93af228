//! Applications on the wire.

use std::collections::HashMap;

use serde_json::Value;

use crate::app::{ApplicationChange, ApplicationDraft, ApplicationQuery, FirstKey, NewKey};
use crate::bounds::{
    DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX, ORIGINS_MAX, PERMISSIONS_MAX, RULES_MAX,
};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::{ApiKey, Application, ApplicationKind};
use crate::domain::container::Container;
use crate::domain::id::{ApplicationId, KeyId};
use crate::domain::key_text::KeyText;
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::web_origin::{AllowedOrigins, WebOrigin};
use crate::http::Schema;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::page::wanted_ids;
use crate::http::wire::{Fields, Json, Object, OffsetPage, Query, key, session};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

pub(crate) fn parse_draft(body: &Value) -> Result<ApplicationDraft, Mistakes> {
    let mut fields = Fields::of_body(body);
    let name = fields.bounded_text("name", NAME_CHARS_MAX);
    let kind = kind(&mut fields);
    let access = access(&mut fields, Holder::Application(kind));
    let allowed_origins = allowed_origins(&mut fields, kind).unwrap_or_default();
    let key = match fields.flag("create_key") {
        Some(false) => FirstKey::None,
        Some(true) | None => FirstKey::Made,
    };
    match (name, kind) {
        (Some(name), Some(kind)) if fields.mistakes.is_empty() => {
            let name = String::from(name);
            Ok(ApplicationDraft { name, kind, access, allowed_origins, key })
        }
        _ => Err(fields.mistakes),
    }
}

pub(crate) fn parse_update(
    body: &Value,
    kind: ApplicationKind,
) -> Result<ApplicationChange, Mistakes> {
    let mut fields = Fields::of_body(body);
    let name = fields.bounded_text("name", NAME_CHARS_MAX).map(String::from);
    let access = access(&mut fields, Holder::Application(Some(kind)));
    let allowed_origins = allowed_origins(&mut fields, Some(kind));
    match name {
        Some(name) if fields.mistakes.is_empty() => {
            Ok(ApplicationChange { name, access, allowed_origins })
        }
        _ => Err(fields.mistakes),
    }
}

pub(super) fn kind(fields: &mut Fields<'_>) -> Option<ApplicationKind> {
    let message = "The type must be private, public or management.";
    fields.required("type", ApplicationKind::parse, message)
}

/// `None` if the body does not have them.
fn allowed_origins(
    fields: &mut Fields<'_>,
    kind: Option<ApplicationKind>,
) -> Option<AllowedOrigins> {
    let texts = fields.texts("allowed_origins", ORIGINS_MAX)?;
    if !texts.is_empty() && !matches!(kind, Some(ApplicationKind::Public) | None) {
        fields.wrong("allowed_origins", "Only a public application has allowed origins.");
        return None;
    }
    let mut origins = Vec::with_capacity(texts.len());
    for (at, text) in texts {
        match WebOrigin::parse(text) {
            Ok(origin) => origins.push(origin),
            Err(invalid) => fields.wrong(&format!("allowed_origins[{at}]"), invalid.to_string()),
        }
    }
    AllowedOrigins::new(origins)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// `None` if the body does not name the kind.
    Application(Option<ApplicationKind>),
    Session,
}

impl Holder {
    fn may_hold(self, permission: Permission) -> bool {
        match self {
            Self::Application(kind) => kind.is_none_or(|kind| permission.may_be_held_by(kind)),
            Self::Session => permission.may_be_granted_to_sessions(),
        }
    }
}

pub(super) fn access(fields: &mut Fields<'_>, holder: Holder) -> Access {
    let (permissions, rules) = rights(fields, holder);
    Access::new(permissions, rules)
}

/// The permissions, and the rules in the order of the body.
pub(super) fn rights(
    fields: &mut Fields<'_>,
    holder: Holder,
) -> (Vec<Permission>, Vec<AccessRule>) {
    let permissions = permissions(fields, holder, Reach::Everything);
    let mut rules = Vec::new();
    for (at, value) in fields.list("rules", RULES_MAX).unwrap_or_default().iter().enumerate() {
        let mut inner = Fields::at(value, fields.path_of(&format!("rules[{at}]")));
        rules.extend(rule(&mut inner, holder));
        fields.mistakes.append(inner.mistakes);
    }
    if permissions.is_empty() && rules.is_empty() && fields.mistakes.is_empty() {
        fields.wrong("permissions", "There must be permissions or rules.");
    }
    (permissions, rules)
}

fn rule(fields: &mut Fields<'_>, holder: Holder) -> Option<AccessRule> {
    if holder == Holder::Application(Some(ApplicationKind::Management)) {
        fields.wrong("container", "A management application has permissions, not rules.");
    }
    if holder != Holder::Session && fields.value("conditions").is_some() {
        fields.wrong("conditions", "Conditions are for sessions; a rule names its container.");
    }
    let scope = match holder {
        Holder::Application(_) => container(fields).map(|container| (container, Vec::new())),
        Holder::Session => session::scope(fields),
    };
    let priority = fields.number("priority").and_then(|number| u32::try_from(number).ok());
    if priority.is_none_or(|priority| priority == 0) {
        fields.wrong("priority", "The priority is a whole number from 1.");
    }
    let message = "The transform must be redact, mask or reveal.";
    let transform = fields.required("transform", Transform::parse, message);
    let description = fields.text("description");
    if description.is_some_and(|text| text.chars().count() > DESCRIPTION_CHARS_MAX) {
        let message = format!("The description has at most {DESCRIPTION_CHARS_MAX} characters.");
        fields.wrong("description", message);
    }
    let before = fields.mistakes.by_path().len();
    let permissions = permissions(fields, holder, Reach::Tokens);
    // A wrong permission is one mistake, not also a missing one.
    if permissions.is_empty() && fields.mistakes.by_path().len() == before {
        fields.wrong("permissions", "A rule must grant at least one permission.");
    }
    let (container, conditions) = scope?;
    Some(AccessRule {
        description: description.map(String::from),
        priority: priority?,
        container,
        conditions,
        transform: transform?,
        permissions,
    })
}

pub(super) fn container(fields: &mut Fields<'_>) -> Option<Container> {
    let container = fields.required_text("container").map(Container::parse);
    if let Some(Err(invalid)) = &container {
        fields.wrong("container", invalid.to_string());
    }
    container?.ok()
}

const NOT_OF_KIND: &str = "An application of this type cannot have this permission.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Everything,
    Tokens,
}

fn permissions(fields: &mut Fields<'_>, holder: Holder, reach: Reach) -> Vec<Permission> {
    let texts = fields.texts("permissions", PERMISSIONS_MAX).unwrap_or_default();
    let mut permissions = Vec::with_capacity(texts.len());
    for (at, text) in texts {
        let path = format!("permissions[{at}]");
        match Permission::parse(text) {
            None => fields.wrong(&path, "There is no such permission."),
            Some(permission) if reach == Reach::Tokens && !permission.concerns_tokens() => {
                fields.wrong(&path, "A rule grants permissions on tokens only.");
            }
            Some(permission) if !holder.may_hold(permission) => {
                fields.wrong(
                    &path,
                    match holder {
                        Holder::Application(_) => NOT_OF_KIND,
                        Holder::Session => "A session cannot have this permission.",
                    },
                );
            }
            Some(permission) => permissions.push(permission),
        }
    }
    permissions.sort_unstable();
    permissions.dedup();
    permissions
}

pub(crate) fn parse_query(query: &Query) -> Result<(ApplicationQuery, OffsetPage), Mistakes> {
    let mut mistakes = Mistakes::new();
    let page = OffsetPage::parse(query, &mut mistakes);
    let mut kinds = Vec::new();
    for text in query.all("type") {
        match ApplicationKind::parse(text) {
            Some(kind) => kinds.push(kind),
            None => mistakes.add("type", "The type must be private, public or management."),
        }
    }
    mistakes.into_result()?;
    let ids = wanted_ids(query, ApplicationId::parse);
    let query = ApplicationQuery { ids, kinds, skip: page.skip(), take: page.size };
    Ok((query, page))
}

/// The answer to the creation of an application, with the text of its first key.
pub(crate) fn answer(made: &Application, key: Option<&NewKey>) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let listed: Vec<_> = key.iter().map(|new| key::render(&new.key)).collect();
    let text = key.map(|new| (&new.text, key::name(&mut answer, new)));
    let mut object = Object::new();
    ApplicationAnswer::fill(&mut object, (made, &listed, text));
    object.close_into(&mut answer);
    answer.at(format!("/applications/{}", made.id))
}

pub(crate) fn render(application: &Application, keys: &[ApiKey]) -> Json {
    let keys: Vec<_> = keys.iter().map(key::render).collect();
    ApplicationAnswer::render((application, &keys, None))
}

/// As [`render`], with the last use of each key.
pub(crate) fn render_for_operator(
    application: &Application,
    keys: &[ApiKey],
    last_uses: &HashMap<KeyId, Timestamp>,
) -> Json {
    let render = |key: &ApiKey| key::render_with_use(key, last_uses.get(&key.id).copied());
    ApplicationAnswer::render((application, &keys.iter().map(render).collect::<Vec<_>>(), None))
}

/// An application, its keys as objects, and the text of its first key.
type Shown<'a> = (&'a Application, &'a [Json], Option<(&'a KeyText, usize)>);

answer! {
    pub(in crate::http) ApplicationAnswer<'a>(it: Shown<'a>) {
        has id: id = it.0.id;
        has tenant_id: id = it.0.tenant;
        has name: text = &it.0.name;
        may_have key: kept = it.2.map(|(text, subject)| (text.expose(), subject)),
            "The text of the first key, only in the answer that made it.";
        has keys: rendered(Schema::list(Schema::reference("ApplicationKey"))) = it.1;
        has type: text(kind_schema()) = it.0.kind.as_str();
        has permissions: texts(Schema::reference("Permission"))
            = it.0.access.permissions().iter().map(|it| it.as_str());
        has rules: list(RuleAnswer "AccessRule") = it.0.access.rules();
        // Absent if empty: clients of the published interface do not expect it.
        may_have allowed_origins: listed(origins_schema())
            = Some(&it.0.allowed_origins).filter(|it| !it.is_empty()).map(AllowedOrigins::texts);
        may_have created_by: id = it.0.created_by, "The application that made it.";
        has created_at: time = it.0.created_at;
        may_have modified_by: id = it.0.modified_by;
        may_have modified_at: time = it.0.modified_at;
    }

    pub(crate) RuleAnswer<'a>(it: &'a AccessRule):
        "Permissions on the tokens of a container and of those inside it. Of all rules that cover a \
         token, the one with the lowest priority decides."
    {
        may_have description: text = it.description.as_deref();
        has priority: number.at_least(1) = it.priority;
        has container: text(Schema::reference("Container")) = it.container.as_str();
        has transform: text(transform_schema()) = it.transform.as_str();
        has permissions: texts(Schema::reference("Permission"))
            = it.permissions.iter().map(|it| it.as_str());
    }
}

pub(in crate::http) fn kind_schema() -> Schema {
    Schema::word(ApplicationKind::ALL.map(ApplicationKind::as_str))
}

pub(in crate::http) fn origins_schema() -> Schema {
    Schema::list(Schema::text()).up_to_items(ORIGINS_MAX).about(
        "Origins of the pages that may show card fields with a key of the application, such as \
         `https://shop.example`. Only public applications have them.",
    )
}

pub(crate) fn transform_schema() -> Schema {
    Schema::word(Transform::ALL.map(Transform::as_str))
        .about("The part of the data that answers show: nothing, what the mask shows, or all.")
}
