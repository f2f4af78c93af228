//! Metrics and checks of the keys, the backups and the audit chain.

use std::sync::atomic::Ordering;

use crate::app::Upkeep;
use crate::app::audit::watch::AuditFinding;
use crate::app::keys::share_sets::ShareState;
use crate::app::rotation::{KeyInventory, ListedKey};
use crate::bounds::AUDIT_SIGN_LAG_MAX;
use crate::crypto::KeyPurpose;
use crate::domain::hex;
use crate::metrics::{Checks, FamilyKind, Label, Page, StatusValue};

impl Upkeep<'_> {
    pub(super) fn measure_keys(self, page: &mut Page) {
        let Ok(inventory) = self.vault.keys().ages() else { return };
        let now = self.vault.now();
        self.measure_master(page, &inventory);
        let oldest = inventory.keys.iter().filter_map(|key| key.age(now)).max();
        let days = oldest.map_or(0, |age| age.as_secs() / 86_400);
        page.line("keys", "oldest_days", StatusValue::Count(days));
        let sealing = || inventory.keys.iter().filter(|key| key.purpose == Some(KeyPurpose::Seal));
        let mut ages =
            page.family("strongroom_key_age_seconds", "Age of a key.", FamilyKind::Gauge);
        for key in sealing() {
            if let Some(age) = key.age(now) {
                ages.sample(&labels(key), age);
            }
        }
        let mut uses = page.family(
            "strongroom_key_uses_total",
            "Records that were sealed under a key.",
            FamilyKind::Counter,
        );
        for key in sealing() {
            uses.sample(&labels(key), key.uses.unwrap_or(0));
        }
        let rotations = u64::try_from(inventory.rotations.len()).unwrap_or(u64::MAX);
        page.gauge("strongroom_key_rotations", "Rotations that are under way.", rotations)
            .status("keys", "rotations");
        // Rotations are worked on one at a time; the others wait.
        let rotation = inventory.rotations.first();
        let progress = rotation.map(|it| self.vault.rotations.progress(it.phase, now));
        page.known_gauge(
            "strongroom_key_rotation_age_seconds",
            "Seconds since the current rotation began.",
            rotation.map(|rotation| now.since(rotation.started_at)),
        )
        .status("keys", "rotation_age_s");
        page.known_gauge(
            "strongroom_key_rotation_records_left",
            "Records that the current rotation has to look at.",
            progress.map(|progress| progress.records_left),
        )
        .status("keys", "rotation_records_left");
        page.known_gauge(
            "strongroom_key_rotation_tokens_left",
            "Tokens whose old index entries the current rotation has to remove.",
            progress.map(|progress| progress.tokens_left),
        )
        .status("keys", "rotation_tokens_left");
        page.known_gauge(
            "strongroom_key_rotation_left_seconds",
            "Seconds that the current rotation still takes at its present speed.",
            progress.and_then(|progress| progress.left).map(|left| left.as_secs()),
        )
        .status("keys", "rotation_left_s");
        if let (Some(rotation), Some(progress)) = (rotation, progress) {
            let looked_at = self.vault.rotations.looked_at.load(Ordering::Relaxed);
            page.line("keys", "rotation_phase", StatusValue::Name(rotation.phase.as_str()));
            page.line("keys", "rotation_records_done", StatusValue::Count(looked_at));
            page.line("keys", "rotation_percent", StatusValue::Count(progress.percent));
        }
    }

    fn measure_master(self, page: &mut Page, inventory: &KeyInventory) {
        let made_at = inventory.master.made_at;
        page.known_gauge(
            "strongroom_master_key_age_seconds",
            "Age of the master key.",
            made_at.map(|at| self.vault.now().since(at)),
        );
        page.line("keys", "master_made_at", made_at.map(StatusValue::Time));
        page.line(
            "keys",
            "master_id",
            hex::decode(&inventory.master.check).map(StatusValue::KeyId),
        );
        let shares = self.vault.keys().share_state().ok().map(|state| match state {
            ShareState::Absent => "none made",
            ShareState::Current => "of the current key",
            ShareState::Replaced => "of a replaced key",
        });
        page.line("keys", "recovery_shares", shares.map(StatusValue::Name));
    }

    pub(super) fn check_shares(self, checks: &mut Checks) {
        let is_replaced = self.vault.keys().share_state().ok() == Some(ShareState::Replaced);
        let warning = "The recovery shares are of a replaced master key: make new ones with \
                       strongroom key shares.";
        checks.warn("shares", is_replaced.then_some(warning));
    }

    /// A vault without a schedule has no samples of these metrics.
    pub(super) fn measure_backups(self, page: &mut Page) {
        let Ok(state) = self.vault.backups().state() else { return };
        let now = self.vault.now();
        page.known_gauge(
            "strongroom_backup_age_seconds",
            "Age of the data in the newest scheduled backup.",
            state.age_of_backup(now),
        );
        page.known_gauge(
            "strongroom_backup_bytes",
            "Size of the newest scheduled backup.",
            state.taken.map(|taken| taken.bytes),
        );
        page.line("backups", "taken_at", state.taken.map(|taken| StatusValue::Time(taken.at)));
        page.known_gauge(
            "strongroom_restore_proven_age_seconds",
            "Seconds since a backup was last restored and verified.",
            state.age_of_proof(now),
        );
        page.line("backups", "proven_at", state.proven.map(|proven| StatusValue::Time(proven.at)));
        let mut failed = page.family(
            "strongroom_backup_failed",
            "1 if the last try to take a backup, or to prove one, failed, else 0.",
            FamilyKind::Gauge,
        );
        for (step, at) in [("take", state.failed_at), ("prove", state.proof_failed_at)] {
            failed.sample(&[("step", Label::Name(step))], u64::from(at.is_some()));
        }
        // Includes backups that were taken by command.
        let newest = self.vault.backups().newest_at().ok().flatten();
        page.known_gauge(
            "strongroom_newest_backup_age_seconds",
            "Age of the data in the newest backup, scheduled or taken by command.",
            newest.map(|at| now.since(at)),
        )
        .status("backups", "newest_age_s");
        page.line("backups", "newest_at", newest.map(StatusValue::Time));
        page.line("backups", "failed_at", state.failed_at.map(StatusValue::Time));
        page.line("backups", "proof_failed_at", state.proof_failed_at.map(StatusValue::Time));
        let has_failed = state.failed_at.is_some() || state.proof_failed_at.is_some();
        page.line("backups", "last_try_failed", StatusValue::Flag(has_failed));
    }

    pub(super) fn measure_audit(self, page: &mut Page) {
        let Ok(status) = self.vault.audit().status() else { return };
        page.counter(
            "strongroom_audit_entries_total",
            "Entries that were appended to the audit chain.",
            status.head.next,
        )
        .status("audit", "entries");
        let mut refused = page.family(
            "strongroom_refused_attempts_total",
            "Attempts that were refused with 401 or 403, or at the operator's socket, by reason.",
            FamilyKind::Counter,
        );
        for (reason, count) in self.vault.refusals.counts() {
            let labels = [("reason", Label::Name(reason))];
            refused.sample(&labels, count).status("audit", "refused_attempts");
        }
        if let Some((number, at)) = status.last_checkpoint {
            page.line("audit", "signed_up_to", StatusValue::Count(number));
            page.line("audit", "signed_at", StatusValue::Time(at));
        }
        let signed = status.last_checkpoint.map(|(_, at)| self.vault.now().since(at));
        page.known_gauge(
            "strongroom_audit_signed_age_seconds",
            "Seconds since the newest checkpoint was signed.",
            signed,
        );
        let followed = self.vault.audit_watch.followed();
        if let Some(at) = followed {
            page.line("audit", "followed_at", StatusValue::Time(at));
        }
        page.known_gauge(
            "strongroom_audit_followed_age_seconds",
            "Seconds since audit follow asked for entries; absent if it did not since the start.",
            followed.map(|at| self.vault.now().since(at)),
        );
        page.gauge(
            "strongroom_audit_unsigned_entries",
            "Entries after the newest checkpoint.",
            status.unsigned(),
        );
    }

    pub(super) fn check_audit(self, checks: &mut Checks) {
        let is_late = self.vault.audit_watch.since_signed(self.vault.now()) > AUDIT_SIGN_LAG_MAX
            && self.vault.audit().status().is_ok_and(|status| status.unsigned() > 0);
        let late = is_late.then_some("The audit chain has not been signed for too long.");
        checks.set("audit", self.vault.audit_watch.finding().map(AuditFinding::told).or(late));
    }
}

/// The server's keys belong to no tenant and are labelled with the nil id.
fn labels(key: &ListedKey) -> [(&'static str, Label); 2] {
    let tenant = key.tenant.map_or(uuid::Uuid::nil(), crate::domain::id::TenantId::uuid);
    [("tenant", Label::Id(tenant)), ("number", Label::Number(u64::from(key.number)))]
}
