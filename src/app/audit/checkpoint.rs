//! Checkpoints: signing the audit chain as it grows, and removing entries that are older than the
//! retention.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;

use uuid::Uuid;

use crate::app::audit::records::EndedRecords;
use crate::app::audit::watch::AuditFinding;
use crate::app::commit::commit_loop::{HeldShards, Priority};
use crate::app::commit::lanes::LaneGuard;
use crate::app::error::{Error, Fault};
use crate::app::findings::Report;
use crate::app::{Audit, Vault};
use crate::bounds::{AUDIT_CHECKPOINT_PERIOD, AUDIT_ROWS_AT_ONCE, SWEEP_BATCH_MAX};
use crate::crypto::{KeyPurpose, SigningKey, SystemKeys};
use crate::domain::time::Timestamp;
use crate::store::chain::{
    ChainReport, ChainRows, Checkpoint, Head, Heads, Inspection, Receipt, RecordState,
    SignatureKind, Signers, Statement, TrustAnchors, scopes_by_shard,
};
use crate::store::{Authority, Change, Shard, Snapshot, Table, tables};

const CHECKPOINTS: &[u8] = b"audit checkpoints";

/// The extent of the audit chain and its newest checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditStatus {
    pub head: Head,
    /// The number of the oldest entry that is kept.
    pub first: u64,
    pub last_checkpoint: Option<(u64, Timestamp)>,
}

impl AuditStatus {
    /// The number of entries after the newest checkpoint.
    pub fn unsigned(&self) -> u64 {
        let signed = self.last_checkpoint.map_or(self.first, |(number, _)| number);
        self.head.next.saturating_sub(signed)
    }
}

impl<'a> Audit<'a> {
    /// Each checkpoint names the one before it, so they are made one at a time. The newest key
    /// signs the start of the chain, so a rotation of that key takes this lane too.
    pub(in crate::app) async fn checkpoints_turn(self) -> Result<LaneGuard<'a>, Error> {
        self.vault.lanes.take(CHECKPOINTS).await
    }
}

/// The change is refused if another process has signed or replaced the signing key meanwhile.
fn expect_signer(vault: &Vault, snapshot: &Snapshot) -> Result<Change, Error> {
    if !vault.processes().may_be_several() {
        return Ok(Change::new());
    }
    let signer = vault.keys().system().signer();
    let key = tables::keys(&SystemKeys::SCOPE, KeyPurpose::Sign.code(), signer);
    let change = Change::new().expect_present(Table::Keys, key);
    let place = tables::meta::AUDIT_NEWEST_CHECKPOINT;
    Ok(match snapshot.value(Table::Meta, place)? {
        Some(newest) => change.expect_value(Table::Meta, place.to_vec(), newest),
        None => change.expect_absent(Table::Meta, place.to_vec()),
    })
}

/// A clock that was ahead and was set back leaves a checkpoint with a time in the future. The chain
/// is then signed at once instead of when the clock has caught up. `since_signed` also counts
/// monotonic time.
fn is_due_after(vault: &Vault, newest: &Checkpoint) -> bool {
    let now = vault.now();
    newest.at > now
        || newest.at.plus(AUDIT_CHECKPOINT_PERIOD) <= now
        || vault.audit_watch.since_signed(now) >= AUDIT_CHECKPOINT_PERIOD
}

impl Audit<'_> {
    /// The finding on the first call, `None` on later calls.
    pub fn news(self) -> Option<AuditFinding> {
        let finding = self.vault.audit_watch.finding()?;
        (!self.vault.audit_watch.is_told.swap(true, Ordering::Relaxed)).then_some(finding)
    }

    /// Checks the tail of the chain before the first signature. This process wrote all later
    /// entries, so one check is enough.
    pub(in crate::app) fn may_sign(self) -> Result<bool, Error> {
        let watch = &self.vault.audit_watch;
        // Other processes write entries too, and may replace the signing key.
        let is_shared = self.vault.processes().may_be_several();
        if is_shared || !watch.tail_is_known.load(Ordering::Relaxed) {
            let mut is_whole = self.tail_is_whole()?;
            if is_shared && !is_whole {
                self.vault.keys().reload_system()?;
                is_whole = self.tail_is_whole()?;
            }
            if !is_whole {
                watch.find(AuditFinding::BrokenTail);
            }
            watch.tail_is_known.store(true, Ordering::Relaxed);
        }
        Ok(watch.finding() != Some(AuditFinding::BrokenTail))
    }
}

