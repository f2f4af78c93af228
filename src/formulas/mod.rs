//! The connection catalog: the managed connections to payment processors, their configuration
//! fields and features. It is embedded in the form in which it is served; no request changes or
//! extends it.
//!
//! `tests/catalog.toml` is the source. Tests check that `catalog.txt` is equal to it.

#[cfg(test)]
mod tests;

use std::hash::Hasher;

use bytes::Bytes;

/// For each formula a line with its id and a line with its JSON, in the order of the ids.
const DOCUMENTS: &str = include_str!("catalog.txt");

#[derive(Debug)]
pub struct Catalog {
    entries: Vec<(&'static str, Document)>,
    list: Document,
}

/// A JSON body that never changes while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub json: Bytes,
    /// Strong, with its quotes; the same in every run of one build.
    pub etag: String,
}

impl Catalog {
    pub fn load() -> Self {
        let mut lines = DOCUMENTS.lines();
        let mut entries = Vec::new();
        let mut documents = Vec::new();
        while let (Some(id), Some(json)) = (lines.next(), lines.next()) {
            entries.push((id, Document::new(Bytes::from_static(json.as_bytes()))));
            documents.push(json);
        }
        let list = Document::new(format!("[{}]", documents.join(",")).into());
        Self { entries, list }
    }

    /// The bare array of all formulas.
    pub const fn list(&self) -> &Document {
        &self.list
    }

    pub fn find(&self, id: &str) -> Option<&Document> {
        self.entries.iter().find(|(known, _)| *known == id).map(|(_, document)| document)
    }
}

impl Document {
    fn new(json: Bytes) -> Self {
        // A DefaultHasher has no random seed, unlike a RandomState.
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(&json);
        Self { etag: format!("\"{:016x}\"", hasher.finish()), json }
    }
}
