//! Keys as programs give and get them: PKCS #8, `SubjectPublicKeyInfo`, PKCS #1, SEC 1, X.509
//! certificates (their public key), and the numbers of a JWK.

use rquickjs::{Array, Ctx, IntoJs, Object, TypedArray, Value};

use crate::code::worker::crypto::curves::{Curve, CurveKey};
use crate::code::worker::crypto::der::{
    self, BIT_STRING, OBJECT, OCTET_STRING, Reader, SEQUENCE, element, sequence,
};
use crate::code::worker::crypto::edwards::EdwardsKey;
use crate::code::worker::crypto::fault::{Fault, INVALID_KEY, UNKNOWN_KEY, WRONG_KEY};
use crate::code::worker::crypto::rsa_keys::RsaKey;
use crate::crypto::Random;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// The tag of the parameters in a key of SEC 1, and of the version of a certificate.
const CONTEXT_0: u8 = 0xa0;
/// The tag of the public key in a key of SEC 1.
const CONTEXT_1: u8 = 0xa1;
const NULL: [u8; 2] = [0x05, 0x00];

pub(super) enum Key {
    Curve(CurveKey),
    Edwards(EdwardsKey),
    Rsa(RsaKey),
}

impl Key {
    pub(super) fn from_der(bytes: &[u8]) -> Result<Self, Fault> {
        let reader = Reader::only(bytes, SEQUENCE).ok_or(INVALID_KEY)?;
        let mut look = reader;
        let first = look.any().ok_or(INVALID_KEY)?;
        let second = look.tag();
        let key = match (first, second) {
            // A version, then an algorithm: PKCS #8. A number: PKCS #1. Bytes: SEC 1.
            ((der::INTEGER, _), Some(SEQUENCE)) => from_pkcs8(reader),
            ((der::INTEGER, _), Some(der::INTEGER)) => {
                RsaKey::from_pkcs1(bytes).map(|it| it.map(Self::Rsa))
            }
            ((der::INTEGER, _), Some(OCTET_STRING)) => {
                from_sec1(reader, None).map(|it| it.map(Self::Curve))
            }
            ((SEQUENCE, _), Some(BIT_STRING)) => from_spki(reader),
            ((SEQUENCE, _), Some(SEQUENCE)) => from_certificate(reader),
            _ => None,
        };
        key.ok_or(INVALID_KEY)?
    }

    pub(super) fn generate(kind: &str, size: usize, random: &Random) -> Result<Self, Fault> {
        match kind {
            "ed25519" => Ok(Self::Edwards(EdwardsKey::generate(random))),
            "rsa" => RsaKey::generate(size, random).map(Self::Rsa),
            _ => Curve::named(kind).and_then(|it| it.generate(random)).map(Self::Curve),
        }
    }

    /// From the numbers of a JWK: n, e, d, p, q; x and y, d; x, d.
    pub(super) fn from_parts(kind: &str, parts: &[&[u8]]) -> Result<Self, Fault> {
        match (kind, parts) {
            ("ed25519", [public]) => EdwardsKey::public(public).map(Self::Edwards),
            ("ed25519", [_, private]) => EdwardsKey::private(private).map(Self::Edwards),
            ("rsa", [n, e]) => RsaKey::public(n, e).map(Self::Rsa),
            ("rsa", [n, e, d, primes @ ..]) => RsaKey::private(n, e, d, primes).map(Self::Rsa),
            (curve, [x, y]) => {
                let point = [&[0x04], *x, *y].concat();
                Curve::named(curve)?.public(&point).map(Self::Curve)
            }
            (curve, [_, _, private]) => Curve::named(curve)?.private(private).map(Self::Curve),
            (curve, [point]) => Curve::named(curve)?.public(point).map(Self::Curve),
            _ => Err(UNKNOWN_KEY),
        }
    }

    pub(super) fn agree(&self, other: &Self) -> Result<Vec<u8>, Fault> {
        match (self, other) {
            (Self::Curve(private), Self::Curve(public)) => private.agree(public),
            (Self::Curve(_) | Self::Edwards(_) | Self::Rsa(_), _) => Err(WRONG_KEY),
        }
    }

    pub(super) fn describe(&self) -> Description {
        let (kind, is_private, parts) = match self {
            Self::Curve(key) => (key.curve().name(), key.is_private(), key.parts()),
            Self::Edwards(key) => ("ed25519", key.is_private(), key.parts()),
            Self::Rsa(key) => ("rsa", key.is_private(), key.parts()),
        };
        let public = self.to_spki();
        let (der, inner) = if is_private {
            (self.to_pkcs8(), self.to_inner())
        } else {
            (public.clone(), self.to_inner())
        };
        Description { kind, is_private, parts, der, public, inner }
    }

    fn algorithm(&self) -> Vec<u8> {
        match self {
            Self::Curve(key) => {
                sequence(&[element(OBJECT, EC), element(OBJECT, key.curve().object())])
            }
            Self::Edwards(_) => sequence(&[element(OBJECT, ED25519)]),
            Self::Rsa(_) => sequence(&[element(OBJECT, RSA), NULL.to_vec()]),
        }
    }

