//! Tokens on the wire.

use serde_json::Value;

use crate::app::{
    DataSource, DataView, Deduplicate, TokenDraft, TokenIntentDraft, TokenOrigin, TokenPatch,
    TokenView, WriteOutcome,
};
use crate::bounds::{CONTAINERS_MAX, EXPRESSION_CHARS_MAX, SEARCH_INDEXES_MAX};
use crate::domain::container::Container;
use crate::domain::data::with_cvc;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right};
use crate::domain::metadata::{Metadata, check_metadata};
use crate::domain::token::Token;
use crate::domain::token_type::TokenType;
use crate::http::wire::{Fields, Json, Object, card, privacy};
use crate::idempotency::{AnswerStatus, Disclosure, PartLifetime, RememberedAnswer, SubjectId};
use crate::secret::Secret;

pub(crate) fn parse_draft(body: &Value) -> TokenDraft {
    parse_draft_of(body, body.get("data").cloned())
}

/// As [`parse_draft`], without a copy of the data.
pub(crate) fn take_draft(body: &mut Value) -> TokenDraft {
    let data = body.get_mut("data").map(Value::take);
    parse_draft_of(body, data)
}

fn parse_draft_of(body: &Value, data: Option<Value>) -> TokenDraft {
    let data = data.map(Secret::new).filter(|data| !data.expose().is_null());
    let mut fields = Fields::of_body(body);
    let token_intent_id = fields.text("token_intent_id").map(String::from);
    let mut encrypted = None;
    let (kind, data) = if token_intent_id.is_some() {
        for name in ["type", "data", "encrypted"] {
            if fields.value(name).is_some() || (name == "data" && data.is_some()) {
                fields.wrong(name, "A conversion takes this from the token intent.");
            }
        }
        (None, None)
    } else {
        encrypted = fields.text("encrypted").map(String::from);
        match (&data, fields.value("encrypted")) {
            (Some(_), Some(_)) => {
                fields.wrong("encrypted", "A token has data or an encrypted value, not both.");
            }
            (None, None) => fields.wrong("data", "The data is required."),
            (Some(_), None) | (None, Some(_)) => (),
        }
        (kind(&mut fields), data)
    };
    let (containers, privacy) = match containers(&mut fields) {
        None => privacy::parse(&mut fields),
        containers => (containers, None),
    };
    TokenDraft {
        id: fields.text("id").map(String::from),
        token_intent_id,
        kind,
        data,
        stored: None,
        encrypted,
        mask: fields.value("mask").cloned(),
        containers,
        privacy,
        metadata: metadata(&mut fields),
        search_indexes: search_indexes(&mut fields),
        fingerprint_expression: fingerprint_expression(&mut fields),
        deduplicate: deduplicate(&mut fields),
        expires_at: fields.text("expires_at").map(String::from),
        source: DataSource::Caller,
        mistakes: fields.mistakes,
    }
}

pub(crate) fn parse_intent_draft(body: &Value) -> TokenIntentDraft {
    let mut fields = Fields::of_body(body);
    let kind = kind(&mut fields);
    let data = fields.value("data").cloned().map(Secret::new);
    if data.is_none() {
        fields.wrong("data", "The data is required.");
    }
    TokenIntentDraft { kind, data, source: DataSource::Caller, mistakes: fields.mistakes }
}

/// In a patch `null` is not absent: it removes a value.
pub(crate) fn parse_patch(body: &Value) -> TokenPatch {
    let mut fields = Fields::of_body(body);
    let given = |name: &str| body.get(name);
    let is_null = |name: &str| given(name).is_some_and(Value::is_null);
    TokenPatch {
        data: given("data").cloned().map(Secret::new),
        mask: given("mask").cloned(),
        metadata: given("metadata").cloned(),
        containers: if is_null("containers") {
            Some(None)
        } else {
            containers(&mut fields).map(Some)
        },
        search_indexes: if is_null("search_indexes") {
            Some(None)
        } else {
            search_indexes(&mut fields).map(Some)
        },
        fingerprint_expression: if is_null("fingerprint_expression") {
            Some(None)
        } else {
            fingerprint_expression(&mut fields).map(Some)
        },
        deduplicate: deduplicate(&mut fields),
        expires_at: if is_null("expires_at") {
            Some(None)
        } else {
            fields.text("expires_at").map(|text| Some(String::from(text)))
        },
        source: DataSource::Caller,
        mistakes: fields.mistakes,
    }
}

