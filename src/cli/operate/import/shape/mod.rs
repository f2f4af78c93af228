//! The shape of imported tokens: the place of each column in the body of a token, and the values
//! that every token gets.
//!
//! A column can only be data, metadata or a plain member of a token. Masks and expressions never
//! come from a column: the file may come from elsewhere, and its cells are values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::cli::operate::import::ImportCommand;
use crate::cli::support::{Exit, Failure, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Lines,
}

/// A place in the body of a token, such as `data.number`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path(Vec<String>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ColumnTarget {
    At(Path),
    /// Month and year in one column.
    Expiration,
    Ignored,
}

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) format: Format,
    pub(super) delimiter: u8,
    map: BTreeMap<String, ColumnTarget>,
    /// Set in every token. A value of the row overrides it.
    constants: Vec<(Path, Value)>,
}

const COLUMNS: [&str; 8] =
    ["id", "type", "data", "metadata", "containers", "expires_at", "privacy", "created_at"];
/// Members that only the operator or a JSON line sets.
const EXPRESSIONS: [&str; 3] = ["mask", "search_indexes", "fingerprint_expression"];

impl Shape {
    pub(super) fn parse(command: &ImportCommand) -> Result<Self> {
        let format = match command.format.as_str() {
            "csv" => Format::Csv,
            "jsonl" => Format::Lines,
            _ => return Err(Failure::new(Exit::Usage, "--format takes csv or jsonl")),
        };
        let delimiter = delimiter(command.delimiter.as_deref())?;
        let mut map = BTreeMap::new();
        for text in &command.map {
            let (column, path) = pair("--map", text, "--map pan=data.number")?;
            let place = if path == "expiration" && format == Format::Csv {
                ColumnTarget::Expiration
            } else {
                ColumnTarget::At(
                    Path::parse(path, &COLUMNS).ok_or_else(|| no_place("--map", path))?,
                )
            };
            if map.insert(String::from(column), place).is_some() {
                return Err(Failure::new(Exit::Usage, "--map names a column twice"));
            }
        }
        for column in &command.ignore {
            if map.insert(column.clone(), ColumnTarget::Ignored).is_some() {
                return Err(Failure::new(Exit::Usage, "--ignore names a column that --map names"));
            }
        }
        Ok(Self { format, delimiter, map, constants: constants(command)? })
    }

    fn place(&self, column: &str) -> Option<ColumnTarget> {
        let own = || match column {
            "expiration" if self.format == Format::Csv => Some(ColumnTarget::Expiration),
            _ => Path::parse(column, &COLUMNS).map(ColumnTarget::At),
        };
        self.map.get(column).cloned().or_else(own)
    }

    /// The places of the columns of a header. Every column must have one: data of a column that is
    /// left out by mistake would be lost.
    pub(super) fn header(&self, names: &[Vec<u8>]) -> Result<Vec<ColumnTarget>> {
        let mut places = Vec::with_capacity(names.len());
        let mut seen = BTreeSet::new();
        for (at, name) in names.iter().enumerate() {
            let name = std::str::from_utf8(name).unwrap_or_default().trim();
            let number = at.saturating_add(1);
            let Some(place) = self.place(name) else {
                let shown = printable(name).map_or_else(
                    || format!("column {number}"),
                    |name| format!("column {number}, {name}"),
                );
                return Err(Failure::new(Exit::Data, "a column has no place in a token")
                    .why(format!("{shown}; the first line of the file must name the columns"))
                    .try_this("--map COLUMN=PATH, or --ignore COLUMN"));
            };
            if let ColumnTarget::At(path) = &place
                && !seen.insert(path.clone())
            {
                let why = format!("column {number} is the second for {}", path.text());
                return Err(Failure::new(Exit::Data, "two columns have the same place")
                    .why(why)
                    .try_this("--ignore one of them, or give it another place with --map"));
            }
            places.push(place);
        }
        let missing = self.map.keys().find(|name| {
            !names.iter().any(|it| std::str::from_utf8(it).unwrap_or_default().trim() == **name)
        });
        if let Some(name) = missing {
            return Err(Failure::new(Exit::Data, "the file lacks a column that an option names")
                .why(name)
                .try_this("compare the option with the first line of the file"));
        }
        Ok(places)
    }

