//! Upkeep: sweeping, scrubbing, backups, verification, and the state that operators observe.

pub(in crate::app) mod backups;
pub(in crate::app) mod damage;
pub(in crate::app) mod holdings;
pub(in crate::app) mod observe;
pub(in crate::app) mod scrub;
pub(in crate::app) mod sweep;
pub(in crate::app) mod verify;
use crate::app::vault::Vault;

/// Removes expired records, looks for damage, and counts records.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl Vault {
    pub const fn upkeep(&self) -> Upkeep<'_> {
        Upkeep { vault: self }
    }
}

impl Upkeep<'_> {
    /// Waits for the next damaged row that has not been logged.
    pub async fn damage_found(self) -> damage::DamagedRow {
        self.vault.damage.next_found().await
    }
}
