//! Deduplication: finds the token that a draft duplicates, and limits the members that the draft
//! may change in it.

use serde_json::Value;

use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::tokens::draft::{Deduplicate, TokenDraft};
use crate::app::tokens::rows::{self, Filter, VersionedToken};
use crate::app::tokens::update::TokenPatch;
use crate::bounds::DUPLICATES_READ_MAX;
use crate::domain::access::Transform;
use crate::domain::application::ApplicationKind;
use crate::domain::condition::Target;
use crate::domain::container::Container;
use crate::domain::exposure::ValueOrigin;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::expressions::Template;
use crate::store::{Change, Snapshot, tables};

/// The treatment of an existing token with the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum DuplicatePolicy {
    Ignore,
    Read,
    Update,
}

impl Caller {
    /// The request decides, else the tenant's setting. A conversion always updates the existing
    /// token.
    pub(in crate::app) fn existing(&self, draft: &TokenDraft) -> DuplicatePolicy {
        let setting = |name| self.tenant.settings.get(name).map(String::as_str);
        let deduplicate = draft.deduplicate.unwrap_or(match setting("deduplicate_tokens") {
            Some("true") => Deduplicate::Yes,
            _ => Deduplicate::No,
        });
        let update = setting("token_deduplication_behavior") == Some("update_existing");
        match deduplicate {
            Deduplicate::No => DuplicatePolicy::Ignore,
            Deduplicate::Yes if update || draft.token_intent_id.is_some() => {
                DuplicatePolicy::Update
            }
            Deduplicate::Yes => DuplicatePolicy::Read,
        }
    }

    /// A caller may know an intent's value if its own application made the intent, or if it may
    /// read or use tokens in plain in the type's container or in the containers of the new token. A
    /// public application's key is shared by all visitors, so making the intent does not count.
    pub(in crate::app) fn may_know(&self, intent: &TokenIntent, containers: &[Container]) -> bool {
        let made = intent.created_by == self.application.id
            && self.person.is_none()
            && self.application.kind != ApplicationKind::Public;
        let home = Container::parse(intent.kind.default_container());
        let home = home
            .is_ok_and(|home| self.grants(intent.target(&[home])).usage == Some(Transform::Reveal));
        made || home || self.grants(Target::unknown(containers)).shows_plain()
    }

    /// A merge requires that token and draft have the same mask and search indexes, or that the
    /// caller's own private application made both the token and the value. Otherwise the creator of
    /// the token would read the merged value through a mask or an index that it chose.
    pub(in crate::app) fn may_merge(&self, old: &Token, new: &Token, value: ValueOrigin) -> bool {
        let own = value == ValueOrigin::Own
            && old.created_by == self.application.id
            && self.person.is_none()
            && self.application.kind != ApplicationKind::Public;
        own || (is_same_mask(old.effective_mask(), new.effective_mask())
            && old.effective_search_indexes() == new.effective_search_indexes())
    }

    /// Merges a draft into the token with the same content. A caller without the right to update
    /// that token changes only members of the data that the fingerprint does not read, because the
    /// remaining members identify the token.
    pub(in crate::app) fn merge_into(&self, old: &Token, new: &Token) -> Result<TokenPatch, Error> {
        if self.grants(old.target()).update.is_some() {
            return Ok(TokenPatch::from_new(new));
        }
        let fingerprint = Template::parse(old.effective_fingerprint_expression()).ok();
        let fingerprint = fingerprint.ok_or(Error::Internal(Fault::BadRecord))?;
        Ok(TokenPatch::beside_fingerprint(new, &fingerprint))
    }

    pub(in crate::app) fn deduplicates(&self, wanted: Option<Deduplicate>) -> bool {
        let draft = TokenDraft { deduplicate: wanted, ..TokenDraft::default() };
        self.existing(&draft) != DuplicatePolicy::Ignore
    }
}

/// The order of members does not matter.
fn is_same_mask(old: Option<&str>, new: Option<&str>) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    match (old, new) {
        (Some(old), Some(new)) if old != new => {
            parse(old).is_some_and(|old| parse(new).is_some_and(|new| old == new))
        }
        (old, new) => old == new,
    }
}

pub(in crate::app) enum Duplicate {
    Found(Box<VersionedToken>),
    /// No duplicate exists, as long as this expectation holds.
    None(Box<Change>),
}

/// Finds another live token with the same type, fingerprint and containers. Both tokens must have
/// the same fingerprint expression: with an expression of its own, a caller could give its value
/// the fingerprint of any other value.
pub(in crate::app) fn duplicate(
    snapshot: &Snapshot,
    caller: &Caller,
    token: &Token,
    fits: impl Fn(&Token) -> bool,
    now: Timestamp,
) -> Result<Duplicate, Error> {
    let Some(path) = token.containers.first() else { return Ok(Duplicate::None(Box::default())) };
    let filter = Filter::Fingerprint(&token.fingerprint);
    let range = filter.list(caller.keys.index(), token.tenant).of_container(path);
    let entries = snapshot.first(&range, DUPLICATES_READ_MAX)?;
    let all_read = entries.len() < DUPLICATES_READ_MAX;
    for (key, _) in &entries {
        let Some(id) = tables::token_of_list_key(key).filter(|id| *id != token.id) else {
            continue;
        };
        let found = match rows::find_by_id(snapshot, &caller.keys, token.tenant, id) {
            // A damaged record is not a duplicate: otherwise its value could never be stored again.
            Err(Error::Internal(_)) => continue,
            found => found?,
        };
        if let Some(found) = found
            && found.token.containers == token.containers
            && found.token.effective_fingerprint_expression()
                == token.effective_fingerprint_expression()
            && fits(&found.token)
            && found.token.is_live(now)
        {
            return Ok(Duplicate::Found(Box::new(found)));
        }
    }
    // If not all entries were read, there is no expectation. A race may then add one more duplicate
    // to very many.
    let keys = entries.into_iter().map(|(key, _)| key).collect();
    let expectation = Change::new().expect_keys(range, keys);
    Ok(Duplicate::None(if all_read { Box::new(expectation) } else { Box::default() }))
}
