//! The RSA key that signs webhooks.
//!
//! Receivers of the published interface verify RSA-PSS, so no other kind of key works. `ring` signs
//! but cannot make an RSA key. The crate `rsa` makes it, once for each vault, and does nothing
//! else: its private operations take a time that depends on the key (RUSTSEC-2023-0071), so `ring`,
//! whose operations do not, makes every signature. The alternative was a key that the operator
//! makes with another program; then no vault could have webhooks before its operator did so.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{KeyPair as _, RSA_PSS_SHA256, RsaKeyPair};
use rsa::pkcs8::EncodePrivateKey as _;
use rsa::rand_core;

use crate::crypto::random::Random;
use crate::secret::Secret;

/// The published minimum. A command replaces the key, so a later version can make it longer.
const BITS: usize = 2_048;
/// `AlgorithmIdentifier` of RFC 8017: rsaEncryption, NULL.
const RSA_ENCRYPTION: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
const PEM_LINE_BYTES: usize = 64;

pub struct WebhookKey(RsaKeyPair);

impl WebhookKey {
    /// Makes a key, as PKCS #8. This takes a second or more of a processor.
    pub fn generate(random: &Random) -> Option<Secret<Vec<u8>>> {
        let key = rsa::RsaPrivateKey::new(&mut RsaSource(random), BITS).ok()?;
        let der = key.to_pkcs8_der().ok()?;
        Some(Secret::new(der.as_bytes().to_vec()))
    }

    pub fn from_pkcs8(der: &Secret<Vec<u8>>) -> Option<Self> {
        RsaKeyPair::from_pkcs8(der.expose()).ok().map(Self)
    }

    /// RSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 bytes, in base64.
    pub fn sign(&self, message: &[u8], random: &Random) -> Option<String> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0.sign(&RSA_PSS_SHA256, random.source(), message, &mut signature).ok()?;
        Some(STANDARD.encode(signature))
    }

    /// The public key as `SubjectPublicKeyInfo` in PEM.
    pub fn public_pem(&self) -> String {
        let mut bits = vec![0];
        bits.extend(self.0.public_key().as_ref());
        let content = [RSA_ENCRYPTION, &element(0x03, &bits)].concat();
        let text = STANDARD.encode(element(0x30, &content));
        let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
        let mut rest = text.as_str();
        while let Some((line, next)) = rest.split_at_checked(PEM_LINE_BYTES) {
            pem.extend([line, "\n"]);
            rest = next;
        }
        if !rest.is_empty() {
            pem.extend([rest, "\n"]);
        }
        pem.push_str("-----END PUBLIC KEY-----\n");
        pem
    }
}

/// A DER element with its tag and its length.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => element.push(short),
        _ => {
            let bytes = content.len().to_be_bytes();
            let length: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
            // The length of a length fits into seven bits.
            element.push(0x80 | u8::try_from(length.len()).unwrap_or(0));
            element.extend(length);
        }
    }
    element.extend(content);
    element
}

/// Adapts the program's randomness to the crate.
#[derive(Debug)]
pub struct RsaSource<'a>(pub &'a Random);

impl rand_core::RngCore for RsaSource<'_> {
    fn next_u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.0.bytes())
    }

    fn next_u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.0.bytes())
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core::Error> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl rand_core::CryptoRng for RsaSource<'_> {}

opaque_debug!(WebhookKey);

#[cfg(test)]
mod tests {
    use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
    use rsa::pkcs8::DecodePublicKey as _;

    use super::*;

    #[test]
    fn a_signature_verifies_under_the_public_key_and_for_the_message_alone() {
        let random = Random::new();
        let der = WebhookKey::generate(&random).unwrap();
        let key = WebhookKey::from_pkcs8(&der).unwrap();
        let signature = STANDARD.decode(key.sign(b"a message", &random).unwrap()).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, key.0.public_key().as_ref());
        assert!(public.verify(b"a message", &signature).is_ok());
        assert!(public.verify(b"another", &signature).is_err());
        // An independent parser finds the same key in the PEM.
        let pem = key.public_pem();
        assert!(pem.lines().all(|line| line.len() <= 64), "{pem}");
        let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let parsed = rsa::RsaPublicKey::from_public_key_der(&STANDARD.decode(text).unwrap());
        let again = rsa::pkcs1::EncodeRsaPublicKey::to_pkcs1_der(&parsed.unwrap()).unwrap();
        assert_eq!(again.as_bytes(), key.0.public_key().as_ref());
    }

    #[test]
    fn the_source_of_new_keys_gives_fresh_bytes_in_every_form() {
        use rand_core::RngCore as _;

        let random = Random::new();
        let mut source = RsaSource(&random);
        let draws: std::collections::HashSet<_> = (0..8).map(|_| source.next_u64()).collect();
        assert_eq!(draws.len(), 8);
        // Of eight draws of 32 bits, two are the same once in 150 million times.
        let draws: std::collections::HashSet<_> = (0..8).map(|_| source.next_u32()).collect();
        assert_eq!(draws.len(), 8);
        let mut bytes = [[0; 16]; 3];
        let [_, filled, tried] = &mut bytes;
        source.fill_bytes(filled);
        source.try_fill_bytes(tried).unwrap();
        assert!(bytes[0] != bytes[1] && bytes[1] != bytes[2] && bytes[0] != bytes[2]);
    }

    #[test]
    fn lengths_are_encoded_as_der_has_them() {
        assert_eq!(element(3, &[7]), [3, 1, 7]);
        assert_eq!(element(3, &[0; 127])[..3], [3, 127, 0]);
        assert_eq!(element(3, &[0; 128])[..4], [3, 0x81, 128, 0]);
        assert_eq!(element(3, &[0; 300])[..5], [3, 0x82, 1, 44, 0]);
    }
}
