//! Storing an answer in parts, and joining the parts for a replay.
//!
//! The data file keeps an answer for 24 hours. The tokens, token intents and API keys that it shows
//! may be deleted or expire before that. Parts that show one of these subjects are sealed under a
//! key of their own, derived from a random seed. The seed is only in the subject's record: deleting
//! the record deletes the seed, and from then on no key opens these parts. A deletion therefore
//! need not search for answers. The whole answer is sealed once more under the tenant's key, as
//! every record is.
//!
//! The answer to the create of a new token has no such parts, unless its own mask was applied: it
//! is rendered again from the token ([`super::created`]).
//!
//! An alternative was dropped: storing parts in rows by token, deleted with the token, costs a row
//! for each answer and token.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::app::Idempotency;
use crate::app::caller::Caller;
use crate::app::commit::idempotency::AnswerPlace;
use crate::app::error::{Error, Fault};
use crate::crypto::{Identity, SealingKey, TenantKeys};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::{Entity, EntityKind};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::{Container, Containers};
use crate::domain::id::{TenantId, TokenId};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::idempotency::{Disclosure, PartLifetime, RememberedAnswer, Replay, Subject, SubjectId};
use crate::secret::Secret;
use crate::store::record::{
    AnswerHead, AnswerRecord, BodyPart, HiddenPart, HiddenParts, StoredAnswer, StoredPart,
    decode_api_key, decode_hidden, decode_proxy, decode_reactor, decode_token, decode_token_intent,
    encode_answer,
};
use crate::store::{Change, Snapshot, Table, tables};

pub(super) struct StoredBody<'a> {
    pub(super) subjects: Vec<(SubjectId, Vec<u8>)>,
    pub(super) body: Vec<StoredPart>,
    pub(super) disclosures: &'a [Disclosure],
}

pub(super) struct LiveSubject {
    pub(super) seed: AnswerSeed,
    /// The current ones of a token; empty for other subjects.
    pub(super) containers: Containers,
    /// The container in which access rules look for an intent.
    pub(super) home: Option<Container>,
    /// The end of the retention of its card verification code; `None` if it has no code now.
    pub(super) cvc_expires_at: Option<Timestamp>,
}

