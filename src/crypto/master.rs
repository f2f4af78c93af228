//! The master key: it lives outside the data directory and seals the keys that are in it.

use std::fmt;

use ring::hmac;

use crate::crypto::random::Random;
use crate::crypto::seal::SealingKey;
use crate::crypto::shares::{self, InvalidShare, Scheme, Share};
use crate::domain::hex;
use crate::secret::Secret;

/// 32 random bytes. Its file holds them as 64 hexadecimal digits and a line end.
#[derive(Clone)]
pub struct MasterKey {
    sealing: SealingKey,
    check: [u8; 8],
    backup: BackupKey,
}

/// Proves that a backup was made by someone who had the master key.
#[derive(Clone)]
pub struct BackupKey(hmac::Key);

/// Why a file's content is no master key. Never what the content was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidMasterKey {
    NotHex,
    Length,
}

impl MasterKey {
    /// The text of a new key, for its file.
    pub fn generate(random: &Random) -> Secret<String> {
        text(&Secret::new(random.bytes()))
    }

    /// Shares of the key of this file.
    pub fn split(
        file: &Secret<Vec<u8>>,
        scheme: Scheme,
        random: &Random,
    ) -> Result<Vec<Share>, InvalidMasterKey> {
        Ok(shares::split(&bytes(file)?, scheme, random))
    }

    /// The text of the key that these are shares of.
    pub fn combine(shares: &[Share]) -> Result<Secret<String>, InvalidShare> {
        Ok(text(&shares::combine(shares)?))
    }

    pub fn parse(file: &Secret<Vec<u8>>) -> Result<Self, InvalidMasterKey> {
        let bytes = bytes(file)?;
        let mac = hmac::Key::new(hmac::HMAC_SHA256, bytes.expose());
        let tag = hmac::sign(&mac, b"strongroom master key check 1");
        let mut check = [0; 8];
        for (to, from) in check.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        let backup = hmac::sign(&mac, b"strongroom backup manifest 1");
        let backup = BackupKey(hmac::Key::new(hmac::HMAC_SHA256, backup.as_ref()));
        Ok(Self { sealing: SealingKey::new(0, &bytes), check, backup })
    }

    /// Seals the keys of the data file, and nothing else.
    pub const fn sealing(&self) -> &SealingKey {
        &self.sealing
    }

    /// Tells one master key from another without telling anything else. It stands in the data
    /// file, so that a wrong key is refused by name instead of as damage.
    pub const fn check(&self) -> &[u8; 8] {
        &self.check
    }

    pub const fn backup_key(&self) -> &BackupKey {
        &self.backup
    }
}

impl BackupKey {
    pub fn sign(&self, manifest: &[u8]) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, from) in bytes.iter_mut().zip(hmac::sign(&self.0, manifest).as_ref()) {
            *to = *from;
        }
        bytes
    }

    pub fn has_signed(&self, manifest: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, manifest, tag).is_ok()
    }
}

impl fmt::Debug for BackupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BackupKey(..)")
    }
}

fn bytes(file: &Secret<Vec<u8>>) -> Result<Secret<[u8; 32]>, InvalidMasterKey> {
    let text = file.expose().trim_ascii();
    if text.len() != 64 {
        return Err(InvalidMasterKey::Length);
    }
    let digits = str::from_utf8(text).ok().and_then(hex::decode);
    Ok(Secret::new(digits.ok_or(InvalidMasterKey::NotHex)?))
}

fn text(key: &Secret<[u8; 32]>) -> Secret<String> {
    let mut text = hex::encode(key.expose());
    text.push('\n');
    Secret::new(text)
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

impl fmt::Display for InvalidMasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHex => "it holds something else than hexadecimal digits",
            Self::Length => "it does not hold exactly 64 hexadecimal digits",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MasterKey, InvalidMasterKey> {
        MasterKey::parse(&Secret::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_new_key_parses_and_differs_from_the_next() {
        let random = Random::new();
        let [one, two] = [(); 2].map(|()| parse(MasterKey::generate(&random).expose()).unwrap());
        assert_ne!(one.check(), two.check());
        let tag = one.backup_key().sign(b"manifest");
        assert!(one.backup_key().has_signed(b"manifest", &tag));
        assert!(!one.backup_key().has_signed(b"manifesto", &tag));
        assert!(!two.backup_key().has_signed(b"manifest", &tag));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert_eq!(parse("").unwrap_err(), InvalidMasterKey::Length);
        assert_eq!(parse(&"a".repeat(63)).unwrap_err(), InvalidMasterKey::Length);
        assert_eq!(parse(&"g".repeat(64)).unwrap_err(), InvalidMasterKey::NotHex);
        assert!(parse(&format!("  {}\r\n", "A".repeat(64))).is_ok());
    }
}
