//! The rows of a token: its record and every index entry that refers to it. [`entries`] computes
//! the entries: a create writes them, an update writes the difference, a delete removes them, and
//! `verify` compares the file with them.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::TokenRows;
use crate::app::error::{Error, Fault, TokenFault};
use crate::app::tokens::lists::entry;
use crate::bounds::{LIST_KEY_TAIL_BYTES, TOKEN_ENTRIES_BYTES_MAX};
use crate::crypto::{IndexKey, OpenFailed, Phase, TenantKeys};
use crate::domain::container::Container;
use crate::domain::id::{TenantId, TokenId};
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::record::{BadRecord, decode_token, encode_token};
use crate::store::tables::{self, CodeEnd, CountKind, ExpiryKind, TokenList};
use crate::store::{Change, Snapshot, Table};

/// All filters but `Everything` are blinded, so that the file does not show their values.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) enum Filter<'a> {
    Everything,
    Fingerprint(&'a str),
    /// Exactly this key and value.
    Metadata(&'a str, &'a str),
    SearchTerm(&'a str),
    Type(TokenType),
}

/// Keys and values. A value is empty or the clear text that `lists::entry` defines.
pub(in crate::app) type Entries = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

impl Filter<'_> {
    pub(in crate::app) fn blinded(self, index: &IndexKey) -> [u8; 16] {
        match self {
            Self::Everything => tables::EVERYTHING,
            Self::Fingerprint(print) => index.blind(&[b"fingerprint", print.as_bytes()]),
            Self::Metadata(key, value) => {
                index.blind(&[b"metadata", key.as_bytes(), value.as_bytes()])
            }
            Self::SearchTerm(term) => index.blind(&[b"search", term.as_bytes()]),
            Self::Type(kind) => index.blind(&[b"type", kind.as_str().as_bytes()]),
        }
    }

    pub(in crate::app) fn list(self, index: &IndexKey, tenant: TenantId) -> TokenList {
        TokenList::new(tenant, self.blinded(index))
    }
}

pub(in crate::app) fn name_key(index: &IndexKey, tenant: TenantId, name: &TokenName) -> Vec<u8> {
    let blinded = index.blind(&[b"token name", name.as_str().as_bytes()]);
    tables::token_names(tenant, &blinded)
}

/// Under each of these index keys. Empty if the token has no predefined id.
fn name_keys<'a>(
    token: &'a Token,
    indexes: impl Iterator<Item = &'a IndexKey>,
) -> impl Iterator<Item = Vec<u8>> {
    indexes.filter_map(|index| Some(name_key(index, token.tenant, token.name.as_ref()?)))
}

/// All index entries of a token under one key, except the entry of its predefined id, whose value
/// is sealed.
pub(in crate::app) fn entries(token: &Token, index: &IndexKey) -> Entries {
    let mut entries = Entries::new();
    each_entry(token, index, |table, key, value| drop(entries.insert((table, key), value)));
    entries
}

fn each_entry(token: &Token, index: &IndexKey, mut each: impl FnMut(Table, Vec<u8>, Vec<u8>)) {
    let always =
        [Filter::Everything, Filter::Type(token.kind), Filter::Fingerprint(&token.fingerprint)];
    let terms = token.search_terms.iter().map(|term| Filter::SearchTerm(term));
    let metadata = token.metadata.iter().map(|(key, value)| Filter::Metadata(key, value));
    let filters = always.into_iter().chain(terms).chain(metadata);
    let mut lists: Vec<_> = filters.map(|filter| filter.list(index, token.tenant)).collect();
    // The deprecated lists find metadata in any spelling.
    let lowered: BTreeSet<_> = token
        .metadata
        .iter()
        .filter(|(key, value)| !(is_low(key) && is_low(value)))
        .map(|(key, value)| (key.to_lowercase(), value.to_lowercase()))
        .filter(|(key, value)| token.metadata.get(key) != Some(value.as_str()))
        .collect();
    lists.extend(lowered.iter().map(|(key, value)| {
        let filter = Filter::Metadata(key, value).blinded(index);
        TokenList::lowered(token.tenant, filter)
    }));
    let value = entry::of_token(token);
    for path in &token.containers {
        for list in &lists {
            let key = list.in_container(path, token.created_at, token.id);
            each(Table::TokenLists, key, value.clone());
        }
    }
    if let Some(at) = token.expires_at {
        let key = tables::expiries(at, ExpiryKind::Token, token.tenant, token.id.uuid());
        each(Table::Expiries, key, Vec::new());
    }
}

