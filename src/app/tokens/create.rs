//! `POST /tokens`: creates a token, converts an intent, or returns an existing token.

use crate::app::audit::entry::{AuditedAct, expired};
use crate::app::audit::opened::Opened;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::client_keys::open::open_encrypted;
use crate::app::commit::commit_loop::{CommitOutcome, Write};
use crate::app::commit::idempotency::Guard;
use crate::app::error::Error;
use crate::app::program_calls::gathered;
use crate::app::tokens::draft::{CheckedDraft, TokenDraft, WantedId};
use crate::app::tokens::duplicates::{Duplicate, DuplicatePolicy, duplicate};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::read::TokenView;
use crate::app::tokens::{Tokens, rows};
use crate::bounds::ALIAS_TRIES_MAX;
use crate::domain::audit::{Act, Entity};
use crate::domain::condition::Target;
use crate::domain::container::Containers;
use crate::domain::data::Data;
use crate::domain::exposure::{Computation, Output, Right, ValueOrigin};
use crate::domain::id::TokenIntentId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::{InvalidTokenName, Token, TokenName};
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::TokenType;
use crate::expressions;
use crate::expressions::Budget;
use crate::idempotency::Disclosure;
use crate::store::tables::CountKind;
use crate::store::{Change, Snapshot, Table, tables};

/// A draft whose permission was checked, and the intent that it converts.
pub(in crate::app) struct AdmittedDraft {
    draft: TokenDraft,
    containers: Containers,
    origin: ValueOrigin,
    intent: Option<TokenIntent>,
    /// The blinded idempotency key of the request, unless its answer shows more than this token.
    key: Option<[u8; 16]>,
}

