//! Token intents over HTTP.

use crate::app::TokenIntentView;
use crate::http::path::TokenIntentName;
use crate::http::wire::{token, token_intent};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::RememberedAnswer;

impl Exchange<'_> {
    pub(in crate::http) async fn create_token_intent(&self) -> WriteAnswer {
        let mut draft = token::parse_intent_draft(self.body.expose());
        draft.source = self.data_source();
        let answer: fn(&TokenIntentView) -> RememberedAnswer = token_intent::answer;
        let write = self.write(&answer);
        let shown = self.app.token_intents(self.caller).create(&draft, &write).await?;
        Ok(Reply::from(shown.answer))
    }

    pub(in crate::http) async fn read_token_intent(&self, id: &TokenIntentName) -> Answer {
        let shown = self.app.token_intents(self.caller).read(id.as_str()).await?;
        Ok(Reply::ok(token_intent::render(&shown)))
    }

    pub(in crate::http) async fn delete_token_intent(&self, id: &TokenIntentName) -> Answer {
        self.app.token_intents(self.caller).delete(id.as_str()).await?;
        Ok(Reply::nothing())
    }
}
