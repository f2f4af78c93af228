//! Cryptography: the one user of `ring`. Keys, sealing, keyed hashes, randomness.
//!
//! Invariant: no key leaves this module but sealed under another one, except the text of a new
//! master key, which is made for its file.

mod keys;
mod mac;
mod master;
mod random;
mod seal;
mod sha256;

pub use keys::{FingerprintKey, IndexKey, KeyMaterial, KeyPurpose, SystemKeys, TenantKeys};
pub use mac::{hmac_sha1, hmac_sha256, hmac_sha512};
pub use master::{BackupKey, InvalidMasterKey, MasterKey};
pub use random::Random;
pub use seal::{Identity, OpenFailed, SEALED_KEY_BYTES, SealingKey, Version, version};
pub use sha256::Sha256;
