//! Checks the chain for edits, gaps and a cut tail, without any of the vault's secret keys.
//!
//! The signatures are checked with the public keys in the file. An attacker who can write the file
//! can replace the chain and the keys, so the keys have to be compared with a value from outside
//! the file: a known public key, a receipt, or the key of the open vault ([`TrustAnchors`]).
//!
//! The inspection computes the link from row to row and compares it with each checkpoint. After a
//! finding it continues with the link of the next checkpoint whose signature is valid. One edit
//! therefore gives one finding, located between two checkpoints.

use std::iter::Peekable;

use crate::bounds::VERIFY_FINDINGS_MAX;
use crate::domain::time::Timestamp;
use crate::store::chain::checkpoint::{Checkpoint, Receipt, RecordState, SignatureKind};
use crate::store::chain::row::{AuditRow, Head};
use crate::store::chain::rows::ChainRows;
use crate::store::chain::signers::{Signer, Signers};
use crate::store::engine::Row;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Table};

/// Knowledge of the chain from outside the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustAnchors {
    pub receipt: Option<Receipt>,
    /// A key that must be among the signing keys, such as one that the operator noted.
    pub public_key: Option<[u8; 32]>,
    /// The current signing key of the open vault.
    pub own: Option<[u8; 32]>,
}

/// The result of an inspection. Findings name positions in the chain, never values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainReport {
    /// The number of the first entry in the chain.
    pub first: u64,
    pub entries: u64,
    pub checkpoints: u64,
    /// The number of entries and the time of the newest valid checkpoint.
    pub last_signed: Option<(u64, Timestamp)>,
    /// The number of entries after that checkpoint. An attacker needs no key to remove or forge
    /// them.
    pub unanchored: u64,
    /// The current signing key according to the file.
    pub signer: Option<Signer>,
    /// The state of the records at the newest checkpoint that covers them.
    pub records: Option<RecordState>,
    /// The number of entries after the receipt, if one was given.
    pub after_receipt: Option<u64>,
    pub findings: Vec<String>,
    /// The number of findings that are not listed.
    pub more: u64,
}

pub struct Inspection {
    rows: ChainRows,
    rows_in_table: u64,
    rows_seen: u64,
    checkpoints: Peekable<Box<dyn Iterator<Item = Result<Row, StorageFailure>> + Send>>,
    newest_known: Option<u64>,
    signers: Option<Signers>,
    head: Head,
    /// The position after the last inspected row.
    reached: Head,
    /// False after a gap, until the next checkpoint: the link at `reached` is unknown.
    linked: bool,
    /// The last position where the chain was valid, for the texts of findings.
    anchor: u64,
    previous_checkpoint: u64,
    expected: TrustAnchors,
    report: ChainReport,
}

impl ChainReport {
    #[cfg(test)]
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }

    fn find(&mut self, finding: String) {
        if self.findings.len() < VERIFY_FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}

impl Inspection {
    pub fn new(snapshot: &Snapshot, expected: &TrustAnchors) -> Result<Self, StorageFailure> {
        let checkpoints = snapshot.range(&Table::AuditCheckpoints.whole())?;
        let checkpoints: Box<dyn Iterator<Item = _> + Send> = Box::new(checkpoints);
        let newest_known = snapshot.value(Table::Meta, meta::AUDIT_NEWEST_CHECKPOINT)?;
        let newest_known = newest_known.and_then(|it| it.try_into().ok()).map(u64::from_be_bytes);
        let start = Checkpoint::start(snapshot)?;
        let mut inspection = Self {
            rows: ChainRows::from(snapshot, 0)?,
            rows_in_table: snapshot.len(Table::Audit)?,
            rows_seen: 0,
            checkpoints: checkpoints.peekable(),
            newest_known,
            signers: Signers::read(snapshot)?,
            head: Head::read(snapshot)?,
            reached: Head::default(),
            linked: true,
            anchor: 0,
            previous_checkpoint: 0,
            expected: *expected,
            report: ChainReport::default(),
        };
        inspection.check_signers();
        if let Some(start) = start {
            inspection.begin_at(&start);
        }
        inspection.check_receipt();
        inspection.meet_receipt();
        inspection.meet_checkpoints()?;
        Ok(inspection)
    }

    /// Inspects up to `rows_max` rows and calls `visit` for each. Returns false at the end.
    pub fn advance(
        &mut self,
        rows_max: usize,
        visit: &mut dyn FnMut(&AuditRow),
    ) -> Result<bool, StorageFailure> {
        for _ in 0..rows_max {
            let Some(row) = self.rows.next_row()? else { return Ok(false) };
            self.rows_seen = self.rows_seen.saturating_add(1);
            // Rows before the start of the chain are due for removal.
            if row.end() > self.report.first || row.count == 0 {
                self.take(&row)?;
                visit(&row);
            }
        }
        Ok(true)
    }

