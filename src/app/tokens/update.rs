//! `PATCH /tokens/{id}`: a merge patch of data, mask and metadata, and replacement of the rest.

use serde_json::{Map, Value};

use crate::app::audit::opened::Opened;
use crate::app::caller::{Caller, lacks};
use crate::app::commit::commit_loop::{CommitOutcome, Write};
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::create::{TokenOrigin, WriteOutcome};
use crate::app::tokens::draft::{
    DataSource, Deduplicate, check_data, check_expiry, check_expressions, check_mask,
    sort_for_expressions,
};
use crate::app::tokens::duplicates::{Duplicate, duplicate};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::read::live_token;
use crate::app::tokens::rows::{self, VersionedToken};
use crate::domain::audit::{Act, Entity};
use crate::domain::condition::Target;
use crate::domain::container::{Container, Containers};
use crate::domain::data::Data;
use crate::domain::exposure::{Computation, Operand, Output, Right, ValueOrigin};
use crate::domain::merge_patch::merge_patch;
use crate::domain::metadata::{Metadata, check_metadata};
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::expressions::{Budget, Template};
use crate::secret::Secret;
use crate::store::{Change, Snapshot, Table, tables};

/// A caller that may not see a token's value may replace the value, but not its appearance to
/// readers.
const APPEARANCE: &str = "Only an API key that may see the token's data in plain can change its \
                          mask, search indexes or fingerprint expression.";
const STORED: Operand = Operand::Value(ValueOrigin::Stored);
const MOVED: &str = "The API key could see more of the token in these containers than it may see \
                     where the token is now.";
const UNFIT: &str = "The token's data is not valid with this patch.";
const SHOWN: &str = "The token's id holds this card number: ids are in URLs and logs.";
const UNREADABLE: &str = "The token's data cannot be read. A change would lose it.";
const UNEVALUATED: &str = "An expression of the token cannot be evaluated with this data.";