/// Refuses a token whose list entries would take more than [`TOKEN_ENTRIES_BYTES_MAX`] under one
/// key. It counts index expressions, not their results, so the answer does not depend on the data.
pub(in crate::app) fn check_entries(token: &Token) -> Result<(), Error> {
    if token.containers.len() <= 1 {
        return Ok(());
    }
    let spelled = token.metadata.iter().filter(|(key, value)| !(is_low(key) && is_low(value)));
    let lists =
        [3, token.effective_search_indexes().len(), token.metadata.iter().count(), spelled.count()];
    let value = entry::of_token(token).len();
    let beside = value.saturating_add(tables::EVERYTHING.len() * 2 + LIST_KEY_TAIL_BYTES);
    let entry = |path: &Container| path.as_str().len().saturating_add(beside);
    let in_each_list = token.containers.iter().map(entry).fold(0, usize::saturating_add);
    let lists = lists.into_iter().fold(0, usize::saturating_add);
    if in_each_list.saturating_mul(lists) <= TOKEN_ENTRIES_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "A token has an entry in its containers for each metadata entry and search index, and \
         those of this token would take more than {TOKEN_ENTRIES_BYTES_MAX} bytes. Use fewer or \
         shorter containers, or less metadata."
    );
    Err(Error::invalid("containers", message))
}

/// True for most texts without an upper-case letter, and for no other text.
fn is_low(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
}

fn entries_under_write_keys(token: &Token, keys: &TenantKeys) -> Entries {
    keys.write_indexes().flat_map(|index| entries(token, index)).collect()
}

/// The keys that existing entries may use.
fn entries_under_active_keys(token: &Token, keys: &TenantKeys) -> Entries {
    keys.active_indexes().flat_map(|index| entries(token, index)).collect()
}

/// The entries whose row keys depend on the index key, including the one of the predefined id.
pub(in crate::app) fn entries_under(token: &Token, index: &IndexKey) -> Vec<(Table, Vec<u8>)> {
    let lists = entries(token, index).into_keys();
    let keyed = lists
        .filter(|(table, key)| *table == Table::TokenLists && tables::is_blinded_list_key(key));
    let names = name_keys(token, std::iter::once(index)).map(|key| (Table::TokenNames, key));
    keyed.chain(names).collect()
}

/// Entries that a token may have during a rotation, under keys that look-ups do not use.
pub(in crate::app) fn entries_under_other_keys(
    token: &Token,
    keys: &TenantKeys,
) -> Vec<(Table, Vec<u8>)> {
    let found = entries(token, keys.index());
    let others = entries_under_active_keys(token, keys)
        .into_keys()
        .filter(|entry| !found.contains_key(entry));
    let names = name_keys(token, keys.active_indexes().skip(1));
    others.chain(names.map(|key| (Table::TokenNames, key))).collect()
}

