//! A unit of work takes about a nanosecond, whatever it is spent on.
//!
//! Each case spends the whole budget of a write, or a part of it in an unoptimized build. The time
//! is the CPU time of this thread, so a busy machine does not matter. `cargo test --release --lib
//! cost -- --nocapture` prints the time of a unit in each case: 0.1 to 3 ns on a core that another
//! thread shared, about half of that on a core without other threads.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::TestVault;
use crate::bounds::{
    EXPRESSION_WORK_WRITE_MAX, JSON_VALUES_MAX, MASK_BYTES_MAX, TOKEN_DATA_BYTES_MAX,
};
use crate::expressions::{Budget, Cache, Data, Mask, Template};

/// The budget, and the longest time that it may take. In the release build that is twice the
/// slowest measured time, since machines differ; an unoptimized build is about twenty times slower.
const WORK: usize = EXPRESSION_WORK_WRITE_MAX / if cfg!(debug_assertions) { 10 } else { 1 };
const LONGEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 40 });

/// CPU time of this thread; zero if the kernel does not report it.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Spends a write's budget by repeating `once`. A kernel that counts CPU time by ticks charges a
/// thread for the work of others, so the shortest of a few attempts counts.
fn spend(what: &str, mut once: impl FnMut(&Budget)) {
    let (mut took, mut rounds) = (Duration::MAX, 0);
    for _ in 0..5 {
        if took > LONGEST {
            let attempt = spend_once(what, &mut once);
            took = took.min(attempt.0);
            rounds = attempt.1;
        }
    }
    let unit = took.as_secs_f64() * 1e9 / f64::from(u32::try_from(WORK).unwrap());
    println!("{unit:5.2} ns a unit, {rounds:6} times: {what}");
    assert!(took <= LONGEST, "{what} took {took:?}");
}

/// The CPU time of one attempt, and its number of repetitions.
fn spend_once(what: &str, once: &mut impl FnMut(&Budget)) -> (Duration, u32) {
    let budget = Budget::of(WORK);
    let start = cpu_time();
    let mut rounds = 0_u32;
    while !budget.ran_out() {
        once(&budget);
        rounds += 1;
        assert!(rounds < 1_000_000, "{what} costs nothing");
    }
    (cpu_time().saturating_sub(start), rounds)
}

fn check(vault: &TestVault, expression: &str, data: &Value) {
    let template = Template::parse(expression).unwrap_or_else(|why| panic!("{expression}: {why}"));
    let what: String = expression.chars().take(70).collect();
    spend(&what, |budget| {
        drop(template.evaluate(&Data(data), &vault.app, budget));
    });
}

/// Evaluates each filter over one value.
fn check_filters(vault: &TestVault, data: &Value, filters: &[&str]) {
    for filter in filters {
        check(vault, &format!("{{{{ data | {filter} }}}}"), data);
    }
}

const LARGE: usize = TOKEN_DATA_BYTES_MAX - 2;
const TEXT_FILTERS: &[&str] = &[
    "upcase",
    "downcase",
    "capitalize",
    "strip",
    "strip_newlines",
    "strip_html",
    "escape",
    "escape_once",
    "newline_to_br",
    "url_encode",
    "url_decode",
    "base64_encode",
    "base64_decode",
    "base64_url_safe_decode",
    "last4",
    "reveal_last: 4",
    "reveal: 4, 4",
    "card_mask: 'true', 'true', 'X', '-+*/ '",
    "card_bin: '-+*/ '",
    "size",
    "to_number",
    "to_boolean",
    "truncate: 1000000",
    "truncatewords: 1000000",
    "slice: -3, 2",
    "replace: 'a', 'b'",
    "replace: 'aaaaaaaaaaaaaaaab', 'x'",
    "replace: '', 'x'",
    "replace_last: 'b', 'x'",
    "remove: 'a'",
    "split: 'a'",
    "split: ''",
    "split: ' '",
    "pad_left: 500000, 'x'",
    "pad_right: 500000, 'x'",
    "append: data",
    "prepend: data",
    "stringify",
    "to_base16",
    "hmac: 'sha1', 'key' | to_base64",
    "hmac: 'sha256', data | to_base64",
    "hmac: 'sha512', 'key' | to_base64",
    "alias_preserve_length",
    "alias_preserve_format",
    "alias_preserve_length: 100000, 0",
    "alias_card",
];

#[test]
fn texts_are_worth_their_work() {
    let vault = TestVault::new();
    for unit in ["a", "'", "\u{e9}", "\u{130}", "<", "&a", "\n", " ", "%41", "<script"] {
        let data = json!(unit.repeat(LARGE / unit.len()));
        println!("-- {unit:?}");
        check_filters(&vault, &data, TEXT_FILTERS);
    }
    check_filters(&vault, &json!("a".repeat(64)), TEXT_FILTERS);
}

