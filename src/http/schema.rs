//! JSON Schemas of the OpenAPI document, built member by member.

use serde_json::{Map, Value, json};

/// A schema of JSON Schema 2020-12, which OpenAPI 3.1 uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::http) struct Schema {
    keywords: Map<String, Value>,
    /// The names of members that are always present.
    required: Vec<&'static str>,
    properties: Map<String, Value>,
}

impl Schema {
    pub(in crate::http) fn any() -> Self {
        Self::default()
    }

    pub(in crate::http) fn text() -> Self {
        Self::of_type("string")
    }

    pub(in crate::http) fn uuid() -> Self {
        Self::text().with("format", "uuid")
    }

    /// A time in answers, such as `2026-01-31T09:30:00.123456+00:00`.
    pub(in crate::http) fn time() -> Self {
        Self::text().with("format", "date-time")
    }

    pub(in crate::http) fn integer() -> Self {
        Self::of_type("integer")
    }

    pub(in crate::http) fn flag() -> Self {
        Self::of_type("boolean")
    }

    pub(in crate::http) fn null() -> Self {
        Self::of_type("null")
    }

    /// A text that is one of these words. A word that occurs twice counts once.
    pub(in crate::http) fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = Vec::new();
        for word in words {
            if !known.contains(&word) {
                known.push(word);
            }
        }
        Self::text().with("enum", known)
    }

    pub(in crate::http) fn list(items: Self) -> Self {
        Self::of_type("array").with("items", items.into_value())
    }

    /// An object whose members have names that the caller chooses.
    pub(in crate::http) fn map(values: Self) -> Self {
        Self::of_type("object").with("additionalProperties", values.into_value())
    }

    pub(in crate::http) fn object() -> Self {
        Self::of_type("object")
    }

    /// A value that fits at least one of these schemas.
    pub(in crate::http) fn any_of(schemas: impl IntoIterator<Item = Self>) -> Self {
        Self::any().with("anyOf", schemas.into_iter().map(Self::into_value).collect::<Vec<_>>())
    }

    /// A reference to the schema of this name among the components.
    pub(in crate::http) fn reference(name: &str) -> Self {
        Self::any().with("$ref", format!("#/components/schemas/{name}"))
    }

    /// A member that is always present.
    #[must_use]
    pub(in crate::http) fn has(mut self, name: &'static str, member: Self) -> Self {
        self.required.push(name);
        self.may_have(name, member)
    }

    /// A member that may be absent.
    #[must_use]
    pub(in crate::http) fn may_have(mut self, name: &'static str, member: Self) -> Self {
        self.properties.insert(String::from(name), member.into_value());
        self
    }

    /// A member of a request that may be absent, or `null`, which counts as absent.
    #[must_use]
    pub(in crate::http) fn takes(self, name: &'static str, member: Self) -> Self {
        self.may_have(name, member.or_null())
    }

    /// Allows no other members: the server decides about all members of its answers.
    #[must_use]
    pub(in crate::http) fn closed(self) -> Self {
        self.with("additionalProperties", false)
    }

    /// The object has at least one of these sets of members.
    #[must_use]
    pub(in crate::http) fn with_one_of(self, sets: &[&[&str]]) -> Self {
        let sets = sets.iter().map(|names| json!({ "required": names }));
        self.with("anyOf", sets.collect::<Vec<_>>())
    }

    #[must_use]
    pub(in crate::http) fn or_null(mut self) -> Self {
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
    pub(in crate::http) fn about(self, text: &str) -> Self {
        self.with("description", text)
    }

    #[must_use]
    pub(in crate::http) fn chars(self, min: usize, max: usize) -> Self {
        let schema = if min > 0 { self.with("minLength", min) } else { self };
        schema.with("maxLength", max)
    }

    #[must_use]
    pub(in crate::http) fn pattern(self, pattern: &str) -> Self {
        self.with("pattern", pattern)
    }

    #[must_use]
    pub(in crate::http) fn between(self, min: usize, max: usize) -> Self {
        self.with("minimum", min).with("maximum", max)
    }

    #[must_use]
    pub(in crate::http) fn at_least(self, min: usize) -> Self {
        self.with("minimum", min)
    }

    #[must_use]
    pub(in crate::http) fn up_to_items(self, max: usize) -> Self {
        self.with("maxItems", max)
    }

    #[must_use]
    pub(in crate::http) fn at_least_items(self, min: usize) -> Self {
        self.with("minItems", min)
    }

    #[must_use]
    pub(in crate::http) fn up_to_members(self, max: usize) -> Self {
        self.with("maxProperties", max)
    }

    /// The names of members have at most this many characters.
    #[must_use]
    pub(in crate::http) fn names_up_to(self, max: usize) -> Self {
        self.with("propertyNames", json!({ "maxLength": max }))
    }

    #[must_use]
    pub(in crate::http) fn or_else(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    #[must_use]
    pub(in crate::http) fn example(self, value: impl Into<Value>) -> Self {
        self.with("examples", vec![value.into()])
    }

    #[must_use]
    pub(in crate::http) fn deprecated(self) -> Self {
        self.with("deprecated", true)
    }

    pub(in crate::http) fn into_value(self) -> Value {
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
