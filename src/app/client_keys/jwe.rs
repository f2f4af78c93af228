//! The compact form of JWE (RFC 7516) that clients use: five parts in base64url, separated by dots,
//! the second one empty.
//!
//! The header is read strictly. A member that this program does not know could change the meaning
//! of the message, so such a message is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::bounds::JWE_HEADER_BYTES_MAX;
use crate::crypto::ClientMessage;
use crate::domain::id::ClientKeyId;
use crate::domain::outside_json;
use crate::threeds::message::repeated;

/// `typ` describes the message and is ignored.
const HEADER: &[&str] = &["alg", "cty", "enc", "epk", "kid", "typ"];
const EPHEMERAL_KEY: &[&str] = &["crv", "kty", "x"];

/// The authentication tag follows the cipher text.
const TAG_BYTES: usize = 16;

pub(super) struct Message<'a> {
    pub(super) key: ClientKeyId,
    /// The token type that the client encrypted the value for (`cty`), if the header has one.
    pub(super) kind: Option<String>,
    pub(super) sealed: ClientMessage<'a>,
}

/// `None` unless the text is such a message.
pub(super) fn parse(text: &str) -> Option<Message<'_>> {
    let mut parts = text.split('.');
    let mut part = || parts.next();
    let (protected, encrypted_key) = (part()?, part()?);
    let (iv, cipher_text, tag) = (part()?, part()?, part()?);
    if !encrypted_key.is_empty() || part().is_some() {
        return None;
    }
    let (key, kind, ephemeral) = header(protected)?;
    let tag: [u8; TAG_BYTES] = exactly(tag)?;
    let mut sealed = URL_SAFE_NO_PAD.decode(cipher_text).ok()?;
    sealed.extend_from_slice(&tag);
    let authenticated = protected.as_bytes();
    let sealed = ClientMessage { ephemeral, iv: exactly(iv)?, sealed, authenticated };
    Some(Message { key, kind, sealed })
}

/// The client encryption key and the type that the header names, and the client's ephemeral public
/// key.
fn header(protected: &str) -> Option<(ClientKeyId, Option<String>, [u8; 32])> {
    // Four characters hold three bytes.
    if protected.len() > JWE_HEADER_BYTES_MAX.saturating_mul(4).div_ceil(3) {
        return None;
    }
    let text = URL_SAFE_NO_PAD.decode(protected).ok()?;
    let header = outside_json::parse(&text)?;
    // Of two members with the same name, our parser keeps the last one, but another parser may not.
    if repeated(&text).is_some() {
        return None;
    }
    let header = known(header.expose(), HEADER)?;
    let ephemeral = known(header.get("epk")?, EPHEMERAL_KEY)?;
    let is = |members: &Map<String, Value>, name: &str, text: &str| {
        members.get(name).and_then(Value::as_str) == Some(text)
    };
    let is_supported = is(header, "alg", "ECDH-ES")
        && is(header, "enc", "A256GCM")
        && is(ephemeral, "kty", "OKP")
        && is(ephemeral, "crv", "X25519");
    if !is_supported {
        return None;
    }
    let key = ClientKeyId::parse(header.get("kid")?.as_str()?)?;
    let kind = match header.get("cty") {
        Some(kind) => Some(String::from(kind.as_str()?)),
        None => None,
    };
    Some((key, kind, exactly(ephemeral.get("x")?.as_str()?)?))
}

/// `None` if the object has other members.
fn known<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Map<String, Value>> {
    let members = value.as_object()?;
    members.keys().all(|name| names.contains(&name.as_str())).then_some(members)
}

fn exactly<const N: usize>(text: &str) -> Option<[u8; N]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const KEY: &str = "018bcfe5-6800-4fff-bfff-ffffffffffff";

    fn encode(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn message(header: &str) -> String {
        let (iv, text, tag) = (encode(&[1; 12]), encode(b"text"), encode(&[2; 16]));
        format!("{}..{iv}.{text}.{tag}", encode(header.as_bytes()))
    }

    fn valid() -> Value {
        let epk = json!({"kty": "OKP", "crv": "X25519", "x": encode(&[3; 32])});
        json!({"alg": "ECDH-ES", "enc": "A256GCM", "kid": KEY, "epk": epk})
    }

    #[test]
    fn a_message_has_five_parts_and_names_its_key() {
        let text = message(&valid().to_string());
        let Message { key, kind, sealed: parsed } = parse(&text).unwrap();
        assert_eq!((key.to_string().as_str(), kind), (KEY, None));
        assert_eq!((parsed.ephemeral, parsed.iv), ([3; 32], [1; 12]));
        assert_eq!(parsed.sealed, [b"text".as_slice(), &[2; 16]].concat());
        assert_eq!(parsed.authenticated, text.split('.').next().unwrap().as_bytes());
        let mut described = valid();
        described["typ"] = json!("JOSE");
        described["cty"] = json!("card");
        let parsed = parse(&message(&described.to_string())).unwrap().kind;
        assert_eq!(parsed.as_deref(), Some("card"));
    }

    #[test]
    fn any_other_header_is_refused() {
        let check = |path: &str, value: Value| {
            let mut header = valid();
            match path.split_once('.') {
                Some((outer, inner)) => header[outer][inner] = value.clone(),
                None => header[path] = value.clone(),
            }
            assert!(parse(&message(&header.to_string())).is_none(), "{path} {value}");
        };
        for wrong in [json!(null), json!("dir"), json!("ECDH-ES+A256KW"), json!(["ECDH-ES"])] {
            check("alg", wrong);
        }
        check("enc", json!("A128GCM"));
        check("enc", json!("a256gcm"));
        check("kid", json!("none"));
        check("kid", json!(KEY.to_uppercase()));
        check("epk", json!("x"));
        check("epk.kty", json!("EC"));
        check("epk.crv", json!("X448"));
        check("epk.x", json!(encode(&[3; 31])));
        check("epk.x", json!(encode(&[3; 33])));
        check("epk.d", json!(encode(&[3; 32])));
        check("cty", json!(null));
        check("cty", json!(["card"]));
        check("crit", json!(["exp"]));
        check("crit", json!([]));
        check("zip", json!("DEF"));
        check("apu", json!("QWxpY2U"));
        check("unknown", json!(1));
        let twice = valid().to_string().replacen('{', r#"{"kid":"other","#, 1);
        assert!(parse(&message(&twice)).is_none(), "{twice}");
        let large = format!("{}{}", valid(), " ".repeat(JWE_HEADER_BYTES_MAX));
        assert!(parse(&message(&large)).is_none());
        for name in ["alg", "enc", "kid", "epk"] {
            let mut header = valid();
            header.as_object_mut().unwrap().remove(name);
            assert!(parse(&message(&header.to_string())).is_none(), "{name}");
        }
    }

    #[test]
    fn parts_of_another_number_or_length_are_refused() {
        let text = message(&valid().to_string());
        for wrong in [
            String::new(),
            text.replace("..", "."),
            text.replace("..", ".AA."),
            format!("{text}."),
            format!("{text}="),
            text.replace(&encode(&[1; 12]), &encode(&[1; 16])),
            text.replace(&encode(&[2; 16]), &encode(&[2; 12])),
        ] {
            assert!(parse(&wrong).is_none(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_fail(text in "\\PC{0,80}|([A-Za-z0-9_-]{0,12}\\.){0,6}") {
            prop_assert!(parse(&text).is_none());
        }
    }
}
