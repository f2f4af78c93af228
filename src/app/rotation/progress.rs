//! The progress of rotations, which is cheap to read: nothing is counted for it.

use std::sync::atomic::Ordering;

use uuid::Uuid;

use crate::app::KeyRotation;
use crate::app::error::Error;
use crate::app::keys::facts::Rotation;
use crate::crypto::{Phase, SystemKeys};
use crate::domain::id::TenantId;
use crate::store::tables::{self, CountKind};

/// The rotations that are under way. One at a time is worked on.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RotationProgress {
    /// The tenants whose keys are rotated; `None` for the server's.
    pub scopes: Vec<Option<TenantId>>,
    /// Records that the current rotation has looked at.
    pub done: u64,
    /// About the number of records that the current rotation looks at; 0 if it is not known.
    pub total: u64,
}

impl KeyRotation<'_> {
    pub fn progress(self) -> Result<RotationProgress, Error> {
        let snapshot = self.vault.snapshot()?;
        let all = Rotation::all(&snapshot)?;
        let Some(first) = all.first() else { return Ok(RotationProgress::default()) };
        let tokens = match tenant_of(&first.scope) {
            Some(tenant) => snapshot.count(&tables::counts(tenant, CountKind::Tokens))?,
            None => 0,
        };
        let tokens = u64::try_from(tokens).unwrap_or(0);
        let looked_at = self.vault.rotations.looked_at.load(Ordering::Relaxed);
        // Two phases look at every token: one seals it again, one removes its old entries.
        let done = match first.phase {
            Phase::Announced => 0,
            Phase::Both | Phase::Flipped => looked_at.min(tokens),
            Phase::Clearing | Phase::Settled => tokens.saturating_add(looked_at),
        };
        let scopes = all.iter().map(|rotation| tenant_of(&rotation.scope)).collect();
        Ok(RotationProgress { scopes, done, total: tokens.saturating_mul(2) })
    }
}

fn tenant_of(scope: &[u8; 16]) -> Option<TenantId> {
    (*scope != SystemKeys::SCOPE).then(|| TenantId::new(Uuid::from_bytes(*scope)))
}