impl Tokens<'_> {
    pub async fn create(
        self,
        draft: TokenDraft,
        write: &Write<'_, WriteOutcome>,
    ) -> Result<CommitOutcome<WriteOutcome>, Error> {
        let opened = Opened::by(self.vault, self.caller);
        let now = self.vault.now();
        let mut admitted = match self.admit_draft(draft, now, &opened) {
            Ok(admitted) => admitted,
            Err(error) => return opened.settle(Err(error)).await,
        };
        admitted.key = write.guard.map(Guard::blinded);
        let settled = self.vault.commit_evaluating(
            self.caller.party(),
            Work::Write,
            write,
            |snapshot, budget| {
                let (change, written) =
                    self.plan_token(snapshot, &mut admitted, &[], now, budget, &opened)?;
                let change = change.and(self.plan_consumption(snapshot, &admitted, now)?);
                let change = self.caller.within_token_limit(snapshot, change)?;
                let token = &written.shown.token;
                let conversion = admitted.conversion(self.caller, token, now).into_iter();
                let acts = conversion.chain(written.audited(self.caller, now));
                let audit = self.vault.audit().acts(self.caller.tenant.id, acts);
                Ok((change.and(audit), written))
            },
        );
        let written = settled.await;
        if let Ok(written) = &written {
            let token = &written.outcome.shown.token;
            gathered::note_made(&Entity::token(token), (token.cvc.as_ref(), token.cvc_expires_at));
            admitted.intent().into_iter().for_each(|id| gathered::note_ended(id.uuid()));
        }
        opened.settle(written).await
    }

    /// The outcome of an earlier create, for its repetition.
    pub fn as_created(self, token: Token, made: &Disclosure) -> WriteOutcome {
        let shown = self.show(token, made.exposure, &Work::Read.budget());
        WriteOutcome { shown, origin: TokenOrigin::New, value: made.value }
    }

    /// Checks the permission for the draft's containers before its content, so that a refused
    /// caller learns nothing about the content.
    pub(in crate::app) fn admit_draft(
        self,
        mut draft: TokenDraft,
        now: Timestamp,
        opened: &Opened<'_>,
    ) -> Result<AdmittedDraft, Error> {
        let mut intent = None;
        if let Some(id) = &draft.token_intent_id {
            intent = self
                .vault
                .token_intents(self.caller)
                .find(&self.vault.snapshot()?, id, now)?
                .map(|(it, _)| it);
            match &intent {
                Some(found) => {
                    opened.add_written(Act::Convert, found.id.into());
                    draft.kind = Some(found.kind);
                    draft.data = Some(found.data.value());
                }
                None => draft.mistakes.add("token_intent_id", NO_INTENT),
            }
        }
        let Some(containers) = draft.effective_containers() else {
            return Err(Error::Invalid(draft.mistakes_without_data(now)));
        };
        let target = Target { containers: &containers, id: draft.target_id() };
        self.caller.require_in_all(Permission::TokenCreate, target)?;
        draft.source.require_place(draft.kind, draft.data.as_ref(), &containers)?;
        let is_unseen_card = (intent.is_some() || draft.encrypted.is_some())
            && draft.kind.is_some_and(TokenType::is_for_cards);
        if is_unseen_card {
            self.caller.require_cards_stay(&[], &containers)?;
        }
        let unnamed = Target::unknown(&containers);
        let mut collected =
            intent.as_ref().is_some_and(|intent| !self.caller.may_know(intent, &containers));
        if let Some(text) = draft.encrypted.take() {
            let snapshot = self.vault.snapshot()?;
            let kind = draft.kind.map(TokenType::as_str);
            match open_encrypted(&snapshot, self.caller, &text, kind, now, opened) {
                Ok(data) => draft.data = Some(data),
                Err(Error::Invalid(mistakes)) => draft.mistakes.append(mistakes),
                Err(error) => return Err(error),
            }
            collected = !self.caller.grants(unnamed).shows_plain();
        }
        let origin = if collected { ValueOrigin::Collected } else { ValueOrigin::Own };
        // Each of these could copy a value that the caller may not see into a part of the token
        // that it may see.
        if draft.sets_appearance()
            && self.caller.computation(unnamed, Output::Token, origin) < Computation::Any
        {
            return Err(Error::Forbidden(COLLECTED));
        }
        Ok(AdmittedDraft { draft, containers, origin, intent, key: None })
    }

    /// Deletes the draft's intent, if it has one.
    pub(in crate::app) fn plan_consumption(
        self,
        snapshot: &Snapshot,
        admitted: &AdmittedDraft,
        now: Timestamp,
    ) -> Result<Change, Error> {
        match &admitted.intent {
            Some(intent) => self.vault.token_intents(self.caller).consume(snapshot, intent, now),
            None => Ok(Change::new()),
        }
    }

    /// Creates the token, or returns the existing token with the same content. `latest` are tokens
    /// that earlier parts of the same change have modified: they replace the versions in the file.
    pub(in crate::app) fn plan_token(
        self,
        snapshot: &Snapshot,
        admitted: &mut AdmittedDraft,
        latest: &[&Token],
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<(Change, WriteOutcome), Error> {
        let AdmittedDraft { draft, containers, origin: value, key, .. } = admitted;
        let existing = self.caller.existing(draft);
        let mut checked = self.check_draft(draft, containers, *value, now, budget)?;
        let mut change = Change::new();
        if existing != DuplicatePolicy::Ignore {
            let merges = existing == DuplicatePolicy::Update;
            let fits =
                |found: &Token| !merges || self.caller.may_merge(found, &checked.token, *value);
            match duplicate(snapshot, self.caller, &checked.token, fits, now)? {
                Duplicate::None(expectation) => change = change.and(*expectation),
                Duplicate::Found(found) => {
                    let (update, token, origin) = match existing {
                        DuplicatePolicy::Update => {
                            let patch = self.caller.merge_into(&found.token, &checked.token)?;
                            let fingerprint = found.token.fingerprint.clone();
                            let changed = latest.iter().find(|it| it.id == found.token.id);
                            let (update, token) = match changed {
                                Some(changed) => self.plan_further(changed, &patch, now, budget)?,
                                None => self
                                    .plan_revision(snapshot, *found, &patch, now, budget, opened)?,
                            };
                            // A merge must not turn a stored token into another one.
                            if token.fingerprint != fingerprint {
                                return Err(Error::Forbidden(OTHER_CONTENT));
                            }
                            (update, token, TokenOrigin::Updated)
                        }
                        DuplicatePolicy::Ignore | DuplicatePolicy::Read => {
                            let mut token = found.token;
                            opened.add(Act::Read, Entity::token(&token));
                            self.vault.cvcs().attach(snapshot, &mut token, now)?;
                            (Change::new(), token, TokenOrigin::Read)
                        }
                    };
                    let outcome = self.show_duplicate(token, origin, *value, budget)?;
                    return Ok((change.and(update), outcome));
                }
            }
        }
        change = change.and(self.settle_id(snapshot, &mut checked, *value, now, budget)?);
        checked.token.created_under = *key;
        change = change.and(self.vault.token_rows().create(&checked.token, &self.caller.keys)?);
        // The id is final now, so conditions on it are checked again.
        let target = checked.token.target();
        let exposure = self.caller.exposure(target, Right::Create, *value)?;
        let shown = self.show(checked.token, exposure, budget);
        Ok((change, WriteOutcome { shown, origin: TokenOrigin::New, value: *value }))
    }

    /// Returns the expectation that the new id is free.
    fn settle_id(
        self,
        snapshot: &Snapshot,
        checked: &mut CheckedDraft<'_>,
        value: ValueOrigin,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Change, Error> {
        let token = &mut checked.token;
        let beside = |name: &TokenName, data: &Data| match value {
            ValueOrigin::Collected => name.require_beside_unseen(),
            ValueOrigin::Duplicate | ValueOrigin::Own | ValueOrigin::Stored => {
                name.require_beside(data)
            }
        };
        let own = tables::tokens(token.tenant, token.id);
        // An assigned id is random: no look at the disk would find it there.
        let own = Change::new().expect_new(Table::Tokens, own, snapshot.base());
        match &checked.wanted {
            WantedId::Assigned => Ok(own),
            WantedId::Name(name) => {
                beside(name, &token.data).map_err(invalid_id)?;
                let free = self.free_name(snapshot, name, now)?;
                token.name = Some(name.clone());
                let conflict = Error::Conflict("A token with this id exists already.");
                free.map(|free| own.and(free)).ok_or(conflict)
            }
            WantedId::Alias(template) => {
                let (mut refused, mut is_taken) = (None, false);
                for _ in 0..ALIAS_TRIES_MAX {
                    let scope = expressions::Data(checked.visible.expose());
                    let name = template
                        .evaluate_text(&scope, self.vault, budget)
                        .map_err(|failed| Error::invalid("id", failed.to_string()))?;
                    let chosen = TokenName::choose(name.expose());
                    let chosen = chosen.and_then(|it| beside(&it, &token.data).map(|()| it));
                    let name = match chosen {
                        Ok(name) => name,
                        // One in ten random aliases passes as a card number: try another one.
                        Err(invalid @ InvalidTokenName::CardNumber) => {
                            refused = Some(invalid);
                            continue;
                        }
                        Err(invalid) => return Err(invalid_id(invalid)),
                    };
                    if let Some(free) = self.free_name(snapshot, &name, now)? {
                        token.name = Some(name);
                        return Ok(own.and(free));
                    }
                    is_taken = true;
                }
                match refused {
                    Some(invalid) if !is_taken => Err(invalid_id(invalid)),
                    // No alias was free, and at least one was taken: the token keeps its assigned
                    // id.
                    Some(_) | None => Ok(own),
                }
            }
        }
    }

    /// `None` if the name is taken. An expired token no longer holds its name: the change deletes
    /// the token.
    fn free_name(
        self,
        snapshot: &Snapshot,
        name: &TokenName,
        now: Timestamp,
    ) -> Result<Option<Change>, Error> {
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        let place = rows::name_key(keys.index(), tenant, name);
        Ok(Some(match rows::find(snapshot, keys, tenant, name.as_str())? {
            Some(found) if found.token.is_live(now) => return Ok(None),
            Some(gone) => {
                let record = tables::tokens(tenant, gone.token.id);
                Change::new()
                    .expect_version(Table::Tokens, record, gone.version)
                    .and(rows::delete(&gone.token, keys))
                    .and(self.vault.audit().acts(tenant, &[expired(&gone.token, now)]))
            }
            // A chosen name never has the form of an assigned id, so no assigned id is equal to it.
            None => Change::new().expect_new(Table::TokenNames, place, snapshot.base()),
        }))
    }

    /// The answer to a create that found a token with the same content.
    pub(in crate::app) fn show_duplicate(
        self,
        token: Token,
        origin: TokenOrigin,
        value: ValueOrigin,
        budget: &Budget,
    ) -> Result<WriteOutcome, Error> {
        // The content of another application's intent, or of an encrypted value, is not the
        // caller's own.
        let value = match value {
            ValueOrigin::Collected => ValueOrigin::Stored,
            ValueOrigin::Duplicate | ValueOrigin::Own | ValueOrigin::Stored => {
                ValueOrigin::Duplicate
            }
        };
        let exposure = self.caller.exposure(token.target(), Right::Create, value)?;
        Ok(WriteOutcome { shown: self.show(token, exposure, budget), origin, value })
    }
}

const COLLECTED: &str = "Only the private application that made the token intent, or an API key \
                         that may see the data in plain, can store an intent or an encrypted value with \
                         a mask, search indexes, a fingerprint expression or an expression as its id.";
const OTHER_CONTENT: &str =
    "The token of the same content that is there would not have the same fingerprint afterwards.";
const NO_INTENT: &str = "There is no such token intent, or it was converted already.";

fn invalid_id(invalid: InvalidTokenName) -> Error {
    Error::invalid("id", invalid.to_string())
}

pub(in crate::app) fn no_intent() -> Error {
    Error::invalid("token_intent_id", NO_INTENT)
}

impl AdmittedDraft {
    pub(in crate::app) const fn value_origin(&self) -> ValueOrigin {
        self.origin
    }

    pub(in crate::app) fn intent(&self) -> Option<TokenIntentId> {
        self.intent.as_ref().map(|intent| intent.id)
    }

    pub(in crate::app) fn conversion(
        &self,
        caller: &Caller,
        token: &Token,
        at: Timestamp,
    ) -> Option<AuditedAct<'static>> {
        let intent = self.intent.as_ref()?;
        let subject = Subject::Conversion {
            entity: intent.id.into(),
            kind: intent.kind,
            token: token.public_id(),
            token_kind: token.kind,
        };
        Some(caller.did(Act::Convert, subject, at))
    }

    pub(in crate::app) fn existing(&self, caller: &Caller) -> DuplicatePolicy {
        caller.existing(&self.draft)
    }
}

