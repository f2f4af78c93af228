use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<String, (Refused, usize)> {
    let query = parse(text).map_err(|bad| (bad.why, bad.at))?;
    let container = query.container.map_or(String::from("*"), |it| String::from(it.as_str()));
    let filter = match query.filter {
        TokenFilter::Everything => String::from("everything"),
        TokenFilter::Fingerprint(print) => format!("fingerprint {print}"),
        TokenFilter::Metadata(key, value) => format!("metadata {key} = {value}"),
        TokenFilter::SearchTerm(term) => format!("data {}", term.expose()),
        TokenFilter::Type(kind) => format!("type {}", kind.as_str()),
    };
    Ok(format!("{container} {filter}"))
}

fn read_legacy(text: &str) -> Result<String, (Refused, usize)> {
    let query = parse_legacy(text).map_err(|bad| (bad.why, bad.at))?;
    let term = query.search_term.map(|term| term.expose().clone());
    Ok(format!("{:?} {:?} {:?}", query.ids, query.metadata, term))
}

#[track_caller]
fn check(text: &str, expected: Result<&str, (Refused, usize)>) {
    assert_eq!(read(text), expected.map(String::from), "{text}");
}

#[track_caller]
fn check_legacy(text: &str, expected: Result<&str, (Refused, usize)>) {
    assert_eq!(read_legacy(text), expected.map(String::from), "{text}");
}

#[test]
fn a_query_is_one_term_and_a_container() {
    check("", Ok("* everything"));
    check("  ", Ok("* everything"));
    check("data:4242", Ok("* data 4242"));
    check("type:card", Ok("* type card"));
    check("fingerprint:AbC", Ok("* fingerprint AbC"));
    check("metadata.User:Ann", Ok("* metadata User = Ann"));
    check("metadata.a.b:c", Ok("* metadata a.b = c"));
    check("container:\"/PCI/\"", Ok("/pci/ everything"));
    check("container:/pci/ AND data:x", Ok("/pci/ data x"));
    check(" type:bank  AND  container:\"/\" ", Ok("/ type bank"));
}

