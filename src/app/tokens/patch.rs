//! The changes of a PATCH request.

use serde_json::Value;

use crate::app::tokens::draft::Deduplicate;
use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::domain::token::Token;
use crate::expressions::Template;
use crate::secret::Secret;

/// The members to change. An absent member stays as it is; a `null` member is reset to the default
/// of the type.
#[derive(Debug, Default)]
#[expect(
    clippy::option_option,
    reason = "absent, null and a value are three different things in a merge patch"
)]
pub struct TokenPatch {
    pub data: Option<Secret<Value>>,
    pub mask: Option<Value>,
    pub metadata: Option<Value>,
    pub containers: Option<Option<Vec<Container>>>,
    pub search_indexes: Option<Option<Vec<String>>>,
    pub fingerprint_expression: Option<Option<String>>,
    pub deduplicate: Option<Deduplicate>,
    pub expires_at: Option<Option<String>>,
    pub mistakes: Mistakes,
}

impl TokenPatch {
    /// The patch that copies data and metadata of a new token to the existing one of the same
    /// content.
    pub(in crate::app) fn from_new(token: &Token) -> Self {
        let metadata = token.metadata.iter();
        let metadata = metadata.map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        Self {
            data: Some(token.whole_data()),
            metadata: Some(Value::Object(metadata.collect())),
            ..Self::default()
        }
    }

    /// The same as [`TokenPatch::from_new`], without the metadata and without the members of the
    /// data that this fingerprint expression reads. A card verification code is always included,
    /// because expressions never see it.
    pub(in crate::app) fn beside_fingerprint(token: &Token, fingerprint: &Template) -> Self {
        let mut data = token.whole_data();
        match data.expose_mut() {
            Value::Object(members) => {
                let has_cvc = token.cvc.is_some();
                members.retain(|name, _| (has_cvc && name == "cvc") || !fingerprint.reads(name));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Self::default(),
        }
        Self { data: Some(data), ..Self::default() }
    }

    /// True if the patch changes the appearance of the token's value to readers.
    pub(in crate::app) fn sets_appearance(&self) -> bool {
        self.mask.is_some()
            || self.search_indexes.is_some()
            || self.fingerprint_expression.is_some()
    }
}
