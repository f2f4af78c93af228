//! Storing an answer in parts, and joining the parts for a replay.
//!
//! The data file keeps an answer for 24 hours. The tokens, token intents and API keys that it shows
//! may be deleted or expire before that. The parts of the answer that show one of these subjects
//! are sealed under a key of their own, derived from a random seed. The seed is in the record of
//! the subject and nowhere else. Deleting the record deletes the seed, and from then on no key
//! opens these parts. A deletion therefore need not search for answers. The whole answer is sealed once more under the tenant's key, as every record is.
//!
//! Two alternatives were dropped. Storing parts in rows by token, deleted with the token, costs a
//! row for each answer and token. Storing only the version of the token that was shown cannot
//! repeat the first answer after a patch.
//!
//! A token record of an earlier program version has no seed. The first remembered answer that shows
//! the token rewrites the record with a seed, in the same change.

use uuid::Uuid;

use crate::app::access::caller::Caller;
use crate::app::commit::idempotency::Guard;
use crate::app::commit::idempotency::Idempotency;
use crate::app::error::{Error, Fault};
use crate::app::proxies;
use crate::app::tokens::intents;
use crate::app::tokens::rows;
use crate::crypto::{Identity, SealingKey};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::{Entity, EntityKind};
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::Container;
use crate::domain::id::TokenId;
use crate::domain::time::Timestamp;
use crate::idempotency::{
    Disclosure, PartLifetime, RememberedAnswer, Replay, Subject, SubjectId, half_day,
};
use crate::secret::Secret;
use crate::store::record::{
    AnswerContent, AnswerRecord, HiddenPart, StoredPart, decode_api_key, decode_hidden,
    encode_answer, encode_hidden,
};
use crate::store::{Change, Snapshot, Table, tables};

/// The hidden parts of one subject, collected while an answer is split.
struct SubjectParts<'a> {
    subject: &'a Subject,
    parts: Vec<HiddenPart>,
}

/// The body of an answer as the file has it.
struct StoredBody<'a> {
    subjects: Vec<(SubjectId, Vec<u8>)>,
    body: Vec<StoredPart>,
    disclosures: &'a [Disclosure],
}

/// The seed that opens a subject's parts, and the containers that a token is in now.
struct LiveSubject {
    seed: AnswerSeed,
    /// Empty for subjects that have no containers.
    containers: Vec<Container>,
}

