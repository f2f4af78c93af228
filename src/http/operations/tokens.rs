//! Token operations over HTTP.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::app::{Caller, TokenizeOutcome, Vault, WriteOutcome};
use crate::domain::exposure::Right;
use crate::domain::token::Token;
use crate::http::path::TokenName;
use crate::http::wire::{token, tokenize};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, Disclosure, RememberedAnswer};
use crate::secret::SecretBuffer;

/// The answer to `POST /tokens`.
pub fn created_token(written: &WriteOutcome) -> RememberedAnswer {
    let location = token_path(&written.shown.token.public_id());
    token::answer(written, AnswerStatus::Created, Right::Create).at(location)
}

/// The answer to an earlier `POST /tokens`.
pub fn show_again(
    app: &Vault,
    caller: &Caller,
    token: Token,
    made: &Disclosure,
) -> RememberedAnswer {
    created_token(&app.tokens(caller).as_created(token, made))
}

impl Exchange<'_> {
    pub(in crate::http) async fn create_token(mut self) -> WriteAnswer {
        let mut draft = token::take_draft(self.body.expose_mut());
        draft.source = self.data_source();
        let write = self.write(&created_token);
        let written = self.app.tokens(self.caller).create(draft, &write).await?;
        Ok(Reply::from(written.answer))
    }

    pub(in crate::http) async fn read_token(&self, id: &TokenName) -> Answer {
        let shown = self.app.tokens(self.caller).read(id.as_str()).await?;
        Ok(Reply::ok(token::render(&shown)))
    }

    pub(in crate::http) async fn update_token(&self, id: &TokenName) -> WriteAnswer {
        let mut patch = token::parse_patch(self.body.expose());
        patch.source = self.data_source();
        let answer =
            |written: &WriteOutcome| token::answer(written, AnswerStatus::Ok, Right::Update);
        let (id, write) = (id.as_str(), self.write(&answer));
        let written = self.app.tokens(self.caller).update(id, &patch, &write).await?;
        Ok(Reply::from(written.answer))
    }

    pub(in crate::http) async fn delete_token(&self, id: &TokenName) -> Answer {
        self.app.tokens(self.caller).delete(id.as_str()).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) async fn delete_token_code(&self, id: &TokenName) -> Answer {
        self.app.tokens(self.caller).delete_code(id.as_str()).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) async fn tokenize(&self) -> WriteAnswer {
        let body = self.body.expose();
        let answer = |tokenized: &TokenizeOutcome| tokenize::answer(body, tokenized);
        let mut draft = tokenize::parse(body);
        self.set_data_sources(&mut draft)?;
        self.charge_tokens(draft.drafts.len())?;
        let tokenized = self.app.tokens(self.caller).tokenize(draft, &self.write(&answer)).await?;
        Ok(Reply::from(tokenized.answer))
    }

    pub(in crate::http) async fn detokenize(&self) -> Answer {
        let filled = self.app.tokens(self.caller).detokenize(self.body.expose()).await?;
        let mut text = SecretBuffer::with_capacity(0);
        text.json(filled.expose());
        Ok(Reply::ok(text.finish()))
    }
}

/// Escapes the characters of a chosen id that are not allowed in a path.
fn token_path(id: &str) -> String {
    ["/tokens/", &Cow::from(utf8_percent_encode(id, NOT_IN_PATHS))].concat()
}

/// All but the characters that RFC 3986 allows in a segment of a path. A plus sign, an ampersand
/// and an equals sign are escaped too, since some clients take them for parts of a query.
const NOT_IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b':')
    .remove(b'@');