fn kind(fields: &mut Fields<'_>) -> Option<TokenType> {
    let kind = TokenType::parse(fields.required_text("type")?);
    if kind.is_none() {
        fields.wrong("type", no_such_type());
    }
    kind
}

/// The mistake in a type that does not exist.
pub(crate) fn no_such_type() -> String {
    format!("There is no such token type. The types are: {}.", TokenType::list())
}

pub(crate) fn containers(fields: &mut Fields<'_>) -> Option<Vec<Container>> {
    let texts = fields.texts("containers", CONTAINERS_MAX)?;
    if texts.is_empty() {
        return None;
    }
    let mut containers = Vec::with_capacity(texts.len());
    for (at, text) in texts {
        match Container::parse(text) {
            Ok(container) => containers.push(container),
            Err(invalid) => fields.wrong(&format!("containers[{at}]"), invalid.to_string()),
        }
    }
    Some(containers)
}

fn metadata(fields: &mut Fields<'_>) -> Metadata {
    let Some(members) = fields.object("metadata") else {
        return Metadata::default();
    };
    check_metadata(members).unwrap_or_else(|mistakes| {
        fields.mistakes.append(mistakes);
        Metadata::default()
    })
}

pub(crate) fn search_indexes(fields: &mut Fields<'_>) -> Option<Vec<String>> {
    let texts = fields.texts("search_indexes", SEARCH_INDEXES_MAX)?;
    for (at, text) in &texts {
        if text.chars().count() > EXPRESSION_CHARS_MAX {
            let message = format!("An expression has at most {EXPRESSION_CHARS_MAX} characters.");
            fields.wrong(&format!("search_indexes[{at}]"), message);
        }
    }
    Some(texts.into_iter().map(|(_, text)| String::from(text)).collect())
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

/// The answer to a create or an update.
pub(crate) fn answer(
    written: &WriteOutcome,
    status: AnswerStatus,
    right: Right,
) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(status);
    write(&mut answer, written, written.origin, right);
    let token = &written.shown.token;
    // The token's own mask sees the code, and its evaluation may cost much.
    let is_masked = matches!(written.shown.data, DataView::Masked(_)) && token.mask.is_some();
    let is_new = written.origin == TokenOrigin::New && right == Right::Create;
    answer.as_created = (is_new && !is_masked).then_some(token.created_at);
    answer
}

/// Writes a token into an answer, and records which grants decided about its exposure.
pub(crate) fn write(
    answer: &mut RememberedAnswer,
    written: &WriteOutcome,
    origin: TokenOrigin,
    right: Right,
) {
    let TokenView { extent, fingerprint, .. } = written.shown;
    let exposure = Exposure { extent, transform: written.shown.transform(), fingerprint };
    let subject = name(answer, written, right, exposure);
    let mut object = Object::with_capacity(bytes(&written.shown.token));
    write_members(&mut object, &written.shown, subject);
    object.object("_extras", |extras| {
        extras.flag("deduplicated", origin != TokenOrigin::New);
        match origin {
            TokenOrigin::New => (),
            TokenOrigin::Read => extras.text("deduplication_behavior", "read_existing"),
            TokenOrigin::Updated => extras.text("deduplication_behavior", "update_existing"),
        }
    });
    object.close_into(answer);
}

/// Makes a token a subject of a remembered answer with this exposure.
pub(crate) fn name(
    answer: &mut RememberedAnswer,
    written: &WriteOutcome,
    right: Right,
    exposure: Exposure,
) -> usize {
    let (token, value) = (&written.shown.token, written.value);
    let containers = token.containers.clone();
    answer.disclose(Disclosure { right, value, containers, exposure });
    let name = token.name.as_ref().map(|name| String::from(name.as_str()));
    let (id, seed) = (SubjectId::Token { id: token.id, name }, &token.answer_seed);
    answer.subject(id, seed, &token.containers)
}

pub(crate) fn render(shown: &TokenView) -> Json {
    let mut object = Object::with_capacity(bytes(&shown.token)).never_remembered();
    write_members(&mut object, shown, 0);
    object.close()
}

/// The expected length of an answer.
fn bytes(token: &Token) -> usize {
    /// Without data, mask and metadata. Longer texts make the buffer grow.
    const MEMBERS_BYTES: usize = 1_248;
    MEMBERS_BYTES.saturating_add(token.bytes())
}

