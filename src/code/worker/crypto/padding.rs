//! Encryption with RSA: OAEP and PKCS #1 v1.5, and the mask that OAEP and PSS share.

use crate::code::worker::crypto::fault::{Fault, OPERATION_FAILED, TOO_LARGE, WRONG_KEY};
use crate::code::worker::crypto::hashes::Hash;
use crate::code::worker::crypto::keys::Key;
use crate::code::worker::crypto::rsa_keys::RsaKey;
use crate::crypto::{Random, is_equal};

/// RFC 8017 asks for 8 bytes of padding, with three more around it.
const PKCS1_OVERHEAD: usize = 11;

pub(super) enum Encryption {
    Oaep { hash: Hash, mask: Hash, label: Vec<u8> },
    Pkcs1,
    Bare,
}

impl Encryption {
    pub(super) fn named(name: &str, hash: &str, mask: &str, label: &[u8]) -> Result<Self, Fault> {
        match name {
            "oaep" => Ok(Self::Oaep {
                hash: Hash::named(hash)?,
                mask: Hash::named(mask)?,
                label: label.to_vec(),
            }),
            "pkcs1" => Ok(Self::Pkcs1),
            "none" => Ok(Self::Bare),
            _ => Err(OPERATION_FAILED),
        }
    }

    pub(super) fn encrypt(
        &self,
        key: &Key,
        data: &[u8],
        random: &Random,
    ) -> Result<Vec<u8>, Fault> {
        let key = rsa(key)?;
        let block = match self {
            Self::Oaep { hash, mask, label } => {
                oaep(*hash, *mask, label, data, key.bytes(), random)?
            }
            Self::Pkcs1 => pkcs1(data, key.bytes(), random)?,
            Self::Bare if data.len() == key.bytes() => data.to_vec(),
            Self::Bare => return Err(TOO_LARGE),
        };
        key.apply_public(&block)
    }

    /// All failures are one failure, so that an answer does not say how far it came.
    pub(super) fn decrypt(
        &self,
        key: &Key,
        data: &[u8],
        random: &Random,
    ) -> Result<Vec<u8>, Fault> {
        let key = rsa(key)?;
        if data.len() != key.bytes() {
            return Err(OPERATION_FAILED);
        }
        let block = key.apply_private(data, random)?;
        let plain = match self {
            Self::Oaep { hash, mask, label } => oaep_open(*hash, *mask, label, &block),
            Self::Pkcs1 => pkcs1_open(&block),
            Self::Bare => Some(block),
        };
        plain.ok_or(OPERATION_FAILED)
    }
}

pub(super) fn rsa(key: &Key) -> Result<&RsaKey, Fault> {
    match key {
        Key::Rsa(key) => Ok(key),
        Key::Curve(_) | Key::Edwards(_) => Err(WRONG_KEY),
    }
}

fn oaep(
    hash: Hash,
    mask: Hash,
    label: &[u8],
    data: &[u8],
    bytes: usize,
    random: &Random,
) -> Result<Vec<u8>, Fault> {
    let overhead = hash.bytes() * 2 + 2;
    let zeros = bytes.checked_sub(overhead + data.len()).ok_or(TOO_LARGE)?;
    let mut content = hash.digest(&[label]);
    content.extend(vec![0; zeros]);
    content.push(1);
    content.extend(data);
    let mut seed = vec![0; hash.bytes()];
    random.fill(&mut seed);
    apply_mask(mask, &seed, &mut content);
    apply_mask(mask, &content, &mut seed);
    Ok([vec![0], seed, content].concat())
}

fn oaep_open(hash: Hash, mask: Hash, label: &[u8], block: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = block.split_first()?;
    let (seed, content) = rest.split_at_checked(hash.bytes())?;
    let (mut seed, mut content) = (seed.to_vec(), content.to_vec());
    apply_mask(mask, &content, &mut seed);
    apply_mask(mask, &seed, &mut content);
    let (found, rest) = content.split_at_checked(hash.bytes())?;
    let is_labeled = is_equal(found, &hash.digest(&[label]));
    let end = rest.iter().position(|byte| *byte != 0)?;
    let (separator, plain) = rest.get(end..)?.split_first()?;
    (is_labeled && *first == 0 && *separator == 1).then(|| plain.to_vec())
}

fn pkcs1(data: &[u8], bytes: usize, random: &Random) -> Result<Vec<u8>, Fault> {
    let length = bytes.checked_sub(data.len() + 3).ok_or(TOO_LARGE)?;
    if length + 3 < PKCS1_OVERHEAD {
        return Err(TOO_LARGE);
    }
    let mut filler = vec![0; length];
    random.fill(&mut filler);
    for byte in &mut filler {
        while *byte == 0 {
            [*byte] = random.bytes();
        }
    }
    Ok([vec![0, 2], filler, vec![0], data.to_vec()].concat())
}

fn pkcs1_open(block: &[u8]) -> Option<Vec<u8>> {
    let rest = block.strip_prefix(&[0, 2])?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (filler, plain) = rest.split_at_checked(end)?;
    (filler.len() + 3 >= PKCS1_OVERHEAD).then(|| plain.get(1..).unwrap_or_default().to_vec())
}

/// MGF1 of RFC 8017.
pub(super) fn apply_mask(hash: Hash, seed: &[u8], to: &mut [u8]) {
    for (counter, piece) in (0_u32..).zip(to.chunks_mut(hash.bytes())) {
        let stream = hash.digest(&[seed, &counter.to_be_bytes()]);
        piece.iter_mut().zip(stream).for_each(|(byte, mask)| *byte ^= mask);
    }
}
