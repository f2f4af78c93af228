//! The criterion that selects one person's data for erasure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::domain::token::Token;

/// A property that the records of one person have in common. Values are compared exactly, with
/// case: ids that differ only in case may belong to two persons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    Fingerprint(String),
    /// All of these entries; at least one.
    Metadata(BTreeMap<String, String>),
}

impl Criterion {
    /// `None` unless exactly one of fingerprint and metadata is given.
    pub fn new(fingerprint: Option<String>, metadata: BTreeMap<String, String>) -> Option<Self> {
        match (fingerprint, metadata.is_empty()) {
            (Some(print), true) if !print.is_empty() => Some(Self::Fingerprint(print)),
            (None, false) => Some(Self::Metadata(metadata)),
            _ => None,
        }
    }

    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Fingerprint(_) => "fingerprint",
            Self::Metadata(_) => "metadata",
        }
    }

    /// Different entries give different texts, which are the input of a keyed hash.
    pub fn text_of_metadata(metadata: &BTreeMap<String, String>) -> String {
        let members = metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.clone())));
        Value::Object(members.collect::<Map<_, _>>()).to_string()
    }

    pub fn is_of_token(&self, token: &Token) -> bool {
        match self {
            Self::Fingerprint(print) => token.fingerprint == *print,
            Self::Metadata(wanted) => {
                wanted.iter().all(|(key, value)| token.metadata.get(key) == Some(value.as_str()))
            }
        }
    }

    /// For token intents, which have no metadata.
    pub fn is_of_fingerprint(&self, fingerprint: &str) -> bool {
        match self {
            Self::Fingerprint(print) => fingerprint == print,
            Self::Metadata(_) => false,
        }
    }

    /// For the metadata of a 3DS session, whose values may be of any type.
    pub fn is_of_values(&self, metadata: Option<&Map<String, Value>>) -> bool {
        match (self, metadata) {
            (Self::Metadata(wanted), Some(found)) => wanted
                .iter()
                .all(|(key, value)| found.get(key).and_then(Value::as_str) == Some(value.as_str())),
            (Self::Metadata(_), None) | (Self::Fingerprint(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn a_criterion_is_a_fingerprint_or_metadata_and_never_empty() {
        let print = || Some(String::from("f"));
        let some = || entries(&[("a", "b")]);
        assert_eq!(Criterion::new(None, BTreeMap::new()), None);
        assert_eq!(Criterion::new(print(), some()), None);
        assert_eq!(Criterion::new(Some(String::new()), BTreeMap::new()), None);
        assert_eq!(Criterion::new(print(), BTreeMap::new()).unwrap().kind(), "fingerprint");
        assert_eq!(Criterion::new(None, some()).unwrap().kind(), "metadata");
    }

    #[test]
    fn different_entries_have_different_texts() {
        let texts = [
            entries(&[("a", "b")]),
            entries(&[("a", "b"), ("c", "d")]),
            entries(&[("a", "b\",\"c\":\"d")]),
            entries(&[("a\":\"b", "")]),
        ]
        .map(|it| Criterion::text_of_metadata(&it));
        for (at, text) in texts.iter().enumerate() {
            assert!(texts.iter().skip(at + 1).all(|other| other != text), "{text}");
        }
    }

    #[test]
    fn a_session_matches_by_all_entries_and_by_texts_only() {
        let criterion = Criterion::new(None, entries(&[("a", "1"), ("b", "2")])).unwrap();
        for (metadata, matches) in [
            (json!({"a": "1", "b": "2", "c": 3}), true),
            (json!({"a": "1"}), false),
            (json!({"a": "1", "b": 2}), false),
            (json!({"A": "1", "b": "2"}), false),
        ] {
            assert_eq!(criterion.is_of_values(metadata.as_object()), matches, "{metadata}");
        }
        assert!(!criterion.is_of_values(None));
    }
}
