//! A token as a request asks for it, and the checks that make a token of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::app::App;
use crate::app::authenticate::Caller;
use crate::app::error::Error;
use crate::bounds::{MASK_BYTES_MAX, TOKEN_DATA_BYTES_MAX};
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::expires_at::parse_expiry;
use crate::domain::id::TokenId;
use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::{TestNumbers, TokenType};
use crate::expressions::{self, Mask, Template};
use crate::secret::Secret;

/// What a request asks for. Mistakes that were found in its shape come along, so that the
/// permission for its containers is checked before anything is said about its content.
#[derive(Debug, Default)]
pub struct TokenDraft {
    /// A value, or an expression for one.
    pub id: Option<String>,
    pub kind: Option<TokenType>,
    pub data: Option<Secret<Value>>,
    pub mask: Option<Value>,
    pub containers: Option<Vec<Container>>,
    pub metadata: BTreeMap<String, String>,
    pub search_indexes: Option<Vec<String>>,
    pub fingerprint_expression: Option<String>,
    pub deduplicate: Option<Deduplicate>,
    pub expires_at: Option<String>,
    pub mistakes: Mistakes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deduplicate {
    No,
    Yes,
}

/// The id a draft asks for.
pub(super) enum WantedId {
    /// An expression; each evaluation may give another name.
    Alias(Template),
    Assigned,
    Name(TokenName),
}

/// A draft that is a token in all but its final id.
pub(super) struct Checked {
    pub(super) token: Token,
    pub(super) wanted: WantedId,
    /// What expressions may see of the data.
    pub(super) visible: Secret<Value>,
}

impl TokenDraft {
    /// Those it names, or its type's own; `None` when neither is known.
    pub(super) fn effective_containers(&self) -> Option<Vec<Container>> {
        let mut containers = match (&self.containers, self.kind) {
            (Some(containers), _) => containers.clone(),
            (None, Some(kind)) => vec![Container::parse(kind.default_container()).ok()?],
            (None, None) => return None,
        };
        containers.sort_unstable();
        containers.dedup();
        Some(containers)
    }
}

impl App {
    /// Every mistake of the draft at once, or a token.
    pub(super) fn check_draft(
        &self,
        caller: &Caller,
        draft: TokenDraft,
        containers: Vec<Container>,
        now: Timestamp,
    ) -> Result<Checked, Error> {
        let mut mistakes = draft.mistakes;
        let (Some(kind), Some(mut data)) = (draft.kind, draft.data) else {
            return Err(Error::Invalid(mistakes));
        };
        check_data(kind, caller.tenant.kind, &mut data, &mut mistakes);
        let mask = check_mask(draft.mask.as_ref(), &mut mistakes);
        let wanted = wanted_id(draft.id.as_deref(), &mut mistakes);
        let expires_at = check_expiry(draft.expires_at.as_deref(), now, &mut mistakes);
        // Expressions over data that is not what its type says would only add noise.
        mistakes.clone().into_result()?;

        let visible = Secret::new(kind.without_cvc(data.expose()));
        let indexes = match &draft.search_indexes {
            Some(own) => own.iter().map(String::as_str).collect(),
            None => kind.default_search_indexes().to_vec(),
        };
        let search_terms = self.search_terms(&indexes, visible.expose(), &mut mistakes);
        let own = draft.fingerprint_expression.as_deref();
        let expression = own.unwrap_or_else(|| kind.default_fingerprint_expression());
        let fingerprint = self.fingerprint(
            caller,
            kind,
            expression,
            visible.expose(),
            &draft.metadata,
            &mut mistakes,
        );
        mistakes.into_result()?;
        let token = Token {
            id: TokenId::new(self.next_id(now)),
            name: None,
            tenant: caller.tenant.id,
            kind,
            data: Data::from_value(data.expose()),
            mask,
            containers,
            metadata: draft.metadata,
            search_indexes: draft.search_indexes,
            search_terms,
            fingerprint_expression: draft.fingerprint_expression,
            fingerprint,
            expires_at,
            created_by: caller.application.id,
            created_at: now,
            modified_by: None,
            modified_at: None,
        };
        Ok(Checked { token, wanted, visible })
    }

