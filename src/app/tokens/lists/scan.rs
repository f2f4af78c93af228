//! The walk over a list by container and time, from one cursor to the next.
//!
//! It reads only index entries, never a record, and only those of containers that the caller may
//! see; it seeks past the rest. So the cost of a page does not depend on the tenant's other tokens.

use uuid::Uuid;

use crate::app::caller::Caller;
use crate::app::error::{Error, Fault};
use crate::app::tokens::lists::entry::ListEntry;
use crate::app::tokens::rows::{self, Filter};
use crate::bounds::{CURSOR_CHARS_MAX, CURSOR_POSITION_BYTES, LIST_HIDDEN_MAX};
use crate::crypto::{Random, SEAL_OVERHEAD_BYTES};
use crate::domain::container::Container;
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_query::{TokenFilter, TokenQuery};
use crate::store::tables::{self, ListKey, TokenList};
use crate::store::{Snapshot, Table};

const HIDDEN_FINGERPRINT: &str =
    "An API key that sees tokens redacted cannot ask for those of a fingerprint.";

/// Ends the position in a cursor; zeros follow it.
const END: u8 = 0x80;

// A cursor is sealed, and written as base64.
const _: () =
    assert!((CURSOR_POSITION_BYTES + SEAL_OVERHEAD_BYTES).div_ceil(3) * 4 <= CURSOR_CHARS_MAX);

/// The same for every page of a list.
pub(in crate::app) struct Scan<'a> {
    caller: &'a Caller,
    permission: Permission,
    query: &'a TokenQuery,
    filter: [u8; 16],
    /// The filter under a key that is the same in every phase of a rotation. Cursors contain it.
    lasting_filter: [u8; 16],
    /// The outermost listed containers, sorted.
    reach: Vec<Container>,
    /// The caller's rules have conditions, so the record of each token decides if it is listed.
    is_conditional: bool,
}

/// A position is the part of a listing key after tenant and filter.
pub(in crate::app) struct ScanPage {
    pub(in crate::app) tokens: Vec<TokenId>,
    /// Skipped entries that do not decode, with the ids of their tokens, or nil if the key does not
    /// contain the id.
    pub(in crate::app) damaged: Vec<(Uuid, Fault)>,
    /// The position after which the next page starts.
    pub(in crate::app) next: Option<Vec<u8>>,
}

impl<'a> Scan<'a> {
    /// Fails if the caller lacks the permission for the container of the query.
    pub(in crate::app) fn new(
        caller: &'a Caller,
        permission: Permission,
        query: &'a TokenQuery,
    ) -> Result<Self, Error> {
        let reach = match &query.container {
            Some(container) => {
                caller.require_list(permission, container)?;
                vec![container.clone()]
            }
            None => caller.reach(permission)?,
        };
        // A match of the filter would reveal the fingerprint that a redacted view leaves out.
        if matches!(query.filter, TokenFilter::Fingerprint(_))
            && caller.redacts_somewhere(permission)
        {
            return Err(Error::Forbidden(HIDDEN_FINGERPRINT));
        }
        let filter = Filter::from(&query.filter);
        let lasting_filter = filter.blinded(caller.keys.lasting());
        let filter = filter.blinded(caller.keys.index());
        let is_conditional = caller.is_conditional(permission);
        Ok(Self { caller, permission, query, filter, lasting_filter, reach, is_conditional })
    }

