//! `POST /tokens`: creates a token, converts an intent, or returns an existing token.

use crate::app::access::caller::Caller;
use crate::app::audit::entry::{Deed, expired};
use crate::app::client_keys::open::open_encrypted;
use crate::app::commit::commit_loop::{CommitOutcome, Write};
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::draft::{CheckedDraft, TokenDraft, WantedId};
use crate::app::tokens::duplicates::{Duplicate, DuplicatePolicy, duplicate};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::read::TokenView;
use crate::app::tokens::rows;
use crate::app::tokens::written::{TokenOrigin, WriteOutcome};
use crate::app::webhooks::subject::Subject;
use crate::bounds::ALIAS_TRIES_MAX;
use crate::domain::audit::Act;
use crate::domain::condition::Target;
use crate::domain::container::Container;
use crate::domain::exposure::{Right, ValueOrigin};
use crate::domain::id::TokenIntentId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::domain::token_intent::TokenIntent;
use crate::expressions::{self, Budget};
use crate::store::{Change, Snapshot, Table, tables};

/// A draft whose permission is checked, and the intent that it converts.
pub(in crate::app) struct AdmittedDraft {
    draft: TokenDraft,
    containers: Vec<Container>,
    /// The origin of the data.
    origin: ValueOrigin,
    intent: Option<TokenIntent>,
}

