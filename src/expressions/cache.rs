//! A cache of parsed masks and expressions, by their text.
//!
//! An entry belongs to one tenant, or to the program if the text is part of a token type. A tenant
//! never gets another tenant's entry, so the time of a request reveals nothing about the texts of
//! other tenants. Entries hold the constants of expressions, which may be keys, and are wiped when
//! they are removed. A full cache is emptied: entries in use come back with the next request.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use serde_json::Value;

use super::budget::{Budget, CALL};
use super::failures::{Failed, Malformed};
use super::mask::Mask;
use super::template::Template;
use crate::bounds::{PARSED_BYTES_MAX, PARSED_MAX};
use crate::domain::id::TenantId;
use crate::lock::SharedLock;
use crate::secret::Secret;

/// Memory of a parsed text: for each byte of it, for the entry itself, and for each state of a
/// pattern.
const BYTES_PER_BYTE: usize = 32;
const BYTES_PER_ENTRY: usize = 256;
const BYTES_PER_STATE: usize = 160;
/// The work of compiling one state of a pattern.
const STATE: usize = 100;
/// The work of finding a text, for each byte: it is hashed and compared.
const FIND_BYTE: usize = 2;

pub struct Cache {
    hasher: RandomState,
    kept: SharedLock<CacheContents>,
}

#[derive(Default)]
struct CacheContents {
    bytes: usize,
    by_hash: HashMap<u64, Entry>,
}

struct Entry {
    owner: Option<TenantId>,
    text: Secret<String>,
    parsed: Parsed,
}

#[derive(Clone)]
enum Parsed {
    Mask(Arc<Mask>),
    Template(Arc<Template>),
}

/// A text that did not become a template: malformed, or too costly for the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unparsed {
    Malformed(Malformed),
    Unpaid(Failed),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Mask,
    Template,
}

impl Cache {
    pub fn new() -> Self {
        Self { hasher: RandomState::new(), kept: SharedLock::default() }
    }

    /// As [`Template::parse`]. `owner` is the tenant that sent the text, `None` for the text of a
    /// token type.
    pub fn template(
        &self,
        owner: Option<TenantId>,
        text: &str,
        budget: &Budget,
    ) -> Result<Arc<Template>, Unparsed> {
        budget.spend(find_work(text)).map_err(Unparsed::Unpaid)?;
        let hash = self.hasher.hash_one((owner, Kind::Template, text));
        if let Some(Parsed::Template(found)) = self.find(hash, owner, text) {
            return Ok(found);
        }
        budget.spend_parsing(text).map_err(Unparsed::Unpaid)?;
        let parsed = Arc::new(Template::parse(text).map_err(Unparsed::Malformed)?);
        budget.spend(parsed.states.saturating_mul(STATE)).map_err(Unparsed::Unpaid)?;
        self.keep(hash, owner, text, Parsed::Template(Arc::clone(&parsed)), parsed.states);
        Ok(parsed)
    }

    /// The mask of this JSON text; `None` if the text is not a mask, or too costly to parse.
    pub fn mask(&self, owner: Option<TenantId>, text: &str, budget: &Budget) -> Option<Arc<Mask>> {
        budget.spend(find_work(text)).ok()?;
        let hash = self.hasher.hash_one((owner, Kind::Mask, text));
        if let Some(Parsed::Mask(found)) = self.find(hash, owner, text) {
            return Some(found);
        }
        budget.spend_parsing(text).ok()?;
        budget.spend_json(text).ok()?;
        let mask: Value = serde_json::from_str(text).ok()?;
        let parsed = Arc::new(Mask::parse(&mask).ok()?);
        budget.spend(parsed.states().saturating_mul(STATE)).ok()?;
        self.keep(hash, owner, text, Parsed::Mask(Arc::clone(&parsed)), parsed.states());
        Some(parsed)
    }

    /// A thread that panicked while it held the lock left complete entries: each is inserted in one
    /// step.
    fn find(&self, hash: u64, owner: Option<TenantId>, text: &str) -> Option<Parsed> {
        let kept = self.kept.read();
        let entry = kept.by_hash.get(&hash)?;
        (entry.owner == owner && entry.text.expose() == text).then(|| entry.parsed.clone())
    }

    fn keep(&self, hash: u64, owner: Option<TenantId>, text: &str, parsed: Parsed, states: usize) {
        let bytes = BYTES_PER_ENTRY
            .saturating_add(text.len().saturating_mul(BYTES_PER_BYTE))
            .saturating_add(states.saturating_mul(BYTES_PER_STATE));
        let entry = Entry { owner, text: Secret::new(String::from(text)), parsed };
        let mut kept = self.kept.write();
        let full = kept.bytes.saturating_add(bytes) > PARSED_BYTES_MAX;
        if full || kept.by_hash.len() >= PARSED_MAX {
            // Free the old entries after the lock is released.
            let gone = std::mem::take(&mut *kept);
            Self::put(&mut kept, hash, entry, bytes);
            drop(kept);
            drop(gone);
        } else {
            Self::put(&mut kept, hash, entry, bytes);
        }
    }

    /// Replaces an entry with the same hash, whose bytes stay counted until the cache is emptied.
    fn put(kept: &mut CacheContents, hash: u64, entry: Entry, bytes: usize) {
        kept.bytes = kept.bytes.saturating_add(bytes);
        kept.by_hash.insert(hash, entry);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.kept.read().by_hash.len()
    }
}

fn find_work(text: &str) -> usize {
    CALL.saturating_add(text.len().saturating_mul(FIND_BYTE))
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

// Prints no text of a caller.
opaque_debug!(Cache);
