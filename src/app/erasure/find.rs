//! Finds the records that match the criterion of an erasure.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use crate::app::erasure::Erasure;
use crate::app::error::{Error, Fault};
use crate::app::records;
use crate::app::threeds::{SessionOwner, number_hash, open_session_owner};
use crate::app::tokens::rows::{self, Filter};
use crate::bounds::ERASURE_RECORDS_MAX;
use crate::crypto::TenantKeys;
use crate::domain::container::Container;
use crate::domain::erasure::Criterion;
use crate::domain::id::{SessionId, TenantId, TokenId, TokenIntentId};
use crate::domain::token_intent::TokenIntent;
use crate::store::tables::TokenList;
use crate::store::{Snapshot, Table, tables};

/// At most one more than [`ERASURE_RECORDS_MAX`] of each kind, to notice an excess.
#[derive(Debug, Default)]
pub struct MatchingRecords {
    /// With the ids that callers use.
    pub tokens: Vec<(TokenId, String)>,
    pub intents: Vec<TokenIntentId>,
    /// 3DS sessions.
    pub sessions: Vec<Uuid>,
    /// Keyed hashes of the card numbers in these tokens and intents.
    pub(super) numbers: HashSet<String>,
}

/// Tokens and intents that identify the person's 3DS sessions.
#[derive(Debug, Default, Clone)]
pub(super) struct KnownCards {
    /// Internal ids.
    pub(super) ids: HashSet<Uuid>,
    pub(super) numbers: HashSet<String>,
}

impl MatchingRecords {
    pub const fn count(&self) -> usize {
        let (tokens, intents) = (self.tokens.len(), self.intents.len());
        tokens.saturating_add(intents).saturating_add(self.sessions.len())
    }
}

impl KnownCards {
    pub(super) fn extend(
        &mut self,
        tokens: &[(TokenId, String)],
        intents: &[TokenIntentId],
        numbers: &HashSet<String>,
    ) {
        self.ids.extend(tokens.iter().map(|(id, _)| id.uuid()));
        self.ids.extend(intents.iter().map(|id| id.uuid()));
        self.numbers.extend(numbers.iter().cloned());
    }
}

impl Erasure<'_> {
    pub async fn find(
        self,
        tenant: TenantId,
        criterion: &Criterion,
    ) -> Result<MatchingRecords, Error> {
        self.find_again(tenant, criterion, &KnownCards::default()).await
    }

    /// Searches again after the erasure has deleted these tokens and intents.
    pub(super) async fn find_again(
        self,
        tenant: TenantId,
        criterion: &Criterion,
        deleted: &KnownCards,
    ) -> Result<MatchingRecords, Error> {
        let find = || {
            let snapshot = self.vault.snapshot()?;
            let (_, keys) = self.vault.access().tenant_with_keys(&snapshot, tenant)?;
            let mut found = MatchingRecords::default();
            find_tokens(&snapshot, &keys, tenant, criterion, &mut found)?;
            find_intents(&snapshot, &keys, criterion, &mut found)?;
            let mut known = deleted.clone();
            known.extend(&found.tokens, &found.intents, &found.numbers);
            let look = SessionLook { snapshot: &snapshot, keys: &keys, tenant, criterion };
            found.sessions = look.sessions(&known)?;
            Ok(found)
        };
        self.vault.operator_walks.run(find).await?
    }
}

/// The list that contains all matching tokens. It has others too if the criterion has several
/// entries.
fn list(keys: &TenantKeys, tenant: TenantId, criterion: &Criterion) -> Result<TokenList, Error> {
    let filter = match criterion {
        Criterion::Fingerprint(print) => Filter::Fingerprint(print),
        Criterion::Metadata(metadata) => {
            let (key, value) = metadata.iter().next().ok_or(Error::Internal(Fault::BadRecord))?;
            Filter::Metadata(key, value)
        }
    };
    Ok(filter.list(keys.index(), tenant))
}

