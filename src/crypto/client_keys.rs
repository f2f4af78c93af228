//! Keys for values that clients encrypt: JWE with ECDH-ES over X25519 and AES-256-GCM.
//!
//! ```text
//! shared secret  X25519(private key, ephemeral public key of the message)
//! content key    SHA-256(00000001 | shared secret | 00000007 "A256GCM" | 00000000 | 00000000 |
//!                00000100), the Concat KDF with empty party infos (RFC 7518, 4.6.2)
//! plain text     AES-256-GCM of the content key; the authenticated data is the first part of
//!                the message
//! ```
//!
//! `ring` supports X25519 only for ephemeral keys. A client encryption key is stored, so this file,
//! and no other, uses `x25519-dalek`. It also makes the pairs of [`crate::crypto::TransferPair`].

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::crypto::random::Random;
use crate::crypto::seal::OpenFailed;
use crate::crypto::sha256::Sha256;
use crate::secret::Secret;

const CONTENT_ALGORITHM: &[u8] = b"A256GCM";
const CONTENT_KEY_BITS: u32 = 256;

/// The key pair of a client encryption key. The private half is wiped when it is dropped.
pub struct ClientKeyPair(StaticSecret);

/// The parts of a message to the key.
#[derive(Debug)]
pub struct ClientMessage<'a> {
    /// The public half of the client's ephemeral key pair.
    pub ephemeral: [u8; 32],
    pub iv: [u8; 12],
    /// The ciphertext, followed by the tag of 16 bytes.
    pub sealed: Vec<u8>,
    pub authenticated: &'a [u8],
}

/// True for a point whose shared secret depends on the private key.
pub(super) fn is_public_key(point: [u8; 32]) -> bool {
    // Any scalar works: all are multiples of the orders of the other points.
    StaticSecret::from([9; 32]).diffie_hellman(&PublicKey::from(point)).was_contributory()
}

impl ClientKeyPair {
    pub fn new(random: &Random) -> Self {
        Self(StaticSecret::from(random.bytes::<32>()))
    }

    pub fn from_private(private: &Secret<[u8; 32]>) -> Self {
        Self(StaticSecret::from(*private.expose()))
    }

    /// The private half, which the caller seals into a record.
    pub fn private(&self) -> Secret<[u8; 32]> {
        Secret::new(self.0.to_bytes())
    }

    pub fn public(&self) -> [u8; 32] {
        PublicKey::from(&self.0).to_bytes()
    }

    /// The shared secret of this pair and the public half of another one.
    pub(super) fn agree(&self, public: [u8; 32]) -> Result<Secret<[u8; 32]>, OpenFailed> {
        let shared = self.0.diffie_hellman(&PublicKey::from(public));
        // With a point of low order, the secret would be zero for every private key.
        shared.was_contributory().then(|| Secret::new(shared.to_bytes())).ok_or(OpenFailed)
    }

    /// All failures are the same error.
    pub fn open(&self, message: ClientMessage<'_>) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let shared = self.agree(message.ephemeral)?;
        let key = concat_kdf(shared.expose(), CONTENT_ALGORITHM, [b"", b""], CONTENT_KEY_BITS);
        let key = UnboundKey::new(&AES_256_GCM, key.expose()).map(LessSafeKey::new);
        let key = key.map_err(|ring::error::Unspecified| OpenFailed)?;
        let mut sealed = Secret::new(message.sealed);
        let aad = Aad::from(message.authenticated);
        let opened = key.open_in_place(nonce(message.iv), aad, sealed.expose_mut());
        let length = opened.map_err(|ring::error::Unspecified| OpenFailed)?.len();
        sealed.expose_mut().truncate(length);
        Ok(sealed)
    }
}

opaque_debug!(ClientKeyPair);

#[expect(clippy::disallowed_methods, reason = "the client chose it; the key only opens here")]
fn nonce(iv: [u8; 12]) -> Nonce {
    Nonce::assume_unique_for_key(iv)
}