impl Tokens<'_> {
    pub async fn create(
        self,
        draft: TokenDraft,
        write: &Write<'_, WriteOutcome>,
    ) -> Result<CommitOutcome<WriteOutcome>, Error> {
        let now = self.vault.now();
        let admitted = self.admit_draft(draft, now)?;
        let settled = self.vault.commit_evaluating(Work::Write, write, |snapshot, budget| {
            let (change, written) = self.plan_token(snapshot, &admitted, &[], now, budget)?;
            let change = change.and(self.plan_consumption(snapshot, &admitted, now)?);
            let change = self.caller.within_token_limit(snapshot, change)?;
            let deeds: Vec<_> = admitted
                .conversion(self.caller, &written.shown.token, now)
                .into_iter()
                .chain(written.deed(self.caller, now))
                .collect();
            let audit = self.vault.audit().deeds(self.caller.tenant.id, &deeds);
            Ok((change.and(audit), written))
        });
        let written = settled.await?;
        self.vault.audit().note_found(self.caller, std::iter::once(&written.outcome)).await?;
        Ok(written)
    }

    /// Checks the permission for the draft's containers before its content, so that a refused
    /// caller learns nothing about the content.
    pub(in crate::app) fn admit_draft(
        self,
        mut draft: TokenDraft,
        now: Timestamp,
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
        if let Some(text) = draft.encrypted.take() {
            let snapshot = self.vault.snapshot()?;
            match open_encrypted(&snapshot, self.caller, &text, now) {
                Ok(data) => draft.data = Some(data),
                Err(Error::Invalid(mistakes)) => draft.mistakes.append(mistakes),
                Err(error) => return Err(error),
            }
        }
        let origin = match &intent {
            Some(intent) if !self.caller.may_know(intent, &containers) => ValueOrigin::Collected,
            Some(_) | None => ValueOrigin::Own,
        };
        // Each of these could copy a value that the caller may not see into a part of the token
        // that it may see.
        if origin == ValueOrigin::Collected && draft.sets_appearance() {
            return Err(Error::Forbidden(COLLECTED));
        }
        Ok(AdmittedDraft { draft, containers, origin, intent })
    }

    /// The change that deletes the draft's intent, if it has one.
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

    /// The change that creates the token, or the existing token of the same content. `latest` are
    /// tokens that earlier parts of the same change have modified: they replace the versions in the
    /// file.
    pub(in crate::app) fn plan_token(
        self,
        snapshot: &Snapshot,
        admitted: &AdmittedDraft,
        latest: &[&Token],
        now: Timestamp,
        budget: &Budget,
    ) -> Result<(Change, WriteOutcome), Error> {
        let AdmittedDraft { draft, containers, origin: value, .. } = admitted;
        let mut checked = self.check_draft(draft, containers, now, budget)?;
        let mut change = Change::new();
        let existing = self.caller.existing(draft);
        if existing != DuplicatePolicy::Ignore {
            let merges = existing == DuplicatePolicy::Update;
            let fits =
                |found: &Token| !merges || self.caller.may_merge(found, &checked.token, *value);
            match duplicate(snapshot, self.caller, &checked.token, fits, now)? {
                Duplicate::None(expectation) => change = change.and(expectation),
                Duplicate::Found(found) => {
                    let (update, token, origin) = match existing {
                        DuplicatePolicy::Update => {
                            let patch = self.caller.merge_into(&found.token, &checked.token)?;
                            let fingerprint = found.token.fingerprint.clone();
                            let changed = latest.iter().find(|it| it.id == found.token.id);
                            let (update, token) = match changed {
                                Some(changed) => self.plan_further(changed, &patch, now, budget)?,
                                None => {
                                    self.plan_revision(snapshot, *found, &patch, now, budget)?
                                }
                            };
                            // A merge must not turn a stored token into another one.
                            if token.fingerprint != fingerprint {
                                return Err(Error::Forbidden(OTHER_CONTENT));
                            }
                            (update, token, TokenOrigin::Updated)
                        }
                        DuplicatePolicy::Ignore | DuplicatePolicy::Read => {
                            let mut token = found.token;
                            self.vault.cvcs().attach(snapshot, &mut token, now)?;
                            (Change::new(), token, TokenOrigin::Read)
                        }
                    };
                    // The content of another application's intent is not the caller's own.
                    let value = match value {
                        ValueOrigin::Collected => ValueOrigin::Stored,
                        ValueOrigin::Duplicate | ValueOrigin::Own | ValueOrigin::Stored => {
                            ValueOrigin::Duplicate
                        }
                    };
                    let exposure = self.caller.exposure(token.target(), Right::Create, value)?;
                    let shown = self.show(token, exposure, budget);
                    return Ok((change.and(update), WriteOutcome { shown, origin, value }));
                }
            }
        }
        change = change.and(self.settle_id(snapshot, &mut checked, now, budget)?);
        change = change.and(self.vault.token_rows().create(&checked.token, &self.caller.keys)?);
        // The id is settled now, so conditions on it are checked again.
        let target = checked.token.target();
        let exposure = self.caller.exposure(target, Right::Create, *value)?;
        let shown = self.show(checked.token, exposure, budget);
        Ok((change, WriteOutcome { shown, origin: TokenOrigin::New, value: *value }))
    }

    /// Sets the token's id, and returns the expectation that this id is free.
    fn settle_id(
        self,
        snapshot: &Snapshot,
        checked: &mut CheckedDraft,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Change, Error> {
        let token = &mut checked.token;
        let own = tables::tokens(token.tenant, token.id);
        let own = Change::new().expect_absent(Table::Tokens, own);
        match &checked.wanted {
            WantedId::Assigned => Ok(own),
            WantedId::Name(name) => {
                let free = self.free_name(snapshot, name, now)?;
                token.name = Some(name.clone());
                let conflict = Error::Conflict("A token with this id exists already.");
                free.map(|free| own.and(free)).ok_or(conflict)
            }
            WantedId::Alias(template) => {
                for _ in 0..ALIAS_TRIES_MAX {
                    let scope = expressions::Data(checked.visible.expose());
                    let name = template
                        .evaluate_text(&scope, self.vault, budget)
                        .map_err(|failed| Error::invalid("id", failed.to_string()))?;
                    let name = TokenName::choose(name.expose())
                        .map_err(|invalid| Error::invalid("id", invalid.to_string()))?;
                    if let Some(free) = self.free_name(snapshot, &name, now)? {
                        token.name = Some(name);
                        return Ok(own.and(free));
                    }
                }
                // If every try found a taken alias, the token keeps its assigned id.
                Ok(own)
            }
        }
    }

    /// The expectations for a free name; `None` when the name is taken. An expired token no longer
    /// holds its name. The change deletes it.
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
                    .and(self.vault.audit().deeds(tenant, &[expired(&gone.token, now)]))
            }
            // An assigned id cannot be equal: a chosen name never has the form of an assigned id.
            None => Change::new().expect_absent(Table::TokenNames, place),
        }))
    }

    /// The answer to a create that found a token of the same content.
    pub(in crate::app) fn show_duplicate(
        self,
        token: Token,
        budget: &Budget,
    ) -> Result<TokenView, Error> {
        let exposure =
            self.caller.exposure(token.target(), Right::Create, ValueOrigin::Duplicate)?;
        Ok(self.show(token, exposure, budget))
    }
}

const COLLECTED: &str = "Only the private application that made the token intent, or an API key \
                         that may see the data in plain, can convert it with a mask, search indexes, a \
                         fingerprint expression or an expression as its id.";
const OTHER_CONTENT: &str =
    "The token of the same content that is there would not have the same fingerprint afterwards.";
const NO_INTENT: &str = "There is no such token intent, or it was converted already.";

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

    /// The conversion of the intent to this token.
    pub(in crate::app) fn conversion(
        &self,
        caller: &Caller,
        token: &Token,
        at: Timestamp,
    ) -> Option<Deed<'static>> {
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
