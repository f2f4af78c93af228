//! Cryptography: the one user of `ring`. Keys, sealing, keyed hashes, randomness.
//!
//! Invariant: no key leaves this module but sealed under another one, except the text of a master
//! key, which is made for its file, and shares of it, fewer of which than are needed tell nothing.

mod api_keys;
mod chain;
mod constant_time;
mod digest;
mod index;
mod key_transfer;
mod keys;
mod mac;
mod master;
mod phase;
mod random;
mod seal;
mod sha256;
mod shares;
mod uses;

pub use api_keys::ApiKeyIndex;
pub use chain::{Link, LinkedRow, SIGNATURE_BYTES, SigningKey, is_signed_by};
pub use constant_time::is_equal;
pub use digest::{DigestKey, Element, SetDigest};
pub use index::IndexKey;
pub use key_transfer::{KeyTransfer, TransferMessage};
pub use keys::{FingerprintKey, KeyMaterial, KeyPurpose, SystemKeys, TenantKeys};
pub use mac::{hmac_sha1, hmac_sha256, hmac_sha512};
pub use master::{BackupKey, InvalidMasterKey, MasterKey};
pub use phase::Phase;
pub use random::Random;
pub use seal::{Identity, OpenFailed, SEALED_KEY_BYTES, SealingKey, Version, version};
pub use sha256::Sha256;
pub use shares::{InvalidShare, Scheme, Share};
pub use uses::{KeyUse, Uses};
