//! The links of the audit chain and the signatures of its checkpoints. Checking them needs no
//! secret key of the vault.

use ring::digest::{Context, SHA256};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::crypto::first;
use crate::secret::Secret;

/// A hash over a row of the chain and the link before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link([u8; 32]);

/// The fields of a row that its link covers.
#[derive(Debug, Clone, Copy)]
pub struct LinkedRow<'a> {
    pub scope: &'a [u8; 16],
    /// The number of the row's first entry.
    pub sequence: u64,
    pub time_micros: i64,
    /// The number of entries in the row.
    pub count: u16,
    pub sealed: &'a [u8],
}

pub const SIGNATURE_BYTES: usize = 64;

pub struct SigningKey(Ed25519KeyPair);

impl Link {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The link of the row that follows this one. Only the last hashed field has a variable length,
    /// so two different rows never hash the same bytes.
    #[must_use]
    pub fn follow(&self, row: &LinkedRow<'_>) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(&self.0);
        context.update(row.scope);
        context.update(&row.sequence.to_be_bytes());
        context.update(&row.time_micros.to_be_bytes());
        context.update(&row.count.to_be_bytes());
        context.update(row.sealed);
        Self(first(context.finish()))
    }
}

impl SigningKey {
    /// Returns `None` if `ring` refuses the seed, which does not happen for 32 bytes.
    pub fn from_seed(seed: &Secret<[u8; 32]>) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed.expose()).ok().map(Self)
    }

    pub fn public(&self) -> [u8; 32] {
        first(self.0.public_key())
    }

    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        first(self.0.sign(message))
    }
}

pub fn is_signed_by(public: &[u8; 32], message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(message, signature).is_ok()
}

opaque_debug!(SigningKey);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    const ROW: LinkedRow<'static> = LinkedRow {
        scope: &[1; 16],
        sequence: 7,
        time_micros: 1_794_648_600_123_456,
        count: 2,
        sealed: b"sealed",
    };

    #[test]
    fn the_link_of_a_row_is_what_it_always_was() {
        let link = Link::default().follow(&ROW);
        assert_eq!(
            hex::encode(link.bytes()),
            "078b9df622ab96de57cb91048a84a13620d84749d24b1db120d50606dbf0d549"
        );
        assert_eq!(Link::from_bytes(*link.bytes()), link);
    }

    #[test]
    fn whatever_differs_gives_another_link() {
        let link = Link::default().follow(&ROW);
        for other in [
            LinkedRow { scope: &[2; 16], ..ROW },
            LinkedRow { sequence: 8, ..ROW },
            LinkedRow { time_micros: 0, ..ROW },
            LinkedRow { count: 3, ..ROW },
            LinkedRow { sealed: b"seale", ..ROW },
        ] {
            assert_ne!(Link::default().follow(&other), link);
        }
        assert_ne!(link.follow(&ROW), link);
    }

    #[test]
    fn a_signature_holds_for_its_own_message_and_key_alone() {
        let key = |byte| SigningKey::from_seed(&Secret::new([byte; 32])).unwrap();
        let mut signature = key(1).sign(b"message");
        assert!(is_signed_by(&key(1).public(), b"message", &signature));
        assert!(!is_signed_by(&key(1).public(), b"messagf", &signature));
        assert!(!is_signed_by(&key(2).public(), b"message", &signature));
        signature[0] ^= 1;
        assert!(!is_signed_by(&key(1).public(), b"message", &signature));
    }
}
