//! A page of the lines of programs, as it is asked for and shown.

use uuid::Uuid;

use crate::domain::mistakes::Mistakes;
use crate::domain::program::LineLevel;
use crate::http::program_state::lines::{KeptLine, LineQuery, ProgramEnd};
use crate::http::wire::answer::answer;
use crate::http::wire::page::size_in_query;
use crate::http::wire::{Query, cursor};

const LEVEL: &str = "The level is debug, info, warn or error.";
const START: &str = "The start is the next of an earlier page, unchanged.";

/// The lines and the size of a page.
pub(in crate::http) fn parse(query: &Query) -> Result<(LineQuery, usize), Mistakes> {
    let mut mistakes = Mistakes::new();
    let size = size_in_query(query, &mut mistakes);
    let text = |name| query.first(name).filter(|text| !text.is_empty());
    let level = text("level").map(LineLevel::parse);
    if level == Some(None) {
        mistakes.add("level", LEVEL);
    }
    let start = cursor::parse(query.first("start"), &mut mistakes);
    let before = start.map(|bytes| bytes.try_into().ok().map(Uuid::from_bytes));
    if before == Some(None) {
        mistakes.add("start", START);
    }
    mistakes.into_result()?;
    let words = text("message[search_words]").or_else(|| text("message"));
    let owned = |name| text(name).map(String::from);
    let lines = LineQuery {
        level: level.flatten(),
        source: owned("source"),
        record_type: owned("record_type"),
        event: owned("event"),
        outcome: owned("outcome"),
        trace: owned("trace_id"),
        words: words.map(String::from),
        before: before.flatten(),
    };
    Ok((lines, size))
}

answer! {
    pub(crate) ProgramLine<'a>(it: &'a KeptLine) {
        has id: display(Schema::text()) = it.id;
        has source: word(["application", "platform"]) = it.source();
        has record_type: word(["log", "lifecycle"]) = it.record_type();
        has occurred_at: time = it.at;
        has level: word(LineLevel::ALL.iter().map(|it| it.as_str())) = it.level.as_str();
        has message: text = it.text.expose();
        has trace_id: text = &it.trace;
        may_have duration_ms: number = it.end.as_ref().map(|end| end.elapsed_ms);
        may_have error: text = it.end.as_ref().and_then(|end| end.error);
        may_have attributes: object(EndAttributes) = it.end.as_ref(), "of the end of a call";
    }

    pub(crate) EndAttributes<'a>(it: &'a ProgramEnd) {
        has event: word(["completed", "failed"]) = it.event();
        has outcome: word(["success", "failure"]) = it.outcome();
    }
}