impl TokenRows<'_> {
    /// The caller adds the expectation that the ids are free.
    pub(in crate::app) fn create(self, token: &Token, keys: &TenantKeys) -> Result<Change, Error> {
        Ok(self
            .put_all(token, keys)?
            .and(self.put_cvc(token)?)
            .count(tables::counts(token.tenant, CountKind::Tokens), 1))
    }

    /// Writes the record and every entry, also existing ones. A record sealed under the newest key
    /// must have its entries under the newest key.
    pub(in crate::app) fn put_all(self, token: &Token, keys: &TenantKeys) -> Result<Change, Error> {
        let mut change = self.put_record(token, keys)?;
        for index in keys.write_indexes() {
            each_entry(token, index, |table, key, value| {
                change = std::mem::take(&mut change).put(table, key, value);
            });
        }
        for key in name_keys(token, keys.write_indexes()) {
            let table = Table::TokenNames.number();
            let sealed = keys.seal(table, &key, token.id.bytes(), self.vault.random());
            change = change.put(Table::TokenNames, key, sealed);
        }
        Ok(change)
    }

    /// Writes the record under the newest key, with its entries under the newest index key. The
    /// other entries must exist.
    pub(in crate::app) fn reseal(self, token: &Token, keys: &TenantKeys) -> Result<Change, Error> {
        let mut change = self.put_record(token, keys)?;
        let Some(newest) = keys.newest_index() else { return Ok(change) };
        for ((table, key), value) in entries(token, newest) {
            if table == Table::TokenLists && tables::is_blinded_list_key(&key) {
                change = change.put(table, key, value);
            }
        }
        for key in name_keys(token, std::iter::once(newest)) {
            let table = Table::TokenNames.number();
            let sealed = keys.seal(table, &key, token.id.bytes(), self.vault.random());
            change = change.put(Table::TokenNames, key, sealed);
        }
        Ok(change)
    }

    /// Writes the differences. The name, the tenant and the time of creation never change.
    pub(in crate::app) fn update(
        self,
        old: &Token,
        new: &Token,
        keys: &TenantKeys,
    ) -> Result<Change, Error> {
        let mut change = self.put_again(new, keys)?;
        let (before, after) =
            (entries_under_active_keys(old, keys), entries_under_write_keys(new, keys));
        for (table, key) in before.keys().filter(|entry| !after.contains_key(*entry)) {
            change = change.delete(*table, key.clone());
        }
        for ((table, key), value) in &after {
            if before.get(&(*table, key.clone())) != Some(value) {
                change = change.put(*table, key.clone(), value.clone());
            }
        }
        // An unchanged code is not written again.
        let codes = [old, new].map(|token| token.cvc.as_ref().map(Secret::expose));
        if old.cvc_expires_at == new.cvc_expires_at && codes[0] == codes[1] {
            return Ok(change);
        }
        // The key of a code depends on its expiry, so the old row is deleted first. A code that
        // cannot be opened any more has expired.
        let end = if old.cvc.is_some() { CodeEnd::Deleted } else { CodeEnd::Expired };
        change = end_code(change, old, end);
        Ok(change.and(self.put_cvc(new)?))
    }

    /// Deletes the code of a token.
    pub(in crate::app) fn forget_token_cvc(
        self,
        mut token: Token,
        keys: &TenantKeys,
        end: CodeEnd,
    ) -> Result<Change, Error> {
        let ended = end_code(Change::new(), &token, end);
        token.cvc_expires_at = None;
        Ok(self.put_again(&token, keys)?.and(ended))
    }

    /// Writes the record of a token whose entries exist. While both keys are in use, the entries
    /// under the new key may be missing, so they are written too.
    pub(in crate::app) fn put_again(
        self,
        token: &Token,
        keys: &TenantKeys,
    ) -> Result<Change, Error> {
        match keys.phase() {
            Phase::Both => self.put_all(token, keys),
            Phase::Announced | Phase::Flipped | Phase::Clearing | Phase::Settled => {
                self.put_record(token, keys)
            }
        }
    }

    fn put_cvc(self, token: &Token) -> Result<Change, Error> {
        match (&token.cvc, token.cvc_expires_at) {
            (Some(code), Some(at)) => {
                self.vault.cvcs().keep(token.tenant, token.id.uuid(), code, at)
            }
            _ => Ok(Change::new()),
        }
    }

    fn put_record(self, token: &Token, keys: &TenantKeys) -> Result<Change, Error> {
        let key = tables::tokens(token.tenant, token.id);
        let plain = encode_token(token)?;
        let sealed = keys.seal(Table::Tokens.number(), &key, plain.expose(), self.vault.random());
        // Open the sealed record before it is written, so that no answer confirms an unreadable
        // one.
        let again = keys.open(Table::Tokens.number(), &key, &sealed)?;
        if again.expose() != plain.expose() {
            return Err(Error::Internal(Fault::DoesNotOpen));
        }
        Ok(Change::new().put(Table::Tokens, key, sealed))
    }
}

