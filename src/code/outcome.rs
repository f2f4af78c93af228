//! Reads the outcome that a worker reports: JSON that a program may have written.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::app::programs::{ProgramOutcome, Stop, Thrown};
use crate::bounds::{CODE_MESSAGE_BYTES_MAX, CODE_THROWN_BYTES_MAX, JSON_VALUES_MAX};
use crate::code::worker::engine::OUT_OF_MEMORY;
use crate::domain::json_count::count_values;
use crate::secret::Secret;

/// Members as text: what they hold is read once it is known how long they are.
#[derive(Deserialize)]
struct OutcomeText<'a> {
    kind: &'a str,
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    class: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    response: Option<&'a RawValue>,
    #[serde(default)]
    message: Option<String>,
}

/// A member that is null is there.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

#[derive(Deserialize)]
struct ClassText {
    status: u16,
    title: String,
    detail: String,
    #[serde(default)]
    errors: Value,
}

#[derive(Deserialize)]
struct ResponseText {
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Value,
}

/// A text that is no outcome comes from a worker that a program took over: it counts as dead.
pub fn read(json: &[u8]) -> ProgramOutcome {
    let outcome = serde_json::from_slice::<OutcomeText<'_>>(json).ok();
    outcome.and_then(read_parts).unwrap_or(ProgramOutcome::Stopped(Stop::Died))
}

fn read_parts(text: OutcomeText<'_>) -> Option<ProgramOutcome> {
    let OutcomeText { kind, value, class, response, message } = text;
    Some(match (kind, value, class, response, message) {
        ("returned", Some(value), None, None, None) => {
            ProgramOutcome::Returned(Secret::new(Vec::from(value.get())))
        }
        ("threw", None, Some(thrown), None, None) | ("threw", None, None, Some(thrown), None)
            if is_too_large(thrown) =>
        {
            ProgramOutcome::Stopped(Stop::ResultTooLarge)
        }
        ("threw", None, Some(class), None, None) => {
            let ClassText { status, title, detail, errors } =
                serde_json::from_str(class.get()).ok()?;
            let errors = Secret::new(errors);
            if !is_status(status) {
                return None;
            }
            if title.len().max(detail.len()) > CODE_MESSAGE_BYTES_MAX {
                return Some(ProgramOutcome::Stopped(Stop::ResultTooLarge));
            }
            ProgramOutcome::Threw(Thrown::Class { status, title, detail, errors })
        }
        ("threw", None, None, Some(response), None) => {
            let ResponseText { status, headers, body } =
                serde_json::from_str(response.get()).ok()?;
            let body = Secret::new(body);
            if !is_status(status) {
                return None;
            }
            let headers = headers.into_iter().map(|(name, value)| (name, Secret::new(value)));
            ProgramOutcome::Threw(Thrown::Response { status, headers: headers.collect(), body })
        }
        // The engine's own error. A program that throws the same text gets the same answer.
        ("threw", None, None, None, Some(message)) if message == OUT_OF_MEMORY => {
            ProgramOutcome::Stopped(Stop::OutOfMemory)
        }
        ("threw", None, None, None, Some(message)) => {
            ProgramOutcome::Threw(Thrown::Other { message: cut(message) })
        }
        ("not_a_program", None, None, None, Some(message)) => {
            ProgramOutcome::NotAProgram(cut(message))
        }
        _ => return None,
    })
}

/// A thrown value becomes a tree, which takes many times the memory of its text.
fn is_too_large(thrown: &RawValue) -> bool {
    let text = thrown.get();
    text.len() > CODE_THROWN_BYTES_MAX || count_values(text.as_bytes()) > JSON_VALUES_MAX
}

fn is_status(status: u16) -> bool {
    (100..=599).contains(&status)
}

fn cut(mut message: String) -> Secret<String> {
    message.truncate(message.floor_char_boundary(CODE_MESSAGE_BYTES_MAX));
    Secret::new(message)
}
