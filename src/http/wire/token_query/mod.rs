//! Queries of lists and searches of tokens on the wire.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::app::CursorStart;
use crate::bounds::{LIST_IDS_MAX, METADATA_COUNT_MAX};
use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::domain::outside_json;
use crate::domain::search_query;
use crate::domain::token_query::{LegacyTokenQuery, TokenFilter, TokenQuery};
use crate::domain::token_type::TokenType;
use crate::http::wire::page::{size_in_fields, size_in_query};
use crate::http::wire::token::no_such_type;
use crate::http::wire::{Fields, OffsetPage, Query, cursor};

const METADATA: &str = "metadata";

pub(crate) fn parse_list(query: &Query) -> Result<(TokenQuery, CursorStart), Mistakes> {
    let mut mistakes = Mistakes::new();
    if query.first("id").is_some() {
        let message = "GET /v2/tokens does not support this parameter: read a token by its id \
                       with GET /tokens/{id}.";
        mistakes.add("id", message);
    }
    if query.first("page").is_some() {
        // If it were ignored, a client that counts pages would get the first page forever.
        mistakes.add("page", "GET /v2/tokens has no numbered pages: continue with start.");
    }
    for name in ["container", "fingerprint", "size", "start", "type"] {
        if query.all(name).nth(1).is_some() {
            mistakes.add(name, "The parameter may be given once.");
        }
    }
    let metadata = metadata(query, &mut mistakes);
    if metadata.len() > 1 {
        mistakes.add(METADATA, "GET /v2/tokens takes one metadata parameter.");
    }
    let mut filters = Vec::new();
    if let Some(text) = query.first("type") {
        match TokenType::parse(text) {
            Some(kind) => filters.push(("type", TokenFilter::Type(kind))),
            None => mistakes.add("type", no_such_type()),
        }
    }
    if let Some(print) = query.first("fingerprint") {
        filters.push(("fingerprint", TokenFilter::Fingerprint(String::from(print))));
    }
    if let Some((key, value)) = metadata.into_iter().next() {
        filters.push((METADATA, TokenFilter::Metadata(key, value)));
    }
    if filters.len() > 1 {
        for (name, _) in &filters {
            mistakes.add(*name, "Only container can be combined with another parameter.");
        }
    }
    let container = query.first("container").map(Container::parse);
    if let Some(Err(invalid)) = &container {
        mistakes.add("container", invalid.to_string());
    }
    let after = cursor::parse(query.first("start"), &mut mistakes);
    let start = CursorStart { after, size: size_in_query(query, &mut mistakes) };
    mistakes.into_result()?;
    let filter = filters.pop().map_or(TokenFilter::Everything, |(_, filter)| filter);
    Ok((TokenQuery { container: container.and_then(Result::ok), filter }, start))
}

pub(crate) fn parse_search(body: &Value) -> Result<(TokenQuery, CursorStart), Mistakes> {
    let mut fields = Fields::of_body(body);
    let query = fields.text("query").map_or_else(|| Ok(TokenQuery::default()), search_query::parse);
    let query = query.map_err(|bad| fields.wrong("query", bad.to_string()));
    let after = cursor::parse(fields.text("start"), &mut fields.mistakes);
    let start = CursorStart { after, size: size_in_fields(&mut fields) };
    fields.mistakes.into_result()?;
    Ok((query.unwrap_or_default(), start))
}

pub(crate) fn parse_legacy_list(query: &Query) -> Result<(LegacyTokenQuery, OffsetPage), Mistakes> {
    let mut mistakes = Mistakes::new();
    for name in ["container", "fingerprint", "type"] {
        if query.first(name).is_some() {
            // If it were ignored, the answer would have tokens that the query excludes.
            mistakes.add(name, "GET /tokens does not filter by this; GET /v2/tokens does.");
        }
    }
    let ids: Vec<_> = query.all("id").map(String::from).collect();
    if ids.len() > LIST_IDS_MAX {
        mistakes.add("id", format!("There may be at most {LIST_IDS_MAX}."));
    }
    let mut known = BTreeSet::new();
    let mut metadata = metadata(query, &mut mistakes);
    metadata.retain(|(key, _)| known.insert(key.to_lowercase()));
    if metadata.len() > METADATA_COUNT_MAX {
        mistakes.add(METADATA, format!("There may be at most {METADATA_COUNT_MAX}."));
    }
    let page = OffsetPage::parse(query, &mut mistakes);
    mistakes.into_result()?;
    let ids = Some(ids).filter(|ids| !ids.is_empty());
    Ok((LegacyTokenQuery { ids, metadata, search_term: None }, page))
}

pub(crate) fn parse_legacy_search(
    body: &Value,
) -> Result<(LegacyTokenQuery, OffsetPage), Mistakes> {
    let mut fields = Fields::of_body(body);
    let text = fields.text("query");
    let query = text.map_or_else(|| Ok(LegacyTokenQuery::default()), search_query::parse_legacy);
    let query = query.map_err(|bad| fields.wrong("query", bad.to_string()));
    let page = OffsetPage::parse_fields(&mut fields);
    fields.mistakes.into_result()?;
    Ok((query.unwrap_or_default(), page))
}

/// Metadata in all forms of published clients: `metadata.k=v`, `metadata[k]=v` and
/// `metadata={"k":"v"}`.
fn metadata(query: &Query, mistakes: &mut Mistakes) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in query.pairs() {
        let Some(rest) = name.strip_prefix(METADATA) else {
            continue;
        };
        let bracketed = || rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let key = rest.strip_prefix('.').or_else(bracketed);
        match key {
            Some("") => mistakes.add(METADATA, "A key has at least one character."),
            Some(key) => found.push((String::from(key), String::from(value))),
            None if rest.is_empty() && !value.is_empty() => match entries(value) {
                Some(entries) => found.extend(entries),
                None => mistakes.add(METADATA, "It is a JSON object of texts."),
            },
            // Another parameter with the same prefix.
            None => (),
        }
    }
    found
}

fn entries(json: &str) -> Option<Vec<(String, String)>> {
    let mut value = outside_json::parse(json.as_bytes())?;
    let Value::Object(members) = value.expose_mut().take() else { return None };
    let entry = |(key, value)| match value {
        Value::String(text) => Some((key, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    };
    members.into_iter().map(entry).collect()
}
