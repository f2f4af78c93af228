//! Signing the chain as it grows, and removing what is older than its retention.

use std::ops::Bound;

use crate::app::App;
use crate::app::audit::AuditFinding;
use crate::app::error::{Error, Fault};
use crate::app::verify::Report;
use crate::bounds::{AUDIT_CHECKPOINT_PERIOD, AUDIT_ROWS_AT_ONCE, SWEEP_BATCH_MAX};
use crate::domain::time::Timestamp;
use crate::store::chain::{
    ChainIdentity, ChainReport, Checkpoint, Head, Inspection, Receipt, Rows, Signed, scopes,
};
use crate::store::{Change, Snapshot, Table, tables};

/// Each checkpoint names the one before it, so they are made one after the other.
const CHECKPOINTS: &[u8] = b"audit checkpoints";

/// The chain as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditStatus {
    pub head: Head,
    /// Where it starts: what was before has been removed.
    pub first: u64,
    pub last_checkpoint: Option<(u64, Timestamp)>,
}

impl AuditStatus {
    /// Entries behind the newest checkpoint.
    pub fn unsigned(&self) -> u64 {
        let signed = self.last_checkpoint.map_or(self.first, |(number, _)| number);
        self.head.next.saturating_sub(signed)
    }
}

impl App {
    pub fn audit_status(&self) -> Result<AuditStatus, Error> {
        let snapshot = self.snapshot()?;
        let newest = Checkpoint::newest(&snapshot)?;
        Ok(AuditStatus {
            head: Head::read(&snapshot)?,
            first: Checkpoint::start(&snapshot)?.map_or(0, |start| start.sequence),
            last_checkpoint: newest.map(|it| (it.sequence, it.at)),
        })
    }

    /// A quick look: the newest checkpoint is ours, and the entries behind it lead to the chain's
    /// end. That is about a minute's worth of them.
    pub fn audit_tail_is_whole(&self) -> Result<bool, Error> {
        let snapshot = self.snapshot()?;
        let head = Head::read(&snapshot)?;
        let last = match Checkpoint::newest(&snapshot)? {
            Some(newest) => Some((newest, Signed::Checkpoint)),
            None => Checkpoint::start(&snapshot)?.map(|start| (start, Signed::Start)),
        };
        let mut reached = Head::default();
        if let Some((last, signed)) = last {
            if !self.is_own(&snapshot, &last, signed)? {
                return Ok(false);
            }
            reached = Head { next: last.sequence, link: last.link };
        }
        let mut rows = Rows::from(&snapshot, reached.next)?;
        while let Some(row) = rows.next_row()? {
            if row.sequence != reached.next {
                return Ok(false);
            }
            reached = reached.after(&row);
        }
        Ok(reached == head)
    }

    fn is_own(&self, snapshot: &Snapshot, it: &Checkpoint, signed: Signed) -> Result<bool, Error> {
        let public = self.system().signing().public();
        Ok(it.is_signed_by(&public, signed, &file_id(snapshot)?))
    }

    /// Walks the chain as someone without keys would; others get their turn in between.
    pub async fn inspect_audit(&self, receipt: Option<Receipt>) -> Result<ChainReport, Error> {
        self.flush_reads().await?;
        let mut inspection = Inspection::new(&self.snapshot()?, receipt)?;
        while inspection.advance(AUDIT_ROWS_AT_ONCE, &mut |_| ())? {
            tokio::task::yield_now().await;
        }
        Ok(inspection.finish()?)
    }

    /// The newest checkpoint, of everything up to now, for keeping elsewhere.
    pub async fn audit_receipt(&self) -> Result<Receipt, Error> {
        self.sign_audit().await?;
        if let Some(finding) = self.audit_watch.finding() {
            return Err(Error::Conflict(finding.told()));
        }
        let snapshot = self.snapshot()?;
        let missing = Error::Internal(Fault::Dangling);
        let own = ChainIdentity::read(&snapshot)?;
        let ChainIdentity { file, public_key } = own.ok_or(missing)?;
        let checkpoint = Checkpoint::newest(&snapshot)?;
        let checkpoint = checkpoint.ok_or(Error::Conflict("There is nothing in the chain yet."))?;
        Ok(Receipt { file, public_key, checkpoint })
    }

    /// Writes down what waits and signs the chain's end, if it is not signed yet: also the last
    /// thing that a server does.
    pub async fn sign_audit(&self) -> Result<(), Error> {
        self.flush_reads().await?;
        let _turn = self.turns.take(CHECKPOINTS).await;
        if !self.may_sign()? {
            return Ok(());
        }
        self.sign_end(|_| true).await
    }

    /// A part of the sweep: signs what has grown for long enough.
    pub(in crate::app) async fn sign_audit_when_due(&self) -> Result<(), Error> {
        let _turn = self.turns.take(CHECKPOINTS).await;
        if !self.may_sign()? {
            return Ok(());
        }
        self.sign_end(|newest| self.is_due_after(newest)).await
    }

    /// A clock that was ahead and was set back leaves a checkpoint of the future. The chain is signed
    /// at once then, and from there on by how long the process has waited.
    fn is_due_after(&self, newest: &Checkpoint) -> bool {
        let now = self.now();
        newest.at > now
            || newest.at.plus(AUDIT_CHECKPOINT_PERIOD) <= now
            || self.audit_watch.since_signed(now) >= AUDIT_CHECKPOINT_PERIOD
    }

