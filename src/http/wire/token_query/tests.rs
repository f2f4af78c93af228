use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounds::CURSOR_CHARS_MAX;
use crate::http::wire::Object;

/// A description of the parsed query, or the paths of its mistakes.
fn read(text: &str) -> Result<String, Vec<String>> {
    let (query, start) = parse_list(&Query::parse(text).unwrap()).map_err(|it| paths(&it))?;
    let container = query.container.map_or(String::from("*"), |it| String::from(it.as_str()));
    let filter = match query.filter {
        TokenFilter::Everything => String::from("everything"),
        TokenFilter::Fingerprint(print) => format!("fingerprint {print}"),
        TokenFilter::Metadata(key, value) => format!("metadata {key} = {value}"),
        TokenFilter::SearchTerm(_) => String::from("term"),
        TokenFilter::Type(kind) => format!("type {}", kind.as_str()),
    };
    Ok(format!("{container} {filter} {:?} {}", start.after, start.size))
}

fn paths(mistakes: &Mistakes) -> Vec<String> {
    mistakes.by_path().keys().cloned().collect()
}

#[track_caller]
fn check(text: &str, expected: Result<&str, &[&str]>) {
    let expected = expected
        .map(String::from)
        .map_err(|paths| paths.iter().map(|path| String::from(*path)).collect());
    assert_eq!(read(text), expected, "{text}");
}

#[test]
fn a_list_takes_one_filter_and_a_container() {
    check("", Ok("* everything None 20"));
    check("container=/PCI/", Ok("/pci/ everything None 20"));
    check("type=card", Ok("* type card None 20"));
    check("fingerprint=AbC&container=%2Fa%2F", Ok("/a/ fingerprint AbC None 20"));
    check("start=Cv8&size=100", Ok("* everything Some([10, 255]) 100"));
    check("start=&colour=blue&colour=red&metadatum=x", Ok("* everything None 20"));
}

#[test]
fn metadata_is_taken_in_all_spellings() {
    check("metadata.A=b", Ok("* metadata A = b None 20"));
    check("metadata.a.b=", Ok("* metadata a.b =  None 20"));
    check("metadata%5BA%5D=b", Ok("* metadata A = b None 20"));
    check("metadata=%7B%22A%22%3A%22b%22%7D", Ok("* metadata A = b None 20"));
    check("metadata={}", Ok("* everything None 20"));
    check("metadata=", Ok("* everything None 20"));
    for bad in ["metadata.=x", "metadata[]=x", "metadata=x", "metadata=[]", "metadata={\"a\":1}"] {
        check(bad, Err(&["metadata"]));
    }
}

#[test]
fn each_parameter_may_stand_once() {
    check("container=/a/&container=/a/", Err(&["container"]));
    check("type=card&type=bank", Err(&["type"]));
    check("fingerprint=a&fingerprint=a", Err(&["fingerprint"]));
    check("start=AA&start=AA", Err(&["start"]));
    check("size=1&size=1", Err(&["size"]));
    check("metadata.a=x&metadata.a=x", Err(&["metadata"]));
    check("metadata.a=x&metadata[b]=y", Err(&["metadata"]));
    check("metadata={\"a\":\"x\",\"b\":\"y\"}", Err(&["metadata"]));
}

#[test]
fn only_a_container_combines_with_another_parameter() {
    check("type=card&fingerprint=a", Err(&["fingerprint", "type"]));
    check("type=card&metadata.a=b", Err(&["metadata", "type"]));
    check(
        "container=/a/&type=card&metadata.a=b&fingerprint=x",
        Err(&["fingerprint", "metadata", "type"]),
    );
}

#[test]
fn all_mistakes_are_reported_at_once() {
    check(
        "id=a&type=cards&container=pci&start=x.z&size=0&metadata=7",
        Err(&["container", "id", "metadata", "size", "start", "type"]),
    );
    check("size=101", Err(&["size"]));
    check("start=0", Err(&["start"]));
    check(&format!("start={}", "A".repeat(CURSOR_CHARS_MAX + 2)), Err(&["start"]));
}

