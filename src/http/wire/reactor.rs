//! Reactors on the wire.

use serde_json::{Map, Value, json};

use crate::app::{Caller, NamedQuery};
use crate::bounds::{CODE_CHARS_MAX, NAME_CHARS_MAX};
use crate::domain::id::ReactorId;
use crate::domain::merge_patch::merge_patch;
use crate::domain::mistakes::Mistakes;
use crate::domain::person::ConsoleRole;
use crate::domain::program::Runtime;
use crate::domain::reactor::{Reactor, ReactorSettings};
use crate::http::wire::page::named_query;
use crate::http::wire::proxy::{application, configuration};
use crate::http::wire::{Fields, Json, Object, OffsetPage, Query, WRONG_TYPE};
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;

const FORMULA: &str =
    "Formulas were removed from the published interface: send the program as code.";

/// The settings in a body.
pub(crate) fn parse(body: &Value) -> Result<ReactorSettings, Mistakes> {
    let mut fields = Fields::of_body(body);
    let name = fields.bounded_text("name", NAME_CHARS_MAX).map(String::from);
    if fields.value("formula").is_some() && fields.value("code").is_none() {
        fields.wrong("formula", FORMULA);
    }
    let code = fields.bounded_text("code", CODE_CHARS_MAX);
    let code = code.map(|code| Secret::new(String::from(code)));
    let application = application(&mut fields);
    let configuration = configuration(&mut fields);
    let runtime = match fields.value("runtime") {
        Some(value) => Runtime::read(value, "runtime", &mut fields.mistakes),
        None => None,
    };
    match (name, code) {
        (Some(name), Some(code)) if fields.mistakes.is_empty() => {
            Ok(ReactorSettings { name, code, application, configuration, runtime })
        }
        _ => Err(fields.mistakes),
    }
}

/// The settings of a reactor after a merge patch.
pub(crate) fn parse_patch(patch: &Value, known: &Reactor) -> Result<ReactorSettings, Mistakes> {
    if !patch.is_object() {
        return Err(Mistakes::one("$", WRONG_TYPE));
    }
    let mut settings = Secret::new(settings_value(known));
    let too_deep = |_| Mistakes::one("$", "The patch is nested too deeply.");
    merge_patch(settings.expose_mut(), patch).map_err(too_deep)?;
    parse(settings.expose())
}

/// The body that would create the reactor with its current settings.
fn settings_value(reactor: &Reactor) -> Value {
    let settings = &reactor.settings;
    let entry = |(name, value): &(String, Secret<String>)| {
        (name.clone(), Value::from(value.expose().as_str()))
    };
    let configuration: Map<_, _> = settings.configuration.0.iter().map(entry).collect();
    // The record's text was JSON when it was read.
    let runtime = settings.runtime.as_ref().map(|runtime| {
        serde_json::from_str(runtime.given().expose()).unwrap_or(Value::Bool(false))
    });
    json!({
        "name": settings.name,
        "code": settings.code.expose(),
        "application": settings.application.map(|id| json!({"id": id.to_string()})),
        "configuration": configuration,
        "runtime": runtime,
    })
}

pub(crate) fn parse_query(query: &Query) -> Result<(NamedQuery<ReactorId>, OffsetPage), Mistakes> {
    named_query(query, ReactorId::parse)
}

/// The answer to a write. A repetition shows the code and the configuration only while the reactor
/// exists.
pub(crate) fn answer(reactor: &Reactor, status: AnswerStatus) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(status);
    let subject = answer.subject(SubjectId::Reactor(reactor.id), &reactor.answer_seed, &[]);
    render_members(reactor, Some(subject), ReactorDetail::All).close_into(&mut answer);
    answer
}

/// The part of a reactor that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReactorDetail {
    All,
    /// Without the code and the configuration: each may hold a secret of a destination.
    WithoutSecrets,
}

impl ReactorDetail {
    /// A viewer of the console cannot call a destination, not even outside of the vault.
    pub(crate) fn of(caller: &Caller) -> Self {
        if caller.role() == Some(ConsoleRole::Viewer) { Self::WithoutSecrets } else { Self::All }
    }
}

pub(crate) fn render(reactor: &Reactor, detail: ReactorDetail) -> Json {
    render_members(reactor, None, detail).close()
}

fn render_members(reactor: &Reactor, subject: Option<usize>, detail: ReactorDetail) -> Object {
    let settings = &reactor.settings;
    let mut object = Object::new();
    object.display("id", reactor.id);
    object.display("tenant_id", reactor.tenant);
    object.text("name", &settings.name);
    // A change is complete before it is answered.
    object.text("state", "active");
    if let Some(subject) = subject {
        object.keep(PartLifetime::With(subject));
    }
    if detail == ReactorDetail::All {
        object.text("code", settings.code.expose());
        object.object("configuration", |entries| {
            for (name, value) in &settings.configuration.0 {
                entries.text(name, value.expose());
            }
        });
    }
    if let Some(id) = settings.application {
        object.object("application", |application| application.display("id", id));
    }
    if let Some(runtime) = &settings.runtime {
        object.json("runtime", runtime.given().expose());
    }
    if subject.is_some() {
        object.keep(PartLifetime::Always);
    }
    object.display("created_by", reactor.created_by);
    object.time("created_at", reactor.created_at);
    object.optional_display("modified_by", reactor.modified_by);
    object.optional_time("modified_at", reactor.modified_at);
    object
}