impl Tokens<'_> {
    pub async fn update(
        self,
        id: &str,
        patch: &TokenPatch,
        write: &Write<'_, WriteOutcome>,
    ) -> Result<CommitOutcome<WriteOutcome>, Error> {
        let now = self.vault.now();
        let _turn = self.vault.lanes.take((self.caller.tenant.id, id)).await?;
        let opened = Opened::by(self.vault, self.caller);
        let settled = self.vault.commit_evaluating(
            self.caller.party(),
            Work::Write,
            write,
            |snapshot, budget| {
                let found = live_token(snapshot, self.caller, Permission::TokenUpdate, id, now)?;
                let before = found.token.containers.clone();
                self.caller.require_in_all(Permission::TokenUpdate, found.token.target())?;
                let grants = self.caller.grants(found.token.target());
                let allowed = grants.computation(self.caller.author(), Output::Token, STORED);
                if patch.sets_appearance() && allowed < Computation::Any {
                    return Err(Error::Forbidden(APPEARANCE));
                }
                if matches!(&patch.containers, Some(Some(none)) if none.is_empty()) {
                    // All containers were invalid.
                    return Err(Error::Invalid(patch.mistakes.clone()));
                }
                let after = containers_after(&found.token, patch);
                let print = found.token.fingerprint.clone();
                let target = Target { containers: &after, ..found.token.target() };
                self.caller.require_in_all(Permission::TokenUpdate, target)?;
                self.check_place(&found.token, &after, patch)?;
                let grants_after = self.caller.grants(target);
                if grants.learns_under(grants_after) {
                    return Err(Error::Forbidden(MOVED));
                }
                let grants = grants.and(grants_after);
                let shown = |token: Token, origin: ValueOrigin| {
                    let exposure = grants.exposure(Right::Update, origin).ok_or_else(lacks)?;
                    Ok::<_, Error>(self.show(token, exposure, budget))
                };
                let (change, token) =
                    self.plan_revision(snapshot, found, patch, now, budget, &opened)?;
                // A token that was a duplicate before this patch may still be changed.
                let moved = token.fingerprint != print || token.containers != before;
                if moved && self.caller.deduplicates(patch.deduplicate) {
                    match duplicate(snapshot, self.caller, &token, |_| true, now)? {
                        Duplicate::None(expectation) => {
                            let audit = self.audit_update(&token, now);
                            let shown = shown(token, ValueOrigin::Stored)?;
                            let value = ValueOrigin::Stored;
                            let written = WriteOutcome { shown, origin: TokenOrigin::New, value };
                            return Ok((change.and(*expectation).and(audit), written));
                        }
                        Duplicate::Found(other) => {
                            let (mut other, origin) = (other.token, TokenOrigin::Read);
                            opened.add(Act::Read, Entity::token(&other));
                            self.vault.cvcs().attach(snapshot, &mut other, now)?;
                            let shown = shown(other, ValueOrigin::Duplicate)?;
                            let value = ValueOrigin::Duplicate;
                            return Ok((Change::new(), WriteOutcome { shown, origin, value }));
                        }
                    }
                }
                let change = change.and(self.audit_update(&token, now));
                let shown = shown(token, ValueOrigin::Stored)?;
                let value = ValueOrigin::Stored;
                Ok((change, WriteOutcome { shown, origin: TokenOrigin::New, value }))
            },
        );
        let written = settled.await;
        opened.settle(written).await
    }

    /// Decides where the value of a card may be after a patch.
    fn check_place(
        self,
        token: &Token,
        after: &[Container],
        patch: &TokenPatch,
    ) -> Result<(), Error> {
        if token.containers.iter().any(Container::is_for_cards) {
            self.caller.require_cards_stay(&token.containers, after)?;
        }
        patch.source.require_place(Some(token.kind), patch.data.as_ref(), after)
    }

    fn audit_update(self, token: &Token, now: Timestamp) -> Change {
        self.vault.audit().caller_entry(self.caller, Act::Update, token, now)
    }

    /// The patched token, and the change that stores it.
    pub(in crate::app) fn plan_revision(
        self,
        snapshot: &Snapshot,
        found: VersionedToken,
        patch: &TokenPatch,
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<(Change, Token), Error> {
        let VersionedToken { token: mut old, version } = found;
        opened.add_written(Act::Update, Entity::token(&old));
        self.vault.cvcs().attach(snapshot, &mut old, now)?;
        let new = self.revise(&old, patch, now, budget)?;
        let record = tables::tokens(old.tenant, old.id);
        let change = Change::new()
            .expect_version(Table::Tokens, record, version)
            .and(self.vault.idempotency().keep_first(snapshot, &old, &self.caller.keys)?)
            .and(self.vault.token_rows().update(&old, &new, &self.caller.keys)?);
        Ok((change, new))
    }

    /// A further patch of a token that an earlier part of the same change creates or updates. That
    /// part holds the expectations for the token.
    pub(in crate::app) fn plan_further(
        self,
        old: &Token,
        patch: &TokenPatch,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<(Change, Token), Error> {
        let new = self.revise(old, patch, now, budget)?;
        Ok((self.vault.token_rows().update(old, &new, &self.caller.keys)?, new))
    }

    fn revise(
        self,
        old: &Token,
        patch: &TokenPatch,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Token, Error> {
        let mut mistakes = patch.mistakes.clone();
        let mut wrong = Mistakes::new();
        let data = patched_data(self.caller, old, patch.data.as_ref(), &mut wrong);
        let allowed = self.caller.computation(old.target(), Output::Token, ValueOrigin::Stored);
        let shows_plain = allowed == Computation::Any;
        // The patch is checked together with the stored value.
        mistakes.append(if shows_plain { wrong } else { wrong.first_with(UNFIT) });
        patch.check_expressions(&mut mistakes);
        let mask = patched_mask(old, patch.mask.as_ref(), &mut mistakes);
        let metadata = patched_metadata(old, patch.metadata.as_ref(), &mut mistakes);
        let expires_at = match &patch.expires_at {
            Some(text) => check_expiry(text.as_deref(), now, &mut mistakes),
            None => old.expires_at,
        };
        mistakes.into_result()?;

        let mut data = data;
        let cvc = old.kind.take_cvc(data.expose_mut());
        let fresh = patch.data.as_ref().is_some_and(|data| data.expose().get("cvc").is_some());
        let cvc_expires_at = match &cvc {
            // A new code gets a new expiry; an unchanged code keeps its expiry.
            Some(_) if fresh => Some(now.plus(self.vault.cvc_retention(&self.caller.tenant))),
            Some(_) => old.cvc_expires_at,
            None => None,
        };
        let mut new = Token {
            id: old.id,
            name: old.name.clone(),
            tenant: old.tenant,
            kind: old.kind,
            data: Data::from_value(data.expose()),
            cvc,
            cvc_expires_at,
            mask,
            containers: containers_after(old, patch),
            metadata,
            search_indexes: patch
                .search_indexes
                .clone()
                .unwrap_or_else(|| old.search_indexes.clone()),
            search_terms: Vec::new(),
            fingerprint_expression: patch
                .fingerprint_expression
                .clone()
                .unwrap_or_else(|| old.fingerprint_expression.clone()),
            fingerprint: String::new(),
            expires_at,
            created_by: old.created_by,
            created_at: old.created_at,
            modified_by: Some(self.caller.application.id),
            modified_at: Some(now),
            answer_seed: old.answer_seed.duplicate(),
            created_under: None,
        };
        sort_for_expressions(&mut data);
        let mistakes = self.evaluate(&mut new, data.expose(), budget);
        // The failed expression and its error depend on the stored value.
        if !mistakes.is_empty() && !shows_plain {
            return Err(Error::invalid("data", String::from(UNEVALUATED)));
        }
        mistakes.first_with(UNEVALUATED).into_result()?;
        rows::check_entries(&new)?;
        Ok(new)
    }
}

fn containers_after(old: &Token, patch: &TokenPatch) -> Containers {
    let mut containers = match &patch.containers {
        None => old.containers.clone(),
        Some(Some(containers)) => containers.iter().cloned().collect(),
        Some(None) => Container::parse(old.kind.default_container()).into_iter().collect(),
    };
    containers.sort_unstable();
    containers.dedup();
    containers
}

fn patched_data(
    caller: &Caller,
    old: &Token,
    patch: Option<&Secret<Value>>,
    mistakes: &mut Mistakes,
) -> Secret<Value> {
    let mut data = old.whole_data();
    if data.expose().is_null() && old.data.json() != "null" {
        mistakes.add("data", UNREADABLE);
    }
    if let Some(patch) = patch {
        if merge_patch(data.expose_mut(), patch.expose()).is_err() {
            mistakes.add("data", "The patch is nested too deeply.");
        }
        check_data(old.kind, caller.tenant.kind, &mut data, mistakes);
        // Compare only the patch: the caller may not be allowed to see the rest.
        let new = Data::from_value(patch.expose());
        if old.name.as_ref().is_some_and(|name| name.require_beside(&new).is_err()) {
            mistakes.add("data", SHOWN);
        }
    }
    data
}

/// The patch is merged into the mask in effect; `null` resets it to the default of the type.
fn patched_mask(old: &Token, patch: Option<&Value>, mistakes: &mut Mistakes) -> Option<String> {
    let patch = match patch {
        None => return old.mask.clone(),
        Some(Value::Null) => return None,
        Some(patch) => patch,
    };
    let today = old.effective_mask().and_then(|text| serde_json::from_str(text).ok());
    let mut mask = today.unwrap_or(Value::Null);
    if merge_patch(&mut mask, patch).is_err() {
        mistakes.add("mask", "The patch is nested too deeply.");
    }
    check_mask(Some(&mask), mistakes)
}

fn patched_metadata(old: &Token, patch: Option<&Value>, mistakes: &mut Mistakes) -> Metadata {
    let members = match patch {
        None => return old.metadata.clone(),
        Some(Value::Null) => return Metadata::default(),
        Some(Value::Object(members)) => members,
        Some(_) => {
            mistakes.add("metadata", "Deserialization error, invalid input.");
            return Metadata::default();
        }
    };
    let today = old.metadata.iter().map(|(key, value)| (String::from(key), Value::from(value)));
    let mut merged: Map<String, Value> = today.collect();
    for (key, value) in members {
        if value.is_null() {
            merged.remove(key);
        } else {
            merged.insert(key.clone(), value.clone());
        }
    }
    check_metadata(&merged).unwrap_or_else(|found| {
        mistakes.append(found);
        Metadata::default()
    })
}

/// An absent member stays as it is; a `null` member is reset to the default of the type.
#[derive(Debug, Default)]
#[expect(
    clippy::option_option,
    reason = "absent, null and a value are three different things in a merge patch"
)]
pub struct TokenPatch {
    pub data: Option<Secret<Value>>,
    pub mask: Option<Value>,
    pub metadata: Option<Value>,
    pub containers: Option<Option<Vec<Container>>>,
    pub search_indexes: Option<Option<Vec<String>>>,
    pub fingerprint_expression: Option<Option<String>>,
    pub deduplicate: Option<Deduplicate>,
    pub expires_at: Option<Option<String>>,
    pub source: DataSource,
    pub mistakes: Mistakes,
}

