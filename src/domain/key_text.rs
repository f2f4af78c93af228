//! The texts of API keys: `key_{test|prod}_self_{pvt|pub|mgt|sess}_{22 base58}`. Private keys and
//! keys of sessions also have `.{32 hex}`.

use std::collections::BTreeSet;

use crate::bounds::{IMPORTED_KEY_BYTES_MIN, IMPORTED_KEY_LETTERS_MIN};
use crate::bounds::{KEY_TEXT_BYTES_MAX, KEY_TEXT_BYTES_MIN};
use crate::domain::application::ApplicationKind;
use crate::domain::base58;
use crate::domain::hex;
use crate::domain::tenant::TenantKind;
use crate::secret::Secret;

/// 22 base58 digits hold 128 bits.
const DIGITS: usize = 22;

const SESSION: &str = "sess";

/// A key's text. It exists only while a key is made or presented. The store holds it only in a
/// remembered answer, sealed under the key's seed.
#[derive(Debug)]
pub struct KeyText(Secret<String>);

impl KeyText {
    /// The rule of [`KeyText::import`].
    pub const IMPORT_RULE: &str = "A key has 20 to 100 letters, digits, hyphens, underscores and \
                                   dots, and at least 6 different ones among the last 20.";

    pub fn new(tenant: TenantKind, application: ApplicationKind, random: &[u8; 32]) -> Self {
        let kind = match application {
            ApplicationKind::Management => "mgt",
            ApplicationKind::Private => "pvt",
            ApplicationKind::Public => "pub",
        };
        Self::of_kind(tenant, kind, application == ApplicationKind::Private, random)
    }

    pub fn of_session(tenant: TenantKind, random: &[u8; 32]) -> Self {
        Self::of_kind(tenant, SESSION, true, random)
    }

    /// True if the text has the form of a session's key. Imported keys may have this form too.
    pub fn may_be_of_session(&self) -> bool {
        self.expose().split('_').nth(3) == Some(SESSION)
    }

    fn of_kind(tenant: TenantKind, kind: &str, is_long: bool, random: &[u8; 32]) -> Self {
        let (front, back) = random.split_at(16);
        let tenant = match tenant {
            TenantKind::Production => "prod",
            TenantKind::Test => "test",
        };
        let digits = base58::encode_padded(front, DIGITS);
        let mut text = format!("key_{tenant}_self_{kind}_{digits}");
        if is_long {
            text.push('.');
            text.push_str(&hex::encode(back));
        }
        Self(Secret::new(text))
    }

    /// A text that a client presented, or that was imported from another service.
    pub fn parse(text: &str) -> Option<Self> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let length = KEY_TEXT_BYTES_MIN..=KEY_TEXT_BYTES_MAX;
        (length.contains(&text.len()) && text.bytes().all(legal))
            .then(|| Self(Secret::new(String::from(text))))
    }

    /// A key of another service. It must be hard to guess.
    pub fn import(text: &str) -> Option<Self> {
        let end = text.len().saturating_sub(IMPORTED_KEY_BYTES_MIN);
        let end = text.get(end..).unwrap_or_default();
        let letters: BTreeSet<u8> = end.bytes().collect();
        Self::parse(text).filter(|_| {
            text.len() >= IMPORTED_KEY_BYTES_MIN && letters.len() >= IMPORTED_KEY_LETTERS_MIN
        })
    }

    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tenant: TenantKind, application: ApplicationKind, start: &str, length: usize) {
        let key = KeyText::new(tenant, application, &[0xab; 32]);
        assert!(key.expose().starts_with(start), "{}", key.expose());
        assert_eq!(key.expose().len(), length);
        assert!(KeyText::parse(key.expose()).is_some());
    }

    #[test]
    fn key_texts_have_the_published_shape() {
        check(TenantKind::Test, ApplicationKind::Private, "key_test_self_pvt_", 18 + 22 + 33);
        check(TenantKind::Production, ApplicationKind::Public, "key_prod_self_pub_", 18 + 22);
        check(TenantKind::Production, ApplicationKind::Management, "key_prod_self_mgt_", 18 + 22);
        assert_eq!(
            KeyText::new(TenantKind::Test, ApplicationKind::Public, &[0; 32]).expose(),
            "key_test_self_pub_1111111111111111111111"
        );
    }

    #[test]
    fn a_sessions_key_is_recognized_by_its_text() {
        let key = KeyText::of_session(TenantKind::Test, &[0xab; 32]);
        assert!(key.expose().starts_with("key_test_self_sess_"), "{}", key.expose());
        assert_eq!(key.expose().len(), 19 + 22 + 33);
        assert!(KeyText::parse(key.expose()).unwrap().may_be_of_session());
        let other = KeyText::new(TenantKind::Test, ApplicationKind::Private, &[0xab; 32]);
        assert!(!other.may_be_of_session());
    }

    #[test]
    fn texts_that_cannot_be_keys_do_not_parse() {
        for text in
            ["", "short", "key_test_self_pvt_ 1234567890", &"k".repeat(101), "k\u{e9}y_123456789"]
        {
            assert!(KeyText::parse(text).is_none());
        }
    }

    #[test]
    fn texts_that_somebody_guesses_are_not_imported() {
        let same = KeyText::new(TenantKind::Test, ApplicationKind::Private, &[0xab; 32]);
        let zero = KeyText::new(TenantKind::Test, ApplicationKind::Public, &[0; 32]);
        for text in ["key_N88mVGsp3sCXkykyN2EFED", "0123456789abcdef0123"] {
            assert_eq!(KeyText::import(text).unwrap().expose(), text);
        }
        let repeated = ["a".repeat(36), format!("key_test_self_pvt_{}", "ab".repeat(10))];
        let weak = [&repeated[0], &repeated[1], zero.expose(), same.expose(), "0123456789abcdef"];
        for text in weak {
            assert!(KeyText::parse(text).is_some() && KeyText::import(text).is_none(), "{text}");
        }
        let bounds = [IMPORTED_KEY_BYTES_MIN, IMPORTED_KEY_LETTERS_MIN, KEY_TEXT_BYTES_MAX];
        for bound in bounds {
            assert!(KeyText::IMPORT_RULE.contains(&bound.to_string()), "{bound}");
        }
    }
}