impl Idempotency<'_> {
    /// The change that stores an answer.
    pub(in crate::app) fn remember(
        self,
        snapshot: &Snapshot,
        guard: &Guard,
        answer: &RememberedAnswer,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let (tenant, keys) = (guard.caller.tenant.id, &guard.caller.keys);
        let place = tables::idempotency(half_day(now), tenant, &guard.blinded);
        let hiding = |subject| SubjectParts { subject, parts: Vec::new() };
        let mut hidden: Vec<_> = answer.subjects.iter().map(hiding).collect();
        let mut body = Vec::new();
        for (text, kept) in answer.parts() {
            let copy = || Secret::new(text.to_vec());
            let (at, part) = match kept {
                PartLifetime::Always => {
                    body.push(StoredPart::Text(copy()));
                    continue;
                }
                PartLifetime::Once => continue,
                PartLifetime::With(at) => (at, HiddenPart::Text(copy())),
                PartLifetime::WithCvc(at, until) => {
                    let text = str::from_utf8(text).ok().ok_or_else(impossible)?;
                    (at, HiddenPart::Cvc(self.vault.cvcs().seal(tenant, &place, text, until)?))
                }
            };
            hidden.get_mut(at).ok_or_else(impossible)?.parts.push(part);
            body.push(StoredPart::Hidden(at));
        }
        let mut change = Change::new();
        let mut subjects = Vec::with_capacity(hidden.len());
        for SubjectParts { subject: Subject { id, seed, containers }, parts } in hidden {
            let mut sealed = Vec::new();
            if !parts.is_empty() {
                let seed = if let Some(seed) = seed {
                    seed.duplicate()
                } else {
                    let (seeded, seed) = self.give_seed(snapshot, &guard.caller, id)?;
                    change = change.and(seeded);
                    seed
                };
                let plain = encode_hidden(&parts)?;
                let identity = identity(&guard.caller, &place);
                let key = part_key(&guard.caller, &seed, containers);
                sealed = key.seal(&identity, plain.expose(), self.vault.random());
            }
            subjects.push((id.clone(), sealed));
        }
        let plain = encode_answer(&AnswerRecord {
            answered_at: now,
            status: answer.status,
            location: answer.location.clone(),
            disclosures: answer.disclosures.clone(),
            content: AnswerContent::Parts { subjects, body },
        })?;
        let sealed =
            keys.seal(Table::Idempotency.number(), &place, plain.expose(), self.vault.random());
        Ok(change.put(Table::Idempotency, place, tables::idempotency_time(now)).put(
            Table::IdempotencyAnswers,
            tables::idempotency_answers(now, tenant, &guard.blinded),
            sealed,
        ))
    }

    /// Rebuilds the answer without deleted and expired subjects. Fails if the caller lacks a right
    /// today that the first answer needed.
    pub(super) fn restore(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        place: &[u8],
        record: AnswerRecord,
        now: Timestamp,
    ) -> Result<Replay, Error> {
        let ids = token_ids(&record.content);
        for disclosure in &record.disclosures {
            caller.require_again(disclosure, &ids)?;
        }
        let AnswerRecord { status, location, .. } = record;
        let (body, shown) = match record.content {
            AnswerContent::Parts { subjects, body } => {
                let stored = StoredBody { subjects, body, disclosures: &record.disclosures };
                self.join(snapshot, caller, place, stored, now)?
            }
            AnswerContent::Whole(whole) => {
                self.prune(snapshot, caller, place, whole, location.as_deref(), now)?
            }
        };
        Ok(Replay { status, location, body, shown })
    }

    /// Joins the parts whose subjects still exist. Returns the body and the tokens that it shows.
    fn join(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        place: &[u8],
        stored: StoredBody<'_>,
        now: Timestamp,
    ) -> Result<(Secret<Vec<u8>>, Vec<Entity>), Error> {
        let StoredBody { subjects, body, disclosures } = stored;
        let mut shown = Vec::new();
        // `None` for a subject that is gone.
        let mut hidden = Vec::with_capacity(subjects.len());
        for (id, sealed) in subjects {
            let Some(live) = live_subject(snapshot, caller, &id, now)? else {
                hidden.push(None);
                continue;
            };
            let mut parts = Vec::new();
            if !sealed.is_empty() {
                let opened = open_parts(caller, place, &live, &id, &sealed, disclosures)?;
                let Some(plain) = opened else {
                    hidden.push(None);
                    continue;
                };
                parts = decode_hidden(plain.expose())?;
            }
            hidden.push(Some(parts.into_iter()));
            if let SubjectId::Token { id, name } = id {
                shown.push(token_entity(id, name.as_deref()));
            }
        }
        let mut texts = Vec::with_capacity(body.len());
        for part in body {
            let part = match part {
                StoredPart::Text(text) => HiddenPart::Text(text),
                StoredPart::Hidden(at) => match hidden.get_mut(at) {
                    Some(Some(parts)) => parts.next().ok_or_else(bad_record)?,
                    Some(None) => continue,
                    None => return Err(bad_record()),
                },
            };
            match part {
                HiddenPart::Text(text) => texts.push(text),
                HiddenPart::Cvc(sealed) => {
                    let text = self.vault.cvcs().open(caller.tenant.id, place, &sealed, now)?;
                    texts.extend(text.map(|text| Secret::new(text.expose().as_bytes().to_vec())));
                }
            }
        }
        if hidden.iter_mut().flatten().any(|parts| parts.next().is_some()) {
            return Err(bad_record());
        }
        let texts: Vec<_> = texts.iter().map(|text| text.expose().as_slice()).collect();
        Ok((Secret::new(texts.concat()), shown))
    }

    /// Rewrites the record of a token with a seed. This is needed only for a token that the change
    /// found and did not alter: every record that the change writes has a seed.
    fn give_seed(
        self,
        snapshot: &Snapshot,
        caller: &Caller,
        id: &SubjectId,
    ) -> Result<(Change, AnswerSeed), Error> {
        let SubjectId::Token { id, .. } = id else { return Err(impossible()) };
        let found = rows::find_by_id(snapshot, &caller.keys, caller.tenant.id, *id)?;
        let mut found = found.ok_or_else(impossible)?;
        let seed = self.vault.token_rows().answer_seed(&found.token);
        found.token.answer_seed = Some(seed.duplicate());
        let record = tables::tokens(caller.tenant.id, *id);
        let change = Change::new()
            .expect_version(Table::Tokens, record, found.version)
            .and(self.vault.token_rows().put_again(&found.token, &caller.keys)?);
        Ok((change, seed))
    }
}

impl Caller {
    /// True when disclosures that were made in a token's earlier containers could be made in these
    /// containers today.
    fn may_disclose<'d>(
        &self,
        target: Target<'_>,
        mut disclosures: impl Iterator<Item = &'d Disclosure>,
    ) -> bool {
        disclosures.all(|Disclosure { right, value, exposure, .. }| {
            self.exposure(target, *right, *value).is_ok_and(|today| today.covers(*exposure))
        })
    }

    /// Applies the rule that decided about the first answer again, with today's rights. A disclosure
    /// does not name its token, so the rule must hold for each token of the answer.
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

const SHOWS_MORE: &str = "The first answer shows more than the API key may see today.";