/// The members. Those that are not always kept are deleted with the token, which is this subject.
fn write_members(object: &mut Object, shown: &TokenView, subject: usize) {
    let token = &shown.token;
    match &token.name {
        Some(name) => object.text("id", name.as_str()),
        None => object.id("id", token.id.uuid()),
    }
    object.id("tenant_id", token.tenant.uuid());
    object.text("type", token.kind.as_str());
    object.keep(PartLifetime::With(subject));
    // A code of unknown retention is not kept at all.
    let until = token.cvc_expires_at;
    let with_code = until.map_or(PartLifetime::Once, |until| PartLifetime::WithCvc(subject, until));
    match (&shown.data, &token.cvc) {
        (DataView::Plain, None) => object.json("data", token.data.json()),
        (DataView::Plain, Some(code)) => {
            let (before, member, after) = with_cvc(token.data.json(), code.expose());
            object.json("data", before);
            object.keep(with_code);
            for piece in member {
                object.more(piece);
            }
            object.keep(PartLifetime::With(subject));
            object.more(after);
        }
        (DataView::Masked(value), code) => {
            // The token's own mask may show the code, so all of it is deleted with the code.
            if code.is_some() && token.mask.is_some() {
                object.keep(with_code);
            }
            object.value("data", value.expose());
            object.keep(PartLifetime::With(subject));
        }
        (DataView::Absent, _) => (),
    }
    if let Some(card) = &shown.card {
        let name = if token.kind == TokenType::NetworkToken { "network_token" } else { "card" };
        card::write(object, name, card);
    }
    if let Some(bank) = &shown.bank {
        object.value("bank", &bank.to_value());
    }
    if shown.fingerprint == Fingerprint::Shown {
        object.text("fingerprint", &token.fingerprint);
    }
    object.keep(PartLifetime::Always);
    object.texts("containers", token.containers.iter().map(Container::as_str));
    if shown.extent == Extent::Outline {
        return;
    }
    object.keep(PartLifetime::With(subject));
    privacy::write(object, token);
    if let Some(mask) = token.effective_mask() {
        object.json("mask", mask);
    }
    object.object("metadata", |metadata| {
        for (key, value) in token.metadata.iter() {
            metadata.text(key, value);
        }
    });
    object.texts("search_indexes", token.effective_search_indexes().into_iter());
    object.text("fingerprint_expression", token.effective_fingerprint_expression());
    object.keep(PartLifetime::Always);
    object.optional_time("expires_at", token.expires_at);
    object.id("created_by", token.created_by.uuid());
    object.time("created_at", token.created_at);
    object.optional_display("modified_by", token.modified_by);
    object.optional_time("modified_at", token.modified_at);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::http::wire::tokenize;

    /// Any JSON, with the names that matter among its members.
    fn bodies() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            "[0-9]{12,19}".prop_map(Value::from),
            "\\{\\{ data[a-z|: .']{0,12}\\}\\}".prop_map(Value::from),
            prop::sample::select(vec!["card", "token", "bank", "/pci/high/", "card_number"])
                .prop_map(Value::from),
        ];
        let names = prop_oneof![
            prop::sample::select(vec![
                "id",
                "type",
                "data",
                "mask",
                "containers",
                "metadata",
                "search_indexes",
                "number",
                "fingerprint_expression",
                "deduplicate_token",
                "expires_at",
                "token_intent_id",
                "cvc",
                "expiration_month",
                "expiration_year",
                "routing_number",
            ])
            .prop_map(String::from),
            ".{0,6}",
        ];
        leaf.prop_recursive(5, 48, 8, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(names.clone(), inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_body_makes_parsing_or_checking_panic(body in bodies()) {
            let draft = parse_draft(&body);
            if let (Some(kind), Some(data)) = (draft.kind, &draft.data) {
                use crate::domain::token_type::TestNumbers;
                let checked = kind.check(data.expose(), TestNumbers::Taken);
                prop_assert!(checked.is_ok() || checked.is_err_and(|found| !found.is_empty()));
            }
            drop(parse_patch(&body));
            drop(parse_intent_draft(&body));
            drop(tokenize::parse(&body));
        }
    }

    #[test]
    fn a_conversion_takes_type_and_data_from_the_intent_alone() {
        let draft = parse_draft(&json!({"token_intent_id": "x", "type": "card", "data": {}}));
        let paths: Vec<_> = draft.mistakes.by_path().keys().map(String::as_str).collect();
        assert_eq!(paths, ["data", "type"]);
        assert!(parse_draft(&json!({"token_intent_id": "x"})).mistakes.is_empty());
    }
}
