//! The cryptography of programs: hashes, ciphers, signatures and keys, as functions of the object
//! `crypto` of the host.
//!
//! The functions are pure. The library in `src/code/library` makes Node's and the browser's
//! interfaces of them. Bytes come in as base64, since the memory of the engine is not readable
//! without unsafe code, and go out as `Uint8Array`. Keys come in as DER. A program's keys live in
//! its worker alone, and messages of failures hold no input.

mod ciphers;
mod curves;
mod der;
mod edwards;
mod fault;
mod hashes;
mod keys;
mod padding;
mod rsa_keys;
mod signatures;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::function::Func;
use rquickjs::{Ctx, Exception, FromJs, Object, TypedArray, Value};
use zeroize::Zeroizing;

use crate::code::worker::crypto::ciphers::Cipher;
use crate::code::worker::crypto::fault::Fault;
use crate::code::worker::crypto::hashes::Hash;
use crate::code::worker::crypto::keys::Key;
use crate::code::worker::crypto::padding::Encryption;
use crate::code::worker::crypto::signatures::Scheme;
use crate::crypto::{Random, is_equal};

/// Puts the object `crypto` into the host.
pub fn install<'js>(ctx: &Ctx<'js>, host: &Object<'js>) -> rquickjs::Result<()> {
    let crypto = Object::new(ctx.clone())?;
    install_hashes(&crypto)?;
    install_ciphers(&crypto)?;
    install_keys(&crypto)?;
    install_signatures(&crypto)?;
    install_texts(&crypto)?;
    host.set("crypto", crypto)
}

type Answer<'js> = rquickjs::Result<TypedArray<'js, u8>>;

/// Bytes that a program gives, sent as base64.
struct Bytes(Zeroizing<Vec<u8>>);

impl<'js> FromJs<'js> for Bytes {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Self> {
        let text = Zeroizing::new(String::from_js(ctx, value)?);
        match STANDARD.decode(text.as_bytes()) {
            Ok(bytes) => Ok(Self(Zeroizing::new(bytes))),
            Err(_) => Err(Exception::throw_type(ctx, "The bytes are not base64")),
        }
    }
}

fn answer(ctx: Ctx<'_>, result: Result<Vec<u8>, Fault>) -> Answer<'_> {
    match result {
        Ok(bytes) => TypedArray::new(ctx, bytes),
        Err(fault) => Err(fault.throw(&ctx)),
    }
}

fn install_hashes(crypto: &Object<'_>) -> rquickjs::Result<()> {
    crypto.set("isHash", Func::from(|name: String| Hash::named(&name).is_ok()))?;
    crypto.set(
        "hash",
        Func::from(|ctx, name: String, data: Bytes| {
            answer(ctx, Hash::named(&name).map(|hash| hash.digest(&[&data.0])))
        }),
    )?;
    crypto.set(
        "hmac",
        Func::from(|ctx, name: String, key: Bytes, data: Bytes| {
            answer(ctx, Hash::named(&name).map(|hash| hash.mac(&key.0, &[&data.0])))
        }),
    )?;
    crypto.set(
        "pbkdf2",
        Func::from(|ctx, name: String, password: Bytes, salt: Bytes, rounds: u32, bytes: usize| {
            let result = Hash::named(&name)
                .and_then(|hash| hashes::pbkdf2(hash, &password.0, &salt.0, rounds, bytes));
            answer(ctx, result)
        }),
    )
}

fn install_ciphers(crypto: &Object<'_>) -> rquickjs::Result<()> {
    crypto
        .set("cipher", Func::from(|name: String| Cipher::named(&name).ok().map(Cipher::sizes)))?;
    crypto.set(
        "encrypt",
        Func::from(|ctx, name: String, key: Bytes, iv: Bytes, data: Bytes, aad: Bytes| {
            let result = Cipher::named(&name)
                .and_then(|cipher| cipher.encrypt(&key.0, &iv.0, &data.0, &aad.0));
            answer(ctx, result)
        }),
    )?;
    crypto.set(
        "decrypt",
        Func::from(
            |ctx, name: String, key: Bytes, iv: Bytes, data: Bytes, aad: Bytes, tag: Bytes| {
                let result = Cipher::named(&name)
                    .and_then(|cipher| cipher.decrypt(&key.0, &iv.0, &data.0, &aad.0, &tag.0));
                answer(ctx, result)
            },
        ),
    )
}

fn install_keys(crypto: &Object<'_>) -> rquickjs::Result<()> {
    crypto.set(
        "readKey",
        Func::from(|ctx: Ctx<'_>, der: Bytes| {
            let key = Key::from_der(&der.0).map_err(|fault| fault.throw(&ctx))?;
            Ok::<_, rquickjs::Error>(key.describe())
        }),
    )?;
    crypto.set(
        "makeKey",
        Func::from(|ctx: Ctx<'_>, kind: String, size: usize| {
            let key = Key::generate(&kind, size, &Random::new()).map_err(|it| it.throw(&ctx))?;
            Ok::<_, rquickjs::Error>(key.describe())
        }),
    )?;
    crypto.set(
        "keyOfParts",
        Func::from(|ctx: Ctx<'_>, kind: String, parts: Vec<Bytes>| {
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.0.as_slice()).collect();
            let key = Key::from_parts(&kind, &parts).map_err(|fault| fault.throw(&ctx))?;
            Ok::<_, rquickjs::Error>(key.describe())
        }),
    )?;
    crypto.set(
        "agree",
        Func::from(|ctx, private: Bytes, public: Bytes| {
            let secret = Key::from_der(&private.0).and_then(|private| {
                Key::from_der(&public.0).and_then(|public| private.agree(&public))
            });
            answer(ctx, secret)
        }),
    )
}

