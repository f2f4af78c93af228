//! Sealing to the public keys of people, in the age format (age-encryption.org/v1), so that the
//! file can be opened without this program. No other module uses the crate `age`.

use std::fmt;
use std::io::{self, Write};

use age::Encryptor;
use age::stream::StreamWriter;
use age::x25519::Recipient;

use crate::crypto::client_keys::is_public_key;

/// Public keys such as `age1...`, at least one.
pub struct AgeRecipients(Vec<Recipient>);

/// A text that is not the public key of a person, or no text at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidRecipient;

/// Seals what is written to it. Without [`AgeWriter::finish`] the output cannot be opened.
pub struct AgeWriter<W: Write>(StreamWriter<W>);

impl AgeRecipients {
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidRecipient> {
        let parsed = texts.into_iter().map(|text| text.parse().map_err(|_text| InvalidRecipient));
        let recipients: Vec<Recipient> = parsed.collect::<Result<_, _>>()?;
        if !recipients.iter().all(is_key_of_a_person) {
            return Err(InvalidRecipient);
        }
        if recipients.is_empty() { Err(InvalidRecipient) } else { Ok(Self(recipients)) }
    }

    /// Begins a file. Each of the recipients can open it alone.
    pub fn seal<W: Write>(&self, to: W) -> io::Result<AgeWriter<W>> {
        let recipients = self.0.iter().map(|it| -> &dyn age::Recipient { it });
        let encryptor = Encryptor::with_recipients(recipients).map_err(io::Error::other)?;
        encryptor.wrap_output(to).map(AgeWriter)
    }
}

/// False for the few points that give the same secret with every private key: anybody could open
/// the file, and the crate `age` panics on them.
fn is_key_of_a_person(recipient: &Recipient) -> bool {
    point(&recipient.to_string()).is_some_and(is_public_key)
}

/// The bytes of a recipient, whose text is Bech32 with a checksum of six digits.
fn point(text: &str) -> Option<[u8; 32]> {
    const DIGITS: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let data = text.strip_prefix("age1")?;
    let data = data.get(..data.len().checked_sub(6)?)?;
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    for digit in data.chars() {
        let value = u32::try_from(DIGITS.find(digit)?).ok()?;
        (bits, count) = ((bits << 5_u32) | value, count.saturating_add(5));
        if count >= 8 {
            count = count.saturating_sub(8);
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
            bits &= 0xff;
        }
    }
    bytes.try_into().ok()
}

impl<W: Write> AgeWriter<W> {
    /// Writes the end, which proves that nothing was cut off.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for AgeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl fmt::Debug for AgeRecipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgeRecipients").field(&self.0.len()).finish()
    }
}

impl<W: Write> fmt::Debug for AgeWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgeWriter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::client_keys::ClientKeyPair;
    use crate::domain::hex;
    use crate::secret::Secret;

    /// The public and the private key.
    fn generate() -> (String, String) {
        use age::secrecy::ExposeSecret as _;
        let identity = age::x25519::Identity::generate();
        let public = identity.to_public().to_string();
        (public, String::from(identity.to_string().expose_secret()))
    }

    /// The content of a file; `None` if this private key does not open it.
    fn open(private: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let identity: age::x25519::Identity = private.parse().ok()?;
        let opened = age::Decryptor::new_buffered(sealed).ok()?;
        let identity: &dyn age::Identity = &identity;
        let mut reader = opened.decrypt(std::iter::once(identity)).ok()?;
        let mut plain = Vec::new();
        io::Read::read_to_end(&mut reader, &mut plain).ok()?;
        Some(plain)
    }

    fn seal(recipients: &[&str], plain: &[u8]) -> Vec<u8> {
        let recipients = AgeRecipients::parse(recipients.iter().copied()).unwrap();
        let mut writer = recipients.seal(Vec::new()).unwrap();
        writer.write_all(plain).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn each_recipient_opens_the_file_and_nobody_else() {
        let [(one, first), (two, second), (_, other)] = [(); 3].map(|()| generate());
        let plain = vec![7; 200_000];
        let sealed = seal(&[&one, &two], &plain);
        assert!(sealed.starts_with(b"age-encryption.org/v1\n"));
        assert_eq!(open(&first, &sealed), Some(plain.clone()));
        assert_eq!(open(&second, &sealed), Some(plain));
        assert_eq!(open(&other, &sealed), None);
        assert_eq!(open(&first, &sealed[..sealed.len() - 1]), None, "cut off");
    }

    #[test]
    fn only_public_keys_are_recipients() {
        let (public, private) = generate();
        assert!(AgeRecipients::parse([public.as_str()]).is_ok());
        let typo = format!("{public}q");
        let wrong: [&[&str]; 5] = [&[], &[""], &[&private], &[&typo], &[&public, "ssh-rsa AAAA"]];
        for texts in wrong {
            let parsed = AgeRecipients::parse(texts.iter().copied());
            assert_eq!(parsed.map(drop), Err(InvalidRecipient), "{texts:?}");
        }
    }

    #[test]
    fn the_point_of_a_recipient_is_read_as_its_owner_knows_it() {
        use age::secrecy::ExposeSecret as _;
        for _ in 0..20 {
            let identity = age::x25519::Identity::generate();
            let private = identity.to_string().expose_secret().to_lowercase();
            let private = point(&private.replacen("age-secret-key-1", "age1", 1)).unwrap();
            let public = point(&identity.to_public().to_string()).unwrap();
            let pair = ClientKeyPair::from_private(&Secret::new(private));
            assert_eq!(pair.public(), public);
        }
    }

    #[test]
    fn points_that_give_everybody_the_same_secret_are_refused() {
        let zero = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z";
        assert!(zero.parse::<Recipient>().is_ok(), "the checksum of this test is right");
        let (public, _) = generate();
        for texts in [&[zero][..], &[&public, zero]] {
            let parsed = AgeRecipients::parse(texts.iter().copied());
            assert_eq!(parsed.map(drop), Err(InvalidRecipient));
        }
        // The points of order 1, 2, 4 and 8, and those that are not reduced.
        let low = [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ];
        for text in low {
            assert!(!is_public_key(hex::decode(text).unwrap()), "{text}");
        }
    }
}
