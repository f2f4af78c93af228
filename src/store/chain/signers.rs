//! The successive signing keys of a chain, and the handovers from each key to the next.
//!
//! The file holds the first public key as it is. Each later key comes with a handover: the number
//! of the new key (4), both public keys (32 each), the number of entries (8), the time (8) and the
//! link (32). The old and the new key both sign these fields, after a label and the file's id.
//! Trust in one key therefore extends to all of them: forward, because a trusted key signed the
//! next one; backward, because a trusted key signed the link that the key before it had reached.
//! The old secret key is destroyed with the handover.
//!
//! The checkpoints of a key lie between its own handover and the next. The start of the chain must
//! be signed by the newest key, because a replaced key is no longer valid for it.

use crate::crypto::{Link, SIGNATURE_BYTES, SigningKey, is_signed_by};
use crate::domain::time::Timestamp;
use crate::store::chain::checkpoint::take;
use crate::store::chain::checkpoint::{Checkpoint, SignatureKind};
use crate::store::chain::row::Head;
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::meta;
use crate::store::snapshot::Snapshot;
use crate::store::tables::Table;
use crate::store::tables::meta as keys;

const VERSION: u8 = 1;

/// Oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signers {
    pub file: [u8; 16],
    first: [u8; 32],
    handovers: Vec<Handover>,
    /// Handover rows that do not decode.
    damaged: u64,
}

/// A public key and the part of the chain that it signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signer {
    pub number: u32,
    pub public_key: [u8; 32],
    /// The number of entries when the key was introduced.
    pub from: u64,
    /// The number of entries when the next key was introduced, if there is one.
    pub to: Option<u64>,
}

/// The introduction of a new signing key by the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handover {
    /// The number of the new key.
    pub number: u32,
    pub old: [u8; 32],
    pub new: [u8; 32],
    pub head: Head,
    pub at: Timestamp,
    by_old: [u8; SIGNATURE_BYTES],
    by_new: [u8; SIGNATURE_BYTES],
}

impl Handover {
    pub fn sign(
        file: &[u8; 16],
        number: u32,
        old: &SigningKey,
        new: &SigningKey,
        head: Head,
        at: Timestamp,
    ) -> Self {
        let unsigned = [0; SIGNATURE_BYTES];
        let (by_old, by_new) = (unsigned, unsigned);
        let said = Self { number, old: old.public(), new: new.public(), head, at, by_old, by_new };
        let message = said.message(file);
        Self { by_old: old.sign(&message), by_new: new.sign(&message), ..said }
    }

    pub fn keep(&self) -> Change {
        let place = keys::audit_signer(self.number);
        let Self { old, new, head, at, by_old, by_new, .. } = self;
        let (sequence, at) = (head.next.to_be_bytes(), at.micros().to_be_bytes());
        let value = [
            &[VERSION],
            old.as_slice(),
            new,
            &sequence,
            &at,
            head.link.bytes(),
            by_old.as_slice(),
            by_new,
        ];
        let value = value.concat();
        Change::new().expect_absent(Table::Meta, place.clone()).put(Table::Meta, place, value)
    }

    fn decode(number: u32, value: &[u8]) -> Option<Self> {
        let (&VERSION, mut rest) = value.split_first()? else { return None };
        let rest = &mut rest;
        let (old, new) = (take(rest)?, take(rest)?);
        let next = u64::from_be_bytes(take(rest)?);
        let at = Timestamp::from_micros(i64::from_be_bytes(take(rest)?));
        let head = Head { next, link: Link::from_bytes(take(rest)?) };
        let (by_old, by_new) = (take(rest)?, take(rest)?);
        rest.is_empty().then_some(Self { number, old, new, head, at, by_old, by_new })
    }

    fn message(&self, file: &[u8; 16]) -> Vec<u8> {
        let (number, at) = (self.number.to_be_bytes(), self.at.micros().to_be_bytes());
        let sequence = self.head.next.to_be_bytes();
        let label: &[u8] = b"strongroom audit signer 1\0";
        let link = self.head.link.bytes();
        [label, file, &number, &self.old, &self.new, &sequence, &at, link].concat()
    }

    fn is_signed(&self, file: &[u8; 16]) -> bool {
        let message = self.message(file);
        is_signed_by(&self.old, &message, &self.by_old)
            && is_signed_by(&self.new, &message, &self.by_new)
    }
}

impl Signers {
    /// Returns `None` for a file without an audit chain.
    pub fn read(snapshot: &Snapshot) -> Result<Option<Self>, StorageFailure> {
        let file = meta::file_id(snapshot)?.map(uuid::Uuid::into_bytes);
        let first = snapshot.value(Table::Meta, keys::AUDIT_PUBLIC_KEY)?;
        let first = first.and_then(|it| it.try_into().ok());
        let (mut handovers, mut damaged) = (Vec::new(), 0_u64);
        for (key, value) in snapshot.first(&keys::audit_signers(), usize::MAX)? {
            let number = keys::audit_signer_of_key(&key);
            match number.and_then(|number| Handover::decode(number, &value)) {
                Some(handover) => handovers.push(handover),
                None => damaged = damaged.saturating_add(1),
            }
        }
        let both = file.zip(first);
        Ok(both.map(|(file, first)| Self { file, first, handovers, damaged }))
    }

    /// Oldest first.
    pub fn all(&self) -> impl Iterator<Item = Signer> {
        let ends = self.handovers.iter().map(|it| Some(it.head.next)).chain([None]);
        let keys = self.handovers.iter().map(|it| (it.number, it.new, it.head.next));
        let keys = std::iter::once((1, self.first, 0)).chain(keys);
        keys.zip(ends).map(|((number, public_key, from), to)| Signer {
            number,
            public_key,
            from,
            to,
        })
    }

    pub fn newest(&self) -> Signer {
        let first = Signer { number: 1, public_key: self.first, from: 0, to: None };
        self.all().last().unwrap_or(first)
    }

    pub fn handovers(&self) -> &[Handover] {
        &self.handovers
    }

    pub fn find(&self, public_key: &[u8; 32]) -> Option<Signer> {
        self.all().find(|signer| signer.public_key == *public_key)
    }

    /// Lists the keys that were not introduced by the one before them, and damaged handovers.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.damaged > 0 {
            problems.push(format!("{} handovers of the signing key are damaged", self.damaged));
        }
        let (mut known, mut number, mut from) = (self.first, 1_u32, 0);
        for handover in &self.handovers {
            let new = handover.number;
            number = number.saturating_add(1);
            if new != number || handover.old != known || !handover.is_signed(&self.file) {
                problems.push(format!(
                    "signing key {new} was not introduced by the one before it: it is not the vault's"
                ));
            } else if handover.head.next < from {
                problems.push(format!("signing key {new} is older than the one before it"));
            }
            (known, number, from) = (handover.new, new, handover.head.next);
        }
        problems
    }

    /// Returns true if a key of this chain made the signature and was valid at this position.
    pub fn have_signed(&self, it: &Checkpoint, what: SignatureKind) -> bool {
        let Some(signer) = self.all().find(|signer| signer.number == it.signer) else {
            return false;
        };
        let in_place = match what {
            SignatureKind::Checkpoint => {
                signer.from <= it.sequence && signer.to.is_none_or(|to| it.sequence <= to)
            }
            SignatureKind::Start => signer.to.is_none(),
        };
        in_place && it.is_signed_by(&signer.public_key, what, &self.file)
    }
}