fn install_signatures(crypto: &Object<'_>) -> rquickjs::Result<()> {
    crypto.set(
        "sign",
        Func::from(|ctx, key: Bytes, scheme: String, hash: String, salt: i32, data: Bytes| {
            let result = Scheme::named(&scheme, &hash, salt)
                .and_then(|scheme| scheme.sign(&Key::from_der(&key.0)?, &data.0, &Random::new()));
            answer(ctx, result)
        }),
    )?;
    crypto.set(
        "verify",
        Func::from(
            |ctx: Ctx<'_>,
             key: Bytes,
             scheme: String,
             hash: String,
             salt: i32,
             data: Bytes,
             signature: Bytes| {
                let result = Scheme::named(&scheme, &hash, salt).and_then(|scheme| {
                    scheme.verify(&Key::from_der(&key.0)?, &data.0, &signature.0)
                });
                result.map_err(|fault| fault.throw(&ctx))
            },
        ),
    )?;
    install_encryption(crypto, "seal", Encryption::encrypt)?;
    install_encryption(crypto, "unseal", Encryption::decrypt)
}

/// RSA encryption or decryption of data with a key.
type RsaWork = fn(&Encryption, &Key, &[u8], &Random) -> Result<Vec<u8>, Fault>;

fn install_encryption(crypto: &Object<'_>, name: &str, work: RsaWork) -> rquickjs::Result<()> {
    crypto.set(
        name,
        Func::from(
            move |ctx,
                  key: Bytes,
                  padding: String,
                  hash: String,
                  mask: String,
                  label: Bytes,
                  data: Bytes| {
                let result = Encryption::named(&padding, &hash, &mask, &label.0)
                    .and_then(|it| work(&it, &Key::from_der(&key.0)?, &data.0, &Random::new()));
                answer(ctx, result)
            },
        ),
    )
}

fn install_texts(crypto: &Object<'_>) -> rquickjs::Result<()> {
    crypto.set("utf8", Func::from(|ctx, text: String| answer(ctx, Ok(text.into_bytes()))))?;
    crypto
        .set("textOf", Func::from(|bytes: Bytes| String::from_utf8_lossy(&bytes.0).into_owned()))?;
    crypto.set("isUtf8", Func::from(|bytes: Bytes| std::str::from_utf8(&bytes.0).is_ok()))?;
    crypto.set("equal", Func::from(|one: Bytes, other: Bytes| is_equal(&one.0, &other.0)))
}