/// One round of the Concat KDF, which yields up to 256 bits.
fn concat_kdf(secret: &[u8], algorithm: &[u8], parties: [&[u8]; 2], bits: u32) -> Secret<[u8; 32]> {
    let [first, second] = parties;
    let mut digest = Sha256::new();
    digest.update(&1_u32.to_be_bytes());
    digest.update(secret);
    for part in [algorithm, first, second] {
        // The parts are constants of a few bytes.
        digest.update(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        digest.update(part);
    }
    digest.update(&bits.to_be_bytes());
    Secret::new(digest.finish())
}

/// The client's side, with the X25519 of `ring`: an independent implementation from the one that
/// opens. `head` makes the authenticated part from the client's own public key.
#[cfg(test)]
pub fn seal_for_client_key(
    public: &[u8; 32],
    plain: &[u8],
    head: impl FnOnce(&[u8; 32]) -> String,
) -> Option<(String, [u8; 12], Vec<u8>)> {
    use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};

    let random = Random::new();
    let own = EphemeralPrivateKey::generate(&X25519, random.source()).ok()?;
    let head = head(own.compute_public_key().ok()?.as_ref().try_into().ok()?);
    let peer = UnparsedPublicKey::new(&X25519, public);
    let key = agree_ephemeral(own, &peer, |shared| {
        concat_kdf(shared, CONTENT_ALGORITHM, [b"", b""], CONTENT_KEY_BITS)
    });
    let key = UnboundKey::new(&AES_256_GCM, key.ok()?.expose()).map(LessSafeKey::new).ok()?;
    let (iv, mut sealed) = (random.bytes(), plain.to_vec());
    key.seal_in_place_append_tag(nonce(iv), Aad::from(head.as_bytes()), &mut sealed).ok()?;
    Some((head, iv, sealed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hex;
    use proptest::prelude::*;

    /// A message that is sealed by `ring`, and its parts.
    fn seal(public: &[u8; 32], plain: &[u8]) -> ([u8; 32], String, [u8; 12], Vec<u8>) {
        let mut own = [0; 32];
        let sealed = seal_for_client_key(public, plain, |ephemeral| {
            own = *ephemeral;
            String::from("header")
        });
        let (head, iv, sealed) = sealed.unwrap();
        (own, head, iv, sealed)
    }

    fn open(
        pair: &ClientKeyPair,
        ephemeral: [u8; 32],
        iv: [u8; 12],
        sealed: &[u8],
        head: &str,
    ) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let (sealed, authenticated) = (sealed.to_vec(), head.as_bytes());
        pair.open(ClientMessage { ephemeral, iv, sealed, authenticated })
    }

    #[test]
    fn the_key_derivation_is_that_of_the_standard() {
        //= RFC 7518, appendix C.
        let secret = "9e56d91d817135d372834283bf84269cfb316ea3da806a48f6daa7798cfe90c4";
        let secret = hex::decode::<32>(secret).unwrap();
        let derived = concat_kdf(&secret, b"A128GCM", [b"Alice", b"Bob"], 128);
        assert_eq!(hex::encode(&derived.expose()[..16]), "56aa8deaf8236d205c2228cd71a7101a");
    }

    /// Made with OpenSSL: the keys are the bytes from 0 and from 32 on.
    #[test]
    fn a_message_of_openssl_opens() {
        let private: Vec<u8> = (0..32).collect();
        let pair = ClientKeyPair::from_private(&Secret::new(private.try_into().unwrap()));
        let public = "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f";
        assert_eq!(hex::encode(&pair.public()), public);
        let ephemeral = "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254";
        let sealed = "572df7a0f68c23e149cfa25b5201f8a560bc5d32aa968a7e2780d6ea8f71d8ee\
                      a69c9c3fac39eec219e61c0ce0";
        let sealed = hex::decode_all(sealed).unwrap();
        let opened = open(&pair, hex::decode(ephemeral).unwrap(), [7; 12], &sealed, "header");
        let opened = opened.unwrap();
        assert_eq!(opened.expose(), br#"{"number":"4242424242424242"}"#);
    }

    #[test]
    fn a_message_of_another_implementation_opens() {
        let pair = ClientKeyPair::new(&Random::new());
        let (own, head, iv, sealed) = seal(&pair.public(), b"{\"number\":1}");
        let opened = open(&pair, own, iv, &sealed, &head).unwrap();
        assert_eq!(opened.expose(), b"{\"number\":1}");
        let again = ClientKeyPair::from_private(&pair.private());
        assert!(open(&again, own, iv, &sealed, &head).is_ok());
        let other = ClientKeyPair::new(&Random::new());
        assert!(open(&other, own, iv, &sealed, &head).is_err());
        assert!(open(&pair, own, iv, &sealed, "other").is_err());
        for length in 0..sealed.len() {
            assert!(open(&pair, own, iv, &sealed[..length], &head).is_err());
        }
    }

    #[test]
    fn points_of_low_order_are_refused() {
        let pair = ClientKeyPair::new(&Random::new());
        let points = [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ];
        for point in points {
            assert!(!is_public_key(hex::decode(point).unwrap()), "{point}");
            // The message is sealed for the shared secret that such a point gives.
            let key = concat_kdf(&[0; 32], b"A256GCM", [b"", b""], 256);
            let key = UnboundKey::new(&AES_256_GCM, key.expose()).map(LessSafeKey::new).unwrap();
            let mut sealed = b"1".to_vec();
            key.seal_in_place_append_tag(nonce([7; 12]), Aad::from(b"h"), &mut sealed).unwrap();
            let point = hex::decode(point).unwrap();
            assert!(open(&pair, point, [7; 12], &sealed, "h").is_err(), "{point:?}");
        }
    }

    proptest! {
        #[test]
        fn no_flipped_bit_opens(plain in prop::collection::vec(any::<u8>(), 0..40), at: usize, bit in 0_u8..8) {
            let pair = ClientKeyPair::new(&Random::new());
            let (own, head, iv, sealed) = seal(&pair.public(), &plain);
            let mut bytes = [&own, iv.as_slice(), &sealed, head.as_bytes()].concat();
            let at = at % bytes.len();
            // The highest bit of a coordinate is not used (RFC 7748, 5), nor that of ASCII.
            prop_assume!(bit < 7 || (32..44 + sealed.len()).contains(&at));
            bytes[at] ^= 1 << bit;
            let (own, rest) = bytes.split_first_chunk::<32>().unwrap();
            let (iv, rest) = rest.split_first_chunk::<12>().unwrap();
            let (sealed, head) = rest.split_at(sealed.len());
            prop_assert!(open(&pair, *own, *iv, sealed, str::from_utf8(head).unwrap()).is_err());
        }
    }
}