/// `None` if the token has no card verification code.
pub(in crate::app) fn cvc_key(token: &Token) -> Option<Vec<u8>> {
    token.cvc_expires_at.map(|at| tables::cvcs(at, token.tenant, token.id.uuid()).to_vec())
}

/// Deletes the row of the token's code, if it has one, and counts how the code ended.
fn end_code(change: Change, token: &Token, end: CodeEnd) -> Change {
    cvc_key(token).into_iter().fold(change, |change, key| {
        change.delete(Table::Cvcs, key).count(tables::code_ends(token.tenant, end), 1)
    })
}

pub(in crate::app) fn delete(token: &Token, keys: &TenantKeys) -> Change {
    let mut change = Change::new()
        .delete(Table::Tokens, tables::tokens(token.tenant, token.id))
        .count(tables::counts(token.tenant, CountKind::Tokens), -1);
    for (table, key) in entries_under_active_keys(token, keys).into_keys() {
        change = change.delete(table, key);
    }
    change = end_code(change, token, CodeEnd::WithToken);
    for key in name_keys(token, keys.active_indexes()) {
        change = change.delete(Table::TokenNames, key);
    }
    change
}

/// Also finds a token that callers know by a predefined id.
pub(in crate::app) fn find_by_id(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    id: TokenId,
) -> Result<Option<VersionedToken>, Error> {
    let place = tables::token_place(tenant, id);
    let Some(sealed) = snapshot.value(Table::Tokens, &place)? else {
        return Ok(None);
    };
    open(keys, tenant, id, sealed).map(Some)
}

/// `text` is an assigned or a predefined id.
pub(in crate::app) fn find(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    text: &str,
) -> Result<Option<VersionedToken>, Error> {
    if let Some(id) = TokenId::parse(text)
        && let Some(found) = find_by_id(snapshot, keys, tenant, id)?
        && found.token.name.is_none()
    {
        return Ok(Some(found));
    }
    let Ok(name) = TokenName::parse(text) else {
        return Ok(None);
    };
    let key = name_key(keys.index(), tenant, &name);
    let Some(sealed) = snapshot.value(Table::TokenNames, &key)? else {
        return Ok(None);
    };
    let id = keys.open(Table::TokenNames.number(), &key, &sealed)?;
    let id = uuid::Uuid::from_slice(id.expose()).ok().ok_or(Error::Internal(Fault::BadRecord))?;
    let id = TokenId::new(id);
    let found = find_by_id(snapshot, keys, tenant, id)?;
    found.map(Some).ok_or(Error::Internal(Fault::Token(id, TokenFault::Missing)))
}

#[derive(Debug)]
pub(in crate::app) struct VersionedToken {
    pub(in crate::app) token: Token,
    pub(in crate::app) version: crate::crypto::Version,
}

pub(in crate::app) fn open(
    keys: &TenantKeys,
    tenant: TenantId,
    id: TokenId,
    sealed: Vec<u8>,
) -> Result<VersionedToken, Error> {
    let place = tables::token_place(tenant, id);
    let fault = |fault| Error::Internal(Fault::Token(id, fault));
    let version = crate::crypto::version(&sealed).ok_or_else(|| fault(TokenFault::BadRecord))?;
    let plain = keys.open_owned(Table::Tokens.number(), &place, sealed);
    let plain = plain.map_err(|OpenFailed| fault(TokenFault::DoesNotOpen))?;
    let token = decode_token(tenant, id, plain.expose());
    let token = token.map_err(|BadRecord| fault(TokenFault::BadRecord))?;
    Ok(VersionedToken { token, version })
}
