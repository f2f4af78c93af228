//! Proxies and reactors on the wire, as far as they are alike.

use serde_json::{Map, Value};

use crate::app::{Caller, Named, NamedQuery, Stamps};
use crate::bounds::{
    PROXY_CONFIGURATION_BYTES_MAX, PROXY_CONFIGURATION_MAX, PROXY_CONFIGURATION_NAME_CHARS_MAX,
};
use crate::domain::id::ApplicationId;
use crate::domain::merge_patch::merge_patch;
use crate::domain::mistakes::Mistakes;
use crate::domain::name_filter::NameFilter;
use crate::domain::person::ConsoleRole;
use crate::domain::proxy::Configuration;
use crate::http::wire::page::wanted_ids;
use crate::http::wire::{Fields, Json, Object, OffsetPage, Query, WRONG_TYPE};
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;

const NO_APPLICATION: &str = "There is no such public or private application.";

pub(crate) trait NamedShape: Named<Id: std::fmt::Display> {
    /// The path before the id.
    const PATH: &'static str;

    fn parse_id(text: &str) -> Option<Self::Id>;
    fn subject_id(&self) -> SubjectId;
    /// The settings in a body. `known` is the record that they replace.
    fn parse(body: &Value, known: Option<&Self>) -> Result<Self::Settings, Mistakes>;
    /// The body that would create the record with its current settings, without those that the
    /// members of a patch replace by their other spelling.
    fn body(&self, patch: &Map<String, Value>) -> Value;
    /// Writes the members that a repeated answer shows only while the record exists.
    fn fill(&self, object: &mut Object, detail: Detail);
}

/// The part of a record that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    All,
    /// Without the members that may hold a secret of a destination.
    WithoutSecrets,
}

impl Detail {
    /// A viewer of the console cannot call a destination, not even outside of the vault.
    pub(crate) fn of(caller: &Caller) -> Self {
        if caller.role() == Some(ConsoleRole::Viewer) { Self::WithoutSecrets } else { Self::All }
    }
}

/// The settings of a record after a merge patch.
pub(crate) fn parse_patch<R: NamedShape>(
    patch: &Value,
    known: &R,
) -> Result<R::Settings, Mistakes> {
    let Some(changes) = patch.as_object() else {
        return Err(Mistakes::one("$", WRONG_TYPE));
    };
    let mut body = Secret::new(known.body(changes));
    let too_deep = |_| Mistakes::one("$", "The patch is nested too deeply.");
    merge_patch(body.expose_mut(), patch).map_err(too_deep)?;
    R::parse(body.expose(), Some(known))
}

pub(crate) fn parse_query<R: NamedShape>(
    query: &Query,
) -> Result<(NamedQuery<R::Id>, OffsetPage), Mistakes> {
    let mut mistakes = Mistakes::new();
    let page = OffsetPage::parse(query, &mut mistakes);
    mistakes.into_result()?;
    let name = query.first("name").filter(|text| !text.is_empty()).map(NameFilter::new);
    let ids = wanted_ids(query, R::parse_id);
    Ok((NamedQuery { ids, name, skip: page.skip(), take: page.size }, page))
}

/// The answer to a write. A repetition shows the settings only while the record exists.
pub(crate) fn answer<R: NamedShape>(record: &R, status: AnswerStatus) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(status);
    let subject = answer.subject(record.subject_id(), record.stamps().answer_seed, &[]);
    members(record, Some(subject), Detail::All).close_into(&mut answer);
    answer
}

pub(crate) fn render<R: NamedShape>(record: &R, detail: Detail) -> Json {
    members(record, None, detail).close()
}

fn members<R: NamedShape>(record: &R, subject: Option<usize>, detail: Detail) -> Object {
    let Stamps { tenant, created_by, created_at, modified_by, modified_at, .. } = record.stamps();
    let mut object = Object::new();
    object.display("id", record.owner().1);
    object.display("tenant_id", tenant);
    object.text("name", record.name());
    // A change is complete before it is answered.
    object.text("state", "active");
    if let Some(subject) = subject {
        object.keep(PartLifetime::With(subject));
    }
    record.fill(&mut object, detail);
    if subject.is_some() {
        object.keep(PartLifetime::Always);
    }
    object.display("created_by", created_by);
    object.time("created_at", created_at);
    object.optional_display("modified_by", modified_by);
    object.optional_time("modified_at", modified_at);
    object
}

pub(crate) fn application(fields: &mut Fields<'_>) -> Option<ApplicationId> {
    let value = fields.value("application")?;
    let mut inner = Fields::at(value, String::from("application"));
    let id = inner.required("id", ApplicationId::parse, NO_APPLICATION);
    fields.mistakes.append(inner.mistakes);
    id
}

pub(crate) fn configuration(fields: &mut Fields<'_>) -> Configuration {
    let Some(members) = fields.object("configuration") else { return Configuration::default() };
    let mut entries = Vec::new();
    let mut bytes = 0_usize;
    for (name, value) in members {
        let is_named = (1..=PROXY_CONFIGURATION_NAME_CHARS_MAX).contains(&name.chars().count());
        match value {
            Value::Null => (),
            _ if !is_named => {
                let max = PROXY_CONFIGURATION_NAME_CHARS_MAX;
                fields.wrong("configuration", format!("A name has 1 to {max} characters."));
            }
            Value::String(text) => {
                bytes = bytes.saturating_add(name.len()).saturating_add(text.len());
                entries.push((name.clone(), Secret::new(text.clone())));
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                fields.wrong(&format!("configuration.{name}"), WRONG_TYPE);
            }
        }
    }
    if entries.len() > PROXY_CONFIGURATION_MAX {
        fields.wrong("configuration", format!("There may be at most {PROXY_CONFIGURATION_MAX}."));
    }
    if bytes > PROXY_CONFIGURATION_BYTES_MAX {
        let max = PROXY_CONFIGURATION_BYTES_MAX;
        fields.wrong("configuration", format!("Names and values have at most {max} bytes."));
    }
    Configuration(entries)
}

pub(crate) fn configuration_value(configuration: &Configuration) -> Value {
    let entry = |(name, value): &(String, Secret<String>)| {
        (name.clone(), Value::from(value.expose().as_str()))
    };
    Value::Object(configuration.0.iter().map(entry).collect())
}

pub(crate) fn fill_configuration(object: &mut Object, configuration: &Configuration) {
    object.object("configuration", |entries| {
        for (name, value) in &configuration.0 {
            entries.text(name, value.expose());
        }
    });
}
