//! The header of a file: the public keys that open it.

use std::fmt;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::error::Unspecified;
use ring::hmac;

use crate::crypto::age::stream::{AgeWriter, seal, sealing_key};
use crate::crypto::age::{FileKey, bech32, derive, failed};
use crate::crypto::client_keys::is_public_key;
use crate::crypto::random::Random;
use crate::secret::Secret;

/// Public keys such as `age1...`, at least one.
pub struct AgeRecipients(Vec<[u8; 32]>);

/// A text is not a public key, or there is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRecipient;

pub(super) const VERSION: &str = "age-encryption.org/v1";

impl AgeRecipients {
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidRecipient> {
        // Points of low order give the same secret with every private key: anybody could open the
        // file.
        let parse = |text| bech32::decode("age", text).filter(|point| is_public_key(*point));
        let recipients: Option<Vec<_>> = texts.into_iter().map(parse).collect();
        let recipients = recipients.filter(|them| !them.is_empty()).ok_or(InvalidRecipient)?;
        Ok(Self(recipients))
    }

    /// Begins a file. Any single recipient can open it.
    pub fn seal<W: Write>(&self, mut to: W, random: &Random) -> io::Result<AgeWriter<W>> {
        let key = Secret::new(random.bytes());
        let header = self.header(&key, random).map_err(failed)?;
        to.write_all(header.as_bytes())?;
        AgeWriter::begin(to, &key, random)
    }

    /// The file's key for each recipient, and a MAC that needs the file's key.
    fn header(&self, key: &FileKey, random: &Random) -> Result<String, Unspecified> {
        let mut header = format!("{VERSION}\n");
        for recipient in &self.0 {
            let (share, sealed) = wrap(key, recipient, random)?;
            let (share, sealed) = (STANDARD_NO_PAD.encode(share), STANDARD_NO_PAD.encode(sealed));
            header.extend(["-> X25519 ", &share, "\n", &sealed, "\n"]);
        }
        header.push_str("---");
        let mac = derive(key.expose(), &[], b"header")?;
        let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, mac.expose()), header.as_bytes());
        header.extend([" ", &STANDARD_NO_PAD.encode(mac), "\n"]);
        Ok(header)
    }
}

/// Seals the key of a file to one recipient with an ephemeral key pair. Returns the public half of
/// the pair, and the sealed key.
fn wrap(
    key: &FileKey,
    recipient: &[u8; 32],
    random: &Random,
) -> Result<(Vec<u8>, Vec<u8>), Unspecified> {
    let private = EphemeralPrivateKey::generate(&X25519, random.source())?;
    let share = private.compute_public_key()?.as_ref().to_vec();
    let salt = [share.as_slice(), recipient].concat();
    let peer = UnparsedPublicKey::new(&X25519, recipient);
    let info = format!("{VERSION}/X25519");
    let wrapping = agree_ephemeral(private, &peer, |it| derive(it, &salt, info.as_bytes()))??;
    let mut sealed = key.expose().to_vec();
    seal(&sealing_key(&wrapping)?, [0; 12], &mut sealed)?;
    Ok((share, sealed))
}

impl fmt::Debug for AgeRecipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgeRecipients").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::age::AgeIdentity;

    /// The public and the private key.
    fn generate() -> (String, AgeIdentity) {
        let identity = AgeIdentity::generate();
        (identity.public_text(), identity)
    }

    fn seal(recipients: &[&str], plain: &[u8]) -> Vec<u8> {
        let recipients = AgeRecipients::parse(recipients.iter().copied()).unwrap();
        let mut writer = recipients.seal(Vec::new(), &Random::new()).unwrap();
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn each_recipient_opens_the_file_and_nobody_else() {
        let [(one, first), (two, second), (_, other)] = [(); 3].map(|()| generate());
        let plain = vec![7; 200_000];
        let sealed = seal(&[&one, &two], &plain);
        assert!(sealed.starts_with(b"age-encryption.org/v1\n"));
        assert_eq!(first.open(&sealed), Some(plain.clone()));
        assert_eq!(second.open(&sealed), Some(plain));
        assert_eq!(other.open(&sealed), None);
        assert_eq!(first.open(&sealed[..sealed.len() - 1]), None, "cut off");
    }

    #[test]
    fn files_of_all_lengths_open() {
        let (public, private) = generate();
        for length in [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073] {
            let plain: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            assert_eq!(private.open(&seal(&[&public], &plain)), Some(plain), "{length}");
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_noticed() {
        let (public, private) = generate();
        let sealed = seal(&[&public], &[7; 100]);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(private.open(&changed), None, "byte {at}");
        }
    }

    #[test]
    fn only_public_keys_are_recipients() {
        let (public, private) = generate();
        let private = private.private_text();
        let private = private.expose();
        assert!(AgeRecipients::parse([public.as_str()]).is_ok());
        let typo = format!("{public}q");
        let wrong: [&[&str]; 5] = [&[], &[""], &[private], &[&typo], &[&public, "ssh-rsa AAAA"]];
        for texts in wrong {
            let parsed = AgeRecipients::parse(texts.iter().copied());
            assert_eq!(parsed.map(drop), Err(InvalidRecipient), "{texts:?}");
        }
    }

    #[test]
    fn points_that_give_everybody_the_same_secret_are_refused() {
        let zero = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z";
        assert!(bech32::decode("age", zero).is_some(), "the checksum of this test is right");
        let (public, _) = generate();
        for texts in [&[zero][..], &[&public, zero]] {
            let parsed = AgeRecipients::parse(texts.iter().copied());
            assert_eq!(parsed.map(drop), Err(InvalidRecipient));
        }
    }
}
