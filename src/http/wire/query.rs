//! Query strings: `application/x-www-form-urlencoded`, in order, with repetitions.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::bounds::QUERY_BYTES_MAX;

#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// `None` if it is too long or not text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > QUERY_BYTES_MAX {
            return None;
        }
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name, PlusSign::Space)?, decode(value, PlusSign::Space)?))
        };
        text.split('&').filter(|part| !part.is_empty()).map(pair).collect::<Option<_>>().map(Self)
    }

    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A plus sign is a space in queries, and itself in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlusSign {
    Itself,
    Space,
}

/// Decodes percent-encoding; `None` for a broken escape or bytes that are not UTF-8.
pub(crate) fn decode(text: &str, plus: PlusSign) -> Option<String> {
    let is_escape = |after: &str| {
        after
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    let text = match plus {
        PlusSign::Itself => Cow::Borrowed(text),
        PlusSign::Space => Cow::Owned(text.replace('+', " ")),
    };
    percent_decode_str(&text).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[(&str, &str)]>) {
        let parsed = Query::parse(text).map(|query| query.0);
        let expected = expected.map(|pairs| {
            let own = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
            pairs.iter().map(own).collect::<Vec<_>>()
        });
        assert_eq!(parsed, expected, "{text}");
    }

    #[test]
    fn queries() {
        check("", Some(&[]));
        check("a=1&a=2&b", Some(&[("a", "1"), ("a", "2"), ("b", "")]));
        check("metadata%5Bk%5D=a+b%2B", Some(&[("metadata[k]", "a b+")]));
        check("a=b=c&&", Some(&[("a", "b=c")]));
        check("a=%", None);
        check("a=%f", None);
        check("a=%zz", None);
        check("a=%ff", None);
        check(&"a".repeat(QUERY_BYTES_MAX + 1), None);
    }

    /// Every byte escaped, as the most careful client does.
    fn escaped(text: &str) -> String {
        text.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
    }

    proptest! {
        #[test]
        fn any_text_arrives_escaped(pairs in proptest::collection::vec(("\\PC{1,8}", "\\PC{0,8}"), 0..4)) {
            let parts: Vec<_> =
                pairs.iter().map(|(name, value)| [escaped(name), escaped(value)].join("=")).collect();
            let query = Query::parse(&parts.join("&")).unwrap();
            prop_assert_eq!(query.0, pairs);
        }

        #[test]
        fn no_text_panics(text in "[%0-9a-f+&=]{0,30}|\\PC{0,30}") {
            let pieces = text.split('&').filter(|it| !it.is_empty()).count();
            if let Some(query) = Query::parse(&text) {
                prop_assert_eq!(query.pairs().count(), pieces);
            }
        }
    }
}