#[derive(Debug)]
pub struct WriteOutcome {
    pub shown: TokenView,
    pub origin: TokenOrigin,
    /// Decides, with the caller's rights, which parts are shown.
    pub value: ValueOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin {
    New,
    /// A token with the same content existed and was not changed.
    Read,
    /// A token with the same content existed and was updated.
    Updated,
}

impl WriteOutcome {
    /// `None` if the write changed nothing.
    pub(in crate::app) fn audited(&self, caller: &Caller, at: Timestamp) -> Option<AuditedAct<'_>> {
        let act = match self.origin {
            TokenOrigin::New => Act::Create,
            TokenOrigin::Read => return None,
            TokenOrigin::Updated => Act::Update,
        };
        Some(caller.did(act, &self.shown.token, at))
    }
}

impl Caller {
    /// Adds an expectation to the change that keeps the tenant within its quota. A change that adds
    /// nothing, such as a conversion or a duplicate, always fits.
    ///
    /// The decision uses the counts of the snapshot, and the writer checks them again, so
    /// concurrent changes cannot exceed the quota together.
    pub(in crate::app) fn within_token_limit(
        &self,
        snapshot: &Snapshot,
        change: Change,
    ) -> Result<Change, Error> {
        let Some(limit) = self.tenant.quotas.token_limit else { return Ok(change) };
        let counts = [CountKind::Tokens, CountKind::TokenIntents]
            .map(|counted| tables::counts(self.tenant.id, counted));
        let added = counts.iter().fold(0_i64, |sum, key| sum.saturating_add(change.added(key)));
        if added <= 0 {
            return Ok(change);
        }
        let room = i64::try_from(limit).unwrap_or(i64::MAX).saturating_sub(added);
        if snapshot.total(&counts)? > room {
            return Err(Error::invalid(
                "$",
                format!(
                    "The tenant may have at most {limit} tokens and token intents (its quota \
                 token_limit), and this would be more."
                ),
            ));
        }
        Ok(change.expect_counts_at_most(counts.to_vec(), room))
    }
}
