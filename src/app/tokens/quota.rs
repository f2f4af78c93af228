//! The `token_limit` quota: the maximum number of tokens and token intents of a tenant together.

use crate::app::access::caller::Caller;
use crate::app::error::Error;
use crate::store::tables::{self, CountKind};
use crate::store::{Change, Snapshot};

impl Caller {
    /// Adds an expectation to the change that keeps the tenant within its quota. A change that adds
    /// nothing, such as a conversion or a duplicate, always fits.
    ///
    /// The decision uses the counts of the snapshot, and the writer checks them again. Concurrent
    /// changes therefore cannot exceed the quota together.
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
