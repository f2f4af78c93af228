//! JSON Schemas of the OpenAPI document, built member by member.

use serde_json::{Map, Value, json};

/// A schema of JSON Schema 2020-12, which OpenAPI 3.1 uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Schema {
    keywords: Map<String, Value>,
    /// The names of members that are always present.
    required: Vec<&'static str>,
    properties: Map<String, Value>,
}

impl Schema {
    pub(crate) fn any() -> Self {
        Self::default()
    }

    pub(crate) fn text() -> Self {
        Self::of_type("string")
    }

    pub(crate) fn uuid() -> Self {
        Self::text().with("format", "uuid")
    }

    /// A time in answers, such as `2026-01-31T09:30:00.123456+00:00`.
    pub(crate) fn time() -> Self {
        Self::text().with("format", "date-time")
    }

    pub(crate) fn integer() -> Self {
        Self::of_type("integer")
    }

    pub(crate) fn flag() -> Self {
        Self::of_type("boolean")
    }

    pub(crate) fn null() -> Self {
        Self::of_type("null")
    }

    /// A text that is one of these words. A word that occurs twice counts once.
    pub(crate) fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = Vec::new();
        for word in words {
            if !known.contains(&word) {
                known.push(word);
            }
        }
        Self::text().with("enum", known)
    }

    pub(crate) fn list(items: Self) -> Self {
        Self::of_type("array").with("items", items.into_value())
    }

    /// An object whose members have names that the caller chooses.
    pub(crate) fn map(values: Self) -> Self {
        Self::of_type("object").with("additionalProperties", values.into_value())
    }

    pub(crate) fn object() -> Self {
        Self::of_type("object")
    }

    /// A value that fits at least one of these schemas.
    pub(crate) fn any_of(schemas: impl IntoIterator<Item = Self>) -> Self {
        Self::any().with("anyOf", schemas.into_iter().map(Self::into_value).collect::<Vec<_>>())
    }

    /// A reference to the schema of this name among the components.
    pub(crate) fn reference(name: &str) -> Self {
        Self::any().with("$ref", format!("#/components/schemas/{name}"))
    }

    /// A member that is always present.
    #[must_use]
    pub(crate) fn has(mut self, name: &'static str, member: Self) -> Self {
        self.required.push(name);
        self.may_have(name, member)
    }

    /// A member that may be absent.
    #[must_use]
    pub(crate) fn may_have(mut self, name: &'static str, member: Self) -> Self {
        self.properties.insert(String::from(name), member.into_value());
        self
    }

    /// A member of a request that may be absent, or `null`, which counts as absent.
    #[must_use]
    pub(crate) fn takes(self, name: &'static str, member: Self) -> Self {
        self.may_have(name, member.or_null())
    }

    /// Allows no other members: the server decides about all members of its answers.
    #[must_use]
    pub(crate) fn closed(self) -> Self {
        self.with("additionalProperties", false)
    }

    /// The object has at least one of these sets of members.
    #[must_use]
    pub(crate) fn with_one_of(self, sets: &[&[&str]]) -> Self {
        let sets = sets.iter().map(|names| json!({ "required": names }));
        self.with("anyOf", sets.collect::<Vec<_>>())
    }

    #[must_use]
    pub(crate) fn or_null(mut self) -> Self {
        if let Some(Value::Array(words)) = self.keywords.get_mut("enum") {
            words.push(Value::Null);
        }
        if let Some(kind) = self.keywords.get_mut("type") {
            if kind.is_string() {
                *kind = json!([kind.clone(), "null"]);
            }
            return self;
        }
        if !["$ref", "anyOf"].iter().any(|name| self.keywords.contains_key(*name)) {
            // Any value may be null.
            return self;
        }
        let about = self.keywords.shift_remove("description");
        let mut either = Self::any_of([self, Self::null()]);
        if let Some(about) = about {
            either.keywords.insert(String::from("description"), about);
        }
        either
    }

    #[must_use]
    pub(crate) fn about(self, text: &str) -> Self {
        self.with("description", text)
    }

    #[must_use]
    pub(crate) fn chars(self, min: usize, max: usize) -> Self {
        let schema = if min > 0 { self.with("minLength", min) } else { self };
        schema.with("maxLength", max)
    }

    #[must_use]
    pub(crate) fn pattern(self, pattern: &str) -> Self {
        self.with("pattern", pattern)
    }

    #[must_use]
    pub(crate) fn between(self, min: usize, max: usize) -> Self {
        self.with("minimum", min).with("maximum", max)
    }

    #[must_use]
    pub(crate) fn at_least(self, min: usize) -> Self {
        self.with("minimum", min)
    }

    #[must_use]
    pub(crate) fn up_to_items(self, max: usize) -> Self {
        self.with("maxItems", max)
    }

    #[must_use]
    pub(crate) fn at_least_items(self, min: usize) -> Self {
        self.with("minItems", min)
    }

    #[must_use]
    pub(crate) fn up_to_members(self, max: usize) -> Self {
        self.with("maxProperties", max)
    }

    /// The names of members have at most this many characters.
    #[must_use]
    pub(crate) fn names_up_to(self, max: usize) -> Self {
        self.with("propertyNames", json!({ "maxLength": max }))
    }

    #[must_use]
    pub(crate) fn or_else(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    #[must_use]
    pub(crate) fn example(self, value: impl Into<Value>) -> Self {
        self.with("examples", vec![value.into()])
    }

    #[must_use]
    pub(crate) fn deprecated(self) -> Self {
        self.with("deprecated", true)
    }

    pub(crate) fn into_value(self) -> Value {
        let mut members = self.keywords;
        if !self.required.is_empty() {
            members.insert(String::from("required"), Value::from(self.required));
        }
        if !self.properties.is_empty() {
            members.insert(String::from("properties"), Value::Object(self.properties));
        }
        Value::Object(members)
    }

    fn of_type(name: &str) -> Self {
        Self::any().with("type", name)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.keywords.insert(String::from(name), value.into());
        self
    }
}