    fn to_spki(&self) -> Vec<u8> {
        let content = match self {
            Self::Curve(key) => key.point(),
            Self::Edwards(key) => key.public_bytes(),
            Self::Rsa(key) => key.to_public_pkcs1(),
        };
        sequence(&[self.algorithm(), der::bits(&content)])
    }

    fn to_pkcs8(&self) -> Vec<u8> {
        let content = match self {
            Self::Curve(key) => to_sec1(key, Parameters::Outside),
            Self::Edwards(key) => element(OCTET_STRING, &key.private_bytes()),
            Self::Rsa(key) => key.to_private_pkcs1(),
        };
        sequence(&[der::number(&[]), self.algorithm(), element(OCTET_STRING, &content)])
    }

    /// PKCS #1 and SEC 1.
    fn to_inner(&self) -> Vec<u8> {
        match self {
            Self::Curve(key) if key.is_private() => to_sec1(key, Parameters::Inside),
            Self::Curve(key) => key.point(),
            Self::Edwards(key) => key.public_bytes(),
            Self::Rsa(key) if key.is_private() => key.to_private_pkcs1(),
            Self::Rsa(key) => key.to_public_pkcs1(),
        }
    }
}

#[derive(Clone, Copy)]
enum Parameters {
    Inside,
    Outside,
}

fn to_sec1(key: &CurveKey, parameters: Parameters) -> Vec<u8> {
    let mut parts = vec![der::number(&[1]), element(OCTET_STRING, &key.private_bytes())];
    if matches!(parameters, Parameters::Inside) {
        parts.push(element(CONTEXT_0, &element(OBJECT, key.curve().object())));
    }
    parts.push(element(CONTEXT_1, &der::bits(&key.point())));
    sequence(&parts)
}

type Found<T> = Option<Result<T, Fault>>;

fn from_pkcs8(mut reader: Reader<'_>) -> Found<Key> {
    reader.number()?;
    let mut algorithm = reader.sequence()?;
    let content = reader.element(OCTET_STRING)?;
    match algorithm.element(OBJECT)? {
        RSA | RSA_PSS => RsaKey::from_pkcs1(content).map(|it| it.map(Key::Rsa)),
        EC => {
            let curve = match Curve::of_object(algorithm.element(OBJECT)?) {
                Ok(curve) => curve,
                Err(fault) => return Some(Err(fault)),
            };
            let reader = Reader::only(content, SEQUENCE)?;
            from_sec1(reader, Some(curve)).map(|it| it.map(Key::Curve))
        }
        ED25519 => {
            let private = Reader::new(content).element(OCTET_STRING)?;
            Some(EdwardsKey::private(private).map(Key::Edwards))
        }
        _ => Some(Err(UNKNOWN_KEY)),
    }
}

fn from_spki(mut reader: Reader<'_>) -> Found<Key> {
    let mut algorithm = reader.sequence()?;
    let content = reader.bits()?;
    match algorithm.element(OBJECT)? {
        RSA | RSA_PSS => RsaKey::from_pkcs1(content).map(|it| it.map(Key::Rsa)),
        EC => {
            let curve = Curve::of_object(algorithm.element(OBJECT)?);
            Some(curve.and_then(|curve| curve.public(content)).map(Key::Curve))
        }
        ED25519 => Some(EdwardsKey::public(content).map(Key::Edwards)),
        _ => Some(Err(UNKNOWN_KEY)),
    }
}

fn from_sec1(mut reader: Reader<'_>, outside: Option<Curve>) -> Found<CurveKey> {
    reader.number()?;
    let private = reader.element(OCTET_STRING)?;
    let curve = if let Some(curve) = outside {
        Ok(curve)
    } else {
        let parameters = reader.element(CONTEXT_0)?;
        Curve::of_object(Reader::new(parameters).element(OBJECT)?)
    };
    Some(curve.and_then(|curve| curve.private(private)))
}

/// The public key of a certificate. Its signature and its dates are not looked at: the program
/// trusts the certificate that it brings.
fn from_certificate(mut reader: Reader<'_>) -> Found<Key> {
    let mut body = reader.sequence()?;
    if body.tag()? == CONTEXT_0 {
        body.any()?;
    }
    // Serial number, algorithm, issuer, dates, subject.
    for _ in 0..5 {
        body.any()?;
    }
    from_spki(body.sequence()?)
}

/// A key as the library sees it.
pub(super) struct Description {
    kind: &'static str,
    is_private: bool,
    parts: Vec<Vec<u8>>,
    der: Vec<u8>,
    public: Vec<u8>,
    inner: Vec<u8>,
}

#[cfg(test)]
impl Description {
    pub(super) const fn is_private(&self) -> bool {
        self.is_private
    }
}

impl<'js> IntoJs<'js> for Description {
    fn into_js(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        object.set("kind", self.kind)?;
        object.set("isPrivate", self.is_private)?;
        object.set("der", TypedArray::new(ctx.clone(), self.der)?)?;
        object.set("public", TypedArray::new(ctx.clone(), self.public)?)?;
        object.set("inner", TypedArray::new(ctx.clone(), self.inner)?)?;
        let parts = Array::new(ctx.clone())?;
        for (at, part) in self.parts.into_iter().enumerate() {
            parts.set(at, TypedArray::new(ctx.clone(), part)?)?;
        }
        object.set("parts", parts)?;
        object.into_js(ctx)
    }
}
