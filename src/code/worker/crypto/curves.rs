//! The curves P-256 and P-384: ECDSA, with the nonces of RFC 6979, and key agreement.

use p256::ecdsa::signature::hazmat::{PrehashSigner as _, PrehashVerifier as _};
use zeroize::Zeroizing;

use crate::code::worker::crypto::fault::{
    Fault, INVALID_KEY, NEEDS_PRIVATE, OPERATION_FAILED, UNKNOWN_KEY, WRONG_KEY,
};
use crate::crypto::Random;

type PrivateBytes = Zeroizing<Vec<u8>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
}

pub(super) struct CurveKey {
    curve: Curve,
    private: Option<PrivateBytes>,
    /// The uncompressed point.
    point: Vec<u8>,
}

/// Runs the expression with the crate of the curve.
macro_rules! with_curve {
    ($curve:expr, $name:ident => $body:expr) => {
        match $curve {
            Curve::P256 => {
                use p256 as $name;
                $body
            }
            Curve::P384 => {
                use p384 as $name;
                $body
            }
        }
    };
}

impl Curve {
    pub(super) fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "P-256" | "prime256v1" | "secp256r1" => Ok(Self::P256),
            "P-384" | "secp384r1" => Ok(Self::P384),
            _ => Err(UNKNOWN_KEY),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
        }
    }

    pub(super) fn of_object(object: &[u8]) -> Result<Self, Fault> {
        [Self::P256, Self::P384]
            .into_iter()
            .find(|curve| curve.object() == object)
            .ok_or(UNKNOWN_KEY)
    }

    pub(super) const fn object(self) -> &'static [u8] {
        match self {
            Self::P256 => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
            Self::P384 => &[0x2b, 0x81, 0x04, 0x00, 0x22],
        }
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }

    pub(super) fn private(self, private: &[u8]) -> Result<CurveKey, Fault> {
        let point = with_curve!(self, curve => {
            let key = curve::SecretKey::from_slice(private).ok().ok_or(INVALID_KEY)?;
            curve::ecdsa::SigningKey::from(key).verifying_key().to_sec1_point(false).as_bytes().to_vec()
        });
        let mut padded = PrivateBytes::new(vec![0; self.bytes().saturating_sub(private.len())]);
        padded.extend(private);
        Ok(CurveKey { curve: self, private: Some(padded), point })
    }

    /// From a point, compressed or not.
    pub(super) fn public(self, point: &[u8]) -> Result<CurveKey, Fault> {
        let point = with_curve!(self, curve => {
            let key = curve::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().ok_or(INVALID_KEY)?;
            key.to_sec1_point(false).as_bytes().to_vec()
        });
        Ok(CurveKey { curve: self, private: None, point })
    }

    pub(super) fn generate(self, random: &Random) -> Result<CurveKey, Fault> {
        // One number in 2^32 is no key of P-256, so a second try succeeds.
        for _ in 0..8 {
            let mut private = PrivateBytes::new(vec![0; self.bytes()]);
            random.fill(&mut private);
            if let Ok(key) = self.private(&private) {
                return Ok(key);
            }
        }
        Err(OPERATION_FAILED)
    }
}

impl CurveKey {
    pub(super) const fn curve(&self) -> Curve {
        self.curve
    }

    pub(super) const fn is_private(&self) -> bool {
        self.private.is_some()
    }

    pub(super) fn point(&self) -> Vec<u8> {
        self.point.clone()
    }

    pub(super) fn private_bytes(&self) -> Vec<u8> {
        self.private.as_ref().map(|private| private.to_vec()).unwrap_or_default()
    }

    /// x, y, and d of a private key.
    pub(super) fn parts(&self) -> Vec<Vec<u8>> {
        let numbers = self.point.get(1..).unwrap_or_default();
        let coordinates = numbers.chunks(self.curve.bytes()).map(<[u8]>::to_vec);
        coordinates.chain(self.private.as_ref().map(|it| it.to_vec())).collect()
    }

    /// Signs a digest: r and s, each with the length of the curve.
    pub(super) fn sign(&self, digest: &[u8]) -> Result<Vec<u8>, Fault> {
        let private = self.private.as_ref().ok_or(NEEDS_PRIVATE)?;
        with_curve!(self.curve, curve => {
            let key = curve::ecdsa::SigningKey::from_slice(private).ok().ok_or(INVALID_KEY)?;
            let signature: curve::ecdsa::Signature =
                key.sign_prehash(digest).ok().ok_or(OPERATION_FAILED)?;
            Ok(signature.to_bytes().to_vec())
        })
    }

    pub(super) fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Fault> {
        with_curve!(self.curve, curve => {
            let key = curve::ecdsa::VerifyingKey::from_sec1_bytes(&self.point)
                .ok().ok_or(INVALID_KEY)?;
            let Ok(signature) = curve::ecdsa::Signature::from_slice(signature) else {
                return Ok(false);
            };
            Ok(key.verify_prehash(digest, &signature).is_ok())
        })
    }

    pub(super) fn agree(&self, other: &Self) -> Result<Vec<u8>, Fault> {
        let private = self.private.as_ref().ok_or(NEEDS_PRIVATE)?;
        if self.curve != other.curve {
            return Err(WRONG_KEY);
        }
        with_curve!(self.curve, curve => {
            let private = curve::SecretKey::from_slice(private).ok().ok_or(INVALID_KEY)?;
            let public =
                curve::PublicKey::from_sec1_bytes(&other.point).ok().ok_or(INVALID_KEY)?;
            Ok(private.diffie_hellman(&public).raw_secret_bytes().to_vec())
        })
    }
}
