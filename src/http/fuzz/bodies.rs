//! The bodies of all operations.

use serde_json::Value;

use super::check_mistakes;
use crate::app::TokenDraft;
use crate::bounds::{JSON_DEPTH_MAX, JSON_VALUES_MAX};
use crate::domain::application::ApplicationKind;
use crate::domain::id::TenantId;
use crate::domain::json_count::count_json;
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
use crate::domain::shares::Claimant;
use crate::fuzz::check_sentence;
use crate::http::bodies::{Bodies, parsed_bytes};
use crate::http::body::parse_json;
use crate::http::wire::named::NamedShape as _;
use crate::http::wire::{
    application, client_key, console, session, tenant, threeds, token, token_query, tokenize,
    webhook,
};

/// The first byte selects the operation; the body follows, as the connection delivers it.
pub(crate) fn bodies(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else { return };
    let bodies = Bodies::default();
    let mut share = bodies.share(Claimant::Keyed(TenantId::new(uuid::Uuid::nil())));
    let parsed = match parse_json(body, &mut share) {
        Ok(parsed) => parsed,
        Err(problem) => return check_sentence(problem.detail),
    };
    let body_value = parsed.expose();
    check_size(body, body_value);
    match kind % 19 {
        0 => check_draft(&token::parse_draft(body_value)),
        1 => check_mistakes(&token::parse_patch(body_value).mistakes),
        2 => check_mistakes(&token::parse_intent_draft(body_value).mistakes),
        3 => {
            let draft = tokenize::parse(body_value);
            assert!(draft.drafts.len() <= body.len());
            draft.drafts.iter().for_each(|part| check_draft(&part.draft));
        }
        4 => check(token_query::parse_search(body_value)),
        5 => check(token_query::parse_legacy_search(body_value)),
        6 => check(application::parse_draft(body_value)),
        7 => check(application::parse_update(body_value, ApplicationKind::Private)),
        8 => check(tenant::parse_change(body_value)),
        9 => check(webhook::parse_draft(body_value)),
        10 => check(webhook::parse_change(body_value)),
        11 => check(client_key::parse_expires_at(body_value)),
        12 => check(session::parse_authorization(body_value)),
        13 => check(Proxy::parse(body_value, None)),
        14 => check_mistakes(&threeds::session::parse_draft(body_value).mistakes),
        15 => check(threeds::session::parse_device(body_value)),
        16 => check_mistakes(&threeds::authenticate::parse(body_value).1),
        18 => check(Reactor::parse(body_value, None)),
        _ => {
            let answer = console::preview::answer(body_value);
            assert!(serde_json::from_slice::<Value>(answer.expose()).is_ok());
        }
    }
}

fn check<T>(parsed: Result<T, Mistakes>) {
    if let Err(mistakes) = parsed {
        assert!(!mistakes.is_empty(), "a refusal without a reason");
        check_mistakes(&mistakes);
    }
}

fn check_draft(draft: &TokenDraft) {
    check_mistakes(&draft.mistakes);
    // A refused value never comes out: a draft without mistakes has exactly one of these two.
    if draft.mistakes.is_empty() {
        let is_new = draft.data.is_some() ^ draft.encrypted.is_some();
        assert!(is_new ^ draft.token_intent_id.is_some(), "a draft without data");
    }
}

/// The memory counted before parsing is enough, and the bounds hold.
fn check_size(body: &[u8], value: &Value) {
    let (mut values, mut deepest) = (0_usize, 0_usize);
    let mut waiting = vec![(value, 0_usize)];
    while let Some((value, depth)) = waiting.pop() {
        values = values.saturating_add(1);
        deepest = deepest.max(depth);
        let inside = depth.saturating_add(1);
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, inside))),
            Value::Object(members) => {
                values = values.saturating_add(members.len());
                waiting.extend(members.values().map(|member| (member, inside)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
        }
    }
    assert!(values <= JSON_VALUES_MAX.saturating_add(1), "too many values");
    assert!(deepest <= JSON_DEPTH_MAX, "too deep");
    // The memory of the request holds the outermost value.
    let inner = values.saturating_sub(1);
    assert!(
        parsed_bytes(body.len(), count_json(body))
            >= inner.saturating_mul(size_of::<Value>()).div_euclid(4)
    );
}
