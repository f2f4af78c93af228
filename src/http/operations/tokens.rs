//! Token operations over HTTP.

use crate::app::{Tokenized, Written};
use crate::domain::exposure::Right;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::{token, tokenize};
use crate::http::{Exchange, Instead};
use crate::idempotency::Status;
use crate::secret::SecretBuffer;

impl Exchange<'_> {
    pub(in crate::http) async fn create_token(&self) -> Result<Reply, Instead> {
        let draft = token::parse_draft(self.body.expose());
        let answer = |written: &Written| {
            let location = token_path(&written.shown.token.public_id());
            token::answer(written, Status::Created, Right::Create).at(location)
        };
        let written = self.app.tokens(self.caller).create(draft, &self.write(&answer)).await?;
        Ok(Reply::from(written.answer))
    }

    pub(in crate::http) async fn read_token(&self) -> Result<Reply, Problem> {
        let shown = self.app.tokens(self.caller).read(self.parameter(0)).await?;
        Ok(Reply::ok(token::render(&shown)))
    }

    pub(in crate::http) async fn update_token(&self) -> Result<Reply, Instead> {
        let patch = token::parse_patch(self.body.expose());
        let answer = |written: &Written| token::answer(written, Status::Ok, Right::Update);
        let (id, write) = (self.parameter(0), self.write(&answer));
        let written = self.app.tokens(self.caller).update(id, &patch, &write).await?;
        Ok(Reply::from(written.answer))
    }

    pub(in crate::http) async fn delete_token(&self) -> Result<Reply, Problem> {
        self.app.tokens(self.caller).delete(self.parameter(0)).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) async fn tokenize(&self) -> Result<Reply, Instead> {
        let body = self.body.expose();
        let answer = |tokenized: &Tokenized| tokenize::answer(body, tokenized);
        let draft = tokenize::parse(body);
        self.charge_tokens(draft.drafts.len())?;
        let tokenized = self.app.tokens(self.caller).tokenize(draft, &self.write(&answer)).await?;
        Ok(Reply::from(tokenized.answer))
    }

    pub(in crate::http) async fn detokenize(&self) -> Result<Reply, Problem> {
        let filled = self.app.tokens(self.caller).detokenize(self.body.expose()).await?;
        let mut text = SecretBuffer::with_capacity(0);
        text.json(filled.expose());
        Ok(Reply::ok(text.finish()))
    }
}

/// Ids that callers chose may hold what a path cannot.
fn token_path(id: &str) -> String {
    let mut path = String::from("/tokens/");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$'()*,;:@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push('%');
            path.push_str(&crate::domain::hex::encode(&[byte]).to_ascii_uppercase());
        }
    }
    path
}
