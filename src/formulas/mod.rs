//! The connection catalog: what the managed connections to payment processors need and can do. It
//! is embedded, read-only, and checked as a whole at start; no request changes or extends it.

mod codes;
mod file;

#[cfg(test)]
mod tests;

use std::hash::Hasher;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};

pub use codes::{Country, Currency};
pub use file::{CatalogError, Fault};

const FILE: &str = include_str!("catalog.toml");

/// How many formulas the published interface has.
pub const FORMULAS: usize = 18;

/// All formulas, with the bytes that answers carry.
#[derive(Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
    list: Document,
}

#[derive(Debug)]
pub struct Entry {
    pub formula: Formula,
    pub document: Document,
}

/// A JSON body that never changes while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub json: Bytes,
    /// Strong, with its quotes; the same in every run of one build.
    pub etag: String,
}

/// A managed connection to one processor. Its names are the wire's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Formula {
    pub id: String,
    pub display_name: String,
    pub method: Method,
    pub fields: Vec<Field>,
    pub supported_currencies: Vec<Currency>,
    pub supported_countries: Vec<Country>,
    pub supported_features: Features,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    Card,
}

/// One configuration value of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    pub key: String,
    pub display_name: String,
    pub required: bool,
    pub format: Format,
    pub secret: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Text,
}

/// What a processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the interface has seven independent flags")]
pub struct Features {
    pub three_d_secure_pass_through: bool,
    pub delayed_capture: bool,
    pub partial_capture: bool,
    pub partial_refunds: bool,
    pub refunds: bool,
    pub zero_auth: bool,
    pub void: bool,
}

impl Catalog {
    /// Reads and checks the embedded catalog.
    pub fn load() -> Result<Self, CatalogError> {
        Self::read(FILE)
    }

    fn read(text: &str) -> Result<Self, CatalogError> {
        let formulas = file::parse(text)?;
        let list = Document::new(&formulas)?;
        let entries = formulas
            .into_iter()
            .map(|formula| Ok(Entry { document: Document::new(&formula)?, formula }))
            .collect::<Result<_, CatalogError>>()?;
        Ok(Self { entries, list })
    }

    /// In the order of their ids.
    pub fn all(&self) -> &[Entry] {
        &self.entries
    }

    /// The bare array of all formulas.
    pub const fn list(&self) -> &Document {
        &self.list
    }

    pub fn find(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.formula.id == id)
    }
}

impl Document {
    fn new(body: &impl Serialize) -> Result<Self, CatalogError> {
        let json = serde_json::to_vec(body).map_err(CatalogError::Unwritable)?;
        // Unlike that of a RandomState, the hash of a new DefaultHasher has no seed of its own.
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(&json);
        Ok(Self { etag: format!("\"{:016x}\"", hasher.finish()), json: json.into() })
    }
}

/// The flag for voiding goes by two names on the wire.
impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut flags = serializer.serialize_struct("Features", 8)?;
        flags.serialize_field("three_d_secure_pass_through", &self.three_d_secure_pass_through)?;
        flags.serialize_field("delayed_capture", &self.delayed_capture)?;
        flags.serialize_field("partial_capture", &self.partial_capture)?;
        flags.serialize_field("partial_refunds", &self.partial_refunds)?;
        flags.serialize_field("refunds", &self.refunds)?;
        flags.serialize_field("zero_auth", &self.zero_auth)?;
        flags.serialize_field("void", &self.void)?;
        flags.serialize_field("voidAllowed", &self.void)?;
        flags.end()
    }
}
