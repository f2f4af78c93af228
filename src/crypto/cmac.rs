//! AES-CMAC with a key of 256 bits, by NIST SP 800-38B.

use aes::Aes256Enc;
use aes::cipher::{BlockCipherEncrypt as _, KeyInit as _};

use crate::secret::Secret;

const BLOCK_BYTES: usize = 16;

type Block = [u8; BLOCK_BYTES];

pub(super) struct CmacKey {
    cipher: Aes256Enc,
    /// The subkeys for messages whose last block is whole, and for those whose last block is not.
    whole: Block,
    padded: Block,
}

/// A MAC of bytes that come one after the other.
pub(super) struct Cmac<'k> {
    key: &'k CmacKey,
    /// The sum of the last block and of the encryption of those before.
    state: Block,
    /// The bytes of the last block that are there.
    filled: usize,
}

impl CmacKey {
    pub(super) fn new(key: &Secret<[u8; 32]>) -> Self {
        let cipher = Aes256Enc::new(key.expose().into());
        let mut zero = Block::default();
        cipher.encrypt_block((&mut zero).into());
        let whole = doubled(zero);
        Self { cipher, whole, padded: doubled(whole) }
    }

    pub(super) fn begin(&self) -> Cmac<'_> {
        Cmac { key: self, state: Block::default(), filled: 0 }
    }
}

impl Cmac<'_> {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // The last block is encrypted at the end, with a subkey.
            if self.filled == BLOCK_BYTES {
                self.key.cipher.encrypt_block((&mut self.state).into());
                self.filled = 0;
            }
            let room = self.state.get_mut(self.filled..).unwrap_or_default();
            let (taken, rest) = bytes.split_at(bytes.len().min(room.len()));
            add(room, taken);
            self.filled = self.filled.saturating_add(taken.len());
            bytes = rest;
        }
    }

    pub(super) fn finish(mut self) -> Block {
        let subkey = match self.state.get_mut(self.filled..) {
            Some([end, ..]) => {
                *end ^= 0x80;
                &self.key.padded
            }
            _ => &self.key.whole,
        };
        add(&mut self.state, subkey);
        self.key.cipher.encrypt_block((&mut self.state).into());
        self.state
    }
}

fn add(to: &mut [u8], bytes: &[u8]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to ^= byte;
    }
}

/// Twice the block in the field of 2^128 elements, in constant time.
fn doubled(block: Block) -> Block {
    let block = u128::from_be_bytes(block);
    ((block << 1) ^ ((block >> 127) * 0x87)).to_be_bytes()
}

opaque_debug!(CmacKey);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;

    /// The examples of NIST for AES-256: the first bytes of one message, in pieces of each length.
    #[test]
    fn the_macs_are_those_of_the_standard() {
        let bytes = |text: &str| hex::decode_all(text).unwrap();
        let key = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
        let key = CmacKey::new(&Secret::new(bytes(key).try_into().unwrap()));
        let message = bytes(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411\
             e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
        );
        for (length, mac) in [
            (0, "028962f61b7bf89efc6b551f4667d983"),
            (16, "28a7023f452e8f82bd4bf28d8c37c35c"),
            (40, "aaf3d8f1de5640c232f5b169b9c911e6"),
            (64, "e1992190549f6ed5696a2c056c315410"),
        ] {
            for piece in 1..=65 {
                let mut cmac = key.begin();
                message[..length].chunks(piece).for_each(|bytes| cmac.update(bytes));
                let made = hex::encode(&cmac.finish());
                assert_eq!(made, mac, "{length} bytes in pieces of {piece}");
            }
        }
    }
}
