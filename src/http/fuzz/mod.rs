//! The fuzz targets of HTTP: paths and queries, bodies, and headers.

mod bodies;
mod heads;

pub(crate) use bodies::bodies;
pub(crate) use heads::{headers, routes};

use crate::domain::mistakes::Mistakes;
use crate::fuzz::check_sentence;
use crate::http::Problem;

/// The answer with these mistakes is JSON, and no message quotes a value. A path may consist of
/// names that the caller chose.
fn check_mistakes(mistakes: &Mistakes) {
    for messages in mistakes.by_path().values() {
        for message in messages {
            check_sentence(message);
        }
    }
    let answer = Problem::from(mistakes.clone()).to_json("trace");
    let parsed: Option<serde_json::Value> = serde_json::from_slice(answer.expose()).ok();
    let status = parsed.as_ref().and_then(|answer| answer.get("status")?.as_u64());
    assert_eq!(status, Some(400), "the answer to a mistake is no problem");
}