    /// The body for a record of a CSV file, or the path and the reason of a mistake.
    pub(super) fn of_record(
        &self,
        places: &[ColumnTarget],
        fields: Vec<Vec<u8>>,
    ) -> Result<Value, (String, &'static str)> {
        if fields.len() != places.len() {
            return Err((
                String::from("$"),
                "The row has more or fewer fields than the first line.",
            ));
        }
        let mut body = Map::new();
        for (place, field) in places.iter().zip(fields) {
            let Ok(text) = String::from_utf8(field) else {
                return Err((place.text(), "The field is not UTF-8."));
            };
            if text.is_empty() {
                continue;
            }
            match place {
                ColumnTarget::Ignored => (),
                ColumnTarget::At(path) => put(&mut body, path, path.value(text))?,
                ColumnTarget::Expiration => {
                    let wrong = "This is not a month and a year, such as 12/30 or 2030-12.";
                    let (month, year) =
                        expiration(&text).ok_or_else(|| (String::from("expiration"), wrong))?;
                    put(&mut body, &Path::of(&["data", "expiration_month"]), month.into())?;
                    put(&mut body, &Path::of(&["data", "expiration_year"]), year.into())?;
                }
            }
        }
        self.add_constants(&mut body)?;
        Ok(Value::Object(body))
    }

    pub(super) fn of_line(&self, line: Value) -> Result<Value, (String, &'static str)> {
        let Value::Object(members) = line else {
            return Err((String::from("$"), "The line is not a JSON object."));
        };
        let mut body = Map::new();
        for (name, value) in members {
            match self.map.get(&name) {
                Some(ColumnTarget::Ignored) => (),
                Some(ColumnTarget::At(path)) => put(&mut body, path, value)?,
                Some(ColumnTarget::Expiration) | None => put(&mut body, &Path(vec![name]), value)?,
            }
        }
        // A line of an export that is not a token has none of a token's members.
        if matches!(body.get("kind"), None | Some(Value::Null))
            || body.get("kind") == Some(&Value::from("token"))
        {
            self.add_constants(&mut body)?;
        }
        Ok(Value::Object(body))
    }

    fn add_constants(&self, body: &mut Map<String, Value>) -> Result<(), (String, &'static str)> {
        for (path, value) in &self.constants {
            if !path.is_in(body) {
                put(body, path, value.clone())?;
            }
        }
        Ok(())
    }
}

impl Path {
    fn parse(text: &str, members: &[&str]) -> Option<Self> {
        // A metadata key may contain dots.
        let steps: Vec<String> = match text.split_once('.') {
            Some(("metadata", key)) => vec![String::from("metadata"), String::from(key)],
            _ => text.split('.').map(String::from).collect(),
        };
        let first = steps.first()?;
        let has_steps = matches!(first.as_str(), "data" | "metadata" | "privacy" | "mask");
        let is_whole = steps.len() == 1 && !matches!(first.as_str(), "metadata" | "privacy");
        let is_right = members.contains(&first.as_str())
            && (is_whole || (has_steps && steps.len() > 1))
            && steps.iter().all(|step| !step.is_empty());
        is_right.then_some(Self(steps))
    }

    fn of(steps: &[&str]) -> Self {
        Self(steps.iter().copied().map(String::from).collect())
    }

    fn text(&self) -> String {
        self.0.join(".")
    }

    fn is_in(&self, body: &Map<String, Value>) -> bool {
        let (Some(first), rest) = (self.0.first(), self.0.get(1..).unwrap_or_default()) else {
            return false;
        };
        let mut at = body.get(first);
        for step in rest {
            at = at.and_then(|value| value.get(step));
        }
        at.is_some_and(|value| !value.is_null())
    }

    /// The JSON of a text at this place.
    fn value(&self, text: String) -> Value {
        let number = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok())
        };
        match self.0.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["data", "expiration_month"] => {
                number(&text).flatten().map_or_else(|| text.clone().into(), Value::from)
            }
            ["data", "expiration_year"] => match number(&text).flatten() {
                Some(year) if text.len() == 2 => Value::from(year.saturating_add(2_000)),
                Some(year) => Value::from(year),
                None => Value::from(text),
            },
            ["containers" | "search_indexes"] => {
                Value::from(text.split(',').map(str::trim).collect::<Vec<_>>())
            }
            _ => Value::from(text),
        }
    }
}

