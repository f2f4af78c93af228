//! Holds every answer of the API listener to the API document: status, headers, content type, body.
//!
//! The check uses the golden file of the document, which another test compares with the document
//! that the binary serves. It is silent when the answer fits and stops the test when it does not.

mod document;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use crate::harness::answer::Answer;
use crate::harness::contract::document::Document;
pub(crate) use document::Operation;

/// The document as the binary serves it.
pub(crate) fn api_document() -> &'static Document {
    static DOCUMENT: OnceLock<Document> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        Document::parse(include_str!("../../../fixtures/openapi.json")).expect("a document")
    })
}

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    /// The body, as far as it was sent together with the head.
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// Reads the first line of a request. `None` if it is not well-formed: a test of malformed HTTP
    /// has no operation to be held to.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let line_end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let line = str::from_utf8(&bytes[..line_end]).ok()?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_whole = version == "HTTP/1.1" && words.next().is_none() && target.starts_with('/');
        let is_method = !method.is_empty() && method.bytes().all(|it| it.is_ascii_uppercase());
        let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let body = head_end.map_or(&[][..], |end| &bytes[end + 4..]);
        (is_whole && is_method).then(|| Self {
            method: String::from(method),
            target: String::from(target),
            body: body.to_vec(),
        })
    }
}

/// Stops the test if the answer is not one that the document describes.
#[track_caller]
pub(crate) fn check(asked: &Asked, answer: &Answer) {
    if let Err(mismatch) = api_document().check(asked, answer) {
        panic!(
            "{} {} answered {}, against the API document: {mismatch}\n{:?}\n{}",
            asked.method,
            asked.target,
            answer.status,
            answer.headers,
            answer.text(),
        );
    }
}
