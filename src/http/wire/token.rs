//! Tokens on the wire.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::app::{Created, Deduplicate, Extent, Origin, Shown, ShownData, TokenDraft};
use crate::bounds::{
    CONTAINERS_MAX, EXPRESSION_CHARS_MAX, METADATA_COUNT_MAX, METADATA_KEY_BYTES_MAX,
    METADATA_VALUE_BYTES_MAX, SEARCH_INDEXES_MAX,
};
use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::domain::token_type::TokenType;
use crate::http::wire::fields::{Fields, WRONG_TYPE};
use crate::http::wire::json::Object;
use crate::secret::Secret;

pub(crate) fn parse_draft(body: &Value) -> TokenDraft {
    let mut fields = Fields::of_body(body);
    let kind = kind(&mut fields);
    let data = fields.value("data").cloned().map(Secret::new);
    if data.is_none() {
        fields.wrong("data", "The data is required.");
    }
    TokenDraft {
        id: fields.text("id").map(String::from),
        kind,
        data,
        mask: fields.value("mask").cloned(),
        containers: containers(&mut fields),
        metadata: metadata(&mut fields),
        search_indexes: search_indexes(&mut fields),
        fingerprint_expression: fingerprint_expression(&mut fields),
        deduplicate: deduplicate(&mut fields),
        expires_at: fields.text("expires_at").map(String::from),
        mistakes: fields.mistakes,
    }
}

fn kind(fields: &mut Fields<'_>) -> Option<TokenType> {
    let text = fields.required_text("type")?;
    let kind = TokenType::parse(text);
    if kind.is_none() {
        fields.wrong("type", "There is no such token type.");
    }
    kind
}

pub(crate) fn containers(fields: &mut Fields<'_>) -> Option<Vec<Container>> {
    let texts = fields.texts("containers", CONTAINERS_MAX)?;
    if texts.is_empty() {
        return None;
    }
    let mut containers = Vec::with_capacity(texts.len());
    for (at, text) in texts.into_iter().enumerate() {
        match Container::parse(text) {
            Ok(container) => containers.push(container),
            Err(invalid) => fields.wrong(&format!("containers[{at}]"), invalid.to_string()),
        }
    }
    Some(containers)
}

fn metadata(fields: &mut Fields<'_>) -> BTreeMap<String, String> {
    let Some(members) = fields.object("metadata") else {
        return BTreeMap::new();
    };
    let (metadata, mistakes) = check_metadata(members);
    fields.mistakes.append(mistakes);
    metadata
}

/// Entries whose value is `null` are left out.
pub(crate) fn check_metadata(members: &Map<String, Value>) -> (BTreeMap<String, String>, Mistakes) {
    let mut mistakes = Mistakes::new();
    let mut metadata = BTreeMap::new();
    if members.len() > METADATA_COUNT_MAX {
        mistakes.add("metadata", format!("There may be at most {METADATA_COUNT_MAX} entries."));
        return (metadata, mistakes);
    }
    for (key, value) in members {
        // A key is the caller's own text, so it is not repeated in the path.
        if !(1..=METADATA_KEY_BYTES_MAX).contains(&key.len()) {
            let message = format!("A key has 1 to {METADATA_KEY_BYTES_MAX} bytes.");
            mistakes.add("metadata", message);
            continue;
        }
        match value {
            Value::Null => (),
            Value::String(text) if text.len() <= METADATA_VALUE_BYTES_MAX => {
                metadata.insert(key.clone(), text.clone());
            }
            Value::String(_) => {
                let message = format!("A value has at most {METADATA_VALUE_BYTES_MAX} bytes.");
                mistakes.add(format!("metadata.{key}"), message);
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                mistakes.add(format!("metadata.{key}"), WRONG_TYPE);
            }
        }
    }
    (metadata, mistakes)
}

pub(crate) fn search_indexes(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let texts = fields.texts("search_indexes", SEARCH_INDEXES_MAX)?;
    for (at, text) in texts.iter().enumerate() {
        if text.chars().count() > EXPRESSION_CHARS_MAX {
            let message = format!("An expression has at most {EXPRESSION_CHARS_MAX} characters.");
            fields.wrong(&format!("search_indexes[{at}]"), message);
        }
    }
    Some(texts.into_iter().map(String::from).collect())
}

pub(crate) fn fingerprint_expression(fields: &mut Fields<'_>) -> Option<String> {
    let text = fields.text("fingerprint_expression")?;
    if text.chars().count() > EXPRESSION_CHARS_MAX {
        let message = format!("An expression has at most {EXPRESSION_CHARS_MAX} characters.");
        fields.wrong("fingerprint_expression", message);
    }
    Some(String::from(text))
}

pub(crate) fn deduplicate(fields: &mut Fields<'_>) -> Option<Deduplicate> {
    let wanted = fields.flag("deduplicate_token")?;
    Some(if wanted { Deduplicate::Yes } else { Deduplicate::No })
}

pub(crate) fn render_created(created: &Created) -> Vec<u8> {
    let mut object = render_members(&created.shown);
    object.object("_extras", |extras| {
        extras.flag("deduplicated", created.origin == Origin::Existing);
        if created.origin == Origin::Existing {
            extras.text("deduplication_behavior", "read_existing");
        }
    });
    object.close()
}

pub(crate) fn render(shown: &Shown) -> Vec<u8> {
    render_members(shown).close()
}

fn render_members(shown: &Shown) -> Object {
    let token = &shown.token;
    let mut object = Object::new();
    object.text("id", &token.public_id());
    object.display("tenant_id", token.tenant);
    object.text("type", token.kind.as_str());
    match &shown.data {
        ShownData::Plain => object.json("data", token.data.json()),
        ShownData::Masked(value) => object.json("data", &value.expose().to_string()),
        ShownData::Absent => (),
    }
    object.text("fingerprint", &token.fingerprint);
    object.texts("containers", token.containers.iter().map(Container::as_str));
    if shown.extent == Extent::Outline {
        return object;
    }
    if let Some(mask) = token.effective_mask() {
        object.json("mask", mask);
    }
    object.object("metadata", |metadata| {
        for (key, value) in &token.metadata {
            metadata.text(key, value);
        }
    });
    object.texts("search_indexes", token.effective_search_indexes().into_iter());
    object.text("fingerprint_expression", token.effective_fingerprint_expression());
    object.optional_time("expires_at", token.expires_at);
    object.display("created_by", token.created_by);
    object.time("created_at", token.created_at);
    object.optional_display("modified_by", token.modified_by);
    object.optional_time("modified_at", token.modified_at);
    object
}