    /// Signs the chain's end unless it is signed, or not due after the newest checkpoint.
    async fn sign_end(&self, is_due: impl Fn(&Checkpoint) -> bool) -> Result<(), Error> {
        let begun = self.now();
        let is_signed = self
            .settle_upkeep(|snapshot| {
                let (head, now) = (Head::read(snapshot)?, self.now());
                let start = Checkpoint::start(snapshot)?.map_or(0, |start| start.sequence);
                let newest = Checkpoint::newest(snapshot)?;
                let signed = newest.map_or(start, |newest| newest.sequence);
                if head.next <= signed {
                    return Ok((Change::new(), true));
                }
                if newest.is_some_and(|newest| !is_due(&newest)) {
                    return Ok((Change::new(), false));
                }
                let (file, system) = (file_id(snapshot)?, self.system());
                let key = system.signing();
                let made = Checkpoint::sign(key, Signed::Checkpoint, &file, head, signed, now);
                Ok((made.keep(), true))
            })
            .await?;
        if is_signed {
            self.audit_watch.set_signed(begun);
        }
        Ok(())
    }

    /// A part of the sweep: removes whole stretches up to a checkpoint that is older than the
    /// retention. The start is moved and signed first; the rows before it follow in batches.
    pub(in crate::app) async fn sweep_audit(&self) -> Result<(), Error> {
        while self.settle_upkeep(|snapshot| self.plan_start(snapshot)).await? == SWEEP_BATCH_MAX {}
        while self.settle_upkeep(|snapshot| self.plan_removal(snapshot)).await? == SWEEP_BATCH_MAX {
        }
        Ok(())
    }

    fn plan_start(&self, snapshot: &Snapshot) -> Result<(Change, usize), Error> {
        let now = self.now();
        let oldest = Checkpoint::oldest(snapshot, SWEEP_BATCH_MAX)?;
        let is_old = |it: &Checkpoint| it.at.plus(self.audit_retention) <= now;
        let old: Vec<_> = oldest.into_iter().take_while(is_old).collect();
        let Some(last) = old.last() else { return Ok((Change::new(), 0)) };
        // What is signed now speaks for them, and they go.
        for it in &old {
            if !self.may_prune_to(snapshot, it, Signed::Checkpoint)? {
                return Ok((Change::new(), 0));
            }
        }
        let file = file_id(snapshot)?;
        let head = Head { next: last.sequence, link: last.link };
        let system = self.system();
        let start = Checkpoint::sign(system.signing(), Signed::Start, &file, head, 0, now);
        let gone = old.iter().fold(start.keep_as_start(), |change, it| {
            let place = tables::audit_checkpoints(it.sequence);
            change.delete(Table::AuditCheckpoints, place)
        });
        Ok((gone, old.len()))
    }

    /// Some rows before the chain's start, scope after scope; how many they are.
    fn plan_removal(&self, snapshot: &Snapshot) -> Result<(Change, usize), Error> {
        let Some(start) = Checkpoint::start(snapshot)? else { return Ok((Change::new(), 0)) };
        if !self.may_prune_to(snapshot, &start, Signed::Start)? {
            return Ok((Change::new(), 0));
        }
        let (mut change, mut count): (_, usize) = (Change::new(), 0);
        for scope in scopes(snapshot)? {
            let (from, to) = (tables::audit(&scope, 0), tables::audit(&scope, start.sequence));
            let range = (Bound::Included(from.as_slice()), Bound::Excluded(to.as_slice()));
            let left = SWEEP_BATCH_MAX.saturating_sub(count);
            for entry in snapshot.range(Table::Audit, range.0, range.1)?.take(left) {
                change = change.delete(Table::Audit, entry?.0);
                count = count.saturating_add(1);
            }
        }
        Ok((change, count))
    }

    /// Nothing goes on the word of someone else.
    fn may_prune_to(
        &self,
        snapshot: &Snapshot,
        it: &Checkpoint,
        signed: Signed,
    ) -> Result<bool, Error> {
        let is_own = self.is_own(snapshot, it, signed)?;
        if !is_own {
            self.audit_watch.find(AuditFinding::ForgedCheckpoint);
        }
        Ok(is_own)
    }

    /// The chain is whole, every row opens, and it is signed by the vault's own key.
    pub(in crate::app) fn verify_audit(
        &self,
        snapshot: &Snapshot,
        report: &mut Report,
    ) -> Result<(), Error> {
        let own = self.system().signing().public();
        if ChainIdentity::read(snapshot)?.is_none_or(|known| known.public_key != own) {
            report.find(String::from("audit chain: its public key is not the vault's own"));
        }
        let mut closed = Vec::new();
        let chain = Inspection::new(snapshot, None)?.run(&mut |row| {
            if self.open_audit_row(row).is_err() {
                closed.push(row.sequence);
                closed.truncate(crate::bounds::VERIFY_FINDINGS_MAX);
            }
        })?;
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
    let own = ChainIdentity::read(snapshot)?;
    Ok(own.ok_or(Error::Internal(Fault::Dangling))?.file)
}