/// Also finds tokens that have expired and are not swept yet.
fn find_tokens(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    criterion: &Criterion,
    into: &mut MatchingRecords,
) -> Result<(), Error> {
    let range = list(keys, tenant, criterion)?.inside(&Container::root(), None);
    // A token is in the list once for each of its containers.
    let mut found = BTreeMap::new();
    for row in snapshot.range(&range)? {
        let (key, _) = row?;
        let id = tables::token_of_list_key(&key).ok_or(Error::Internal(Fault::BadRecord))?;
        if found.contains_key(&id) {
            continue;
        }
        let record = rows::find_by_id(snapshot, keys, tenant, id)?;
        if let Some(record) = record.filter(|it| criterion.is_of_token(&it.token)) {
            into.numbers.extend(number_hash(keys, record.token.kind, &record.token.data));
            found.insert(id, record.token.public_id());
        }
        if found.len() > ERASURE_RECORDS_MAX {
            break;
        }
    }
    into.tokens.extend(found);
    Ok(())
}

/// Intents have no index, and live for at most two days.
fn find_intents(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    criterion: &Criterion,
    into: &mut MatchingRecords,
) -> Result<(), Error> {
    if matches!(criterion, Criterion::Metadata(_)) {
        return Ok(());
    }
    for row in records::rows_of::<TokenIntent>(snapshot, keys)? {
        let (intent, _): (TokenIntent, _) = records::open(keys, &row?)?;
        if criterion.is_of_fingerprint(&intent.fingerprint) {
            into.numbers.extend(number_hash(keys, intent.kind, &intent.data));
            into.intents.push(intent.id);
        }
        if into.intents.len() > ERASURE_RECORDS_MAX {
            break;
        }
    }
    Ok(())
}

/// Searches 3DS sessions, which have no index.
struct SessionLook<'a> {
    snapshot: &'a Snapshot,
    keys: &'a TenantKeys,
    tenant: TenantId,
    criterion: &'a Criterion,
}

impl SessionLook<'_> {
    fn sessions(&self, known: &KnownCards) -> Result<Vec<Uuid>, Error> {
        let mut found = Vec::new();
        for row in self.snapshot.range(&Table::ThreedsSessions.whole())? {
            let (key, sealed) = row?;
            let of_key = tables::session_of_key(&key);
            let (owner, id): (_, SessionId) = of_key.ok_or(Error::Internal(Fault::BadRecord))?;
            if owner != self.tenant {
                continue;
            }
            let session = open_session_owner(self.keys, self.tenant, id, &sealed)?;
            if self.is_of_person(&session, known)? {
                found.push(id.uuid());
            }
            if found.len() > ERASURE_RECORDS_MAX {
                break;
            }
        }
        Ok(found)
    }

    /// True for a session of a known token or intent, of the fingerprint, or with matching
    /// metadata. A session whose token or intent is gone belongs to every record with the same card
    /// number: it may belong to the intent that became a token of the person.
    fn is_of_person(&self, session: &SessionOwner, known: &KnownCards) -> Result<bool, Error> {
        if self.criterion.is_of_values(session.metadata.as_ref()) {
            return Ok(true);
        }
        let origin = &session.origin;
        let is_known = known.ids.contains(&origin.record);
        Ok(is_known
            || self.criterion.is_of_fingerprint(&origin.fingerprint)
            || (known.numbers.contains(&origin.number) && !self.is_there(origin.record)?))
    }

    fn is_there(&self, record: Uuid) -> Result<bool, Error> {
        let token = tables::tokens(self.tenant, TokenId::new(record));
        let intent = tables::token_intents(self.tenant, TokenIntentId::new(record));
        Ok(self.snapshot.value(Table::Tokens, &token)?.is_some()
            || self.snapshot.value(Table::TokenIntents, &intent)?.is_some())
    }
}