impl ColumnTarget {
    fn text(&self) -> String {
        match self {
            Self::At(path) => path.text(),
            Self::Expiration => String::from("expiration"),
            Self::Ignored => String::from("$"),
        }
    }
}

fn put(
    body: &mut Map<String, Value>,
    path: &Path,
    value: Value,
) -> Result<(), (String, &'static str)> {
    let conflict = || (path.text(), "Two columns or options have the same place.");
    let Some((last, steps)) = path.0.split_last() else { return Err(conflict()) };
    let mut at = body;
    for step in steps {
        let inner = at.entry(step.clone()).or_insert_with(|| Value::Object(Map::new()));
        at = inner.as_object_mut().ok_or_else(conflict)?;
    }
    if at.insert(last.clone(), value).is_some() { Err(conflict()) } else { Ok(()) }
}

/// `12/30`, `12/2030`, `1230` or `2030-12`.
fn expiration(text: &str) -> Option<(u32, u32)> {
    let (month, year) = match text.split_once(['/', '-']) {
        Some((year, month)) if year.len() == 4 => (month, year),
        Some(both) => both,
        None if text.is_ascii() && text.len() == 4 => text.split_at(2),
        None => return None,
    };
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten()
    };
    let (month, long) = (number(month)?, number(year)?);
    match year.len() {
        2 => Some((month, long.saturating_add(2_000))),
        4 => Some((month, long)),
        _ => None,
    }
}

fn constants(command: &ImportCommand) -> Result<Vec<(Path, Value)>> {
    let members: Vec<_> = COLUMNS.into_iter().chain(EXPRESSIONS).collect();
    let mut constants = Vec::new();
    for text in &command.set {
        let (path, value) = pair("--set", text, "--set containers=/pci/high/")?;
        let parsed = Path::parse(path, &members).ok_or_else(|| no_place("--set", path))?;
        if parsed.0 == ["id"] {
            return Err(Failure::new(Exit::Usage, "--set cannot give every token the same id"));
        }
        // A mask is JSON, an expression is a text that may have commas.
        let value = match parsed.0.first().map(String::as_str) {
            Some("mask" | "search_indexes") => serde_json::from_str(value)
                .map_err(|error| Failure::new(Exit::Usage, "a --set is not JSON").why(error))?,
            _ => parsed.value(String::from(value)),
        };
        constants.push((parsed, value));
    }
    if let Some(kind) = &command.kind {
        constants.push((Path::of(&["type"]), Value::from(kind.as_str())));
    }
    if command.deduplicate {
        constants.push((Path::of(&["deduplicate_token"]), Value::from(true)));
    }
    Ok(constants)
}

fn pair<'a>(flag: &str, text: &'a str, example: &str) -> Result<(&'a str, &'a str)> {
    text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty()).ok_or_else(
        || {
            Failure::new(Exit::Usage, format!("a {flag} is not of the form NAME=VALUE"))
                .try_this(example)
        },
    )
}

fn no_place(flag: &str, path: &str) -> Failure {
    Failure::new(Exit::Usage, format!("a {flag} names no place of a token"))
        .why(path)
        .try_this("id, type, data, data.NAME, metadata.NAME, containers, expires_at or created_at")
}

fn delimiter(text: Option<&str>) -> Result<u8> {
    match text.map(str::as_bytes) {
        None => Ok(b','),
        Some(b"tab") => Ok(b'\t'),
        Some([byte]) if byte.is_ascii_punctuation() && *byte != b'"' => Ok(*byte),
        Some(_) => Err(Failure::new(Exit::Usage, "--delimiter takes one character, or tab")),
    }
}

/// A name that a message may show. Without a header line, the first line has card numbers there.
fn printable(name: &str) -> Option<&str> {
    let is_plain = |letter: char| letter.is_ascii_alphabetic() || "_- .".contains(letter);
    (!name.is_empty() && name.len() <= 40 && name.chars().all(is_plain)).then_some(name)
}

#[cfg(test)]
mod tests;
