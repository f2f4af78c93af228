//! Ed25519.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::code::worker::crypto::fault::{Fault, INVALID_KEY, NEEDS_PRIVATE};
use crate::crypto::Random;

pub(super) struct EdwardsKey {
    private: Option<Box<SigningKey>>,
    public: VerifyingKey,
}

impl EdwardsKey {
    pub(super) fn private(bytes: &[u8]) -> Result<Self, Fault> {
        let key = SigningKey::from_bytes(bytes.try_into().ok().ok_or(INVALID_KEY)?);
        Ok(Self { public: key.verifying_key(), private: Some(Box::new(key)) })
    }

    pub(super) fn public(bytes: &[u8]) -> Result<Self, Fault> {
        let bytes = bytes.try_into().ok().ok_or(INVALID_KEY)?;
        let public = VerifyingKey::from_bytes(bytes).ok().ok_or(INVALID_KEY)?;
        Ok(Self { private: None, public })
    }

    pub(super) fn generate(random: &Random) -> Self {
        let key = SigningKey::from_bytes(&random.bytes());
        Self { public: key.verifying_key(), private: Some(Box::new(key)) }
    }

    pub(super) const fn is_private(&self) -> bool {
        self.private.is_some()
    }

    pub(super) fn public_bytes(&self) -> Vec<u8> {
        self.public.to_bytes().to_vec()
    }

    pub(super) fn private_bytes(&self) -> Vec<u8> {
        self.private.as_ref().map(|key| key.to_bytes().to_vec()).unwrap_or_default()
    }

    /// x, and d of a private key.
    pub(super) fn parts(&self) -> Vec<Vec<u8>> {
        let private = self.private.as_ref().map(|key| key.to_bytes().to_vec());
        std::iter::once(self.public_bytes()).chain(private).collect()
    }

    pub(super) fn sign(&self, data: &[u8]) -> Result<Vec<u8>, Fault> {
        let key = self.private.as_ref().ok_or(NEEDS_PRIVATE)?;
        Ok(key.sign(data).to_bytes().to_vec())
    }

    pub(super) fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.public.verify_strict(data, &signature).is_ok())
    }
}
