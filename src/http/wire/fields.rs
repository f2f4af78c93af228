//! Reads JSON objects member by member and collects every mistake under its dotted path. As in the
//! published interface, `null` is the same as absent, and unknown members are ignored.

use serde_json::{Map, Value};

use crate::domain::mistakes::Mistakes;

/// The published service's message for a member of the wrong type.
pub(crate) const WRONG_TYPE: &str = "Deserialization error, invalid input.";

#[derive(Debug)]
pub(crate) struct Fields<'a> {
    members: Option<&'a Map<String, Value>>,
    path: String,
    pub(crate) mistakes: Mistakes,
}

impl<'a> Fields<'a> {
    /// The body of a request. Anything but an object is a mistake.
    pub(crate) fn of_body(value: &'a Value) -> Self {
        Self::at(value, String::new())
    }

    /// A member of a larger value, at its path.
    pub(crate) fn at(value: &'a Value, path: String) -> Self {
        let mut fields = Self { members: value.as_object(), path, mistakes: Mistakes::new() };
        if fields.members.is_none() {
            let path = if fields.path.is_empty() { String::from("$") } else { fields.path.clone() };
            fields.mistakes.add(path, WRONG_TYPE);
        }
        fields
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.members?.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        self.typed(name, value.as_str())
    }

    pub(crate) fn required_text(&mut self, name: &str) -> Option<&'a str> {
        self.require(name);
        self.text(name)
    }

    fn require(&mut self, name: &str) {
        if self.value(name).is_none() {
            self.wrong(name, format!("The {name} is required."));
        }
    }

    /// A text that `parse` accepts.
    pub(crate) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        message: &str,
    ) -> Option<T> {
        let parsed = parse(self.text(name)?);
        if parsed.is_none() {
            self.wrong(name, message);
        }
        parsed
    }

    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        message: &str,
    ) -> Option<T> {
        self.require(name);
        self.parsed(name, parse, message)
    }

    /// A required text of 1 to `max` characters.
    pub(crate) fn bounded_text(&mut self, name: &str, max: usize) -> Option<&'a str> {
        let text = self.required_text(name)?;
        if (1..=max).contains(&text.chars().count()) {
            return Some(text);
        }
        self.wrong(name, format!("The {name} has 1 to {max} characters."));
        None
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        let value = self.value(name)?;
        self.typed(name, value.as_bool())
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.value(name)?;
        self.typed(name, value.as_u64())
    }

    pub(crate) fn list(&mut self, name: &str, max: usize) -> Option<&'a [Value]> {
        let value = self.value(name)?;
        let items = self.typed(name, value.as_array())?;
        if items.len() <= max {
            return Some(items);
        }
        self.wrong(name, format!("There may be at most {max}."));
        None
    }

    /// A list of texts with their indexes. An item that is not a text is a mistake under its index,
    /// and is left out.
    pub(crate) fn texts(&mut self, name: &str, max: usize) -> Option<Vec<(usize, &'a str)>> {
        let items = self.list(name, max)?;
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push((at, text)),
                None => self.wrong(&format!("{name}[{at}]"), WRONG_TYPE),
            }
        }
        Some(texts)
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<&'a Map<String, Value>> {
        let value = self.value(name)?;
        self.typed(name, value.as_object())
    }

    pub(crate) fn wrong(&mut self, name: &str, message: impl Into<String>) {
        // A value that is not an object is one mistake, not one for each missing member.
        if self.members.is_none() {
            return;
        }
        let path = self.path_of(name);
        self.mistakes.add(path, message);
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { String::from(name) } else { format!("{}.{name}", self.path) }
    }

    fn typed<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.wrong(name, WRONG_TYPE);
        }
        value
    }
}
