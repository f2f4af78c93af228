//! RSA keys, and the operation itself without padding.
//!
//! The crate `rsa` does it, since `ring` neither encrypts nor takes all keys that programs have. Its
//! private operation takes a time that depends on the key, so it is blinded: a caller that measures
//! a program's answers learns nothing that it could use.

use rsa::hazmat::{rsa_decrypt_and_check, rsa_encrypt};
use rsa::pkcs1::{EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::traits::PublicKeyParts as _;
use rsa::{BigUint, RsaPrivateKey, RsaPublicKey};

use crate::bounds::{PROGRAM_RSA_BITS_MAX, PROGRAM_RSA_MADE_BITS_MAX};
use crate::code::worker::crypto::der::{Reader, SEQUENCE, without_zeros};
use crate::code::worker::crypto::fault::{
    Fault, INVALID_KEY, KEY_LENGTH, NEEDS_PRIVATE, OPERATION_FAILED, TOO_LARGE,
};
use crate::crypto::{Random, RsaSource};

/// Shorter keys are broken in hours; Node refuses to make them, too.
const MADE_BITS_MIN: usize = 512;

pub(super) enum RsaKey {
    Private(Box<RsaPrivateKey>),
    Public(RsaPublicKey),
}

impl RsaKey {
    pub(super) fn public(n: &[u8], e: &[u8]) -> Result<Self, Fault> {
        let (n, e) = (BigUint::from_bytes_be(n), BigUint::from_bytes_be(e));
        let key = RsaPublicKey::new_with_max_size(n, e, PROGRAM_RSA_BITS_MAX);
        key.map(Self::Public).ok().ok_or(INVALID_KEY)
    }

    pub(super) fn private(n: &[u8], e: &[u8], d: &[u8], primes: &[&[u8]]) -> Result<Self, Fault> {
        if without_zeros(n).len() > PROGRAM_RSA_BITS_MAX / 8 {
            return Err(KEY_LENGTH);
        }
        let primes: Vec<&[u8]> = primes.iter().map(|prime| without_zeros(prime)).collect();
        // A prime of zero or one would stop the crate.
        if primes.iter().any(|prime| prime.len() < 2) {
            return Err(INVALID_KEY);
        }
        let number = |bytes: &&[u8]| BigUint::from_bytes_be(bytes);
        let primes = primes.iter().map(number).collect();
        let key = RsaPrivateKey::from_components(number(&n), number(&e), number(&d), primes);
        key.map(|key| Self::Private(Box::new(key))).ok().ok_or(INVALID_KEY)
    }

    /// A public or a private key of PKCS #1.
    pub(super) fn from_pkcs1(bytes: &[u8]) -> Option<Result<Self, Fault>> {
        let mut reader = Reader::only(bytes, SEQUENCE)?;
        let first = reader.number()?;
        let second = reader.number()?;
        if reader.tag().is_none() {
            return Some(Self::public(first, second));
        }
        // The first number was the version.
        let (n, e, d) = (second, reader.number()?, reader.number()?);
        let primes = [reader.number()?, reader.number()?];
        Some(Self::private(n, e, d, &primes))
    }

    pub(super) fn generate(bits: usize, random: &Random) -> Result<Self, Fault> {
        if !(MADE_BITS_MIN..=PROGRAM_RSA_MADE_BITS_MAX).contains(&bits) {
            return Err(KEY_LENGTH);
        }
        let key = RsaPrivateKey::new(&mut RsaSource(random), bits);
        key.map(|key| Self::Private(Box::new(key))).ok().ok_or(OPERATION_FAILED)
    }

    pub(super) const fn is_private(&self) -> bool {
        matches!(self, Self::Private(_))
    }

    /// n and e; of a private key also d, p, q, dp, dq and qi.
    pub(super) fn parts(&self) -> Vec<Vec<u8>> {
        let private = self.to_private_pkcs1();
        let public = self.to_public_pkcs1();
        let from = if self.is_private() { &private } else { &public };
        let mut parts = Vec::new();
        if let Some(mut reader) = Reader::only(from, SEQUENCE) {
            while let Some(number) = reader.number() {
                parts.push(number.to_vec());
            }
        }
        if self.is_private() && !parts.is_empty() {
            parts.remove(0);
        }
        parts
    }

    pub(super) fn to_public_pkcs1(&self) -> Vec<u8> {
        let der = match self {
            Self::Private(key) => key.to_public_key().to_pkcs1_der(),
            Self::Public(key) => key.to_pkcs1_der(),
        };
        der.map(|der| der.as_bytes().to_vec()).unwrap_or_default()
    }

    pub(super) fn to_private_pkcs1(&self) -> Vec<u8> {
        match self {
            Self::Private(key) => {
                key.to_pkcs1_der().map(|der| der.as_bytes().to_vec()).unwrap_or_default()
            }
            Self::Public(_) => Vec::new(),
        }
    }

    /// The bits of the modulus.
    pub(super) fn bits(&self) -> usize {
        match self {
            Self::Private(key) => key.n().bits(),
            Self::Public(key) => key.n().bits(),
        }
    }

    /// The bytes of the modulus, which every encrypted block and signature has.
    pub(super) fn bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    pub(super) fn apply_public(&self, block: &[u8]) -> Result<Vec<u8>, Fault> {
        let number = BigUint::from_bytes_be(block);
        let result = match self {
            Self::Private(key) if number < *key.n() => rsa_encrypt(&key.to_public_key(), &number),
            Self::Public(key) if number < *key.n() => rsa_encrypt(key, &number),
            Self::Private(_) | Self::Public(_) => return Err(TOO_LARGE),
        };
        Ok(self.block(&result.ok().ok_or(OPERATION_FAILED)?))
    }

    pub(super) fn apply_private(&self, block: &[u8], random: &Random) -> Result<Vec<u8>, Fault> {
        let Self::Private(key) = self else { return Err(NEEDS_PRIVATE) };
        let number = BigUint::from_bytes_be(block);
        let result = rsa_decrypt_and_check(key.as_ref(), Some(&mut RsaSource(random)), &number);
        Ok(self.block(&result.ok().ok_or(OPERATION_FAILED)?))
    }

    fn block(&self, number: &BigUint) -> Vec<u8> {
        let bytes = number.to_bytes_be();
        let mut block = vec![0; self.bytes().saturating_sub(bytes.len())];
        block.extend(bytes);
        block
    }
}
