//! Transfer of a key from one process to another, sealed under a key for this one message.
//!
//! [`KeyTransfer`] moves a new master key from the command line to the running server, so that it
//! is in clear only in its file and in the memory of the two processes. The key agreement is X25519
//! with a fresh key pair on either side; the message is sealed like a record. The mode of the
//! socket and the user id of the peer authenticate the two sides.
//!
//! [`TransferPair`] receives several messages that processes send through a database. Its caller
//! authenticates the public half and the messages.

use ring::agreement::{EphemeralPrivateKey, PublicKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hmac;

use crate::crypto::client_keys::ClientKeyPair;
use crate::crypto::first;
use crate::crypto::random::Random;
use crate::crypto::seal::{Identity, OpenFailed, SealingKey};
use crate::secret::Secret;

/// The receiving side. It opens one message.
pub struct KeyTransfer {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

/// The receiving side of several messages. The private half is wiped when it is dropped.
#[derive(Debug)]
pub struct TransferPair(ClientKeyPair);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferMessage {
    pub public: [u8; 32],
    pub sealed: Vec<u8>,
}

impl KeyTransfer {
    pub fn new(random: &Random) -> Result<Self, OpenFailed> {
        let private = EphemeralPrivateKey::generate(&X25519, random.source());
        let private = private.map_err(|ring::error::Unspecified| OpenFailed)?;
        let public = private.compute_public_key();
        let public = public.map_err(|ring::error::Unspecified| OpenFailed)?;
        Ok(Self { private, public })
    }

    pub fn public(&self) -> [u8; 32] {
        first(&self.public)
    }

    pub fn receive(self, message: &TransferMessage) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let receiver = self.public();
        let key = agree(self.private, &message.public, &receiver, &message.public)?;
        key.open(&identity(&receiver), &message.sealed)
    }

    /// The sending side of both. `receiver` is the public half of the receiving side.
    pub fn send(
        receiver: &[u8; 32],
        plain: &[u8],
        random: &Random,
    ) -> Result<TransferMessage, OpenFailed> {
        let own = Self::new(random)?;
        let public = own.public();
        let key = agree(own.private, receiver, receiver, &public)?;
        Ok(TransferMessage { public, sealed: key.seal(&identity(receiver), plain, random) })
    }
}

impl TransferPair {
    pub fn new(random: &Random) -> Self {
        Self(ClientKeyPair::new(random))
    }

    pub fn public(&self) -> [u8; 32] {
        self.0.public()
    }

    pub fn receive(&self, message: &TransferMessage) -> Result<Secret<Vec<u8>>, OpenFailed> {
        let receiver = self.public();
        let shared = self.0.agree(message.public)?;
        let key = derive(shared.expose(), &receiver, &message.public);
        key.open(&identity(&receiver), &message.sealed)
    }
}

fn agree(
    private: EphemeralPrivateKey,
    peer: &[u8; 32],
    receiver: &[u8; 32],
    sender: &[u8; 32],
) -> Result<SealingKey, OpenFailed> {
    let peer = UnparsedPublicKey::new(&X25519, peer);
    agree_ephemeral(private, &peer, |shared| derive(shared, receiver, sender))
        .map_err(|ring::error::Unspecified| OpenFailed)
}

fn derive(shared: &[u8], receiver: &[u8; 32], sender: &[u8; 32]) -> SealingKey {
    let label = [b"strongroom handover 1".as_slice(), receiver, sender].concat();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, shared), &label);
    SealingKey::new(0, &Secret::new(first(tag)))
}

const fn identity(receiver: &[u8; 32]) -> Identity<'_> {
    Identity { tenant: &[0; 16], table: 0, key: receiver }
}

opaque_debug!(KeyTransfer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_arrives_at_the_one_it_was_meant_for_alone() {
        let random = Random::new();
        let (one, other) = (KeyTransfer::new(&random).unwrap(), KeyTransfer::new(&random).unwrap());
        let message = KeyTransfer::send(&one.public(), b"a key", &random).unwrap();
        assert!(!message.sealed.windows(5).any(|window| window == b"a key"));
        assert!(other.receive(&message).is_err());
        assert_eq!(one.receive(&message).unwrap().expose(), b"a key");
    }

    #[test]
    fn a_pair_receives_several_messages_and_none_that_is_meant_for_another() {
        let random = Random::new();
        let (one, other) = (TransferPair::new(&random), TransferPair::new(&random));
        for plain in [b"a key".as_slice(), b"another", b""] {
            let mut message = KeyTransfer::send(&one.public(), plain, &random).unwrap();
            assert_eq!(one.receive(&message).unwrap().expose(), plain);
            assert!(other.receive(&message).is_err());
            // A point that gives the same secret for every private key.
            message.public = [0; 32];
            assert!(one.receive(&message).is_err());
        }
        assert!(KeyTransfer::send(&[0; 32], b"a key", &random).is_err());
    }

    #[test]
    fn a_changed_message_does_not_arrive() {
        let random = Random::new();
        let receiver = KeyTransfer::new(&random).unwrap();
        let mut message = KeyTransfer::send(&receiver.public(), b"a key", &random).unwrap();
        message.public[3] ^= 1;
        assert!(receiver.receive(&message).is_err());
    }
}
