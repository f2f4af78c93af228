//! The progress of rotations. Reading it is cheap: nothing is counted.

use std::sync::atomic::Ordering;
use std::time::Duration;

use uuid::Uuid;

use crate::app::KeyRotation;
use crate::app::error::Error;
use crate::app::keys::facts::Rotation;
use crate::crypto::{Phase, SystemKeys};
use crate::domain::id::TenantId;
use crate::store::tables::{self, CountKind};

/// Rotations are worked on one at a time.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RotationProgress {
    /// `None` for the server's keys.
    pub scopes: Vec<Option<TenantId>>,
    /// Records that the current rotation has examined.
    pub done: u64,
    /// An estimate for the current rotation; 0 if unknown.
    pub total: u64,
    /// The part of the current rotation that is done.
    pub percent: u64,
    /// The time that the rest takes at the present speed; `None` until the speed is known.
    pub left: Option<Duration>,
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
        // Two phases examine every token: one seals it again, one removes its old entries.
        let done = match first.phase {
            Phase::Announced => 0,
            Phase::Both | Phase::Flipped => looked_at.min(tokens),
            Phase::Clearing | Phase::Settled => tokens.saturating_add(looked_at),
        };
        let scopes = all.iter().map(|rotation| tenant_of(&rotation.scope)).collect();
        let state = self.vault.rotations.progress(first.phase, self.vault.now());
        let (percent, left) = (state.percent, state.left);
        Ok(RotationProgress { scopes, done, total: tokens.saturating_mul(2), percent, left })
    }
}

fn tenant_of(scope: &[u8; 16]) -> Option<TenantId> {
    (*scope != SystemKeys::SCOPE).then(|| TenantId::new(Uuid::from_bytes(*scope)))
}
