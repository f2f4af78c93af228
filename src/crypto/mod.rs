//! Cryptography: keys, sealing, keyed hashes, randomness. No other module uses `ring` or
//! `x25519-dalek`.
//!
//! Invariant: a key leaves this module only sealed under another key. The exceptions are the text
//! of a new master key, which is written to its file, its shares, and the private halves of client
//! encryption keys, which the app seals in their records.

mod age;
mod api_keys;
mod chain;
mod client_keys;
mod cmac;
mod constant_time;
mod digest;
mod index;
mod key_transfer;
mod keys;
mod mac;
mod master;
mod phase;
mod quick_hash;
mod random;
mod seal;
mod sha256;
mod shares;
mod uses;
mod webhook_key;

pub use age::{AgeIdentity, AgeRecipients, AgeWriter, InvalidRecipient};
pub use chain::{Link, LinkedRow, SIGNATURE_BYTES, SigningKey, is_signed_by};
#[cfg(test)]
pub use client_keys::seal_for_client_key;
pub use client_keys::{ClientKeyPair, ClientMessage};
pub use constant_time::is_equal;
pub use digest::{DigestKey, SetDigest};
pub use index::IndexKey;
pub use key_transfer::{KeyTransfer, TransferMessage, TransferPair};
pub use keys::{KeyMaterial, KeyPurpose, SystemKeys, TenantKeys};
pub use mac::{hmac_sha1, hmac_sha256, hmac_sha512};
pub use master::{BackupKey, MasterKey};
pub use phase::Phase;
pub use quick_hash::QuickHash;
pub use random::Random;
pub use seal::{
    Identity, OpenFailed, SEAL_OVERHEAD_BYTES, SEALED_KEY_BYTES, SealingKey, Version, version,
};
pub use sha256::Sha256;
pub use shares::{InvalidShare, Scheme, Share};
pub use uses::{KeyUse, Uses};
pub use webhook_key::{RsaSource, WebhookKey};

/// The first bytes of a hash, a key or a signature, whose types have no length.
fn first<const N: usize>(from: impl AsRef<[u8]>) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(from.as_ref()) {
        *to = *from;
    }
    bytes
}
