//! API keys on the wire.

use crate::app::NewKey;
use crate::domain::application::ApiKey;
use crate::domain::key_text::KeyText;
use crate::domain::time::Timestamp;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Json, Object};
use crate::idempotency::{AnswerStatus, RememberedAnswer, SubjectId};

/// The answer to the creation of a key, with its text.
pub(crate) fn answer(new: &NewKey) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(AnswerStatus::Created);
    let subject = name(&mut answer, new);
    let mut object = Object::new();
    KeyAnswer::fill(&mut object, (&new.key, Some((&new.text, subject))));
    object.close_into(&mut answer);
    answer.at(format!("/applications/{}/keys/{}", new.key.application, new.key.id))
}

/// Makes a new key a subject of a remembered answer.
pub(crate) fn name(answer: &mut RememberedAnswer, new: &NewKey) -> usize {
    let ApiKey { application, id, .. } = new.key;
    answer.subject(SubjectId::ApiKey { application, id }, &new.answer_seed, &[])
}

pub(crate) fn render(key: &ApiKey) -> Json {
    KeyAnswer::render((key, None))
}

/// As [`render`], with the last use, which no published answer has.
pub(crate) fn render_with_use(key: &ApiKey, last_used_at: Option<Timestamp>) -> Json {
    let mut object = Object::new();
    KeyAnswer::fill(&mut object, (key, None));
    object.optional_time("last_used_at", last_used_at);
    object.close()
}

answer! {
    pub(in crate::http) KeyAnswer<'a>(it: (&'a ApiKey, Option<(&'a KeyText, usize)>)) {
        has id: id = it.0.id;
        has tenant_id: id = it.0.tenant;
        may_have key: kept = it.1.map(|(text, subject)| (text.expose(), subject)),
            "The text, only in the answer that made the key.";
        has version: word(["v1"]) = "v1";
        may_have created_by: id = it.0.created_by;
        has created_at: time = it.0.created_at;
    }
}
