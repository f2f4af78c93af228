//! A page of the lines of programs, as it is asked for and shown.

use uuid::Uuid;

use crate::domain::mistakes::Mistakes;
use crate::domain::program::LineLevel;
use crate::http::program_state::lines::{KeptLine, LineQuery};
use crate::http::wire::answer::answer;
use crate::http::wire::page::size_in_query;
use crate::http::wire::{Query, cursor};

const LEVEL: &str = "The level is debug, info, warn or error.";
const START: &str = "The start is the next of an earlier page, unchanged.";

/// The lines and the size of a page. `None` for records that this server does not keep: only lines
/// of programs are kept.
pub(in crate::http) fn parse(query: &Query) -> Result<(Option<LineQuery>, usize), Mistakes> {
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
    let is_kept = text("source").is_none_or(|source| source == "application")
        && text("record_type").is_none_or(|kind| kind == "log");
    let words = text("message[search_words]").or_else(|| text("message"));
    let lines = LineQuery {
        level: level.flatten(),
        trace: text("trace_id").map(String::from),
        words: words.map(String::from),
        before: before.flatten(),
    };
    Ok((is_kept.then_some(lines), size))
}

answer! {
    pub(crate) ProgramLine<'a>(it: &'a KeptLine) {
        has id: display(Schema::text()) = it.id;
        has source: word(["application"]) = "application";
        has record_type: word(["log"]) = "log";
        has occurred_at: time = it.at;
        has level: word(LineLevel::ALL.iter().map(|it| it.as_str())) = it.level.as_str();
        has message: text = it.text.expose();
        has trace_id: text = &it.trace;
    }
}