impl TokenPatch {
    /// Copies data and metadata of a new token to the existing one with the same content.
    pub(in crate::app) fn from_new(token: &Token) -> Self {
        Self {
            data: Some(token.whole_data()),
            metadata: Some(token.metadata.to_value()),
            ..Self::default()
        }
    }

    /// As [`TokenPatch::from_new`], without the metadata and without the members of the data that
    /// this fingerprint expression reads. A card verification code is always included, because
    /// expressions never read it.
    pub(in crate::app) fn beside_fingerprint(token: &Token, fingerprint: &Template) -> Self {
        let mut data = token.whole_data();
        match data.expose_mut() {
            Value::Object(members) => {
                let has_cvc = token.cvc.is_some();
                members.retain(|name, _| (has_cvc && name == "cvc") || !fingerprint.reads(name));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Self::default(),
        }
        Self { data: Some(data), ..Self::default() }
    }

    /// Adds a mistake for each expression that does not parse. The reason depends only on the
    /// caller's text.
    pub(in crate::app) fn check_expressions(&self, mistakes: &mut Mistakes) {
        let indexes = self.search_indexes.iter().flatten().flatten().enumerate();
        let indexes = indexes.map(|(at, text)| (format!("search_indexes[{at}]"), text));
        let print = self.fingerprint_expression.iter().flatten();
        let print = print.map(|text| (String::from("fingerprint_expression"), text));
        check_expressions(indexes.chain(print), mistakes);
    }

    /// True if the patch changes the appearance of the token's value to readers.
    pub(in crate::app) fn sets_appearance(&self) -> bool {
        self.mask.is_some()
            || self.search_indexes.is_some()
            || self.fingerprint_expression.is_some()
    }
}
