//! Answers of programs. The text is the program's own: no part of it belongs to a certain token.
//! The whole answer is sealed under a key that is derived from the seeds of all tokens and intents
//! whose values the program got, and it is gone with the first of them. If the values have a card
//! verification code, the key also depends on a text under the code's own key, which is destroyed
//! when the retention of the code ends.
//!
//! If the answer holds the code as it is, it is gone as well when the code is used, deleted or
//! replaced. In another form the code is not found in the text. An answer without it stays, since it
//! must reach its caller although the call has used the code.

use crate::app::Idempotency;
use crate::app::caller::Caller;
use crate::app::commit::idempotency::AnswerPlace;
use crate::app::commit::idempotency::remember::{
    LiveSubject, SHOWS_MORE, bad_record, identity, live_subject, paths, target_id, token_entity,
};
use crate::app::error::Error;
use crate::crypto::{SealingKey, TenantKeys};
use crate::domain::access::Transform;
use crate::domain::audit::Entity;
use crate::domain::condition::Target;
use crate::domain::exposure::{Right, ValueOrigin};
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::idempotency::{Source, Sources, SubjectId};
use crate::secret::Secret;
use crate::store::Snapshot;
use crate::store::record::{AnswerRecord, SourcedAnswer, decode_answer, encode_sourced};

impl Idempotency<'_> {
    /// Seals an encoded answer. If a source is gone already, only that is stored: the program must
    /// not run again.
    pub(super) fn seal_to_sources(
        self,
        snapshot: &Snapshot,
        (of, place): (&AnswerPlace<'_>, &[u8]),
        sources: &Sources,
        plain: &Secret<Vec<u8>>,
        now: Timestamp,
    ) -> Result<Secret<Vec<u8>>, Error> {
        let codes_until = sources.codes_until;
        let mut live = Vec::with_capacity(sources.all.len());
        for source in &sources.all {
            let subject = live_subject(snapshot, of, &source.id, now)?;
            let Some(subject) = subject.filter(|it| source.is_whole(it)) else { break };
            live.push(subject);
        }
        let is_whole = live.len() == sources.all.len() && codes_until.is_none_or(|at| now < at);
        let (mut until_code_ends, mut sealed) = (None, Vec::new());
        if is_whole {
            let text = Secret::new(hex::encode(&self.vault.random().bytes::<32>()));
            if let Some(until) = codes_until {
                let text = text.expose();
                until_code_ends = Some(self.vault.cvcs().seal(of.tenant, place, text, until)?);
            }
            let text = until_code_ends.as_ref().map(|_| &text);
            let key = key(of.keys, &live, text);
            let identity = identity(&of.tenant, place);
            sealed = key.seal(&identity, plain.expose(), self.vault.random());
        }
        let (answered_at, sources) = (now, sources.all.clone());
        let answer = SourcedAnswer { answered_at, sources, until_code_ends, sealed };
        Ok(encode_sourced(&answer)?)
    }

    /// Returns the sources that the answer may show. Fails if one is gone, or if the caller may not
    /// use one today whose value the program got with the caller's rights.
    pub(super) fn open_with_sources(
        self,
        snapshot: &Snapshot,
        (of, caller): (&AnswerPlace<'_>, Option<&Caller>),
        place: &[u8],
        answer: SourcedAnswer,
        now: Timestamp,
    ) -> Result<(AnswerRecord, Vec<Entity>), Error> {
        let SourcedAnswer { sources, until_code_ends, sealed, .. } = answer;
        let mut live = Vec::with_capacity(sources.len());
        for source in &sources {
            let subject = live_subject(snapshot, of, &source.id, now)?;
            let subject = subject.filter(|it| source.is_whole(it)).ok_or(Error::AnswerGone)?;
            if let Some(caller) = caller.filter(|_| source.is_callers) {
                caller.require_use_again(source, &subject)?;
            }
            live.push(subject);
        }
        let text = match until_code_ends {
            Some(sealed) => {
                let text = self.vault.cvcs().open(of.tenant, place, &sealed, now)?;
                Some(text.ok_or(Error::AnswerGone)?.0)
            }
            None => None,
        };
        // It does not open either if a token was moved: its containers are part of the key.
        let plain = key(of.keys, &live, text.as_ref()).open(&identity(&of.tenant, place), &sealed);
        let record = decode_answer(plain.ok().ok_or(Error::AnswerGone)?.expose())?;
        Ok((record, sources.into_iter().map(entity).collect::<Result<_, _>>()?))
    }
}

impl Source {
    /// False if a code in the answer was used, deleted or replaced.
    fn is_whole(&self, live: &LiveSubject) -> bool {
        self.code_until.is_none_or(|until| live.cvc_expires_at == Some(until))
    }
}

impl Caller {
    fn require_use_again(&self, source: &Source, live: &LiveSubject) -> Result<(), Error> {
        let home: Vec<_> = live.home.iter().cloned().collect();
        let containers = if live.home.is_some() { &home } else { live.containers.as_slice() };
        let target = Target { containers, id: target_id(&source.id) };
        let today = self.exposure(target, Right::Use, ValueOrigin::Stored)?;
        if today.transform == Transform::Reveal {
            Ok(())
        } else {
            Err(Error::Forbidden(SHOWS_MORE))
        }
    }
}

fn key(keys: &TenantKeys, live: &[LiveSubject], text: Option<&Secret<String>>) -> SealingKey {
    let paths: Vec<_> = live.iter().map(|subject| paths(&subject.containers)).collect();
    let mut parts = vec![b"answer of a program".as_slice()];
    for (subject, paths) in live.iter().zip(&paths) {
        parts.extend([subject.seed.expose().as_slice(), paths.as_bytes()]);
    }
    parts.extend(text.map(|text| text.expose().as_bytes()));
    SealingKey::new(0, &Secret::new(keys.lasting().tag(&parts)))
}

fn entity(source: Source) -> Result<Entity, Error> {
    match source.id {
        SubjectId::Token { id, name } => Ok(token_entity(id, name.as_deref())),
        SubjectId::TokenIntent(id) => Ok(id.into()),
        SubjectId::ApiKey { .. } | SubjectId::Proxy(_) | SubjectId::Reactor(_) => Err(bad_record()),
    }
}