    pub fn run(mut self, visit: &mut dyn FnMut(&AuditRow)) -> Result<ChainReport, StorageFailure> {
        while self.advance(usize::MAX, visit)? {}
        self.finish()
    }

    /// Makes the checks that need the end of the chain.
    pub fn finish(mut self) -> Result<ChainReport, StorageFailure> {
        let (end, head) = (self.reached, self.head);
        if end.next != head.next {
            let (there, noted) = (end.next, head.next);
            self.report.find(format!(
                "the chain ends with {there} entries, but {noted} were written: its tail was cut"
            ));
        } else if self.linked && end.link != head.link {
            let anchor = self.anchor;
            self.report.find(format!("an entry from {anchor} on was changed: the links differ"));
        }
        let mut beyond: u64 = 0;
        while let Some(entry) = self.checkpoints.next().transpose()? {
            beyond = beyond.saturating_add(1);
            self.previous_checkpoint = tables::checkpoint_of_key(&entry.0).unwrap_or(u64::MAX);
        }
        if beyond > 0 {
            let end = end.next;
            self.report.find(format!("{beyond} checkpoints lie beyond the chain's end at {end}"));
        }
        if self.newest_known.is_some_and(|known| known != self.previous_checkpoint) {
            let known = self.newest_known.unwrap_or_default();
            self.report.find(format!("the newest checkpoint, of {known} entries, is missing"));
        }
        if self.rows_seen != self.rows_in_table {
            let (seen, stored) = (self.rows_seen, self.rows_in_table);
            self.report.find(format!("{stored} rows are stored, but {seen} belong to the chain"));
        }
        if let Some(receipt) = self.expected.receipt {
            let at = receipt.checkpoint.sequence;
            if at > end.next {
                let end = end.next;
                self.report.find(format!(
                    "the receipt is of {at} entries, but the chain has {end}: its tail was cut"
                ));
            }
            self.report.after_receipt = Some(end.next.saturating_sub(at));
        }
        let signed = self.report.last_signed.map_or(self.report.first, |(sequence, _)| sequence);
        self.report.unanchored = end.next.saturating_sub(signed);
        Ok(self.report)
    }

    /// Starts after removed entries. The vault must have signed that start.
    fn begin_at(&mut self, start: &Checkpoint) {
        if !self.have_signed(start, SignatureKind::Start) {
            let at = start.sequence;
            self.report.find(format!("the chain's start at {at} is not signed by the vault"));
        }
        self.reached = Head { next: start.sequence, link: start.link };
        self.anchor = start.sequence;
        self.previous_checkpoint = start.sequence;
        self.report.first = start.sequence;
    }

    fn have_signed(&self, it: &Checkpoint, signed: SignatureKind) -> bool {
        self.signers.as_ref().is_some_and(|signers| signers.have_signed(it, signed))
    }

    /// Checks that each signing key was introduced by the one before it, and that the expected keys
    /// are among them.
    fn check_signers(&mut self) {
        let Some(signers) = &self.signers else {
            if self.expected.own.is_some() || self.expected.public_key.is_some() {
                self.report.find(String::from("the chain's public key is missing"));
            }
            return;
        };
        let newest = signers.newest();
        self.report.signer = Some(newest);
        for problem in signers.problems() {
            self.report.find(problem);
        }
        if self.expected.own.is_some_and(|own| own != newest.public_key) {
            self.report.find(String::from("the chain is not signed by the vault's own key"));
        }
        if self.expected.public_key.is_some_and(|known| signers.find(&known).is_none()) {
            let text = "the chain is not signed by the public key that was given";
            self.report.find(String::from(text));
        }
    }

    fn check_receipt(&mut self) {
        let Some(Receipt { file, public_key, checkpoint }) = &self.expected.receipt else { return };
        if !checkpoint.is_signed_by(public_key, SignatureKind::Checkpoint, file) {
            self.report.find(String::from("the receipt's own signature is wrong"));
        }
        match &self.signers {
            Some(own) if own.file != *file => {
                self.report.find(String::from("the receipt is of another vault"));
            }
            Some(own) if own.find(public_key).is_none_or(|it| it.number != checkpoint.signer) => {
                self.report
                    .find(String::from("the chain has another signing key than the receipt"));
            }
            Some(_) => (),
            None => self.report.find(String::from("the chain's public key is missing")),
        }
        if checkpoint.sequence < self.report.first {
            let (at, first) = (checkpoint.sequence, self.report.first);
            self.report.find(format!(
                "the receipt is of {at} entries, but entries before {first} were removed by \
                 retention: a newer receipt is needed"
            ));
        }
    }

