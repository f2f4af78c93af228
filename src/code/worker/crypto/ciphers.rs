//! AES in the modes that programs use: CBC, CTR, ECB and GCM.
//!
//! The modes are written here over the block cipher, because GCM takes initialization vectors of any
//! length in Node, and a crate for each mode would bring more code than they are.

use aes::cipher::{Array, BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use aes::{Aes128, Aes192, Aes256};
use ghash::GHash;
use ghash::universal_hash::UniversalHash as _;

use crate::code::worker::crypto::fault::{
    BAD_DECRYPT, BLOCK_LENGTH, Fault, IV_LENGTH, KEY_LENGTH, NOT_AUTHENTIC, UNKNOWN_CIPHER,
};
use crate::crypto::is_equal;

const BLOCK: usize = 16;
/// The shortest tag that NIST SP 800-38D allows. A program that gives fewer bytes is refused, since
/// it would accept most forgeries.
const TAG_BYTES_MIN: usize = 4;

type Block = [u8; BLOCK];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// With padding of PKCS #7.
    Cbc,
    /// The program pads.
    CbcBare,
    Ctr,
    Ecb,
    EcbBare,
    /// The tag of 16 bytes follows the text.
    Gcm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cipher {
    key_bytes: usize,
    mode: Mode,
}

enum Aes {
    A128(Box<Aes128>),
    A192(Box<Aes192>),
    A256(Box<Aes256>),
}

impl Cipher {
    /// Names as `aes-256-gcm`; `-bare` at the end switches padding off.
    pub(super) fn named(name: &str) -> Result<Self, Fault> {
        let name = name.to_ascii_lowercase();
        let rest = name.strip_prefix("aes-").ok_or(UNKNOWN_CIPHER)?;
        let (bits, mode) = rest.split_once('-').ok_or(UNKNOWN_CIPHER)?;
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return Err(UNKNOWN_CIPHER),
        };
        let mode = match mode {
            "cbc" => Mode::Cbc,
            "cbc-bare" => Mode::CbcBare,
            "ctr" => Mode::Ctr,
            "ecb" => Mode::Ecb,
            "ecb-bare" => Mode::EcbBare,
            "gcm" => Mode::Gcm,
            _ => return Err(UNKNOWN_CIPHER),
        };
        Ok(Self { key_bytes, mode })
    }

    /// The bytes of the key and of the initialization vector.
    pub(super) fn sizes(self) -> Vec<usize> {
        let iv = match self.mode {
            Mode::Cbc | Mode::CbcBare | Mode::Ctr => BLOCK,
            Mode::Ecb | Mode::EcbBare => 0,
            Mode::Gcm => 12,
        };
        vec![self.key_bytes, iv]
    }

    pub(super) fn encrypt(
        self,
        key: &[u8],
        iv: &[u8],
        data: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, Fault> {
        let aes = self.aes(key)?;
        match self.mode {
            Mode::Cbc => cbc_encrypt(&aes, block(iv)?, &padded(data)),
            Mode::CbcBare => cbc_encrypt(&aes, block(iv)?, data),
            Mode::Ctr => Ok(ctr(&aes, u128::from_be_bytes(block(iv)?), data, u128::MAX)),
            Mode::Ecb => ecb(&padded(data), iv, |block| aes.encrypt(block)),
            Mode::EcbBare => ecb(data, iv, |block| aes.encrypt(block)),
            Mode::Gcm => {
                let gcm = Gcm::new(&aes, iv)?;
                let mut sealed = gcm.stream(data);
                let tag = gcm.tag(aad, &sealed);
                sealed.extend(tag);
                Ok(sealed)
            }
        }
    }

    pub(super) fn decrypt(
        self,
        key: &[u8],
        iv: &[u8],
        data: &[u8],
        aad: &[u8],
        tag: &[u8],
    ) -> Result<Vec<u8>, Fault> {
        let aes = self.aes(key)?;
        match self.mode {
            Mode::Cbc => unpadded(cbc_decrypt(&aes, block(iv)?, data)?),
            Mode::CbcBare => cbc_decrypt(&aes, block(iv)?, data),
            Mode::Ctr => Ok(ctr(&aes, u128::from_be_bytes(block(iv)?), data, u128::MAX)),
            Mode::Ecb => unpadded(ecb(data, iv, |block| aes.decrypt(block))?),
            Mode::EcbBare => ecb(data, iv, |block| aes.decrypt(block)),
            Mode::Gcm => {
                let gcm = Gcm::new(&aes, iv)?;
                let expected = gcm.tag(aad, data);
                let expected = expected.get(..tag.len()).ok_or(NOT_AUTHENTIC)?;
                if tag.len() < TAG_BYTES_MIN || !is_equal(expected, tag) {
                    return Err(NOT_AUTHENTIC);
                }
                Ok(gcm.stream(data))
            }
        }
    }

    fn aes(self, key: &[u8]) -> Result<Aes, Fault> {
        if key.len() != self.key_bytes {
            return Err(KEY_LENGTH);
        }
        let aes = match self.key_bytes {
            16 => Aes128::new_from_slice(key).map(|it| Aes::A128(Box::new(it))),
            24 => Aes192::new_from_slice(key).map(|it| Aes::A192(Box::new(it))),
            _ => Aes256::new_from_slice(key).map(|it| Aes::A256(Box::new(it))),
        };
        aes.ok().ok_or(KEY_LENGTH)
    }
}

impl Aes {
    fn encrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::A128(aes) => aes.encrypt_block(&mut block),
            Self::A192(aes) => aes.encrypt_block(&mut block),
            Self::A256(aes) => aes.encrypt_block(&mut block),
        }
        block.into()
    }

    fn decrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::A128(aes) => aes.decrypt_block(&mut block),
            Self::A192(aes) => aes.decrypt_block(&mut block),
            Self::A256(aes) => aes.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn block(bytes: &[u8]) -> Result<Block, Fault> {
    bytes.try_into().ok().ok_or(IV_LENGTH)
}