#[test]
fn quotes_hold_anything_and_a_backslash_means_the_next_letter_itself() {
    check(r#"data:"a b""#, Ok("* data a b"));
    check(r#"data:"a\"b\\c\d""#, Ok(r#"* data a"b\cd"#));
    check(r#"data:"x AND y:z""#, Ok("* data x AND y:z"));
    check(r#"metadata.k:"""#, Ok("* metadata k = "));
    check(r#"metadata."my key: \"1\"":v"#, Ok(r#"* metadata my key: "1" = v"#));
    check("metadata.url:http://x/?a=b", Ok("* metadata url = http://x/?a=b"));
    check(r#"data:"a"#, Err((Refused::Unclosed, 6)));
    check(r#"data:"a\"#, Err((Refused::Unclosed, 6)));
    check(r#"data:"a"b"#, Err((Refused::Quotes, 9)));
    check(r"data:a\b", Err((Refused::Quotes, 7)));
    check("data:f(x)", Err((Refused::Quotes, 7)));
}

#[test]
fn other_forms_are_refused_by_name_and_place() {
    check("data:a OR data:b", Err((Refused::Or, 8)));
    check("data:a || data:b", Err((Refused::Or, 8)));
    check("NOT data:a", Err((Refused::Negation, 1)));
    check("-data:a", Err((Refused::Negation, 1)));
    check("!data:a", Err((Refused::Negation, 1)));
    check("data:a NOT type:card", Err((Refused::Negation, 8)));
    check("container:/a/ AND NOT type:card", Err((Refused::Negation, 19)));
    check("(data:a)", Err((Refused::Group, 1)));
    check("data:a type:card", Err((Refused::Connective, 8)));
    check("data:a and container:/a/", Err((Refused::Connective, 8)));
    check("data:a AND", Err((Refused::NoTerm, 11)));
    check("data:a AND  ", Err((Refused::NoTerm, 13)));
    check("AND data:a", Err((Refused::NoTerm, 1)));
    check("data:a AND AND", Err((Refused::NoTerm, 12)));
    check("4242", Err((Refused::NoColon, 5)));
    check("data", Err((Refused::NoColon, 5)));
    check("data:", Err((Refused::NoValue, 6)));
    check("data: x", Err((Refused::NoValue, 6)));
    for field in ["id", "created_by", "modified_at", "metadata", "metadata.", "Type", ""] {
        check(&format!("{field}:x"), Err((Refused::Field, 1)));
    }
}

#[test]
fn values_that_cannot_match_anything_are_refused() {
    check("type:cards", Err((Refused::Type, 1)));
    check("data:x AND container:pci", Err((Refused::Container(InvalidContainer::Ends), 12)));
}

#[test]
fn a_field_stands_once_and_only_a_container_beside_another() {
    check("container:/a/ AND container:/b/", Err((Refused::Repeated, 19)));
    check("data:a AND data:b", Err((Refused::Mixed, 12)));
    check("metadata.a:x AND metadata.b:y", Err((Refused::Mixed, 18)));
    check("container:/a/ AND type:card AND data:b", Err((Refused::Mixed, 33)));
}

#[test]
fn a_legacy_query_is_one_id_or_data_term_or_metadata_terms() {
    check_legacy("", Ok("None [] None"));
    check_legacy("id:abc", Ok(r#"Some(["abc"]) [] None"#));
    check_legacy("data:x", Ok(r#"None [] Some("x")"#));
    check_legacy("metadata.a:x AND metadata.b:y", Ok(r#"None [("a", "x"), ("b", "y")] None"#));
    for (text, at) in [
        ("metadata.a:x AND data:y", 18),
        ("data:y AND metadata.a:x", 12),
        ("id:a AND id:b", 10),
        ("data:a AND data:b", 12),
        ("data:a AND id:b", 12),
    ] {
        check_legacy(text, Err((Refused::Mixed, at)));
    }
    for text in ["type:card", "container:/a/", "fingerprint:x", "created_at:x"] {
        check_legacy(text, Err((Refused::Field, 1)));
    }
}

#[test]
fn a_query_has_at_most_200_characters() {
    let longest = format!("data:{}", "\u{e9}".repeat(SEARCH_QUERY_CHARS_MAX - 5));
    assert!(parse(&longest).is_ok());
    let bad = parse(&format!("{longest}x")).unwrap_err();
    assert_eq!((bad.why, bad.at), (Refused::TooLong, SEARCH_QUERY_CHARS_MAX + 1));
}

#[test]
fn a_refusal_says_where_and_which_forms_there_are() {
    let text = parse("data:secret OR type:card").unwrap_err().to_string();
    assert!(text.starts_with("OR is not supported (character 13). Supported are"), "{text}");
    assert!(!text.contains("secret"));
    let text = parse_legacy("type:card").unwrap_err().to_string();
    assert!(text.contains("several metadata.<key> terms joined by AND"), "{text}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,60}", shaped in "[a-z:\"\\\\ ().ANDOR-]{0,60}") {
        for text in [text, shaped] {
            for refused in [parse(&text).err(), parse_legacy(&text).err()].into_iter().flatten() {
                prop_assert!(refused.at <= text.chars().count() + 1);
                prop_assert!(!refused.to_string().is_empty());
            }
        }
    }

    #[test]
    fn every_key_and_value_can_be_written(key in "(?s).{1,40}", value in "(?s).{0,40}") {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("metadata.\"{}\":\"{}\"", quoted(&key), quoted(&value));
        prop_assume!(text.chars().count() <= SEARCH_QUERY_CHARS_MAX);
        let found = parse(&text).map(|query| query.filter);
        let Ok(TokenFilter::Metadata(read_key, read_value)) = found else {
            return Err(TestCaseError::fail("not read as metadata"));
        };
        prop_assert_eq!((read_key, read_value), (key, value));
    }
}