    fn take(&mut self, row: &AuditRow) -> Result<(), StorageFailure> {
        let expected = self.reached.next;
        if row.sequence != expected || row.count == 0 {
            let found = row.sequence;
            self.report.find(if row.count == 0 {
                format!("the row at {found} has no entries")
            } else if found > expected {
                let last = found.saturating_sub(1);
                format!("entries {expected} to {last} are missing")
            } else {
                format!("entry {found} is there twice")
            });
            self.linked = false;
        }
        self.reached = Head { next: row.end(), link: row.link_after(&self.reached.link) };
        self.report.entries = self.report.entries.saturating_add(u64::from(row.count));
        self.meet_receipt();
        self.meet_handovers();
        self.meet_checkpoints()
    }

    /// Compares the link with a handover at this position: the new key signed the link.
    fn meet_handovers(&mut self) {
        let Head { next, link } = self.reached;
        let handovers = self.signers.as_ref().map(Signers::handovers).unwrap_or_default();
        let differs = |head: &Head| head.next == next && head.link != link;
        if self.linked && handovers.iter().any(|it| differs(&it.head)) {
            let anchor = self.anchor;
            self.report.find(format!(
                "an entry from {anchor} on was changed before the signing key was: the links differ"
            ));
        }
    }

    fn meet_receipt(&mut self) {
        let Some(Receipt { checkpoint, .. }) = self.expected.receipt else { return };
        let differs = self.linked && self.reached.link != checkpoint.link;
        if self.reached.next == checkpoint.sequence && differs {
            let at = checkpoint.sequence;
            self.report.find(format!("the chain of {at} entries is not the one of the receipt"));
        }
    }

    /// Compares the link with the checkpoints up to this position.
    fn meet_checkpoints(&mut self) -> Result<(), StorageFailure> {
        let reached = self.reached.next;
        let is_met = |entry: &Result<Row, StorageFailure>| {
            entry.as_ref().map_or(true, |(key, _)| {
                tables::checkpoint_of_key(key).is_none_or(|at| at <= reached)
            })
        };
        while let Some(entry) = self.checkpoints.next_if(is_met) {
            let (key, value) = entry?;
            self.report.checkpoints = self.report.checkpoints.saturating_add(1);
            let Some(checkpoint) = Checkpoint::decode(&key, &value) else {
                self.report.find(String::from("a checkpoint is damaged"));
                continue;
            };
            self.meet(&checkpoint);
        }
        Ok(())
    }

    fn meet(&mut self, checkpoint: &Checkpoint) {
        let (at, before) = (checkpoint.sequence, self.previous_checkpoint);
        if checkpoint.previous != before {
            self.report.find(format!("a checkpoint between {before} and {at} entries is missing"));
        }
        self.previous_checkpoint = at;
        if !self.have_signed(checkpoint, SignatureKind::Checkpoint) {
            let text = "is not signed by the vault";
            self.report.find(format!("the checkpoint of {at} entries {text}"));
            return;
        }
        self.meet_records(checkpoint);
        if at != self.reached.next {
            // The last rows before the checkpoint are missing, which is a finding already.
            return;
        }
        if self.linked && checkpoint.link != self.reached.link {
            let (first, last) = (self.anchor, at.saturating_sub(1));
            self.report
                .find(format!("an entry from {first} to {last} was changed: the links differ"));
        }
        self.reached.link = checkpoint.link;
        self.linked = true;
        self.anchor = at;
        self.report.last_signed = Some((at, checkpoint.at));
    }
}

impl Inspection {
    /// Checks that the generation of the records does not decrease between checkpoints.
    fn meet_records(&mut self, checkpoint: &Checkpoint) {
        let (at, before) = (checkpoint.sequence, self.report.records);
        let now = checkpoint.records();
        if let (Some(before), Some(now)) = (before, now) {
            if now.generation < before.generation {
                self.report.find(format!(
                    "the records at the checkpoint of {at} entries are older than at the one before \
                     it: they were rolled back"
                ));
            } else if now.generation == before.generation && now != before {
                self.report.find(format!(
                    "the records at the checkpoint of {at} entries are others than at the one before \
                     it, although nothing was written in between: they were rolled back"
                ));
            }
        }
        self.report.records = now.or(before);
    }
}

opaque_debug!(Inspection);