/// The seed of a subject that exists and has not expired, and the containers of a token. A subject
/// without a seed counts as gone: an earlier program version has rewritten its record.
fn live_subject(
    snapshot: &Snapshot,
    caller: &Caller,
    id: &SubjectId,
    now: Timestamp,
) -> Result<Option<LiveSubject>, Error> {
    let (tenant, keys) = (caller.tenant.id, &caller.keys);
    let (seed, containers) = match id {
        SubjectId::ApiKey { application, id } => {
            let place = tables::application_keys(tenant, *application, *id);
            let Some(sealed) = snapshot.value(Table::ApplicationKeys, &place)? else {
                return Ok(None);
            };
            let plain = keys.open(Table::ApplicationKeys.number(), &place, &sealed)?;
            (decode_api_key(plain.expose())?.answer_seed, Vec::new())
        }
        SubjectId::Proxy(id) => {
            let found = proxies::find(snapshot, keys, tenant, *id)?;
            (found.map(|(proxy, _)| proxy.answer_seed), Vec::new())
        }
        SubjectId::Token { id, .. } => rows::find_by_id(snapshot, keys, tenant, *id)?
            .filter(|found| found.token.is_live(now))
            .map_or((None, Vec::new()), |it| (it.token.answer_seed, it.token.containers)),
        SubjectId::TokenIntent(id) => intents::find_by_id(snapshot, keys, tenant, *id)?
            .filter(|(intent, _)| intent.is_live(now))
            .map_or((None, Vec::new()), |(intent, _)| (intent.answer_seed, Vec::new())),
    };
    Ok(seed.map(|seed| LiveSubject { seed, containers }))
}

/// Opens the parts of a subject. Their key depends on the containers that the token was in, so they
/// do not open with its current containers if it was moved. In that case they are shown only if the
/// caller could get the same answer in the current containers, else this returns `None`.
fn open_parts(
    caller: &Caller,
    place: &[u8],
    live: &LiveSubject,
    id: &SubjectId,
    sealed: &[u8],
    disclosures: &[Disclosure],
) -> Result<Option<Secret<Vec<u8>>>, Error> {
    let identity = identity(caller, place);
    let open =
        |containers: &[Container]| part_key(caller, &live.seed, containers).open(&identity, sealed);
    let not_moved = open(&live.containers);
    if not_moved.is_ok() || live.containers.is_empty() {
        return Ok(Some(not_moved?));
    }
    for made in disclosures {
        let Ok(plain) = open(&made.containers) else { continue };
        let of_it = disclosures.iter().filter(|it| it.containers == made.containers);
        let target = Target { containers: &live.containers, id: target_id(id) };
        return Ok(caller.may_disclose(target, of_it).then_some(plain));
    }
    Err(bad_record())
}

/// The ids of the tokens of an answer, as rights see them.
fn token_ids(content: &AnswerContent) -> Vec<TargetId<'_>> {
    match content {
        AnswerContent::Parts { subjects, .. } => {
            let tokens = subjects.iter().map(|(id, _)| target_id(id));
            tokens.filter(|id| *id != TargetId::Unknown).collect()
        }
        AnswerContent::Whole(whole) => {
            whole.tokens.iter().map(|token| named_or(token.0, token.1.as_deref())).collect()
        }
    }
}

fn target_id(subject: &SubjectId) -> TargetId<'_> {
    match subject {
        SubjectId::Token { id, name } => named_or(id.uuid(), name.as_deref()),
        SubjectId::ApiKey { .. } | SubjectId::Proxy(_) | SubjectId::TokenIntent(_) => {
            TargetId::Unknown
        }
    }
}

fn named_or(id: Uuid, name: Option<&str>) -> TargetId<'_> {
    name.map_or(TargetId::Assigned(id), TargetId::Name)
}

/// The key of a subject's parts. The seed alone would be enough; deriving the key from the tenant's
/// key too makes a seed useless outside its tenant.
pub(super) fn part_key(caller: &Caller, seed: &AnswerSeed, containers: &[Container]) -> SealingKey {
    let paths: Vec<_> = containers.iter().map(Container::as_str).collect();
    let paths = paths.join("\n");
    let parts = [b"answer parts".as_slice(), seed.expose(), paths.as_bytes()];
    SealingKey::new(0, &Secret::new(caller.keys.lasting().tag(&parts)))
}

pub(super) fn identity<'a>(caller: &'a Caller, place: &'a [u8]) -> Identity<'a> {
    let tenant = caller.tenant.id.bytes();
    Identity { tenant, table: Table::Idempotency.number(), key: place }
}

pub(super) fn token_entity(id: TokenId, name: Option<&str>) -> Entity {
    Entity { kind: EntityKind::Token, id: id.uuid(), name: name.map(Box::from) }
}

/// The wire layer made an answer whose parts do not fit together: nothing is written.
const fn impossible() -> Error {
    Error::Internal(Fault::BadAnswer)
}

const fn bad_record() -> Error {
    Error::Internal(Fault::BadRecord)
}
