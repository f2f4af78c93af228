//! Tables of patterns, and a comparison with `regex-lite`.

use proptest::prelude::*;

use super::*;
use crate::bounds::{PROXY_PATTERN_BYTES_MAX, PROXY_PATTERN_STATES_MAX};

fn all(pattern: &Pattern, text: &str) -> Vec<Match> {
    let mut steps = Steps::new(10_000_000);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(one) = pattern.find_at(text, at, &mut steps).unwrap() {
        let (from, to) = one.whole;
        let next = text.get(to..).unwrap().chars().next().map_or(1, char::len_utf8);
        at = if to > from { to } else { to + next };
        found.push(one);
        if at > text.len() {
            break;
        }
    }
    found
}

#[track_caller]
fn check(pattern: &str, text: &str, expected: &[(&str, &[&str])]) {
    let found = all(&Pattern::parse(pattern).unwrap(), text);
    let slice = |(from, to): (usize, usize)| text.get(from..to).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|it| {
            (slice(it.whole), it.groups.iter().map(|group| slice(*group)).collect::<Vec<_>>())
        })
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(whole, groups)| (*whole, groups.to_vec())).collect();
    assert_eq!(found, expected, "{pattern}");
}

#[test]
fn patterns_find_what_regular_expressions_find() {
    check(r"(\d{12})\d{4}", "a 4242424242424242 b", &[("4242424242424242", &["424242424242"])]);
    check("(a+)(b*)", "aab-a", &[("aab", &["aa", "b"]), ("a", &["a", ""])]);
    check("(a+?)(b?)", "aab", &[("a", &["a", ""]), ("ab", &["a", "b"])]);
    check("(a)|(b)", "ab", &[("a", &["a"]), ("b", &["b"])]);
    check("(a.*b)|(a)", "axb a", &[("axb", &["axb"]), ("a", &["a"])]);
    check(r#""pan":\s*"([^"]+)""#, r#"{"pan": "42"}"#, &[(r#""pan": "42""#, &["42"])]);
    check("(?i)(PAN)", "pAn", &[("pAn", &["pAn"])]);
    check(r"^(a)|(b)$", "aab", &[("a", &["a"]), ("b", &["b"])]);
    check(r"\b(\w+)\b", "ab cd", &[("ab", &["ab"]), ("cd", &["cd"])]);
    check(r"(?:x(?<y>y)){2}", "xyxy", &[("xyxy", &["y"])]);
    check("([\u{e4}-\u{fc}\\-.])", "\u{f6}-", &[("\u{f6}", &["\u{f6}"]), ("-", &["-"])]);
    check("([^a-c])", "abd", &[("d", &["d"])]);
    check("(a|ab)(c|bcd)(d*)", "abcd", &[("abcd", &["a", "bcd", ""])]);
}

#[test]
fn what_is_malformed_or_too_large_is_refused() {
    for text in [
        "(", ")", "a)", "[a", "[]", "[b-a]", "*", "a**", "a{2", "a{3,2}", "\\", "\\1", "\\p{L}",
        "(?=a)", "(?<!a)", "(?<>a)", "a{", "^*", "a}", "]",
    ] {
        assert_eq!(Pattern::parse(text).err(), Some(InvalidPattern::Malformed), "{text}");
    }
    let many = |count: usize| format!("a{{{count}}}");
    assert!(Pattern::parse(&many(PROXY_PATTERN_STATES_MAX - 1)).is_ok());
    let deep = "(?:".repeat(20) + &")".repeat(20);
    let groups = "(a)".repeat(17);
    let nested = "(?:(?:(?:a{9}){9}){9}){9}";
    let long = "a".repeat(PROXY_PATTERN_BYTES_MAX + 1);
    for text in [
        &many(PROXY_PATTERN_STATES_MAX),
        &many(99_999),
        &deep,
        &groups,
        nested,
        &long,
        "(?:){9999}",
        "(?:(?:){400}){400}",
    ] {
        assert_eq!(Pattern::parse(text).err(), Some(InvalidPattern::TooLarge), "{text}");
    }
}

#[test]
fn a_search_that_reads_the_rest_for_every_match_runs_out_of_steps() {
    let pattern = Pattern::parse("(a.*b)|(a)").unwrap();
    let text = "a".repeat(100_000);
    let mut steps = Steps::new(5_000_000);
    let mut at = 0;
    let out = loop {
        match pattern.find_at(&text, at, &mut steps) {
            Ok(Some(found)) => at = found.whole.1,
            other => break other,
        }
    };
    assert_eq!(out, Err(TooManySteps));
    assert_eq!(steps.spend(1), Err(TooManySteps));
}

proptest! {
    #[test]
    fn matches_are_those_of_another_implementation(
        // Engines differ on repetitions of empty matches, so atoms are never empty.
        pieces in proptest::collection::vec(
            ("a|b|\\.|\\[ab\\]|\\[\\^a\\]|\\(a\\)|\\(ab\\|b\\)|\\(\\?:a\\|b\\)|\\\\b|\\(a\\|\\(b\\)\\)", "|\\*|\\+|\\?|\\{2\\}|\\{1,2\\}|\\*\\?|\\+\\?"),
            1..6,
        ),
        text in "[abc\\- ]{0,12}",
    ) {
        let piece = |(atom, many): &(String, String)| {
            if atom == "\\b" { atom.clone() } else { format!("{atom}{many}") }
        };
        let source: String = pieces.iter().map(piece).collect();
        let ours = all(&Pattern::parse(&source).unwrap(), &text);
        let other = regex_lite::Regex::new(&source).unwrap();
        let theirs: Vec<_> = other
            .captures_iter(&text)
            .map(|found| {
                let place = |it: regex_lite::Match<'_>| (it.start(), it.end());
                Match {
                    whole: place(found.get(0).unwrap()),
                    groups: found.iter().skip(1).flatten().map(place).collect(),
                }
            })
            .collect();
        // `regex-lite` leaves out an empty match directly after another match.
        let ours: Vec<_> = ours
            .iter()
            .enumerate()
            .filter(|(at, it)| {
                it.whole.0 != it.whole.1 || *at == 0 || ours[at - 1].whole.1 != it.whole.0 || ours[at - 1].whole.0 == ours[at - 1].whole.1
            })
            .map(|(_, it)| it.clone())
            .collect();
        prop_assert_eq!(ours, theirs, "{}", source);
    }
}