fn xor(one: Block, other: Block) -> Block {
    (u128::from_ne_bytes(one) ^ u128::from_ne_bytes(other)).to_ne_bytes()
}

fn blocks(data: &[u8]) -> Result<&[Block], Fault> {
    let (blocks, rest) = data.as_chunks::<BLOCK>();
    if rest.is_empty() { Ok(blocks) } else { Err(BLOCK_LENGTH) }
}

fn cbc_encrypt(aes: &Aes, mut before: Block, data: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(data.len());
    for plain in blocks(data)? {
        before = aes.encrypt(xor(*plain, before));
        out.extend(before);
    }
    Ok(out)
}

fn cbc_decrypt(aes: &Aes, mut before: Block, data: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(data.len());
    for sealed in blocks(data)? {
        out.extend(xor(aes.decrypt(*sealed), before));
        before = *sealed;
    }
    Ok(out)
}

fn ecb(data: &[u8], iv: &[u8], step: impl Fn(Block) -> Block) -> Result<Vec<u8>, Fault> {
    if !iv.is_empty() {
        return Err(IV_LENGTH);
    }
    Ok(blocks(data)?.iter().flat_map(|block| step(*block)).collect())
}

/// The counter wraps within the bits of the mask.
fn ctr(aes: &Aes, start: u128, data: &[u8], mask: u128) -> Vec<u8> {
    let mut counter = start;
    let mut out = Vec::with_capacity(data.len());
    for piece in data.chunks(BLOCK) {
        let stream = aes.encrypt(counter.to_be_bytes());
        out.extend(piece.iter().zip(stream).map(|(byte, key)| byte ^ key));
        counter = (counter & !mask) | (counter.wrapping_add(1) & mask);
    }
    out
}

fn padded(data: &[u8]) -> Vec<u8> {
    let missing = BLOCK - data.len() % BLOCK;
    let mut padded = data.to_vec();
    padded.extend(std::iter::repeat_n(u8::try_from(missing).unwrap_or(0), missing));
    padded
}

fn unpadded(mut data: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let last = data.last().copied().ok_or(BLOCK_LENGTH)?;
    let length = usize::from(last);
    let start = data.len().checked_sub(length).ok_or(BAD_DECRYPT)?;
    let is_padding = data.get(start..).is_some_and(|end| end.iter().all(|byte| *byte == last));
    if length == 0 || length > BLOCK || !is_padding {
        return Err(BAD_DECRYPT);
    }
    data.truncate(start);
    Ok(data)
}

struct Gcm<'a> {
    aes: &'a Aes,
    hash: GHash,
    start: Block,
}

impl<'a> Gcm<'a> {
    fn new(aes: &'a Aes, iv: &[u8]) -> Result<Self, Fault> {
        if iv.is_empty() {
            return Err(IV_LENGTH);
        }
        let hash = GHash::new(&Array::from(aes.encrypt([0; BLOCK])));
        let mut start = [0; BLOCK];
        if iv.len() == 12 {
            let with_one = iv.iter().chain(&[0, 0, 0, 1]);
            start.iter_mut().zip(with_one).for_each(|(to, from)| *to = *from);
        } else {
            let mut state = hash.clone();
            state.update_padded(iv);
            state.update(&[Array::from(lengths(0, iv.len()))]);
            start = state.finalize().into();
        }
        Ok(Self { aes, hash, start })
    }

    fn stream(&self, data: &[u8]) -> Vec<u8> {
        let mask = u128::from(u32::MAX);
        let start = u128::from_be_bytes(self.start);
        let first = (start & !mask) | (start.wrapping_add(1) & mask);
        ctr(self.aes, first, data, mask)
    }

    fn tag(&self, aad: &[u8], sealed: &[u8]) -> Block {
        let mut state = self.hash.clone();
        state.update_padded(aad);
        state.update_padded(sealed);
        state.update(&[Array::from(lengths(aad.len(), sealed.len()))]);
        xor(state.finalize().into(), self.aes.encrypt(self.start))
    }
}

/// Two lengths in bits.
fn lengths(one: usize, other: usize) -> Block {
    let bits = |bytes: usize| u128::try_from(bytes).unwrap_or(0).saturating_mul(8);
    ((bits(one) << 64) | bits(other)).to_be_bytes()
}
