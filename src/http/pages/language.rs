//! The language of a page, by the header `Accept-Language`.

use hyper::header::{self, HeaderMap};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Language {
    English,
    German,
    French,
    Spanish,
}

impl Language {
    pub(super) const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
        }
    }

    /// The language with the highest weight; of several, the first, as browsers order them. English
    /// if the pages have none of them.
    pub(in crate::http) fn preferred(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::ACCEPT_LANGUAGE).into_iter();
        let ranges = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
        let mut best = (0, Self::English);
        for (language, weight) in ranges.filter_map(parse) {
            if weight > best.0 {
                best = (weight, language);
            }
        }
        best.1
    }
}

/// A known language and its weight in thousandths, from a range such as `de-CH;q=0.8`.
fn parse(range: &str) -> Option<(Language, u16)> {
    let (tag, parameter) = range.split_once(';').unwrap_or((range, "q=1"));
    let spoken = tag.trim().split('-').next()?;
    let is_spoken = |it: &Language| it.tag().eq_ignore_ascii_case(spoken);
    let any = || (spoken == "*").then_some(Language::English);
    let language = Language::ALL.into_iter().find(is_spoken).or_else(any)?;
    let parameter = parameter.trim();
    let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="))?;
    Some((language, thousandths(weight)?))
}

/// A weight from 0 to 1 with up to three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let decimals = format!("{decimals:0<3}").parse().ok()?;
    match (whole, decimals) {
        ("0", decimals) => Some(decimals),
        ("1", 0) => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Language) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT_LANGUAGE, HeaderValue::from_str(line).unwrap());
        }
        assert_eq!(Language::preferred(&headers), expected, "{lines:?}");
    }

    #[test]
    fn the_language_with_the_highest_weight_is_chosen() {
        check(&["de-CH;q=0.8, fr"], Language::French);
        check(&["de-CH;q=0.8,fr;q=0.79"], Language::German);
        check(&["fr;q=0.300, ES-mx;Q=0.301"], Language::Spanish);
        check(&["de-AT, de;q=0.9, en;q=0.8"], Language::German);
        check(&["es", "fr"], Language::Spanish);
        check(&["ja, it;q=0.9, fr ; q=0.1"], Language::French);
        check(&["*, de;q=0.5"], Language::English);
    }

    #[test]
    fn without_a_known_language_the_page_is_english() {
        for line in ["", "ja", "de;q=0", "deutsch", "de;q=2", "de;q=0.1234", "de;q=x", "de;level=1"]
        {
            check(&[line], Language::English);
        }
        check(&[], Language::English);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_bytes(b"d\xe9").unwrap());
        assert_eq!(Language::preferred(&headers), Language::English);
    }

    #[test]
    fn a_weight_is_at_most_one() {
        proptest::proptest!(|(tag in "de|fr|\\*|.{0,3}", weight in ".{0,6}")| {
            let found = parse(&format!("{tag};q={weight}"));
            proptest::prop_assert!(found.is_none_or(|(_, weight)| weight <= 1_000));
        });
    }
}