    /// After `skipped_max` skipped entries, the page ends early.
    pub(in crate::app) fn page(
        &self,
        snapshot: &Snapshot,
        after: Option<&[u8]>,
        size: usize,
        skipped_max: usize,
        now: Timestamp,
    ) -> Result<ScanPage, Error> {
        // Opening a record takes longer than skipping an entry.
        let skipped_max =
            if self.is_conditional { skipped_max.min(LIST_HIDDEN_MAX) } else { skipped_max };
        let filtered = TokenList::new(self.caller.tenant.id, self.filter);
        let (mut tokens, mut damaged) = (Vec::new(), Vec::new());
        let mut last = after.map(<[u8]>::to_vec);
        let mut skipped: usize = 0;
        for container in &self.reach {
            for entry in snapshot.range(&filtered.inside(container, after))? {
                let (key, value) = entry?;
                let shown = if let (Some(ListKey { position, token, .. }), Ok(listed)) =
                    (tables::list_key(&key), ListEntry::decode(&value))
                {
                    let is_shown =
                        listed.is_live(now) && listed.is_shown_at(position.path, &self.reach);
                    is_shown.then_some(token).filter(|token| self.is_granted(snapshot, *token))
                } else {
                    let token = tables::token_of_list_key(&key);
                    damaged.push((token.map_or(Uuid::nil(), TokenId::uuid), Fault::BadRecord));
                    None
                };
                if let Some(token) = shown {
                    if tokens.len() == size {
                        return Ok(ScanPage { tokens, damaged, next: last });
                    }
                    tokens.push(token);
                } else if skipped == skipped_max {
                    return Ok(ScanPage { tokens, damaged, next: last });
                } else {
                    skipped = skipped.saturating_add(1);
                }
                last = tables::list_position(&key).map(<[u8]>::to_vec);
            }
        }
        Ok(ScanPage { tokens, damaged, next: None })
    }

    /// False for a token that a condition hides, and for one whose record does not open. If a page
    /// left such tokens out later, its size and its cursor would disclose that they exist.
    fn is_granted(&self, snapshot: &Snapshot, token: TokenId) -> bool {
        if !self.is_conditional {
            return true;
        }
        let found = rows::find_by_id(snapshot, &self.caller.keys, self.caller.tenant.id, token);
        found.ok().flatten().is_some_and(|found| {
            self.caller.require_in_any(self.permission, found.token.target()).is_ok()
        })
    }

    /// Seals the position: it may belong to a token that a condition hides from the caller. The
    /// seal also proves that the cursor comes from this list of this tenant.
    pub(in crate::app) fn cursor(&self, mut position: Vec<u8>, random: &Random) -> Vec<u8> {
        position.push(END);
        position.resize(position.len().max(CURSOR_POSITION_BYTES), 0);
        let keys = &self.caller.keys;
        keys.seal_lasting(Table::TokenLists.number(), &self.list(), &position, random)
    }

    pub(in crate::app) fn position(&self, cursor: &[u8]) -> Result<Vec<u8>, Error> {
        let keys = &self.caller.keys;
        let opened = keys.open_lasting(Table::TokenLists.number(), &self.list(), cursor).ok();
        let position = opened.and_then(|plain| {
            let end = plain.expose().iter().rposition(|byte| *byte == END)?;
            plain.expose().get(..end).map(<[u8]>::to_vec)
        });
        let refused = "The cursor does not come from this list, or was changed.";
        position.ok_or_else(|| Error::invalid("start", refused))
    }

    /// Binds cursors to this list.
    fn list(&self) -> [u8; 32] {
        let container = self.query.container.as_ref().map_or("", Container::as_str);
        self.caller.keys.lasting().tag(&[
            b"cursor",
            self.caller.tenant.id.bytes(),
            self.permission.as_str().as_bytes(),
            container.as_bytes(),
            &self.lasting_filter,
        ])
    }
}

impl<'a> From<&'a TokenFilter> for Filter<'a> {
    fn from(filter: &'a TokenFilter) -> Self {
        match filter {
            TokenFilter::Everything => Self::Everything,
            TokenFilter::Fingerprint(print) => Self::Fingerprint(print),
            TokenFilter::Metadata(key, value) => Self::Metadata(key, value),
            TokenFilter::SearchTerm(term) => Self::SearchTerm(term.expose()),
            TokenFilter::Type(kind) => Self::Type(*kind),
        }
    }
}
