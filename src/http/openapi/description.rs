//! The description of a route for people: everything that the routing table does not say.
//! `document` joins it with the row.

use std::borrow::Cow;

use crate::domain::application::ApplicationKind;
use crate::http::Schema;
use crate::http::openapi::Tag;

const JSON: &str = "application/json";

/// The description of all rows of the routing table with one name.
#[derive(Debug)]
pub(super) struct Description {
    /// The name of the rows.
    pub(super) route: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) request: Option<Content>,
    pub(super) answers: Vec<Answer>,
    /// Statuses that the row does not imply, or that have a further reason.
    pub(super) errors: Vec<(u16, &'static str)>,
    /// The kind of key that it is called with, if the permissions do not say it.
    pub(super) key: Option<ApplicationKind>,
    /// False for an operation of the row's callers without a key: persons of the sign-on.
    pub(super) takes_key: bool,
}

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) place: ParameterLocation,
    pub(super) name: &'static str,
    pub(super) schema: Schema,
    pub(super) need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Optional,
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterLocation {
    Header,
    Path,
    Query,
}

#[derive(Debug)]
pub(super) struct Answer {
    /// `None` for every status that has no description of its own.
    pub(super) status: Option<u16>,
    pub(super) about: &'static str,
    pub(super) content: Option<Content>,
    /// The names of headers among the components.
    pub(super) headers: Vec<&'static str>,
}

#[derive(Debug)]
pub(super) struct Content {
    pub(super) media_type: &'static str,
    pub(super) schema: Schema,
    pub(super) examples: Vec<Example>,
}

#[derive(Debug)]
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    /// The text of a JSON value, or of the body if it has another media type.
    pub(super) text: Cow<'static, str>,
}

impl ParameterLocation {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Path => "path",
            Self::Query => "query",
        }
    }
}

impl Description {
    pub(super) const fn new(route: &'static str, tag: Tag, summary: &'static str) -> Self {
        Self {
            route,
            tag,
            summary,
            about: "",
            parameters: Vec::new(),
            request: None,
            answers: Vec::new(),
            errors: Vec::new(),
            key: None,
            takes_key: true,
        }
    }

    pub(super) fn about(mut self, text: &'static str) -> Self {
        self.about = text;
        self
    }

    /// Examples call it with the key of a public application.
    pub(super) const fn with_public_key(mut self) -> Self {
        self.key = Some(ApplicationKind::Public);
        self
    }

    /// No key may call it.
    pub(super) const fn without_key(mut self) -> Self {
        self.takes_key = false;
        self
    }

    pub(super) fn path(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(ParameterLocation::Path, name, schema, Need::Required)
    }

    pub(super) fn query(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(ParameterLocation::Query, name, schema, Need::Optional)
    }

    pub(super) fn required_query(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(ParameterLocation::Query, name, schema, Need::Required)
    }

    pub(super) fn header(self, name: &'static str, schema: Schema) -> Self {
        self.parameter(ParameterLocation::Header, name, schema, Need::Optional)
    }

    /// The body. Its media type comes from the row.
    pub(super) fn takes(mut self, schema: Schema) -> Self {
        self.request = Some(Content { media_type: JSON, schema, examples: Vec::new() });
        self
    }

    /// An example of the body that was described last.
    pub(super) fn sends(
        mut self,
        name: &'static str,
        summary: &'static str,
        text: &'static str,
    ) -> Self {
        if let Some(content) = &mut self.request {
            let text = Cow::Borrowed(text);
            content.examples.push(Example { name, summary, text });
        }
        self
    }

    pub(super) fn answers(self, status: u16, about: &'static str, schema: Schema) -> Self {
        self.answers_as(status, about, JSON, schema)
    }

    pub(super) fn answers_as(
        self,
        status: u16,
        about: &'static str,
        media_type: &'static str,
        schema: Schema,
    ) -> Self {
        let content = Content { media_type, schema, examples: Vec::new() };
        self.answer(Some(status), about, Some(content))
    }

    /// An answer of any other status and any media type.
    pub(super) fn answers_otherwise(self, about: &'static str) -> Self {
        let content = Content { media_type: "*/*", schema: Schema::any(), examples: Vec::new() };
        self.answer(None, about, Some(content))
    }

    pub(super) fn answers_nothing(self, status: u16, about: &'static str) -> Self {
        self.answer(Some(status), about, None)
    }

    /// An example of the answer that was described last.
    pub(super) fn shows(
        mut self,
        name: &'static str,
        summary: &'static str,
        text: impl Into<Cow<'static, str>>,
    ) -> Self {
        let text = text.into();
        let content = self.answers.last_mut().and_then(|answer| answer.content.as_mut());
        if let Some(content) = content {
            content.examples.push(Example { name, summary, text });
        }
        self
    }

    /// A header of the answer that was described last.
    pub(super) fn with_header(mut self, name: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push(name);
        }
        self
    }

    /// An error that the row does not imply, or a further reason for one that it does.
    pub(super) fn fails(mut self, status: u16, about: &'static str) -> Self {
        self.errors.push((status, about));
        self
    }

    fn answer(
        mut self,
        status: Option<u16>,
        about: &'static str,
        content: Option<Content>,
    ) -> Self {
        self.answers.push(Answer { status, about, content, headers: Vec::new() });
        self
    }

    fn parameter(
        mut self,
        place: ParameterLocation,
        name: &'static str,
        schema: Schema,
        need: Need,
    ) -> Self {
        self.parameters.push(Parameter { place, name, schema, need });
        self
    }
}
