//! Examples of RFC 9535, and paths that would run for ever.

mod reference;

use serde_json::json;

use super::pattern::{Extent, Pattern};
use super::*;
use crate::bounds;

fn select(path: &str, root: &Value) -> Result<Vec<Value>, Failed> {
    let path = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
    let nodes =
        evaluate::nodes(&path.segments, root, &Budget::of(bounds::EXPRESSION_WORK_WRITE_MAX))?;
    Ok(nodes.into_iter().cloned().collect())
}

#[track_caller]
fn check(path: &str, root: &Value, expected: &Value) {
    assert_eq!(Value::from(select(path, root).unwrap()), *expected, "{path}");
}

#[test]
fn names_indexes_and_slices_select_children() {
    let root = json!({"o": {"j j": {"k.k": 3}}, "'": {"@": 2}, "a": [0, 1, 2, 3, 4, 5, 6], "a-b": 1, "\u{263a}": 4});
    check("$", &root, &json!([root]));
    check("$.o['j j']['k.k']", &root, &json!([3]));
    check("$.o[\"j j\"][\"k.k\"]", &root, &json!([3]));
    check("$['\\'']['@']", &root, &json!([2]));
    check("$.a-b", &root, &json!([1]));
    check("$.\u{263a}", &root, &json!([4]));
    check("$['\\u263a', \"\\u0061\"][1]", &root, &json!([1]));
    check("$.a[-2]", &root, &json!([5]));
    check("$.a[9, 0]", &root, &json!([0]));
    check("$.a[1:3]", &root, &json!([1, 2]));
    check("$.a[5:]", &root, &json!([5, 6]));
    check("$.a[1:5:2]", &root, &json!([1, 3]));
    check("$.a[5:1:-2]", &root, &json!([5, 3]));
    check("$.a[::-1]", &root, &json!([6, 5, 4, 3, 2, 1, 0]));
    check("$.a[-100:100:3]", &root, &json!([0, 3, 6]));
    check("$.a[::0]", &root, &json!([]));
    check("$.a.b.c", &root, &json!([]));
    check(" $ .a [ 0 , 1 ] ", &root, &json!([0, 1]));
}

