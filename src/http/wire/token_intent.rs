//! Token intents on the wire.

use crate::app::TokenIntentView;
use crate::domain::token_type::TokenType;
use crate::http::wire::{Json, Object, card};
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, SubjectId};

pub(crate) fn answer(shown: &TokenIntentView) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let intent = &shown.intent;
    let id = SubjectId::TokenIntent(intent.id);
    let subject = answer.subject(id, &intent.answer_seed, &[]);
    render_members(shown, subject).close_into(&mut answer);
    answer.at(format!("/token-intents/{}", intent.id))
}

pub(crate) fn render(shown: &TokenIntentView) -> Json {
    render_members(shown, 0).close()
}

/// The members. Those that are not always kept are deleted with the intent, which is this subject.
fn render_members(shown: &TokenIntentView, subject: usize) -> Object {
    let intent = &shown.intent;
    let mut object = Object::new();
    object.display("id", intent.id);
    object.text("type", intent.kind.as_str());
    object.display("tenant_id", intent.tenant);
    object.keep(PartLifetime::With(subject));
    object.text("fingerprint", &intent.fingerprint);
    let network_token = intent.kind == TokenType::NetworkToken;
    match &shown.card {
        Some(card) if !network_token => card::write(&mut object, "card", card),
        Some(card) => {
            object.json("card", "null");
            card::write(&mut object, "network_token", card);
        }
        None => object.json("card", "null"),
    }
    if let Some(bank) = &shown.bank {
        object.value("bank", &bank.to_value());
    }
    object.keep(PartLifetime::Always);
    object.json("authentication", "null");
    object.display("created_by", intent.created_by);
    object.time("created_at", intent.created_at);
    object.time("expires_at", intent.expires_at);
    object
}
