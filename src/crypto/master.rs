//! The master key. It is kept outside the data directory and seals the keys of the data file.
//!
//! The master key is only used to derive one key for each purpose, with HKDF-Expand (SHA-256).
//!
//! | info | use of the 32 bytes |
//! |---|---|
//! | `strongroom master sealing 2` | the sealing key for the table of keys, with the number 1 |
//! | `strongroom master check 2` | the first 8 identify the master key, in clear in the file |
//! | `strongroom backup manifest 2` | the HMAC key of the manifests of backups |
//!
//! Test vectors: `tests/vectors/master-key.json`.

use std::fmt;

use ring::hkdf::{HKDF_SHA256, Prk};
use ring::hmac;

use crate::crypto::first;
use crate::crypto::random::Random;
use crate::crypto::seal::{Identity, OpenFailed, SealingKey};
use crate::crypto::shares::{self, InvalidShare, Scheme, Share};
use crate::domain::hex;
use crate::secret::Secret;

/// 32 random bytes. The key file holds them as 64 hexadecimal digits and a line end.
#[derive(Clone)]
pub struct MasterKey {
    sealing: SealingKey,
    check: [u8; 8],
    backup: BackupKey,
}

/// Authenticates backups: only a holder of the master key can make the HMAC of a manifest.
#[derive(Clone)]
pub struct BackupKey(hmac::Key);

/// The reason why a file does not hold a master key. It never quotes the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidMasterKey {
    NotHex,
    Length,
}

impl MasterKey {
    /// Generates a new key, as the text for its file.
    pub fn generate(random: &Random) -> Secret<String> {
        text(&Secret::new(random.bytes()))
    }

    /// Splits the key of this file into shares.
    pub fn split(
        file: &Secret<Vec<u8>>,
        scheme: Scheme,
        random: &Random,
    ) -> Result<Vec<Share>, InvalidMasterKey> {
        Ok(shares::split(&bytes(file)?, scheme, random))
    }

    /// Combines shares into the text of the key.
    pub fn combine(shares: &[Share]) -> Result<Secret<String>, InvalidShare> {
        Ok(text(&shares::combine(shares)?))
    }

    pub fn parse(file: &Secret<Vec<u8>>) -> Result<Self, InvalidMasterKey> {
        Self::derive(&bytes(file)?).ok_or(InvalidMasterKey::Length)
    }

    /// Returns `None` if HKDF fails, which does not happen for an output of 32 bytes.
    fn derive(bytes: &Secret<[u8; 32]>) -> Option<Self> {
        let prk = Prk::new_less_safe(HKDF_SHA256, bytes.expose());
        let expand = |info: &[u8]| {
            let mut subkey = Secret::new([0; 32]);
            prk.expand(&[info], HKDF_SHA256).ok()?.fill(subkey.expose_mut()).ok()?;
            Some(subkey)
        };
        let check = expand(b"strongroom master check 2")?;
        let backup = expand(b"strongroom backup manifest 2")?;
        Some(Self {
            sealing: SealingKey::new(1, &expand(b"strongroom master sealing 2")?),
            check: *check.expose().first_chunk()?,
            backup: BackupKey(hmac::Key::new(hmac::HMAC_SHA256, backup.expose())),
        })
    }

    /// Seals a key of the data file. The master key seals nothing else.
    pub fn seal(&self, identity: &Identity<'_>, plain: &[u8], random: &Random) -> Vec<u8> {
        self.sealing.seal(identity, plain, random)
    }

    /// Opens a key of the data file.
    pub fn open(
        &self,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        self.sealing.open(identity, sealed)
    }

    /// Identifies the master key without revealing anything about it. The data file holds this
    /// value, so that a wrong key is reported as such and not as damage.
    pub const fn check(&self) -> &[u8; 8] {
        &self.check
    }

    pub const fn backup_key(&self) -> &BackupKey {
        &self.backup
    }
}

impl BackupKey {
    pub fn sign(&self, manifest: &[u8]) -> [u8; 32] {
        first(hmac::sign(&self.0, manifest))
    }

    pub fn has_signed(&self, manifest: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, manifest, tag).is_ok()
    }
}

opaque_debug!(BackupKey);
opaque_debug!(MasterKey);

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

    /// Computed apart from this program.
    #[test]
    fn the_published_vectors_give_the_same_subkeys() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/vectors/master-key.json")).unwrap();
        let place = Identity { tenant: &[0; 16], table: 2, key: b"a key" };
        for vector in vectors.as_array().unwrap() {
            let text = |name: &str| vector[name].as_str().unwrap();
            let master = parse(text("master_key")).unwrap();
            assert_eq!(hex::encode(master.check()), text("check"));
            let signed = master.backup_key().sign(b"a manifest");
            assert_eq!(hex::encode(&signed), text("manifest_tag"));
            // What is sealed is opened by the subkey alone, under its number.
            let subkey = Secret::new(hex::decode(text("sealing")).unwrap());
            let sealed = master.seal(&place, b"plain", &Random::new());
            let opened = SealingKey::new(1, &subkey).open(&place, &sealed).unwrap();
            assert_eq!(opened.expose(), b"plain");
            assert_eq!(master.open(&place, &sealed).unwrap().expose(), b"plain");
            let sealed = SealingKey::new(2, &subkey).seal(&place, b"later", &Random::new());
            assert!(master.open(&place, &sealed).is_err());
        }
    }

    #[test]
    fn shares_of_a_key_combine_to_the_text_of_its_file() {
        let random = Random::new();
        let text = MasterKey::generate(&random);
        let file = Secret::new(text.expose().as_bytes().to_vec());
        let scheme = Scheme::new(2, 3).unwrap();
        let made = MasterKey::split(&file, scheme, &random).unwrap();
        assert_eq!(made.len(), 3);
        assert_eq!(MasterKey::combine(&made[1..]).unwrap().expose(), text.expose());
        let short = Secret::new(b"00".to_vec());
        assert_eq!(
            MasterKey::split(&short, scheme, &random).unwrap_err(),
            InvalidMasterKey::Length
        );
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert_eq!(parse("").unwrap_err(), InvalidMasterKey::Length);
        assert_eq!(parse(&"a".repeat(63)).unwrap_err(), InvalidMasterKey::Length);
        assert_eq!(parse(&"g".repeat(64)).unwrap_err(), InvalidMasterKey::NotHex);
        assert!(parse(&format!("  {}\r\n", "A".repeat(64))).is_ok());
    }
}
