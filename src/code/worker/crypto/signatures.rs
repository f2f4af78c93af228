//! Signatures: RSA with PKCS #1 v1.5 and PSS, ECDSA and Ed25519.

use crate::code::worker::crypto::der::{Reader, SEQUENCE, number, sequence};
use crate::code::worker::crypto::fault::{Fault, OPERATION_FAILED, TOO_LARGE, WRONG_KEY};
use crate::code::worker::crypto::hashes::Hash;
use crate::code::worker::crypto::keys::Key;
use crate::code::worker::crypto::padding::{apply_mask, rsa};
use crate::code::worker::crypto::rsa_keys::RsaKey;
use crate::crypto::{Random, is_equal};

/// The numbers that Node has for lengths of the salt.
const SALT_AS_DIGEST: i32 = -1;
/// The longest salt when signing; any when verifying.
const SALT_FREE: i32 = -2;

pub(super) enum Scheme {
    /// r and s in DER.
    EcdsaDer(Hash),
    /// r and s one after the other.
    EcdsaFixed(Hash),
    Ed25519,
    Pkcs1(Hash),
    Pss(Hash, i32),
}

impl Scheme {
    pub(super) fn named(name: &str, hash: &str, salt: i32) -> Result<Self, Fault> {
        match name {
            "ecdsa-der" => Hash::named(hash).map(Self::EcdsaDer),
            "ecdsa-fixed" => Hash::named(hash).map(Self::EcdsaFixed),
            "ed25519" => Ok(Self::Ed25519),
            "pkcs1" => Hash::named(hash).map(Self::Pkcs1),
            "pss" => Hash::named(hash).map(|hash| Self::Pss(hash, salt)),
            _ => Err(OPERATION_FAILED),
        }
    }

    pub(super) fn sign(&self, key: &Key, data: &[u8], random: &Random) -> Result<Vec<u8>, Fault> {
        match (self, key) {
            (Self::EcdsaDer(hash), Key::Curve(key)) => {
                let fixed = key.sign(&hash.digest(&[data]))?;
                let (r, s) = fixed.split_at_checked(key.curve().bytes()).ok_or(OPERATION_FAILED)?;
                Ok(sequence(&[number(r), number(s)]))
            }
            (Self::EcdsaFixed(hash), Key::Curve(key)) => key.sign(&hash.digest(&[data])),
            (Self::Ed25519, Key::Edwards(key)) => key.sign(data),
            (Self::Pkcs1(hash), _) => {
                let key = rsa(key)?;
                key.apply_private(&pkcs1(*hash, data, key.bytes())?, random)
            }
            (Self::Pss(hash, salt), _) => {
                let key = rsa(key)?;
                let salt = signing_salt(*hash, *salt, key)?;
                let mut bytes = vec![0; salt];
                random.fill(&mut bytes);
                key.apply_private(&pss(*hash, data, &bytes, key)?, random)
            }
            (Self::EcdsaDer(_) | Self::EcdsaFixed(_) | Self::Ed25519, _) => Err(WRONG_KEY),
        }
    }

    pub(super) fn verify(&self, key: &Key, data: &[u8], signature: &[u8]) -> Result<bool, Fault> {
        match (self, key) {
            (Self::EcdsaDer(hash), Key::Curve(key)) => {
                let Some(fixed) = fixed(signature, key.curve().bytes()) else { return Ok(false) };
                key.verify(&hash.digest(&[data]), &fixed)
            }
            (Self::EcdsaFixed(hash), Key::Curve(key)) => {
                key.verify(&hash.digest(&[data]), signature)
            }
            (Self::Ed25519, Key::Edwards(key)) => Ok(key.verify(data, signature)),
            (Self::Pkcs1(hash), _) => {
                let key = rsa(key)?;
                let Some(block) = opened(key, signature) else { return Ok(false) };
                Ok(is_equal(&block, &pkcs1(*hash, data, key.bytes())?))
            }
            (Self::Pss(hash, salt), _) => {
                let key = rsa(key)?;
                let Some(block) = opened(key, signature) else { return Ok(false) };
                Ok(is_pss(*hash, data, *salt, &block, key.bits()))
            }
            (Self::EcdsaDer(_) | Self::EcdsaFixed(_) | Self::Ed25519, _) => Err(WRONG_KEY),
        }
    }
}