#[test]
fn lists_are_worth_their_work() {
    let filters = [
        "first",
        "size",
        "reverse",
        "compact",
        "uniq",
        "sort",
        "sort_natural",
        "join",
        "join: ''",
        "sum",
        "concat: data",
        "slice: 0, 1000000",
        "default: 1",
        "stringify",
        "json: '$'",
        "json: '$[*]'",
        "json: '$..*'",
        "json: '$[?@ == 3]'",
        "json: '$[?@ > 3 && @ < 5]'",
        "json: '$[?length(@) > 9]'",
        "json: '$[?count(@.*) > 9]'",
        "json: '$[?$[0] == @]'",
        "json: '$[::-1]'",
        "json: '$[?search(@, \"(a*)*(a|aa){50}b\")]'",
        "json: '$[?match(@, \".*b\")]'",
        "json: '$[?match(@, @)]'",
        "where: nil, 1",
        "has: nil, 1",
    ];
    let vault = TestVault::new();
    let most = JSON_VALUES_MAX - 8;
    let text = |length: usize| json!("a".repeat(length));
    for data in [
        json!(vec![1; most]),
        json!(vec![1.5; most]),
        json!((0..most / 2).map(|at| at.to_string()).collect::<Vec<_>>()),
        json!(vec![text(100); 1_000]),
        json!(vec![text(2); 16_000]),
        json!([text(LARGE)]),
        json!(vec![json!([[[[1]]]]); 6_000]),
        json!(vec!["(a()()()()()()()()()()()()()()()()()()()()()()){200}"; 1_000]),
        serde_json::from_str(&format!("[{}]", vec!["123456789.123456789"; 6_000].join(",")))
            .unwrap(),
        serde_json::from_str(&format!("[{}]", vec!["5e-324"; 6_000].join(","))).unwrap(),
        serde_json::from_str(&format!("[{}]", "9".repeat(LARGE))).unwrap(),
    ] {
        println!("-- {}", data.to_string().chars().take(40).collect::<String>());
        check_filters(&vault, &data, &filters);
    }
}

#[test]
fn objects_are_worth_their_work() {
    let vault = TestVault::new();
    let objects = json!(vec![json!({"a": 1, "b": "x"}); 5_000]);
    let filters = [
        "map: 'a'",
        "where: 'a', 1",
        "where: 'b'",
        "reject: 'a'",
        "find: 'b', 'y'",
        "find_index: 'c'",
        "has: 'c'",
        "sum: 'a'",
        "sort: 'b'",
        "uniq: 'a'",
        "compact: 'a'",
        "json: '$..a'",
        "json: '$[?@.a == 2]'",
        "json: '$[?@.a.b.c == 2]'",
        "json: '$[?@ == $[0]]'",
        "json: '$..[?@..[?@..a]]'",
        "json: '$[*][\"a\",\"b\",\"a\",\"b\"]'",
        "stringify",
    ];
    check_filters(&vault, &objects, &filters);
    let long = "k".repeat(1_900);
    let members: serde_json::Map<String, Value> =
        (0..50).map(|at| (format!("{long}{at}"), json!(at))).collect();
    let named = json!({"o": members, "l": vec![0; 5_000]});
    check(&vault, &format!("{{{{ data | json: '$.l[?$.o.{long}49 == 1]' }}}}"), &named);
    check(&vault, &format!("{{{{ data.o.{long}49 }}}}"), &named);
    check(&vault, "{{ data.size }}{{ data.size }}", &json!("\u{e9}".repeat(LARGE / 2)));
    check(&vault, &"{{ data.size }}".repeat(30), &json!("x"));
    check(&vault, &"{{ data }}".repeat(30), &json!("x".repeat(LARGE)));
    check(
        &vault,
        "{{ data.big | plus: data.big | plus: data.tiny }}",
        &json!({"big": 1e300, "tiny": 5e-324}),
    );
    check(&vault, "{{ data | plus: 0.1 | times: 1.1 | round: 3 | modulo: 0.7 }}", &json!(17.25));
    let long_fraction = format!("0.{}1", "0".repeat(700) + &"9".repeat(800));
    check(&vault, "{{ data | sum }}", &json!(vec![long_fraction; 80]));
    check(&vault, "{{ data.l | where: nil, data.n }}", &json!({"l": vec![1; 5_000], "n": 1}));
}

#[test]
fn masks_and_parsing_are_worth_their_work() {
    let vault = TestVault::new();
    let leaves = |leaf: &str| {
        let count = (MASK_BYTES_MAX / (leaf.len() + 3)).min(500);
        json!(vec![leaf; count])
    };
    let pattern = format!("{{{{ data | json: \"$[?search(@, '.{{{}}}')]\" }}}}", 200);
    for leaf in
        ["x", "{{ data }}", "{{ data.a.b }}", "{{ 1 | plus: 1 | plus: 1 }}", "{{data.size}}"]
    {
        let mask = Mask::parse(&leaves(leaf)).unwrap();
        for data in [json!("x".repeat(10)), json!("x".repeat(LARGE)), json!({"a": {"b": 1}})] {
            let what = format!("a mask of {leaf}");
            spend(&what, |budget| drop(mask.apply(&data, &vault.app, budget)));
        }
    }
    for leaf in ["x", "{{ data }}", "{{1|abs|abs|abs|abs|abs|abs}}", "{{data.a.a.a.a.a.a.a.a.a}}"] {
        let mask = leaves(leaf).to_string();
        spend(&format!("parsing a mask of {leaf}"), |budget| {
            drop(Cache::new().mask(None, &mask, budget));
        });
    }
    let mask = json!(vec![pattern.as_str(); 20]).to_string();
    spend("parsing a mask of patterns", |budget| drop(Cache::new().mask(None, &mask, budget)));
    let paths = format!("{{{{ data | json: '${}' }}}}", "[0,1,2]".repeat(12));
    spend("parsing paths", |budget| {
        drop(Cache::new().template(None, &paths, budget));
    });
    for json in [
        json!(vec![1; 30_000]),
        json!({"a": "x".repeat(LARGE)}),
        json!(vec![json!({"a": "b"}); 8_000]),
    ] {
        let json = crate::domain::data::Data::from_value(&json);
        let what = format!("parsing {}", json.json().chars().take(30).collect::<String>());
        spend(&what, |budget| {
            if budget.spend_json(json.json()).is_ok() {
                drop(json.value());
            }
        });
    }
}