impl Idempotency<'_> {
    pub(in crate::app) fn remember(
        self,
        snapshot: &Snapshot,
        of: &AnswerPlace<'_>,
        answer: &RememberedAnswer,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let AnswerPlace { tenant, keys, blinded, .. } = *of;
        // So the token leads to its answer.
        let now = answer.as_created.unwrap_or(now);
        let place = tables::idempotency_answers(now, tenant, &blinded);
        let mut hidden: SmallVec<[Option<HiddenParts>; 1]> =
            answer.subjects.iter().map(|_| None).collect();
        let mut body: SmallVec<[BodyPart<'_>; 16]> = SmallVec::new();
        body.extend(answer.as_created.map(|_| BodyPart::AsCreated));
        for (text, kept) in answer.parts() {
            let (at, until) = match kept {
                PartLifetime::Always => {
                    body.push(BodyPart::Text(text));
                    continue;
                }
                PartLifetime::Once => continue,
                PartLifetime::With(_) | PartLifetime::WithCvc(..)
                    if answer.as_created.is_some() =>
                {
                    continue;
                }
                PartLifetime::With(at) => (at, None),
                PartLifetime::WithCvc(at, until) => (at, Some(until)),
            };
            let hidden = hidden.get_mut(at).ok_or_else(impossible)?;
            let hidden = hidden.get_or_insert_with(|| HiddenParts::with_capacity(HIDDEN_BYTES));
            if let Some(until) = until {
                let text = str::from_utf8(text).ok().ok_or_else(impossible)?;
                hidden.cvc(&self.vault.cvcs().seal(tenant, &place, text, until)?)?;
            } else {
                hidden.text(text)?;
            }
            body.push(BodyPart::Hidden(at));
        }
        let identity = identity(&tenant, &place);
        let seal = |(subject, hidden): (&Subject, Option<HiddenParts>)| {
            let Some(hidden) = hidden else { return Vec::new() };
            let key = part_key(keys, &subject.seed, &subject.containers);
            key.seal(&identity, hidden.finish().expose(), self.vault.random())
        };
        let sealed: SmallVec<[Vec<u8>; 1]> = answer.subjects.iter().zip(hidden).map(seal).collect();
        let head = AnswerHead {
            answered_at: now,
            status: answer.status,
            location: answer.location.as_deref(),
            head: answer.head.as_ref(),
            disclosures: &answer.disclosures,
        };
        let ids = answer.subjects.iter().map(|subject| &subject.id);
        let mut plain = encode_answer(&head, ids.zip(sealed.iter().map(Vec::as_slice)), &body)?;
        if let Some(sources) = &answer.sources {
            plain = self.seal_to_sources(snapshot, (of, &place), sources, &plain, now)?;
        }
        Ok(self.put_answer(snapshot, of, (now, place), &plain))
    }

    /// Puts an encoded answer in the place of this time, and the row that finds it.
    pub(super) fn put_answer(
        self,
        snapshot: &Snapshot,
        of: &AnswerPlace<'_>,
        (at, place): (Timestamp, Vec<u8>),
        plain: &Secret<Vec<u8>>,
    ) -> Change {
        let table = Table::IdempotencyAnswers;
        let sealed = of.keys.seal(table.number(), &place, plain.expose(), self.vault.random());
        // Its finder would lead to it if it were there.
        Change::new()
            .expect_new(table, place.clone(), snapshot.base())
            .put(Table::Idempotency, of.finder(), tables::idempotency_time(at))
            .put(table, place, sealed)
    }

    /// Leaves out deleted and expired subjects. Fails for a reservation, and if the caller lacks a
    /// right today that the first answer needed.
    pub(super) fn restore(
        self,
        snapshot: &Snapshot,
        (of, caller): (&AnswerPlace<'_>, Option<&Caller>),
        place: &[u8],
        stored: StoredAnswer,
        now: Timestamp,
    ) -> Result<Replay, Error> {
        let (record, sources) = match stored {
            StoredAnswer::Plain(record) => (record, Vec::new()),
            StoredAnswer::Reserved(_) => return Err(Error::InFlight),
            StoredAnswer::Sourced(answer) => {
                self.open_with_sources(snapshot, (of, caller), place, answer, now)?
            }
        };
        let ids = token_ids(&record.subjects);
        if let Some(caller) = caller {
            for disclosure in &record.disclosures {
                caller.require_again(disclosure, &ids)?;
            }
        }
        let AnswerRecord { status, location, head, disclosures, subjects, body, .. } = record;
        let stored = StoredBody { subjects, body, disclosures: &disclosures };
        let (body, mut shown) = self.join(snapshot, (of, caller), place, stored, now)?;
        shown.extend(sources);
        Ok(Replay { status, location, head, body, shown })
    }

    /// Joins the parts whose subjects still exist. Returns the body and these subjects.
    fn join(
        self,
        snapshot: &Snapshot,
        (of, caller): (&AnswerPlace<'_>, Option<&Caller>),
        place: &[u8],
        stored: StoredBody<'_>,
        now: Timestamp,
    ) -> Result<(Secret<Vec<u8>>, Vec<Entity>), Error> {
        if matches!(stored.body.first(), Some(StoredPart::AsCreated)) {
            return self.show_as_created(snapshot, (of, caller), place, stored, now);
        }
        let StoredBody { subjects, body, disclosures } = stored;
        let mut shown = Vec::new();
        // `None` for a deleted or expired subject. Otherwise the time when its code was stored.
        let mut hidden = Vec::with_capacity(subjects.len());
        for (id, sealed) in subjects {
            let Some(live) = live_subject(snapshot, of, &id, now)? else {
                hidden.push(None);
                continue;
            };
            let mut parts = Vec::new();
            if !sealed.is_empty() {
                let opened = open_parts((of, caller), place, &live, &id, &sealed, disclosures)?;
                let Some(plain) = opened else {
                    hidden.push(None);
                    continue;
                };
                parts = decode_hidden(plain.expose())?;
            }
            hidden.push(Some((parts.into_iter(), live.cvc_expires_at)));
            shown.push(entity(id));
        }
        let mut texts = Vec::with_capacity(body.len());
        for part in body {
            let (part, code_until) = match part {
                StoredPart::AsCreated => return Err(bad_record()),
                StoredPart::Text(text) => (HiddenPart::Text(text), None),
                StoredPart::Hidden(at) => match hidden.get_mut(at) {
                    Some(Some((parts, until))) => (parts.next().ok_or_else(bad_record)?, *until),
                    Some(None) => continue,
                    None => return Err(bad_record()),
                },
            };
            match part {
                HiddenPart::Text(text) => texts.push(text),
                HiddenPart::Cvc(sealed) => {
                    let text = self.vault.cvcs().open(of.tenant, place, &sealed, now)?;
                    // The code was used, deleted or replaced since the first answer.
                    let text = text.filter(|(_, until)| code_until == Some(*until));
                    let bytes = text.map(|(text, _)| text.expose().as_bytes().to_vec());
                    texts.extend(bytes.map(Secret::new));
                }
            }
        }
        if hidden.iter_mut().flatten().any(|(parts, _)| parts.next().is_some()) {
            return Err(bad_record());
        }
        let texts: Vec<_> = texts.iter().map(|text| text.expose().as_slice()).collect();
        Ok((Secret::new(texts.concat()), shown))
    }
}

impl Caller {
    /// True if disclosures that were made in a token's earlier containers could be made in its
    /// current containers today.
    fn may_disclose<'d>(
        &self,
        target: Target<'_>,
        mut disclosures: impl Iterator<Item = &'d Disclosure>,
    ) -> bool {
        disclosures.all(|Disclosure { right, value, exposure, .. }| {
            self.exposure(target, *right, *value).is_ok_and(|today| today.covers(*exposure))
        })
    }

    /// Applies the rule of the first answer again, with today's rights. A disclosure does not name
    /// its token, so the rule must hold for each token of the answer.
    fn require_again(&self, disclosure: &Disclosure, ids: &[TargetId<'_>]) -> Result<(), Error> {
        let Disclosure { right, value, containers, exposure } = disclosure;
        let unknown = [TargetId::Unknown];
        for id in if ids.is_empty() { &unknown } else { ids } {
            let today = self.exposure(Target { containers, id: *id }, *right, *value)?;
            if !today.covers(*exposure) {
                return Err(Error::Forbidden(SHOWS_MORE));
            }
        }
        Ok(())
    }
}

pub(super) const SHOWS_MORE: &str = "The first answer shows more than the API key may see today.";

/// `None` if the subject was deleted or has expired.
pub(super) fn live_subject(
    snapshot: &Snapshot,
    of: &AnswerPlace<'_>,
    id: &SubjectId,
    now: Timestamp,
) -> Result<Option<LiveSubject>, Error> {
    // Not with `records`, which stands above this module.
    let (tenant, keys) = (of.tenant, of.keys);
    let open = |table: Table, place: Vec<u8>| match snapshot.value(table, &place)? {
        Some(sealed) => Ok::<_, Error>(Some(keys.open(table.number(), &place, &sealed)?)),
        None => Ok(None),
    };
    let without_containers = |seed| LiveSubject {
        seed,
        containers: Containers::new(),
        home: None,
        cvc_expires_at: None,
    };
    Ok(match id {
        SubjectId::ApiKey { application, id } => {
            let place = tables::application_keys(tenant, *application, *id);
            let Some(plain) = open(Table::ApplicationKeys, place)? else { return Ok(None) };
            Some(without_containers(decode_api_key(plain.expose())?.answer_seed))
        }
        SubjectId::Proxy(id) => {
            let place = tables::proxies(tenant, *id);
            let Some(plain) = open(Table::Proxies, place)? else { return Ok(None) };
            Some(without_containers(decode_proxy(tenant, *id, plain.expose())?.answer_seed))
        }
        SubjectId::Reactor(id) => {
            let place = tables::reactors(tenant, *id);
            let Some(plain) = open(Table::Reactors, place)? else { return Ok(None) };
            Some(without_containers(decode_reactor(tenant, *id, plain.expose())?.answer_seed))
        }
        SubjectId::Token { id, .. } => {
            live_token(snapshot, of, *id, now)?.map(|token| LiveSubject::of_token(&token))
        }
        SubjectId::TokenIntent(id) => {
            let place = tables::token_intents(tenant, *id);
            let Some(plain) = open(Table::TokenIntents, place)? else { return Ok(None) };
            let intent = decode_token_intent(tenant, *id, plain.expose())?;
            let cvc_expires_at = intent.cvc_expires_at;
            let live = intent.is_live(now).then(|| without_containers(intent.answer_seed));
            let home = Container::parse(intent.kind.default_container()).ok();
            live.map(|live| LiveSubject { home, cvc_expires_at, ..live })
        }
    })
}

pub(super) fn live_token(
    snapshot: &Snapshot,
    of: &AnswerPlace<'_>,
    id: TokenId,
    now: Timestamp,
) -> Result<Option<Token>, Error> {
    let place = tables::token_place(of.tenant, id);
    let Some(sealed) = snapshot.value(Table::Tokens, &place)? else { return Ok(None) };
    let plain = of.keys.open(Table::Tokens.number(), &place, &sealed)?;
    Ok(Some(decode_token(of.tenant, id, plain.expose())?).filter(|token| token.is_live(now)))
}

impl LiveSubject {
    pub(super) fn of_token(token: &Token) -> Self {
        Self {
            seed: token.answer_seed.duplicate(),
            containers: token.containers.clone(),
            home: None,
            cvc_expires_at: token.cvc_expires_at,
        }
    }
}

/// The key of the parts depends on the containers that the token was in, so they do not open with
/// its current containers if it was moved. They are then shown only if the caller could get the
/// same answer in the current containers, else this returns `None`.
pub(super) fn open_parts(
    (of, caller): (&AnswerPlace<'_>, Option<&Caller>),
    place: &[u8],
    live: &LiveSubject,
    id: &SubjectId,
    sealed: &[u8],
    disclosures: &[Disclosure],
) -> Result<Option<Secret<Vec<u8>>>, Error> {
    let identity = identity(&of.tenant, place);
    let open = |containers: &[Container]| {
        part_key(of.keys, &live.seed, containers).open(&identity, sealed)
    };
    let not_moved = open(&live.containers);
    if not_moved.is_ok() || live.containers.is_empty() {
        return Ok(Some(not_moved?));
    }
    for made in disclosures {
        let Ok(plain) = open(&made.containers) else { continue };
        let of_it = disclosures.iter().filter(|it| it.containers == made.containers);
        let target = Target { containers: &live.containers, id: target_id(id) };
        let may = caller.is_some_and(|caller| caller.may_disclose(target, of_it));
        return Ok(may.then_some(plain));
    }
    Err(bad_record())
}

fn token_ids(subjects: &[(SubjectId, Vec<u8>)]) -> Vec<TargetId<'_>> {
    let tokens = subjects.iter().map(|(id, _)| target_id(id));
    tokens.filter(|id| *id != TargetId::Unknown).collect()
}

pub(super) fn target_id(subject: &SubjectId) -> TargetId<'_> {
    match subject {
        SubjectId::Token { id, name } => {
            name.as_deref().map_or(TargetId::Assigned(id.uuid()), TargetId::Name)
        }
        SubjectId::ApiKey { .. }
        | SubjectId::Proxy(_)
        | SubjectId::Reactor(_)
        | SubjectId::TokenIntent(_) => TargetId::Unknown,
    }
}

/// The seed alone would be enough; deriving the key from the tenant's key too makes a seed useless
/// outside its tenant.
pub(super) fn part_key(
    keys: &TenantKeys,
    seed: &AnswerSeed,
    containers: &[Container],
) -> SealingKey {
    let paths = paths(containers);
    let parts = [b"answer parts".as_slice(), seed.expose(), paths.as_bytes()];
    SealingKey::new(0, &Secret::new(keys.lasting().tag(&parts)))
}

pub(super) fn paths(containers: &[Container]) -> Cow<'_, str> {
    match containers {
        [only] => Cow::Borrowed(only.as_str()),
        several => {
            let paths: Vec<_> = several.iter().map(Container::as_str).collect();
            Cow::Owned(paths.join("\n"))
        }
    }
}

pub(super) fn identity<'a>(tenant: &'a TenantId, place: &'a [u8]) -> Identity<'a> {
    let tenant = tenant.bytes();
    Identity { tenant, table: Table::IdempotencyAnswers.number(), key: place }
}

pub(super) fn token_entity(id: TokenId, name: Option<&str>) -> Entity {
    Entity { kind: EntityKind::Token, id: id.uuid(), name: name.map(Box::from) }
}

/// The entity of which the log says that a repeated answer shows it.
fn entity(id: SubjectId) -> Entity {
    match id {
        SubjectId::ApiKey { id, .. } => id.into(),
        SubjectId::Proxy(id) => id.into(),
        SubjectId::Reactor(id) => id.into(),
        SubjectId::Token { id, name } => token_entity(id, name.as_deref()),
        SubjectId::TokenIntent(id) => id.into(),
    }
}

/// Room for the hidden parts of a card.
const HIDDEN_BYTES: usize = 1_536;

/// The wire layer made an answer whose parts contradict each other. Nothing is written.
const fn impossible() -> Error {
    Error::Internal(Fault::BadAnswer)
}

pub(super) const fn bad_record() -> Error {
    Error::Internal(Fault::BadRecord)
}
