//! Reads transforms from the JSON of a request or a record, and collects all mistakes.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::bounds::{
    CODE_CHARS_MAX, PROXY_HEADER_NAME_CHARS_MAX, PROXY_IDENTIFIER_CHARS_MAX,
    PROXY_TRANSFORMS_BYTES_MAX, PROXY_TRANSFORMS_MAX,
};
use crate::domain::connection_headers::is_of_connection;
use crate::domain::mistakes::Mistakes;
use crate::domain::pattern::{InvalidPattern, Pattern};
use crate::domain::program::Runtime;
use crate::domain::proxy::location::Location;
use crate::domain::proxy::transform::{Given, Matcher, Side, Transform, Transforms};
use crate::secret::{Secret, SecretBuffer};

const NOT_AN_OBJECT: &str = "Deserialization error, invalid input.";
const TYPES: &str =
    "The type must be code, mask, tokenize, append_json, append_text or append_header.";
const ONE_CODE: &str = "A list has at most one transform of the type code.";
const BOTH: &str = "Give one transform or a list of transforms, not both.";
const REQUEST_MASK: &str = "A mask is for the answers of the destination.";
const IDENTIFIER: &str = "Identifiers are different texts of 1 to 100 characters.";

/// Reads the members of one side. `null`, an absent member and an empty list are no transforms.
pub fn read_transforms(
    members: &Map<String, Value>,
    side: Side,
    mistakes: &mut Mistakes,
) -> Transforms {
    let member = |name| members.get(name).filter(|value: &&Value| !value.is_null());
    let one = member(side.one());
    let list = member(side.list());
    let is_list_filled = list.is_some_and(|list| list.as_array().is_none_or(|it| !it.is_empty()));
    if one.is_some() && is_list_filled {
        mistakes.add(side.list(), BOTH);
        return Transforms::default();
    }
    if let Some(one) = one {
        let read = read_one(one, side.one(), side, mistakes);
        return Transforms {
            given: Given::One(text_of(one, side.one(), mistakes)),
            list: read.into_iter().collect(),
            places: vec![0],
        };
    }
    let Some(list) = list else { return Transforms::default() };
    let Some(items) = list.as_array() else {
        mistakes.add(side.list(), NOT_AN_OBJECT);
        return Transforms::default();
    };
    if items.len() > PROXY_TRANSFORMS_MAX {
        mistakes.add(side.list(), format!("There may be at most {PROXY_TRANSFORMS_MAX}."));
        return Transforms::default();
    }
    let (mut read, mut places) = (Vec::with_capacity(items.len()), Vec::new());
    let (mut identifiers, mut has_code) = (HashSet::new(), false);
    for (at, item) in items.iter().enumerate() {
        let path = format!("{}[{at}]", side.list());
        let transform = read_one(item, &path, side, mistakes);
        if let Some(Transform::Tokenize { identifier: Some(identifier), .. }) = &transform
            && !identifiers.insert(identifier.clone())
        {
            mistakes.add(format!("{path}.options.identifier"), IDENTIFIER);
        }
        if matches!(transform, Some(Transform::Code { .. }))
            && std::mem::replace(&mut has_code, true)
        {
            mistakes.add(format!("{path}.type"), ONE_CODE);
        }
        places.extend(transform.is_some().then_some(at));
        read.extend(transform);
    }
    Transforms { given: Given::List(text_of(list, side.list(), mistakes)), list: read, places }
}

/// The JSON text that answers repeat.
fn text_of(value: &Value, path: &str, mistakes: &mut Mistakes) -> Secret<String> {
    let mut text = SecretBuffer::with_capacity(256);
    text.json(value);
    if text.len() > PROXY_TRANSFORMS_BYTES_MAX {
        let most = PROXY_TRANSFORMS_BYTES_MAX;
        let message = format!("The transforms of one side have at most {most} bytes as JSON.");
        mistakes.add(path, message);
    }
    text.finish_text()
}

/// One transform under its path, with its members. An empty text is the same as an absent member:
/// the published Terraform provider sends it for members that a type does not have.
struct Reader<'a, 'm> {
    members: &'a Map<String, Value>,
    path: String,
    mistakes: &'m mut Mistakes,
}

fn read_one(value: &Value, path: &str, side: Side, mistakes: &mut Mistakes) -> Option<Transform> {
    let Some(members) = value.as_object() else {
        mistakes.add(path, NOT_AN_OBJECT);
        return None;
    };
    let mut reader = Reader { members, path: String::from(path), mistakes };
    let kind = reader.text("type").map(str::to_ascii_lowercase);
    match kind.as_deref() {
        None if !members.contains_key("code") => {
            reader.wrong("type", TYPES);
            None
        }
        None | Some("code") => reader.code(),
        Some("mask") => {
            if side == Side::Request {
                reader.wrong("type", REQUEST_MASK);
            }
            reader.mask()
        }
        Some("tokenize") => reader.options()?.tokenize(),
        Some("append_json") => reader.options()?.append_json(),
        Some("append_text") => reader.options()?.append_text(),
        Some("append_header") => reader.options()?.append_header(),
        Some(_) => {
            reader.wrong("type", TYPES);
            None
        }
    }
}

