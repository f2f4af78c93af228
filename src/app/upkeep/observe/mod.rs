//! Metrics and checks of the vault: its numbers of records, and the lag of the sweep.

mod archive;
mod damage;
mod deletions;
mod imports;
mod safety;

use std::time::Duration;

use crate::app::error::Error;
use crate::app::{Upkeep, Vault};
use crate::bounds::{SESSIONS_COUNTED_FOR, SWEEP_LAG_MAX, TENANTS_MAX};
use crate::metrics::{Checks, Observe, Page};
use crate::store::tables::{self, CountKind};
use crate::store::{Snapshot, Table};

/// Expired tokens count until they are removed.
struct RecordTotals {
    tenants: u64,
    tokens: u64,
    token_intents: u64,
    threeds_sessions: u64,
}

impl Upkeep<'_> {
    fn held(self) -> Result<RecordTotals, Error> {
        let snapshot = self.vault.snapshot()?;
        let tenants = snapshot.first(&Table::Tenants.whole(), TENANTS_MAX)?;
        let sum = |kind: CountKind| {
            let mut sum = 0_u64;
            for tenant in tenants.iter().filter_map(|(key, _)| tables::tenant_of_key(key)) {
                let count = snapshot.count(&tables::counts(tenant, kind))?;
                sum = sum.saturating_add(u64::try_from(count).unwrap_or(0));
            }
            Ok::<_, Error>(sum)
        };
        Ok(RecordTotals {
            tenants: u64::try_from(tenants.len()).unwrap_or(u64::MAX),
            tokens: sum(CountKind::Tokens)?,
            token_intents: sum(CountKind::TokenIntents)?,
            threeds_sessions: self.count_sessions(&snapshot)?,
        })
    }

    /// The file has no count of sessions, so they are counted here, at most once in a while.
    fn count_sessions(self, snapshot: &Snapshot) -> Result<u64, Error> {
        let mut counted = self.vault.threeds.counted.lock();
        let now = self.vault.now();
        if let Some((at, count)) = *counted
            && now.since(at) < SESSIONS_COUNTED_FOR
        {
            return Ok(count);
        }
        let count = snapshot.len(Table::ThreedsSessions)?;
        *counted = Some((now, count));
        Ok(count)
    }

    /// Zero if another process sweeps.
    fn sweep_lag(self) -> Duration {
        if !self.vault.processes().leads() {
            return Duration::ZERO;
        }
        self.vault.now().since(self.swept_at())
    }
}

impl Observe for Vault {
    fn measure(&self, page: &mut Page) {
        // The checks report a file that cannot be read.
        if let Ok(held) = self.upkeep().held() {
            page.gauge("strongroom_tenants", "Tenants.", held.tenants).status("vault", "tenants");
            page.gauge("strongroom_tokens", "Tokens of all tenants.", held.tokens)
                .status("vault", "tokens");
            page.gauge("strongroom_token_intents", "Token intents.", held.token_intents)
                .status("vault", "token_intents");
            page.gauge("strongroom_threeds_sessions", "3DS sessions.", held.threeds_sessions)
                .status("vault", "threeds_sessions");
        }
        page.gauge(
            "strongroom_sweep_lag_seconds",
            "Seconds since a sweep removed everything that was due.",
            self.upkeep().sweep_lag(),
        )
        .status("vault", "sweep_lag_s");
        self.upkeep().measure_keys(page);
        self.upkeep().measure_backups(page);
        self.upkeep().measure_archive(page);
        self.upkeep().measure_audit(page);
        self.upkeep().measure_damage(page);
        self.upkeep().measure_imports(page);
        self.upkeep().measure_deletions(page);
        self.webhooks().measure(page);
        self.processes().measure(page);
        if let Some(floor) = &self.floor {
            floor.measure(page);
        }
    }

    fn check(&self, checks: &mut Checks) {
        if let Some(floor) = &self.floor {
            floor.check(checks);
        }
        let late = self.upkeep().sweep_lag() > SWEEP_LAG_MAX;
        let wrong = late.then_some("Expired records have not been removed for too long.");
        checks.set("sweeps", wrong);
        self.upkeep().check_archive(checks);
        self.upkeep().check_audit(checks);
        self.upkeep().check_records(checks);
        self.upkeep().check_shares(checks);
        self.processes().check(checks);
    }
}
