//! Hashes, keyed hashes and keys from passwords.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Digest as _;

use crate::bounds::PROGRAM_DERIVED_BYTES_MAX;
use crate::code::worker::crypto::fault::{Fault, OPERATION_FAILED, TOO_LONG, UNKNOWN_HASH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Runs the expression with the type of the hash.
macro_rules! with_hash {
    ($hash:expr, $digest:ident => $body:expr) => {
        match $hash {
            Hash::Md5 => {
                type $digest = md5::Md5;
                $body
            }
            Hash::Sha1 => {
                type $digest = sha1::Sha1;
                $body
            }
            Hash::Sha224 => {
                type $digest = sha2::Sha224;
                $body
            }
            Hash::Sha256 => {
                type $digest = sha2::Sha256;
                $body
            }
            Hash::Sha384 => {
                type $digest = sha2::Sha384;
                $body
            }
            Hash::Sha512 => {
                type $digest = sha2::Sha512;
                $body
            }
        }
    };
}

impl Hash {
    /// The names of Node and of the browser, in any case: `sha256`, `SHA-256`, `RSA-SHA256`.
    pub(super) fn named(name: &str) -> Result<Self, Fault> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_prefix("rsa-").unwrap_or(&name);
        match name.replacen("sha-", "sha", 1).as_str() {
            "md5" => Ok(Self::Md5),
            "sha1" => Ok(Self::Sha1),
            "sha224" => Ok(Self::Sha224),
            "sha256" => Ok(Self::Sha256),
            "sha384" => Ok(Self::Sha384),
            "sha512" => Ok(Self::Sha512),
            _ => Err(UNKNOWN_HASH),
        }
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    pub(super) fn digest(self, parts: &[&[u8]]) -> Vec<u8> {
        with_hash!(self, D => {
            let mut state = D::new();
            for part in parts {
                state.update(part);
            }
            state.finalize().to_vec()
        })
    }

    pub(super) fn mac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        with_hash!(self, D => match Hmac::<D>::new_from_slice(key) {
            Ok(mut state) => {
                for part in parts {
                    state.update(part);
                }
                state.finalize().into_bytes().to_vec()
            }
            // A key of any length is taken.
            Err(_) => Vec::new(),
        })
    }

    /// `DigestInfo` of RFC 8017 up to the digest itself.
    pub(super) const fn digest_info(self) -> &'static [u8] {
        match self {
            Self::Md5 => &[
                0x30, 0x20, 0x30, 0x0c, 0x06, 0x08, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05,
                0x05, 0x00, 0x04, 0x10,
            ],
            Self::Sha1 => &[
                0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
                0x14,
            ],
            Self::Sha224 => &[
                0x30, 0x2d, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
                0x04, 0x05, 0x00, 0x04, 0x1c,
            ],
            Self::Sha256 => &[
                0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
                0x01, 0x05, 0x00, 0x04, 0x20,
            ],
            Self::Sha384 => &[
                0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
                0x02, 0x05, 0x00, 0x04, 0x30,
            ],
            Self::Sha512 => &[
                0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
                0x03, 0x05, 0x00, 0x04, 0x40,
            ],
        }
    }
}

/// PBKDF2 of RFC 8018.
pub(super) fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    bytes: usize,
) -> Result<Vec<u8>, Fault> {
    if bytes > PROGRAM_DERIVED_BYTES_MAX {
        return Err(TOO_LONG);
    }
    let mut derived = Vec::with_capacity(bytes);
    let mut index = 0_u32;
    while derived.len() < bytes {
        index = index.checked_add(1).ok_or(OPERATION_FAILED)?;
        derived.extend(with_hash!(hash, D => {
            let state = Hmac::<D>::new_from_slice(password).ok().ok_or(OPERATION_FAILED)?;
            let mut first = state.clone();
            first.update(salt);
            first.update(&index.to_be_bytes());
            let mut last = first.finalize().into_bytes();
            let mut sum = last;
            for _ in 1..rounds {
                let mut next = state.clone();
                next.update(&last);
                last = next.finalize().into_bytes();
                sum.iter_mut().zip(&last).for_each(|(sum, byte)| *sum ^= byte);
            }
            sum.to_vec()
        }));
    }
    derived.truncate(bytes);
    Ok(derived)
}