    /// What the index expressions give: one text each, without repetition.
    pub(super) fn search_terms(
        &self,
        indexes: &[&str],
        visible: &Value,
        mistakes: &mut Mistakes,
    ) -> Vec<String> {
        let mut terms = Vec::with_capacity(indexes.len());
        for (at, index) in indexes.iter().enumerate() {
            let path = format!("search_indexes[{at}]");
            match Template::parse(index) {
                Err(malformed) => mistakes.add(path, malformed.to_string()),
                Ok(template) => match template.evaluate_text(&expressions::Data(visible), self) {
                    Err(failed) => mistakes.add(path, failed.to_string()),
                    Ok(term) => terms.push(term.expose().clone()),
                },
            }
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    pub(super) fn fingerprint(
        &self,
        caller: &Caller,
        kind: TokenType,
        expression: &str,
        visible: &Value,
        metadata: &BTreeMap<String, String>,
        mistakes: &mut Mistakes,
    ) -> String {
        const PATH: &str = "fingerprint_expression";
        let metadata =
            metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
        let metadata = Value::Object(metadata.collect());
        let scope = expressions::DataAndMetadata { data: visible, metadata: &metadata };
        match Template::parse(expression) {
            Err(malformed) => mistakes.add(PATH, malformed.to_string()),
            Ok(template) => match template.evaluate_text(&scope, self) {
                Err(failed) => mistakes.add(PATH, failed.to_string()),
                Ok(value) => {
                    return caller.keys.fingerprint().fingerprint(kind.as_str(), value.expose());
                }
            },
        }
        String::new()
    }
}

fn check_data(
    kind: TokenType,
    tenant: TenantKind,
    data: &mut Secret<Value>,
    mistakes: &mut Mistakes,
) {
    let numbers = match tenant {
        TenantKind::Production => TestNumbers::Refused,
        TenantKind::Test => TestNumbers::Taken,
    };
    match kind.check(data.expose(), numbers) {
        Err(found) => mistakes.append(found),
        Ok(()) => kind.normalize(data.expose_mut()),
    }
    let text = Data::from_value(data.expose());
    if text.json().len() > TOKEN_DATA_BYTES_MAX {
        mistakes.add("data", format!("Data has at most {TOKEN_DATA_BYTES_MAX} bytes as JSON."));
    }
}

/// The mask as JSON text, when the draft has one of its own.
pub(super) fn check_mask(mask: Option<&Value>, mistakes: &mut Mistakes) -> Option<String> {
    let mask = mask?;
    let text = mask.to_string();
    if text.len() > MASK_BYTES_MAX {
        mistakes.add("mask", format!("A mask has at most {MASK_BYTES_MAX} bytes as JSON."));
    } else if let Err(found) = Mask::parse(mask) {
        for (path, malformed) in found {
            let path = if path.is_empty() { String::from("mask") } else { format!("mask.{path}") };
            mistakes.add(path, malformed.to_string());
        }
    }
    Some(text)
}

pub(super) fn check_expiry(
    text: Option<&str>,
    now: Timestamp,
    mistakes: &mut Mistakes,
) -> Option<Timestamp> {
    match parse_expiry(text?, now) {
        Ok(at) => Some(at),
        Err(why) => {
            mistakes.add("expires_at", why.message());
            None
        }
    }
}

fn wanted_id(text: Option<&str>, mistakes: &mut Mistakes) -> WantedId {
    let Some(text) = text else {
        return WantedId::Assigned;
    };
    match Template::parse(text) {
        Err(malformed) => mistakes.add("id", malformed.to_string()),
        Ok(template) if !template.is_constant() => return WantedId::Alias(template),
        Ok(_) => match TokenName::parse(text) {
            Ok(name) => return WantedId::Name(name),
            Err(invalid) => mistakes.add("id", invalid.to_string()),
        },
    }
    WantedId::Assigned
}
