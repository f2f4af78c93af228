//! Checks the chain for edits, gaps and a cut tail, without any of the vault's secret keys.
//!
//! The signatures are checked with the public keys in the file. An attacker who can write the file
//! can replace the chain and the keys, so the keys have to be compared with a value from outside
//! the file: a known public key, a receipt, or the key of the open vault ([`TrustAnchors`]).
//!
//! The inspection computes the link from row to row and compares it with each checkpoint, in the
//! chains of all shards. After a
//! finding it continues with the link of the next checkpoint whose signature is valid. One edit
//! therefore gives one finding, located between two checkpoints.

use std::collections::{BTreeMap, BTreeSet};

use crate::bounds::VERIFY_FINDINGS_MAX;
use crate::domain::time::Timestamp;
use crate::store::chain::checkpoint::{Checkpoint, Receipt, RecordState, SignatureKind};
use crate::store::chain::heads::Heads;
use crate::store::chain::row::{AuditRow, Head};
use crate::store::chain::rows::{ChainRows, scopes_by_shard};
use crate::store::chain::signers::{Signer, Signers};
use crate::store::chain::states::{Rollback, ShardStates};
use crate::store::engine::Row;
use crate::store::failure::StorageFailure;
use crate::store::snapshot::Snapshot;
use crate::store::tables::meta;
use crate::store::tables::{self, Shard, Table};

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
    /// The rows of each chain that were not inspected yet.
    rows: BTreeMap<Shard, ChainRows>,
    rows_in_table: u64,
    rows_seen: u64,
    /// The next checkpoint, which some chain has not reached yet.
    target: Option<(Checkpoint, Heads, ShardStates)>,
    /// The checkpoints behind it.
    checkpoints: Box<dyn Iterator<Item = Result<Row, StorageFailure>> + Send>,
    newest_known: Option<u64>,
    signers: Option<Signers>,
    heads: Heads,
    /// The start of each chain.
    start: Heads,
    /// The positions after the last inspected rows.
    reached: Heads,
    /// Chains with a gap before the last inspected row, until the next checkpoint: the link at
    /// `reached` is unknown.
    unlinked: BTreeSet<Shard>,
    /// The last position where each chain was valid, for the texts of findings.
    anchors: Heads,
    previous_checkpoint: u64,
    /// The states of the records at the last checkpoint that covers them.
    states: ShardStates,
    expected: TrustAnchors,
    receipt_is_met: bool,
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
        let newest_known = snapshot.value(Table::Meta, meta::AUDIT_NEWEST_CHECKPOINT)?;
        let newest_known = newest_known.and_then(|it| it.try_into().ok()).map(u64::from_be_bytes);
        let heads = Heads::read(snapshot)?;
        let mut scopes = scopes_by_shard(snapshot)?;
        for (shard, _) in heads.all() {
            scopes.entry(shard).or_default();
        }
        let mut rows = BTreeMap::new();
        for (shard, scopes) in scopes {
            let first = shard.entries().start;
            rows.insert(shard, ChainRows::of_shard(snapshot, shard, scopes.into_iter(), first)?);
        }
        let mut inspection = Self {
            rows,
            rows_in_table: snapshot.len(Table::Audit)?,
            rows_seen: 0,
            target: None,
            checkpoints: Box::new(checkpoints),
            newest_known,
            signers: Signers::read(snapshot)?,
            heads,
            start: Heads::default(),
            reached: Heads::default(),
            unlinked: BTreeSet::new(),
            anchors: Heads::default(),
            previous_checkpoint: 0,
            states: ShardStates::default(),
            expected: *expected,
            receipt_is_met: false,
            report: ChainReport::default(),
        };
        inspection.check_signers();
        if let Some((start, heads)) = Checkpoint::start_with_heads(snapshot)? {
            inspection.begin_at(&start, heads);
        }
        inspection.check_receipt();
        inspection.meet_position();
        inspection.next_checkpoint()?;
        Ok(inspection)
    }

    /// Inspects up to `rows_max` rows and calls `visit` for each. Returns false at the end.
    pub fn advance(
        &mut self,
        rows_max: usize,
        visit: &mut dyn FnMut(&AuditRow),
    ) -> Result<bool, StorageFailure> {
        for _ in 0..rows_max {
            let Some((shard, row)) = self.next_row()? else { return Ok(false) };
            self.rows_seen = self.rows_seen.saturating_add(1);
            // Rows before the start of the chain are due for removal.
            if row.end() > self.start.of(shard).next || row.count == 0 {
                self.take(shard, &row);
                visit(&row);
            }
        }
        Ok(true)
    }

    /// The next row of a chain that has not reached the next checkpoint. Checkpoints that all
    /// chains have reached are compared with them first.
    fn next_row(&mut self) -> Result<Option<(Shard, AuditRow)>, StorageFailure> {
        loop {
            let (target, reached) = (&self.target, &self.reached);
            let is_before = |shard: Shard| {
                let to = target.as_ref().map(|(_, heads, _)| heads.of(shard).next);
                to.is_none_or(|to| reached.of(shard).next < to)
            };
            for (shard, rows) in self.rows.iter_mut().filter(|(shard, _)| is_before(**shard)) {
                if let Some(row) = rows.next_row()? {
                    return Ok(Some((*shard, row)));
                }
            }
            let is_reached = |(shard, head): (Shard, Head)| reached.of(shard).next >= head.next;
            let met = self.target.take_if(|(_, heads, _)| heads.all().all(is_reached));
            let Some((checkpoint, heads, states)) = met else { return Ok(None) };
            self.meet(&checkpoint, &heads, states);
            self.next_checkpoint()?;
        }
    }

    /// Takes the next checkpoint that decodes from the list.
    fn next_checkpoint(&mut self) -> Result<(), StorageFailure> {
        for entry in self.checkpoints.by_ref() {
            let (key, value) = entry?;
            self.target = Checkpoint::decode(&key, &value);
            if self.target.is_some() {
                return Ok(());
            }
            self.report.checkpoints = self.report.checkpoints.saturating_add(1);
            self.report.find(String::from("a checkpoint is damaged"));
        }
        Ok(())
    }

    pub fn run(mut self, visit: &mut dyn FnMut(&AuditRow)) -> Result<ChainReport, StorageFailure> {
        while self.advance(usize::MAX, visit)? {}
        self.finish()
    }

    /// Makes the checks that need the ends of the chains.
    pub fn finish(mut self) -> Result<ChainReport, StorageFailure> {
        let shards: Vec<_> = self.rows.keys().copied().collect();
        for shard in shards {
            self.check_end(shard);
        }
        let end = self.reached.position();
        let mut beyond: u64 = 0;
        if let Some((checkpoint, ..)) = self.target.take() {
            beyond = 1;
            self.previous_checkpoint = checkpoint.sequence;
        }
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
            } else if !self.receipt_is_met && at >= self.report.first && !self.heads.is_one() {
                self.report.find(format!("the receipt's checkpoint of {at} entries is missing"));
            }
            self.report.after_receipt = Some(end.next.saturating_sub(at));
        }
        let signed = self.report.last_signed.map_or(self.report.first, |(sequence, _)| sequence);
        self.report.unanchored = end.next.saturating_sub(signed);
        Ok(self.report)
    }

    fn check_end(&mut self, shard: Shard) {
        let (end, head) = (self.reached.of(shard), self.heads.of(shard));
        if end.next != head.next {
            let first = shard.entries().start;
            let count = |head: Head| head.next.saturating_sub(first);
            let (there, noted) = (count(end), count(head));
            self.find(
                shard,
                format!(
                    "the chain ends with {there} entries, but {noted} were written: its tail was \
                     cut"
                ),
            );
        } else if !self.unlinked.contains(&shard) && end.link != head.link {
            let anchor = self.anchors.of(shard).next;
            self.find(shard, format!("an entry from {anchor} on was changed: the links differ"));
        }
    }

    /// Names the shard if there are several chains.
    fn find(&mut self, shard: Shard, finding: String) {
        self.report.find(if self.rows.len() > 1 {
            format!("shard {}: {finding}", shard.number())
        } else {
            finding
        });
    }

    /// Starts after removed entries. The vault must have signed that start.
    fn begin_at(&mut self, start: &Checkpoint, heads: Heads) {
        if !self.have_signed(start, SignatureKind::Start) {
            let at = start.sequence;
            self.report.find(format!("the chain's start at {at} is not signed by the vault"));
        }
        self.previous_checkpoint = start.sequence;
        self.report.first = start.sequence;
        self.reached = heads.clone();
        self.anchors = heads.clone();
        self.start = heads;
    }

    fn have_signed(&self, checkpoint: &Checkpoint, signed: SignatureKind) -> bool {
        self.signers.as_ref().is_some_and(|signers| signers.have_signed(checkpoint, signed))
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

    fn take(&mut self, shard: Shard, row: &AuditRow) {
        let reached = self.reached.of(shard);
        let expected = reached.next;
        if row.sequence != expected || row.count == 0 {
            let found = row.sequence;
            self.find(
                shard,
                if row.count == 0 {
                    format!("the row at {found} has no entries")
                } else if found > expected {
                    let last = found.saturating_sub(1);
                    format!("entries {expected} to {last} are missing")
                } else {
                    format!("entry {found} is there twice")
                },
            );
            self.unlinked.insert(shard);
        }
        self.reached.set(shard, reached.after(row));
        self.report.entries = self.report.entries.saturating_add(u64::from(row.count));
        self.meet_position();
    }

    /// With one chain, compares every position with the receipt and the handovers. Several chains
    /// are compared at checkpoints, because only these say which positions belong together.
    fn meet_position(&mut self) {
        if self.heads.is_one() && !self.unlinked.contains(&Shard::VAULT) {
            self.meet_signed(self.reached.position());
        }
    }

    /// Compares a position with the receipt and with the handovers, whose new keys signed the link.
    fn meet_signed(&mut self, position: Head) {
        let Head { next, link } = position;
        if let Some(Receipt { checkpoint, .. }) = self.expected.receipt
            && checkpoint.sequence == next
        {
            if checkpoint.link != link && !self.receipt_is_met {
                self.report
                    .find(format!("the chain of {next} entries is not the one of the receipt"));
            }
            self.receipt_is_met = true;
        }
        let handovers = self.signers.as_ref().map(Signers::handovers).unwrap_or_default();
        let differs = |head: &Head| head.next == next && head.link != link;
        if handovers.iter().any(|it| differs(&it.head)) {
            let anchor = self.anchors.position().next;
            self.report.find(format!(
                "an entry from {anchor} on was changed before the signing key was: the links differ"
            ));
        }
    }

    fn meet(&mut self, checkpoint: &Checkpoint, heads: &Heads, states: ShardStates) {
        let (at, before) = (checkpoint.sequence, self.previous_checkpoint);
        self.report.checkpoints = self.report.checkpoints.saturating_add(1);
        if checkpoint.previous != before {
            self.report.find(format!("a checkpoint between {before} and {at} entries is missing"));
        }
        self.previous_checkpoint = at;
        if !self.have_signed(checkpoint, SignatureKind::Checkpoint) {
            let text = "is not signed by the vault";
            self.report.find(format!("the checkpoint of {at} entries {text}"));
            return;
        }
        self.meet_records(checkpoint, states);
        if !self.heads.is_one() {
            self.meet_signed(checkpoint.head());
        }
        let mut is_reached = true;
        for (shard, head) in heads.all() {
            is_reached &= self.meet_head(shard, head);
        }
        if is_reached {
            self.report.last_signed = Some((at, checkpoint.at));
        }
    }

    /// Returns false if the chain has no row that ends here.
    fn meet_head(&mut self, shard: Shard, signed: Head) -> bool {
        let (reached, at) = (self.reached.of(shard), signed.next);
        if at != reached.next {
            // The last rows before the checkpoint are missing, which is a finding already.
            return false;
        }
        if !self.unlinked.remove(&shard) && signed.link != reached.link {
            let (first, last) = (self.anchors.of(shard).next, at.saturating_sub(1));
            let text = format!("an entry from {first} to {last} was changed: the links differ");
            self.find(shard, text);
        }
        self.reached.set(shard, signed);
        self.anchors.set(shard, signed);
        true
    }
}

impl Inspection {
    /// Checks that the records of no shard go back between checkpoints.
    fn meet_records(&mut self, checkpoint: &Checkpoint, states: ShardStates) {
        let Some(records) = checkpoint.records() else { return };
        let at = checkpoint.sequence;
        for (shard, rollback) in self.states.rolled_back_in(&states) {
            let how = match rollback {
                Rollback::Older => "are older than at the one before it",
                Rollback::Other => {
                    "are others than at the one before it, although nothing was written in between"
                }
            };
            let text = format!("the records at the checkpoint of {at} entries {how}");
            self.find(shard, format!("{text}: they were rolled back"));
        }
        self.report.records = Some(records);
        self.states = states;
    }
}

opaque_debug!(Inspection);
