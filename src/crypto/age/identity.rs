//! Opens age files. The program itself only writes this format; tests open its files with this
//! module, and check it against a message of another implementation.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::hmac;

use crate::crypto::age::recipients::VERSION;
use crate::crypto::age::stream::{CHUNK_BYTES, ChunkPosition, nonce, open, sealing_key};
use crate::crypto::age::{bech32, derive};
use crate::crypto::client_keys::ClientKeyPair;
use crate::crypto::random::Random;
use crate::secret::Secret;

const PREFIX: &str = "age-secret-key-";
const TAG_BYTES: usize = 16;

/// The private key of a recipient.
pub struct AgeIdentity(ClientKeyPair);

impl AgeIdentity {
    pub fn generate() -> Self {
        Self(ClientKeyPair::new(&Random::new()))
    }

    /// Reads a text such as `AGE-SECRET-KEY-1...`.
    pub fn parse(text: &str) -> Option<Self> {
        let private = Secret::new(bech32::decode(PREFIX, &text.to_lowercase())?);
        Some(Self(ClientKeyPair::from_private(&private)))
    }

    pub fn private_text(&self) -> Secret<String> {
        Secret::new(bech32::encode(PREFIX, self.0.private().expose()).to_uppercase())
    }

    /// The text of the public key, such as `age1...`.
    pub fn public_text(&self) -> String {
        bech32::encode("age", &self.0.public())
    }

    /// The content of a file; `None` if this key does not open it, or if a byte was changed.
    pub fn open(&self, file: &[u8]) -> Option<Vec<u8>> {
        let mark = b"\n--- ";
        let end = file.windows(mark.len()).position(|bytes| bytes == mark)?.checked_add(4)?;
        let (signed, rest) = file.split_at_checked(end)?;
        let key = self.file_key(std::str::from_utf8(signed).ok()?)?;
        let line = rest.iter().position(|byte| *byte == b'\n')?;
        let mac = STANDARD_NO_PAD.decode(rest.get(1..line)?).ok()?;
        let mac_key = derive(key.expose(), &[], b"header").ok()?;
        let mac_key = hmac::Key::new(hmac::HMAC_SHA256, mac_key.expose());
        hmac::verify(&mac_key, signed, &mac).ok()?;
        let (salt, content) = rest.get(line.checked_add(1)?..)?.split_at_checked(16)?;
        let key = sealing_key(&derive(key.expose(), salt, b"payload").ok()?).ok()?;
        let mut plain = Vec::new();
        let mut chunks = content.chunks(CHUNK_BYTES.checked_add(TAG_BYTES)?).peekable();
        let mut number = 0;
        while let Some(chunk) = chunks.next() {
            let mut chunk = chunk.to_vec();
            let place =
                if chunks.peek().is_none() { ChunkPosition::Last } else { ChunkPosition::Inner };
            plain.extend_from_slice(open(&key, nonce(number, place), &mut chunk)?);
            number = number.checked_add(1)?;
        }
        (number > 0).then_some(plain)
    }

    /// Tries every stanza of the header.
    fn file_key(&self, header: &str) -> Option<Secret<Vec<u8>>> {
        let mut lines = header.strip_prefix(VERSION)?.strip_prefix('\n')?.lines();
        while let Some(share) = lines.next()?.strip_prefix("-> X25519 ") {
            let share = STANDARD_NO_PAD.decode(share).ok()?;
            let mut sealed = STANDARD_NO_PAD.decode(lines.next()?).ok()?;
            let secret = self.0.agree(share.as_slice().try_into().ok()?).ok()?;
            let salt = [share.as_slice(), &self.0.public()].concat();
            let info = format!("{VERSION}/X25519");
            let key = derive(secret.expose(), &salt, info.as_bytes()).ok()?;
            if let Some(key) = open(&sealing_key(&key).ok()?, [0; 12], &mut sealed) {
                return Some(Secret::new(key.to_vec()));
            }
        }
        None
    }
}

impl fmt::Debug for AgeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgeIdentity({})", self.public_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `age-keygen` and `age -r`, Debian's package of the reference implementation.
    const PRIVATE: &str =
        "AGE-SECRET-KEY-1MS4XXMX5J58SNFQVZVHU7JHLDFCV7M6DP9KF9MR78NFQ5EAA6KUS0J6PVW";
    const PUBLIC: &str = "age17jl523mspp0g30vza8mfhhccc4ks3ckuu9mmha0kyke6kzvlcp9qa0ggkp";
    const FILE: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSAwSlpHOTl4eUJXeTI2QU00ekw2azFWeUF4\
        a0Q5cU9vZWpqK3ZSZzg2MlU4CnF0QlBScDh4QUZlTUNQS1NSTk5tSjhzTmFUb1p0OWZHN2NVNDdrQ1dCNk0KLS0tIFN1\
        eE1KN2kvdjl6bDViekxUUWl0U2IvWTQwclJCNVA1ZmMxU3BBaUlqblkK18P2IJYWN8lo55kcApwGKE4lP1JpMhcSrU9R\
        hprepIJo5n+/HM6Uhlk1aRTR0Eg7aMyMit9BrYoXk5uDOl6ypl4O5UUgTka+WvCVyc9vmw==";

    #[test]
    fn a_file_of_another_implementation_opens() {
        let identity = AgeIdentity::parse(PRIVATE).unwrap();
        assert_eq!(identity.public_text(), PUBLIC);
        assert_eq!(identity.private_text().expose(), PRIVATE);
        let file = base64::engine::general_purpose::STANDARD.decode(FILE).unwrap();
        let plain = b"sealed by another implementation of the format\n";
        assert_eq!(identity.open(&file).as_deref(), Some(plain.as_slice()));
    }
}