fn opened(key: &RsaKey, signature: &[u8]) -> Option<Vec<u8>> {
    if signature.len() != key.bytes() {
        return None;
    }
    key.apply_public(signature).ok()
}

/// r and s with the length of the curve.
fn fixed(der: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let mut reader = Reader::only(der, SEQUENCE)?;
    let mut out = Vec::new();
    for _ in 0..2 {
        let number = reader.number()?;
        out.extend(vec![0; bytes.checked_sub(number.len())?]);
        out.extend(number);
    }
    reader.tag().is_none().then_some(out)
}

/// EMSA-PKCS1-v1_5.
fn pkcs1(hash: Hash, data: &[u8], bytes: usize) -> Result<Vec<u8>, Fault> {
    let digest = [hash.digest_info(), &hash.digest(&[data])].concat();
    let filler = bytes.checked_sub(digest.len() + 3).filter(|it| *it >= 8).ok_or(TOO_LARGE)?;
    Ok([vec![0, 1], vec![0xff; filler], vec![0], digest].concat())
}

fn signing_salt(hash: Hash, salt: i32, key: &RsaKey) -> Result<usize, Fault> {
    match salt {
        SALT_AS_DIGEST => Ok(hash.bytes()),
        SALT_FREE => block_bytes(key.bits()).checked_sub(hash.bytes() + 2).ok_or(TOO_LARGE),
        salt => usize::try_from(salt).ok().ok_or(OPERATION_FAILED),
    }
}

/// The block is one bit shorter than the modulus.
const fn block_bytes(bits: usize) -> usize {
    bits.saturating_sub(1).div_ceil(8)
}

/// EMSA-PSS, as long as the modulus.
fn pss(hash: Hash, data: &[u8], salt: &[u8], key: &RsaKey) -> Result<Vec<u8>, Fault> {
    let bytes = block_bytes(key.bits());
    let zeros = bytes.checked_sub(hash.bytes() + salt.len() + 2).ok_or(TOO_LARGE)?;
    let digest = hash.digest(&[&[0; 8], &hash.digest(&[data]), salt]);
    let mut content = [vec![0; zeros], vec![1], salt.to_vec()].concat();
    apply_mask(hash, &digest, &mut content);
    if let Some(first) = content.first_mut() {
        *first &= first_mask(key.bits());
    }
    let mut block = vec![0; key.bytes() - bytes];
    block.extend(content);
    block.extend(digest);
    block.push(0xbc);
    Ok(block)
}

/// The bits of the first byte that the block may use.
fn first_mask(bits: usize) -> u8 {
    let unused = block_bytes(bits) * 8 - bits.saturating_sub(1);
    u8::MAX.checked_shr(u32::try_from(unused).unwrap_or(0)).unwrap_or(0)
}

fn is_pss(hash: Hash, data: &[u8], salt: i32, block: &[u8], bits: usize) -> bool {
    checked_pss(hash, data, salt, block, bits).unwrap_or(false)
}

fn checked_pss(hash: Hash, data: &[u8], salt: i32, block: &[u8], bits: usize) -> Option<bool> {
    let (unused, block) = block.split_at_checked(block.len().checked_sub(block_bytes(bits))?)?;
    let (last, block) = block.split_last()?;
    let (content, digest) = block.split_at_checked(block.len().checked_sub(hash.bytes())?)?;
    let mut content = content.to_vec();
    if unused.iter().any(|byte| *byte != 0) || content.first()? & !first_mask(bits) != 0 {
        return Some(false);
    }
    apply_mask(hash, digest, &mut content);
    *content.first_mut()? &= first_mask(bits);
    let at = content.iter().position(|byte| *byte != 0)?;
    let (mark, found) = content.get(at..)?.split_first()?;
    let is_length = match salt {
        SALT_AS_DIGEST => found.len() == hash.bytes(),
        SALT_FREE => true,
        salt => usize::try_from(salt).is_ok_and(|salt| salt == found.len()),
    };
    let expected = hash.digest(&[&[0; 8], &hash.digest(&[data]), found]);
    Some(*last == 0xbc && *mark == 1 && is_length && is_equal(&expected, digest))
}
