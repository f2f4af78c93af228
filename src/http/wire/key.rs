//! API keys on the wire.

use crate::app::NewKey;
use crate::domain::application::ApiKey;
use crate::domain::key_text::KeyText;
use crate::domain::time::Timestamp;
use crate::http::wire::{Json, Object};
use crate::idempotency::{AnswerStatus, PartLifetime, RememberedAnswer, SubjectId};

/// The answer to the creation of a key, with its text.
pub(crate) fn answer(new: &NewKey) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let subject = name(&mut answer, new);
    render_members(&new.key, Some((&new.text, subject))).close_into(&mut answer);
    answer.at(format!("/applications/{}/keys/{}", new.key.application, new.key.id))
}

/// Makes a new key a subject of a remembered answer.
pub(crate) fn name(answer: &mut RememberedAnswer, new: &NewKey) -> usize {
    let ApiKey { application, id, .. } = new.key;
    answer.subject(SubjectId::ApiKey { application, id }, &new.answer_seed, &[])
}

pub(crate) fn render(key: &ApiKey) -> Json {
    render_members(key, None).close()
}

/// As [`render`], with the last use, which no published answer has.
pub(crate) fn render_with_use(key: &ApiKey, last_used_at: Option<Timestamp>) -> Json {
    let mut object = render_members(key, None);
    object.optional_time("last_used_at", last_used_at);
    object.close()
}

/// Only the answer to the creation has the text, which is kept no longer than the key.
fn render_members(key: &ApiKey, text: Option<(&KeyText, usize)>) -> Object {
    let mut object = Object::new();
    object.display("id", key.id);
    object.display("tenant_id", key.tenant);
    if let Some((text, subject)) = text {
        object.keep(PartLifetime::With(subject));
        object.text("key", text.expose());
        object.keep(PartLifetime::Always);
    }
    object.text("version", "v1");
    object.optional_display("created_by", key.created_by);
    object.time("created_at", key.created_at);
    object
}