impl<'a> Reader<'a, '_> {
    fn wrong(&mut self, name: &str, message: impl Into<String>) {
        self.mistakes.add(format!("{}.{name}", self.path), message);
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        if !value.is_string() {
            self.wrong(name, NOT_AN_OBJECT);
        }
        value.as_str().filter(|text| !text.is_empty())
    }

    fn required(&mut self, name: &str) -> Option<&'a str> {
        let is_typed = self.value(name).is_none_or(Value::is_string);
        let text = self.text(name);
        if text.is_none() && is_typed {
            self.wrong(name, format!("The {name} is required."));
        }
        text
    }

    fn code(&mut self) -> Option<Transform> {
        let code = self.required("code");
        if code.is_some_and(|code| code.chars().count() > CODE_CHARS_MAX) {
            self.wrong("code", format!("The code has 1 to {CODE_CHARS_MAX} characters."));
            return None;
        }
        let options = self.value("options").and_then(Value::as_object);
        let runtime = options.and_then(|it| it.get("runtime")).filter(|it| !it.is_null());
        let runtime = match runtime {
            Some(runtime) => {
                let path = format!("{}.options.runtime", self.path);
                Some(Runtime::read(runtime, &path, self.mistakes)?)
            }
            None => None,
        };
        Some(Transform::Code { code: Secret::new(String::from(code?)), runtime })
    }

    fn mask(&mut self) -> Option<Transform> {
        let replacement = self.required("replacement");
        let mut characters = replacement.unwrap_or_default().chars();
        let replacement = characters.next().filter(|_| characters.next().is_none());
        if replacement.is_none() && self.text("replacement").is_some() {
            self.wrong("replacement", "The replacement is one character.");
        }
        let matcher = self.required("matcher").map(str::to_ascii_lowercase);
        let matcher = match matcher.as_deref() {
            None => None,
            Some("chase_stratus_pan") => {
                if self.text("expression").is_some() {
                    self.wrong("expression", "Only the matcher regex has an expression.");
                }
                Some(Matcher::ChaseStratusPan)
            }
            Some("regex") => {
                let expression = self.required("expression")?;
                self.pattern(expression).map(Matcher::Pattern)
            }
            Some(_) => {
                self.wrong("matcher", "The matcher must be regex or chase_stratus_pan.");
                None
            }
        };
        Some(Transform::Mask { matcher: matcher?, replacement: replacement? })
    }

    fn pattern(&mut self, expression: &str) -> Option<Pattern> {
        let problem = match Pattern::parse(expression) {
            Ok(pattern) if pattern.groups() > 0 => return Some(pattern),
            Ok(_) => "The expression needs at least one group: its text is what is replaced.",
            Err(InvalidPattern::Malformed) => {
                "The expression is malformed, or it uses look-around, back references or Unicode \
                 classes, which this server does not have."
            }
            Err(InvalidPattern::TooLarge) => "The expression is too large.",
        };
        self.wrong("expression", problem);
        None
    }

    /// The member `options`, which holds the other members for most types.
    fn options(&mut self) -> Option<Reader<'a, '_>> {
        let Some(members) = self.value("options").and_then(Value::as_object) else {
            let is_absent = self.value("options").is_none();
            let message = if is_absent { "The options are required." } else { NOT_AN_OBJECT };
            self.wrong("options", message);
            return None;
        };
        let path = format!("{}.options", self.path);
        Some(Reader { members, path, mistakes: self.mistakes })
    }

    fn tokenize(&mut self) -> Option<Transform> {
        let identifier = self.text("identifier");
        if identifier.is_some_and(|it| it.chars().count() > PROXY_IDENTIFIER_CHARS_MAX) {
            self.wrong("identifier", IDENTIFIER);
        }
        let token = self.value("token");
        if !token.is_some_and(Value::is_object) {
            let message = if token.is_none() { "The token is required." } else { NOT_AN_OBJECT };
            self.wrong("token", message);
            return None;
        }
        let token = Secret::new(token?.clone());
        Some(Transform::Tokenize { token, identifier: identifier.map(String::from) })
    }

    fn append_json(&mut self) -> Option<Transform> {
        let location = self.required("location").map(Location::parse);
        if location == Some(None) {
            self.wrong("location", "The location is a path such as $.card.token.");
        }
        let value = self.value("value");
        if value.is_none() {
            self.wrong("value", "The value is required.");
        }
        let value = Secret::new(value?.clone());
        Some(Transform::AppendJson { location: location.flatten()?, value })
    }

    fn append_text(&mut self) -> Option<Transform> {
        let value = self.required("value")?;
        Some(Transform::AppendText { value: Secret::new(String::from(value)) })
    }

    fn append_header(&mut self) -> Option<Transform> {
        let value = self.required("value").map(|value| Secret::new(String::from(value)));
        let name = self.required("location")?;
        let is_name = name.len() <= PROXY_HEADER_NAME_CHARS_MAX
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let lower = name.to_ascii_lowercase();
        if !is_name {
            self.wrong(
                "location",
                "The location is the name of a header: letters, digits, - and _.",
            );
        } else if lower.starts_with("bt-") || is_of_connection(&lower) {
            self.wrong("location", "A transform cannot set this header.");
        }
        Some(Transform::AppendHeader { name: String::from(name), value: value? })
    }
}