#[test]
fn a_search_takes_a_query_a_cursor_and_a_size() {
    let found = parse_search(&json!({"query": "type:card", "start": "AA", "size": 3})).unwrap();
    assert!(matches!(found.0.filter, TokenFilter::Type(TokenType::Card)));
    assert_eq!((found.1.after, found.1.size), (Some(vec![0]), 3));
    let found = parse_search(&json!({"query": null, "unknown": 1})).unwrap();
    assert!(matches!(found.0.filter, TokenFilter::Everything));
    assert_eq!((found.1.after, found.1.size), (None, 20));
    let mistakes = parse_search(&json!({"query": "x", "start": "x", "size": 101})).unwrap_err();
    assert_eq!(paths(&mistakes), ["query", "size", "start"]);
    let mistakes = parse_search(&json!({"query": 1, "start": 1, "size": "x"})).unwrap_err();
    assert_eq!(paths(&mistakes), ["query", "size", "start"]);
    assert_eq!(paths(&parse_search(&json!([])).unwrap_err()), ["$"]);
}

#[test]
fn a_legacy_list_takes_ids_and_metadata_and_ignores_repeated_keys() {
    let parse = |text: &str| parse_legacy_list(&Query::parse(text).unwrap());
    let (query, page) = parse("id=a&id=b&metadata.K=1&metadata.k=2&metadata[j]=3&page=2").unwrap();
    assert_eq!(query.ids, Some(vec![String::from("a"), String::from("b")]));
    let metadata: Vec<_> = query.metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(metadata, [("K", "1"), ("j", "3")]);
    assert_eq!((page.number, page.size), (2, 20));
    assert_eq!(parse("").unwrap().0.ids, None);
    let mistakes = parse("type=card&container=/a/&fingerprint=x&page=0").unwrap_err();
    assert_eq!(paths(&mistakes), ["container", "fingerprint", "page", "type"]);
}

#[test]
fn a_legacy_list_names_at_most_100_ids_and_50_metadata_keys() {
    let parse = |text: &str| parse_legacy_list(&Query::parse(text).unwrap()).map(drop);
    let many =
        |count, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join("&");
    let id = |at: usize| format!("id={at}");
    let entry = |at: usize| format!("metadata.{at}=x");
    assert!(parse(&many(LIST_IDS_MAX, &id)).is_ok());
    assert_eq!(paths(&parse(&many(LIST_IDS_MAX + 1, &id)).unwrap_err()), ["id"]);
    assert!(parse(&many(METADATA_COUNT_MAX, &entry)).is_ok());
    let too_many = parse(&many(METADATA_COUNT_MAX + 1, &entry)).unwrap_err();
    assert_eq!(paths(&too_many), ["metadata"]);
}

#[test]
fn a_legacy_search_takes_a_query_and_a_page() {
    let (query, page) =
        parse_legacy_search(&json!({"query": "id:abc", "page": 3, "size": 7})).unwrap();
    assert_eq!(query.ids, Some(vec![String::from("abc")]));
    assert_eq!((page.number, page.size), (3, 7));
    let mistakes = parse_legacy_search(&json!({"query": "type:card", "page": 0})).unwrap_err();
    assert_eq!(paths(&mistakes), ["page", "query"]);
}

#[test]
fn the_last_page_leaves_next_out() {
    let page = |next| -> Value {
        serde_json::from_slice(cursor::render_page(20, next, &[Object::new().close()]).expose())
            .unwrap()
    };
    assert_eq!(page(None), json!({"pagination": {"page_size": 20}, "data": [{}]}));
    let with_next = page(Some(&[10, 255][..]));
    assert_eq!(with_next["pagination"], json!({"page_size": 20, "next": "Cv8"}));
}

proptest! {
    #[test]
    fn no_query_string_makes_it_panic(
        text in "[ -~]{0,80}",
        shaped in "((container|type|metadata|metadata\\.k|metadata\\[|start|size|id|page)(=[ -~]{0,9})?&){0,6}",
    ) {
        for text in [text, shaped] {
            if let Some(query) = Query::parse(&text) {
                drop(parse_list(&query));
                drop(parse_legacy_list(&query));
            }
        }
    }

    #[test]
    fn every_cursor_survives_its_way_as_text(bytes in prop::collection::vec(any::<u8>(), 1..241)) {
        let page = cursor::render_page(1, Some(&bytes), &[]);
        let page: Value = serde_json::from_slice(page.expose()).unwrap();
        let mut mistakes = Mistakes::new();
        let back = cursor::parse(page["pagination"]["next"].as_str(), &mut mistakes);
        prop_assert_eq!((back, mistakes.is_empty()), (Some(bytes), true));
    }
}