#[test]
fn wildcards_and_descendants_select_many() {
    let root = json!({"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]});
    check("$.o.*", &root, &json!([1, 2]));
    check("$.a[*][*]", &root, &json!([{"j": 4}, {"k": 6}]));
    check("$..j", &root, &json!([1, 4]));
    check("$..[0]", &root, &json!([5, {"j": 4}]));
    check("$.a..[0, 1]", &root, &json!([5, 3, {"j": 4}, {"k": 6}]));
    check("$..*", &json!([[1], 2]), &json!([[1], 2, 1]));
}

#[test]
fn filters_compare_test_and_combine() {
    let root = json!({"a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}], "o": {"p": 1, "q": 2}, "e": "f"});
    check("$.a[?@.b == 'kilo']", &root, &json!([{"b": "kilo"}]));
    check("$.a[?(@.b == 'kilo')]", &root, &json!([{"b": "kilo"}]));
    check("$.a[?@ > 3.5]", &root, &json!([5, 4, 6]));
    check("$.a[?@.b]", &root, &json!([{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]));
    check("$.a[?!@.b && @ <= 2]", &root, &json!([1, 2]));
    check("$.a[?@ < 2 || @.b == \"k\"]", &root, &json!([1, {"b": "k"}]));
    check("$.a[?!(@ < 5 || @.b)]", &root, &json!([5, 6]));
    check("$.o[?@ > 1 && @ < 4]", &root, &json!([2]));
    check("$[?@[?@ == 2]]", &root, &json!([root["a"], root["o"]]));
    check("$.a[?@ == $.o.q]", &root, &json!([2]));
    check("$.a[?@.x == @.y && @ == 1.0]", &root, &json!([1]));
    check("$.a[?@.b == null]", &root, &json!([]));
    check("$.a[?@.b != 'j' && @.b]", &root, &json!([{"b": "k"}, {"b": {}}, {"b": "kilo"}]));
    check("$.a[?@.b >= 'k']", &root, &json!([{"b": "k"}, {"b": "kilo"}]));
    check("$[?@.q == $.o.q]", &root, &json!([{"p": 1, "q": 2}]));
}

#[test]
fn functions_measure_and_match() {
    let root = json!([{"a": "abc", "l": [1, 2]}, {"a": "bcd\u{e9}", "l": []}, {"a": 1}]);
    check("$[?length(@.a) == 3].a", &root, &json!(["abc"]));
    check("$[?length(@.l) < 1].a", &root, &json!(["bcd\u{e9}"]));
    check("$[?count(@.*) == 1].a", &root, &json!([1]));
    check("$[?value(@..a) == 1].a", &root, &json!([1]));
    check("$[?match(@.a, '[a-c]+')].a", &root, &json!(["abc"]));
    check("$[?search(@.a, 'b(c|d)')].a", &root, &json!(["abc", "bcd\u{e9}"]));
    check("$[?search($[0].a, @.a)].a", &root, &json!(["abc"]));
}

#[test]
fn malformed_paths_are_refused() {
    for path in [
        "",
        "a",
        "$.",
        "$a",
        "$..",
        "$[",
        "$[]",
        "$[1",
        "$['a]",
        "$[a]",
        "$[01]",
        "$[-0]",
        "$[1.5]",
        "$[9007199254740992]",
        "$.1",
        "$[?]",
        "$[?1]",
        "$[?@.a ==]",
        "$[?@.* == 1]",
        "$[?@ = 1]",
        "$[?!@.a == 1]",
        "$[?!!@.a]",
        "$[?(@.a]",
        "$[?length(@.a)]",
        "$[?count(1) == 1]",
        "$[?match(@.a)]",
        "$[?match(@.a, 'a') == true]",
        "$[?nothing(@)]",
        "$[?@.a == 01]",
        "$[?@.a == tru]",
        "$['\\x']",
        "$['\\ud800']",
        "$['\\\"']",
        "$[1:2:3:4]",
        "$ x",
        "$[?search(@, '[')]",
        "$[?search(@, 'a{2,1}')]",
        "$[?search(@, '\\\\p{L}')]",
    ] {
        assert!(JsonPath::parse(path).is_none(), "{path}");
    }
}

#[test]
fn patterns_match_as_written() {
    for (pattern, text, whole, some) in [
        ("", "", true, true),
        ("", "a", false, true),
        ("a|bc", "bc", true, true),
        ("a|bc", "xbcx", false, true),
        ("(ab)+c?", "ababc", true, true),
        ("a{2}", "aaa", false, true),
        ("a{2,}", "aaa", true, true),
        ("a{0,2}b", "aab", true, true),
        ("a{0,2}b", "aaab", false, true),
        ("[^a-c-]x", "dx", true, true),
        ("[^a-c-]x", "-x", false, false),
        ("[-a]", "-", true, true),
        ("\\d\\.\\w", "1._", true, true),
        ("[\\d\\-x]+", "1-x", true, true),
        (".", "\n", false, false),
        ("(a*)*b", "aaab", true, true),
        ("(a*)*", "b", false, true),
        (".", "\r", false, false),
        (".", "\u{2028}", true, true),
        ("[^a]", "\n", true, true),
        ("a|b", "ab", false, true),
        ("a", "a\n", false, true),
        ("[a&&b]+", "&b", true, true),
        ("\\<\\-\\^\\$#~ @", "<-^$#~ @", true, true),
        ("[\\]\\[\\\\^]{3}", "][^", true, true),
        ("\\w+\\s", "a\u{e9} ", false, false),
        ("[a\u{e9}-\u{ef}]+", "a\u{ea}", true, true),
        ("(|a)b", "b", true, true),
        ("a{0}b(){9}", "b", true, true),
    ] {
        let budget = Budget::of(bounds::EXPRESSION_WORK_WRITE_MAX);
        for (extent, expected) in [(Extent::Whole, whole), (Extent::Some, some)] {
            let parsed = Pattern::parse(pattern, extent).unwrap_or_else(|| panic!("{pattern}"));
            let found = parsed.is_match(text, &budget);
            assert_eq!(found, Ok(expected), "{pattern} {text} {extent:?}");
        }
    }
}

#[test]
fn patterns_are_bounded() {
    let parse = |pattern: &str| Pattern::parse(pattern, Extent::Some);
    assert!(parse(&"a".repeat(bounds::PATTERN_STATES_MAX - 1)).is_some());
    assert!(parse(&"a".repeat(bounds::PATTERN_STATES_MAX)).is_none());
    assert!(parse("((a{20}){20}){20}").is_none());
    assert!(parse("((((){256}){256}){256}){256}").is_some());
    assert!(parse(&format!("(a{}){{80}}", "(){256,}a{0}".repeat(80))).is_some());
    assert!(parse(&format!("[{}]", "ab".repeat(bounds::PATTERN_BYTES_MAX))).is_none());
    let deep = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&deep(bounds::JSON_PATH_DEPTH_MAX)).is_some());
    assert!(parse(&deep(bounds::JSON_PATH_DEPTH_MAX + 1)).is_none());
    // The ranges of a class are copied with each repetition.
    let class: String = ('a'..='z').step_by(2).collect();
    assert!(parse(&format!("[{class}]{{60}}")).is_some());
    assert!(parse(&format!("[{}]{{60}}", class.repeat(4))).is_none());
    let root = json!(["a".repeat(bounds::BODY_BYTES_MAX)]);
    let work = select("$[?search(@, '(a*)*(a|aa){50}b')]", &root);
    assert_eq!(work, Err(Failed::TooMuchWork));
}

#[test]
fn patterns_of_other_dialects_are_refused() {
    for pattern in [
        "^a",
        "a$",
        "a*?",
        "a+?",
        "a??",
        "a{1}?",
        "a**",
        "a++",
        "(?i)a",
        "(?:a)",
        "(?P<n>a)",
        "(?=a)",
        "\\b",
        "\\A",
        "\\z",
        "\\D",
        "\\W",
        "\\S",
        "\\p{L}",
        "\\x41",
        "\\u0041",
        "\\1",
        "\\",
        "a{",
        "a{}",
        "a{,2}",
        "a{2",
        "{2}",
        "a}",
        "]",
        "[]",
        "[^]",
        "[a",
        "[[:alpha:]]",
        "[a[b]]",
        "[b-a]",
        "[a-\\d]",
        "[\\d-z]",
        "[a-b-c]",
        "[\\D]",
        "(a",
        "a)",
        "*a",
        "a|*",
    ] {
        assert!(Pattern::parse(pattern, Extent::Some).is_none(), "{pattern}");
    }
}

#[test]
fn paths_are_bounded_in_parts_and_depth() {
    let parts = |count: usize| JsonPath::parse(&format!("${}", ".a".repeat(count)));
    assert!(parts(bounds::JSON_PATH_PARTS_MAX).is_some());
    assert!(parts(bounds::JSON_PATH_PARTS_MAX + 1).is_none());
    let nested = |depth: usize| format!("${}@{}", "[?".repeat(depth), "]".repeat(depth));
    assert!(JsonPath::parse("$[?@[?@[?@[?@]]]]").is_some());
    assert!(JsonPath::parse(&nested(bounds::JSON_PATH_DEPTH_MAX + 1)).is_none());
    let open = format!("$[?{}@", "(".repeat(bounds::JSON_PATH_DEPTH_MAX + 1));
    assert!(JsonPath::parse(&open).is_none());
}

#[test]
fn hostile_paths_end() {
    let deep = (0..60).fold(json!([1]), |value, _| json!([value, value.is_array()]));
    let wide = json!({"a": vec![json!({"b": [1, 2, 3]}); 5_000]});
    for (path, root) in [
        ("$..*..*..*..*..*..*", &deep),
        ("$..[*,*,*,*]..[*,*,*,*]..[*,*,*,*]", &wide),
        ("$.a[?count($..*) > 1]", &wide),
        ("$..[?@..[?@..[?@..*]]]", &deep),
        ("$.a[?@ == $.a[1] && $.a == $.a && $.a != $.a]", &wide),
    ] {
        assert_eq!(select(path, root).err(), Some(Failed::TooMuchWork), "{path}");
    }
}
