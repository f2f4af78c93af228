//! Reactors on the wire.

use serde_json::{Map, Value, json};

use crate::bounds::{CODE_CHARS_MAX, NAME_CHARS_MAX};
use crate::domain::id::ReactorId;
use crate::domain::mistakes::Mistakes;
use crate::domain::program::Runtime;
use crate::domain::reactor::{Reactor, ReactorSettings};
use crate::http::wire::named::{
    Detail, NamedShape, application, configuration, configuration_value, fill_configuration,
};
use crate::http::wire::{Fields, Object};
use crate::idempotency::SubjectId;
use crate::secret::Secret;

const FORMULA: &str =
    "Formulas were removed from the published interface: send the program as code.";

impl NamedShape for Reactor {
    const PATH: &'static str = "/reactors/";

    fn parse_id(text: &str) -> Option<ReactorId> {
        ReactorId::parse(text)
    }

    fn subject_id(&self) -> SubjectId {
        SubjectId::Reactor(self.id)
    }

    fn parse(body: &Value, _: Option<&Self>) -> Result<ReactorSettings, Mistakes> {
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

    fn body(&self, _: &Map<String, Value>) -> Value {
        let settings = &self.settings;
        // The record's text was JSON when it was read.
        let runtime = settings.runtime.as_ref().map(|runtime| {
            serde_json::from_str(runtime.given().expose()).unwrap_or(Value::Bool(false))
        });
        json!({
            "name": settings.name,
            "code": settings.code.expose(),
            "application": settings.application.map(|id| json!({"id": id.to_string()})),
            "configuration": configuration_value(&settings.configuration),
            "runtime": runtime,
        })
    }

    fn fill(&self, object: &mut Object, detail: Detail) {
        let settings = &self.settings;
        if detail == Detail::All {
            object.text("code", settings.code.expose());
            fill_configuration(object, &settings.configuration);
        }
        if let Some(id) = settings.application {
            object.object("application", |application| application.display("id", id));
        }
        if let Some(runtime) = &settings.runtime {
            object.json("runtime", runtime.given().expose());
        }
    }
}
