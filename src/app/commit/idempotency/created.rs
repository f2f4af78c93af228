//! The answer to the create of a new token. Only the texts that outlive the token are kept. A
//! repetition renders the whole answer again from the token and the rights of the first request.
//!
//! The first change of the token puts the version before it into the answer, sealed under a key that
//! is derived from the token's seed, so a deletion of the token makes it unreadable too. The card
//! verification code is never in it: a repetition shows the code while the vault has it.

use crate::app::Idempotency;
use crate::app::caller::Caller;
use crate::app::commit::idempotency::remember::{
    LiveSubject, StoredBody, bad_record, identity, live_token, open_parts, part_key, token_entity,
};
use crate::app::commit::idempotency::{AnswerPlace, open_answer};
use crate::app::error::Error;
use crate::crypto::TenantKeys;
use crate::domain::audit::Entity;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::idempotency::{Disclosure, SubjectId};
use crate::secret::Secret;
use crate::store::record::{
    StoredAnswer, StoredPart, decode_token, encode_answer_again, encode_token,
};
use crate::store::{Change, Snapshot, Table, tables};

impl Idempotency<'_> {
    /// Keeps this version of a token for the answer to its creation. For its first change.
    pub(in crate::app) fn keep_first(
        self,
        snapshot: &Snapshot,
        token: &Token,
        keys: &TenantKeys,
    ) -> Result<Change, Error> {
        let (table, tenant) = (Table::IdempotencyAnswers, token.tenant);
        let Some(blinded) = token.created_under else { return Ok(Change::new()) };
        let place = tables::idempotency_answers(token.created_at, tenant, &blinded);
        // It is kept for a day.
        let Some(sealed) = snapshot.value(table, &place)? else { return Ok(Change::new()) };
        let StoredAnswer::Plain(mut answer) = open_answer(keys, &place, &sealed)? else {
            return Err(bad_record());
        };
        let ([StoredPart::AsCreated, ..], [(_, first)]) =
            (answer.body.as_slice(), answer.subjects.as_mut_slice())
        else {
            return Ok(Change::new());
        };
        let (key, plain) =
            (part_key(keys, &token.answer_seed, &token.containers), encode_token(token)?);
        *first = key.seal(&identity(&tenant, &place), plain.expose(), self.vault.random());
        let plain = encode_answer_again(&answer)?;
        let again = keys.seal(table.number(), &place, plain.expose(), self.vault.random());
        Ok(Change::new().expect_value(table, place.clone(), sealed).put(table, place, again))
    }

    /// The whole answer, and its token, while the caller may see it. Otherwise only the kept texts.
    pub(super) fn show_as_created(
        self,
        snapshot: &Snapshot,
        (of, caller): (&AnswerPlace<'_>, Option<&Caller>),
        place: &[u8],
        stored: StoredBody<'_>,
        now: Timestamp,
    ) -> Result<(Secret<Vec<u8>>, Vec<Entity>), Error> {
        let StoredBody { subjects, body, disclosures } = stored;
        let ([(id, sealed)], [made], Some(caller), Some(show_again)) =
            (subjects.as_slice(), disclosures, caller, of.show_again)
        else {
            return Err(bad_record());
        };
        let first = self.first_version(snapshot, (of, caller), place, (id, sealed, made), now)?;
        if let (Some(token), SubjectId::Token { id, name }) = (first, id) {
            let shown = vec![token_entity(*id, name.as_deref())];
            return Ok((show_again(self.vault, caller, token, made).into_body(), shown));
        }
        let texts = body.iter().skip(1).map(|part| match part {
            StoredPart::Text(text) => Ok(text.expose().as_slice()),
            StoredPart::AsCreated | StoredPart::Hidden(_) => Err(bad_record()),
        });
        Ok((Secret::new(texts.collect::<Result<Vec<_>, _>>()?.concat()), Vec::new()))
    }

    /// The token as it was created, with its code if that is the same. `None` if the token is gone,
    /// or if it was moved to where the caller may not see it.
    fn first_version(
        self,
        snapshot: &Snapshot,
        (of, caller): (&AnswerPlace<'_>, &Caller),
        place: &[u8],
        (id, sealed, made): (&SubjectId, &[u8], &Disclosure),
        now: Timestamp,
    ) -> Result<Option<Token>, Error> {
        let SubjectId::Token { id: token, .. } = id else { return Err(bad_record()) };
        let Some(live) = live_token(snapshot, of, *token, now)? else { return Ok(None) };
        let code_until = live.cvc_expires_at;
        let mut first = if sealed.is_empty() {
            live
        } else {
            let subject = LiveSubject::of_token(&live);
            let made = std::slice::from_ref(made);
            let opened = open_parts((of, Some(caller)), place, &subject, id, sealed, made)?;
            let Some(plain) = opened else { return Ok(None) };
            decode_token(of.tenant, *token, plain.expose())?
        };
        // A change that did not keep the version before it.
        if first.created_under != Some(of.blinded) {
            return Ok(None);
        }
        if first.cvc_expires_at == code_until {
            self.vault.cvcs().attach(snapshot, &mut first, now)?;
        }
        Ok(Some(first))
    }
}