impl Audit<'_> {
    pub fn status(self) -> Result<AuditStatus, Error> {
        let snapshot = self.vault.snapshot()?;
        let newest = Checkpoint::newest(&snapshot)?;
        Ok(AuditStatus {
            head: Heads::read(&snapshot)?.position(),
            first: Checkpoint::start(&snapshot)?.map_or(0, |start| start.sequence),
            last_checkpoint: newest.map(|it| (it.sequence, it.at)),
        })
    }

    /// A quick check: this vault signed the newest checkpoint, and the entries after it, about a
    /// minute's, lead to the ends of the chains.
    pub fn tail_is_whole(self) -> Result<bool, Error> {
        let snapshot = self.vault.snapshot()?;
        let heads = Heads::read(&snapshot)?;
        let last = match Checkpoint::newest_with_heads(&snapshot)? {
            Some(newest) => Some((newest, SignatureKind::Checkpoint)),
            None => {
                Checkpoint::start_with_heads(&snapshot)?.map(|start| (start, SignatureKind::Start))
            }
        };
        let mut signed_heads = Heads::default();
        if let Some(((last, of_shards), signed)) = last {
            let own = self.own_signers(&snapshot)?;
            if own.is_none_or(|own| !own.have_signed(&last, signed)) {
                return Ok(false);
            }
            signed_heads = of_shards;
        }
        let mut scopes = scopes_by_shard(&snapshot)?;
        for (shard, _) in heads.all().chain(signed_heads.all()) {
            scopes.entry(shard).or_default();
        }
        for (shard, scopes) in scopes {
            let mut reached = signed_heads.of(shard);
            let scopes = scopes.into_iter();
            let mut rows = ChainRows::of_shard(&snapshot, shard, scopes, reached.next)?;
            while let Some(row) = rows.next_row()? {
                if row.sequence != reached.next {
                    return Ok(false);
                }
                reached = reached.after(&row);
            }
            if reached != heads.of(shard) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `None` if the keys that signed the chain do not lead to this vault's signing key.
    pub(in crate::app) fn own_signers(self, snapshot: &Snapshot) -> Result<Option<Signers>, Error> {
        let own = self.vault.keys().system().signing().public();
        let signers = Signers::read(snapshot)?;
        Ok(signers.filter(|it| it.newest().public_key == own && it.problems().is_empty()))
    }

    /// Walks the chain as an auditor without secret keys would. In addition, the current signer
    /// must be this vault's public key.
    pub async fn inspect(self, expected: &TrustAnchors) -> Result<ChainReport, Error> {
        self.flush_reads().await?;
        let own = Some(self.vault.keys().system().signing().public());
        let inspect = || {
            let expected = TrustAnchors { own, ..*expected };
            let mut inspection = Inspection::new(&self.vault.snapshot()?, &expected)?;
            while inspection.advance(AUDIT_ROWS_AT_ONCE, &mut |_| ())? {}
            Ok(inspection.finish()?)
        };
        self.vault.operator_walks.run(inspect).await?
    }

    /// Signs the chain to its end. The returned checkpoint is to be kept outside the vault.
    pub async fn receipt(self) -> Result<Receipt, Error> {
        self.sign().await?;
        if let Some(finding) = self.vault.audit_watch.finding() {
            return Err(Error::Conflict(finding.told()));
        }
        let snapshot = self.vault.snapshot()?;
        let missing = || Error::Internal(Fault::Dangling);
        let own = self.own_signers(&snapshot)?.ok_or_else(missing)?;
        let checkpoint = Checkpoint::newest(&snapshot)?;
        let checkpoint = checkpoint.ok_or(Error::Conflict("There is nothing in the chain yet."))?;
        let signer = own.all().find(|signer| signer.number == checkpoint.signer);
        let public_key = signer.ok_or_else(missing)?.public_key;
        Ok(Receipt { file: own.file, public_key, checkpoint })
    }

    /// Writes the queued entries of reads, then signs the end of the chain unless it is signed. The
    /// server calls this as its last act.
    pub async fn sign(self) -> Result<(), Error> {
        self.flush_reads().await?;
        let _turn = self.checkpoints_turn().await?;
        if !self.may_sign()? {
            return Ok(());
        }
        self.sign_end(Authority::Anyone, |_| true).await
    }

    /// A part of the sweep.
    pub(in crate::app) async fn sign_when_due(self, by: Authority) -> Result<(), Error> {
        let _turn = self.checkpoints_turn().await?;
        if !self.may_sign()? {
            return Ok(());
        }
        self.sign_end(by, |newest| is_due_after(self.vault, newest)).await
    }

    /// Does nothing if the end is signed already or the newest checkpoint is recent.
    async fn sign_end(
        self,
        by: Authority,
        is_due: impl Fn(&Checkpoint) -> bool + Sync,
    ) -> Result<(), Error> {
        let begun = self.vault.now();
        let is_signed = by
            .commit(self.vault, Priority::Audit, |snapshot| {
                let change = self.plan_checkpoint(snapshot, &is_due)?;
                let is_signed = change.is_some();
                Ok((change.unwrap_or_default(), is_signed))
            })
            .await?;
        if is_signed {
            self.vault.audit_watch.set_signed(begun);
        }
        Ok(())
    }

    /// `None` when no checkpoint is due; an empty change when the end of the chain is signed.
    pub(in crate::app) fn plan_checkpoint(
        self,
        snapshot: &Snapshot,
        is_due: impl Fn(&Checkpoint) -> bool + Sync,
    ) -> Result<Option<Change>, Error> {
        let heads = Heads::read(snapshot)?;
        let head = heads.position();
        let start = Checkpoint::start(snapshot)?.map_or(0, |start| start.sequence);
        let newest = Checkpoint::newest(snapshot)?;
        let previous = newest.map_or(start, |newest| newest.sequence);
        if head.next <= previous {
            return Ok(Some(Change::new()));
        }
        if newest.is_some_and(|newest| !is_due(&newest)) {
            return Ok(None);
        }
        let system = self.vault.keys().system();
        let (state, states) = self.record_states(snapshot)?;
        if !Checkpoint::newest_states(snapshot)?.rolled_back_in(&states).is_empty() {
            self.vault.audit_watch.find(AuditFinding::ForeignRecords);
        }
        let statement = Statement {
            signed: SignatureKind::Checkpoint,
            file: file_id(snapshot)?,
            head,
            previous,
            at: self.vault.now(),
            signer: system.signer(),
            state,
        };
        let change = statement.sign(system.signing()).keep(&heads, &states);
        Ok(Some(change.and(expect_signer(self.vault, snapshot)?)))
    }

    /// Signs that the chain starts at `head`. `signer` is the number of `key`.
    pub(in crate::app) fn start_of(
        self,
        snapshot: &Snapshot,
        head: Head,
        (signer, key): (u32, &SigningKey),
    ) -> Result<Checkpoint, Error> {
        let statement = Statement {
            signed: SignatureKind::Start,
            file: file_id(snapshot)?,
            head,
            previous: 0,
            at: self.vault.now(),
            signer,
            state: RecordState::default(),
        };
        Ok(statement.sign(key))
    }

    /// A part of the sweep: removes all entries up to the newest checkpoint that is older than the
    /// retention. It first moves and signs the start of the chain, then deletes the rows before it
    /// in batches, each of one shard.
    pub(in crate::app) async fn sweep(
        self,
        by: Authority,
        held: &mut HeldShards,
    ) -> Result<(), Error> {
        let _turn = self.checkpoints_turn().await?;
        let vault = self.vault;
        let start = |snapshot: &Snapshot| self.plan_start(snapshot);
        while by.commit(vault, Priority::Audit, start).await? == SWEEP_BATCH_MAX {}
        loop {
            let gone = self.removable(held)?;
            let count = gone.values().map(Vec::len).fold(0, usize::saturating_add);
            for (shard, keys) in gone {
                let removal = |_: &Snapshot| {
                    let delete =
                        |change: Change, key: &Vec<u8>| change.delete(Table::Audit, key.clone());
                    Ok((keys.iter().fold(Change::new(), delete), ()))
                };
                match vault.for_a_while(by.commit(vault, Priority::Audit, removal)).await {
                    Ok(()) => (),
                    Err(Error::Busy) => drop(held.insert(shard)),
                    Err(error) => return Err(error),
                }
            }
            if count < SWEEP_BATCH_MAX {
                return Ok(());
            }
        }
    }

    fn plan_start(self, snapshot: &Snapshot) -> Result<(Change, usize), Error> {
        let now = self.vault.now();
        let oldest = Checkpoint::oldest(snapshot, SWEEP_BATCH_MAX)?;
        let is_old = |(it, _): &(Checkpoint, Heads)| it.at.plus(self.vault.audit_retention) <= now;
        let (old, mut heads): (Vec<_>, Vec<_>) = oldest.into_iter().take_while(is_old).unzip();
        let Some((last, heads)) = old.last().zip(heads.pop()) else {
            return Ok((Change::new(), 0));
        };
        // The start that is signed below replaces these checkpoints, so they must be genuine.
        if !self.may_prune_to(snapshot, &old, SignatureKind::Checkpoint)? {
            return Ok((Change::new(), 0));
        }
        let system = self.vault.keys().system();
        let start = self.start_of(snapshot, last.head(), (system.signer(), system.signing()))?;
        let gone = old.iter().fold(start.keep_as_start(&heads), |change, it| {
            let place = tables::audit_checkpoints(it.sequence);
            change.delete(Table::AuditCheckpoints, place)
        });
        Ok((gone, old.len()))
    }

    /// The places of a batch of rows before the start of the chain, by shard.
    fn removable(self, held: &HeldShards) -> Result<BTreeMap<Shard, Vec<Vec<u8>>>, Error> {
        let snapshot = &self.vault.snapshot()?;
        let mut found: BTreeMap<Shard, Vec<Vec<u8>>> = BTreeMap::new();
        let Some((start, heads)) = Checkpoint::start_with_heads(snapshot)? else {
            return Ok(found);
        };
        if !self.may_prune_to(snapshot, &[start], SignatureKind::Start)? {
            return Ok(found);
        }
        let mut left = SWEEP_BATCH_MAX;
        for (shard, scopes) in scopes_by_shard(snapshot)? {
            if held.contains(&shard) {
                continue;
            }
            let gone = shard.entries().start..heads.of(shard).next;
            for scope in scopes {
                let range = tables::audit_between(&scope, &gone);
                for entry in snapshot.range(&range)?.take(left) {
                    found.entry(shard).or_default().push(entry?.0);
                    left = left.saturating_sub(1);
                }
            }
        }
        Ok(found)
    }

    /// True when this vault signed these checkpoints. A forged checkpoint must not cause removals.
    fn may_prune_to(
        self,
        snapshot: &Snapshot,
        checkpoints: &[Checkpoint],
        signed: SignatureKind,
    ) -> Result<bool, Error> {
        let own = self.own_signers(snapshot)?;
        let is_own =
            own.is_some_and(|own| checkpoints.iter().all(|it| own.have_signed(it, signed)));
        if !is_own {
            self.vault.audit_watch.find(AuditFinding::ForgedCheckpoint);
        }
        Ok(is_own)
    }

    /// Checks that the chain is complete, that every row opens, that this vault's key signed it,
    /// and that the records agree with its entries. `keys` are the ids of the listed API keys.
    pub(in crate::app) fn verify(
        self,
        snapshot: &Snapshot,
        keys: &HashSet<Uuid>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let digests = self.verify_digests(snapshot, report)?;
        let own = Some(self.vault.keys().system().signing().public());
        let mut ended = EndedRecords::new(snapshot, keys, digests);
        let (mut closed, mut failure) = (Vec::new(), None);
        let expected = TrustAnchors { own, ..TrustAnchors::default() };
        let chain = Inspection::new(snapshot, &expected)?.run(&mut |row| {
            let Ok(entries) = self.open_row(row) else {
                closed.push(row.sequence);
                closed.truncate(crate::bounds::VERIFY_FINDINGS_MAX);
                return;
            };
            for (entry, number) in entries.iter().zip(row.sequence..) {
                if let Err(error) = ended.take(&row.scope, number, entry) {
                    failure = Some(error);
                }
            }
        })?;
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        ended.report(report);
        report.audit_entries = chain.entries;
        for finding in chain.findings {
            report.find(format!("audit chain: {finding}"));
        }
        report.more = report.more.saturating_add(chain.more);
        for sequence in closed {
            report.find(format!("audit chain: the row at {sequence} does not open"));
        }
        Ok(())
    }
}

fn file_id(snapshot: &Snapshot) -> Result<[u8; 16], Error> {
    let own = Signers::read(snapshot)?;
    Ok(own.ok_or(Error::Internal(Fault::Dangling))?.file)
}
