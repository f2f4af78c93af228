//! Liquid's own filters, with the results of its documentation.

use serde_json::json;

use super::*;

#[test]
fn texts_are_joined_and_cased() {
    check_filters("append: '.html'", "/a", "/a.html");
    check_filters("append: data", "ab", "abab");
    check_filters("append: 'x'", Value::Null, "x");
    check_filters("append: 1", 2, "21");
    check_filters("prepend: 'x-'", "y", "x-y");
    check_filters("capitalize", "my GREAT title", "My great title");
    check_filters("capitalize", "", "");
    check_filters("downcase", "Parker \u{c9}", "parker \u{e9}");
    check_filters("upcase", "stra\u{df}e", "STRASSE");
    check_filters("upcase", Value::Null, Value::Null);
    check_failed("upcase", json!(["a"]), Failed::NotText);
}

#[test]
fn texts_are_stripped_and_cut() {
    check_filters("strip", "  a b  ", "a b");
    check_filters("lstrip", "  a b  ", "a b  ");
    check_filters("rstrip", "  a b  ", "  a b");
    check_filters("strip_newlines", "a\nb\r\nc\rd", "abc\rd");
    check_filters("truncate: 20", "Ground control to Major Tom.", "Ground control to...");
    check_filters(
        "truncate: 25, ', and so on'",
        "Ground control to Major Tom.",
        "Ground control, and so on",
    );
    check_filters("truncate: 20, ''", "Ground control to Major Tom.", "Ground control to Ma");
    check_filters("truncate: 1", "abc", "...");
    check_filters("truncate: 3", "abc", "abc");
    check_filters("truncatewords: 3", "Ground control to Major Tom.", "Ground control to...");
    check_filters("truncatewords: 3, '--'", "Ground control to Major Tom.", "Ground control to--");
    check_filters("truncatewords: 0", "a b", "a...");
    check_filters("truncatewords", "a  b", "a  b");
    check_filters("slice: 0", "Liquid", "L");
    check_filters("slice: 2, 5", "Liquid", "quid");
    check_filters("slice: -3, 2", "Liquid", "ui");
    check_filters("slice: 9, 2", "Liquid", "");
    check_filters("slice: -9, 2", "Liquid", "");
    check_filters("slice: 1, 2", json!([1, 2, 3]), json!([2, 3]));
    check_filters("slice: -9, 2", json!([1, 2, 3]), json!([]));
}

#[test]
fn texts_are_searched_and_replaced() {
    check_filters("remove: 'rain'", "rain rain", " ");
    check_filters("remove_first: 'rain'", "rain rain", " rain");
    check_filters("remove_last: 'rain'", "rain rain", "rain ");
    check_filters("remove_last: 'x'", "rain", "rain");
    check_filters("replace: 'my', 'your'", "my my", "your your");
    check_filters("replace: '-'", "123-45-6789", "123456789");
    check_filters("replace: '', 'x'", "ab", "xaxbx");
    check_filters("replace_first: 'my', 'your'", "my my", "your my");
    check_filters("replace_last: 'my', 'your'", "my my", "my your");
    check_filters("replace_last: ''", "my", "my");
    check_filters("split: ', '", "John, Paul, , ", json!(["John", "Paul"]));
    check_filters("split: ','", ",a,,b,,", json!(["", "a", "", "b"]));
    check_filters("split: ' '", "  a  b ", json!(["a", "b"]));
    check_filters("split: ''", "a\u{e9}", json!(["a", "\u{e9}"]));
    check_filters("split: ','", Value::Null, json!([]));
    check_filters("split: ' ' | last | upcase", "John Doe", "DOE");
}

#[test]
fn markup_and_addresses_are_escaped() {
    check_filters(
        "escape",
        "<a href='x'>\"&\"</a>",
        "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;",
    );
    check_filters("escape_once", "1 < 2 &amp; &#39; &", "1 &lt; 2 &amp; &#39; &amp;");
    check_filters("escape_once", "&;&#;&a", "&amp;;&amp;#;&amp;a");
    check_filters("newline_to_br", "a\nb\r\n", "a<br />\nb<br />\n");
    check_filters(
        "strip_html",
        "Have <em>you</em> <!-- <b> -->read<script>x<b></script>?",
        "Have you read?",
    );
    check_filters("strip_html", "1 < 2 <style>", "1 ");
    check_filters("strip_html", "1 < 2 <!-- 3", "1 < 2 <!-- 3");
    check_filters("url_encode", "john@liquid.com *-._~ \u{e9}", "john%40liquid.com+*-._~+%C3%A9");
    check_filters("url_decode", "%27Stop%21%27+said+Fred%zz%2", "'Stop!' said Fred%zz%2");
    check_failed("url_decode", "%FF", Failed::NotEncodable);
}

#[test]
fn whole_numbers_are_exact() {
    check_filters("plus: 2", 4, 6);
    check_filters("plus: 1", i64::MAX, 9_223_372_036_854_775_808_u64);
    check_filters("minus: 2", 4, 2);
    check_filters("times: 2", "3", 6);
    check_filters("divided_by: 4", 16, 4);
    check_filters("divided_by: 3", 5, 1);
    check_filters("divided_by: 3", -5, -2);
    check_filters("modulo: 3", -5, 1);
    check_filters("modulo: -3", 5, -1);
    check_filters("abs", -17, 17);
    check_filters("abs", i64::MIN, 9_223_372_036_854_775_808_u64);
    check_filters("at_least: 5", 4, 5);
    check_filters("at_most: 5", 4, 4);
    check_filters("plus: 1", Value::Null, 1);
    check_failed("plus: 1", u64::MAX, Failed::Overflow);
    check_failed("minus: 1", i64::MIN, Failed::Overflow);
    check_failed("times: 18446744073709551615", u64::MAX, Failed::Overflow);
    check_failed("divided_by: 0", 1, Failed::DivisionByZero);
    check_failed("modulo: 0", 1, Failed::DivisionByZero);
    check_failed("plus: 1", "card", Failed::NotANumber);
    check_failed("plus: data", json!([]), Failed::NotANumber);
    check_malformed("{{ data | plus: 'x' }}", 16, MalformedReason::BadArgument);
}

#[test]
fn fractions_are_decimal() {
    check_filters("plus: 0.2", 0.1, 0.3);
    check_filters("minus: 357.12", 183.357, -173.763);
    check_filters("times: 1.1", 1.1, 1.21);
    check_filters("times: 12", 183.357, 2200.284);
    check_filters("divided_by: 7.0", 20, 20.0 / 7.0);
    check_filters("divided_by: 2", 5.0, 2.5);
    check_filters("modulo: 12", 183.357, 3.357);
    check_filters("plus: 1", 1.5e300, 1.5e300);
    check_filters("abs", "-19.86", 19.86);
    check_failed("times: data", 1e300, Failed::Overflow);
    check_failed("divided_by: 0.0", 1, Failed::DivisionByZero);
    check_failed("modulo: 0.0", 1, Failed::DivisionByZero);
}

#[test]
fn rounding_goes_away_from_zero_at_the_half() {
    check_filters("ceil", 1.2, 2);
    check_filters("ceil", "-3.5", -3);
    check_filters("floor", 1.9, 1);
    check_filters("floor", -1.2, -2);
    check_filters("round", 2.5, 3);
    check_filters("round", -2.5, -3);
    check_filters("round", 1.2, 1);
    check_filters("round: 2", 183.357, 183.36);
    check_filters("round: 2", 2.675, 2.68);
    check_filters("round: 5", 1.5, 1.5);
    check_filters("round: -2", 1250, 1300);
    check_filters("round: -1000", 1250, 0);
    check_filters("round", 1e-300, 0);
    check_filters("ceil", 1e-300, 1);
    check_filters("round: 2", 1e300, 1e300);
    check_failed("round", 1e300, Failed::Overflow);
    check_failed("floor", 1e30, Failed::Overflow);
}

#[test]
fn lists_are_taken_apart_and_put_together() {
    check_filters("first", json!(["a", "b"]), "a");
    check_filters("last", json!(["a", "b"]), "b");
    check_filters("first", json!([]), Value::Null);
    check_filters("last", "abc", "c");
    check_filters("size", json!([1, 2]), 2);
    check_filters("size", "\u{e9}\u{e9}", 2);
    check_filters("size", 7, 0);
    check_filters("join: ' and '", json!(["a", 1, [true, null]]), "a and 1 and true and ");
    check_filters("join", json!(["a", "b"]), "a b");
    check_failed("join", json!([{}]), Failed::NotText);
    check_filters("concat: data", json!([1]), json!([1, 1]));
    check_failed("concat: 'a'", json!([1]), Failed::NotAList);
    check_filters("reverse", json!([1, [2, 3]]), json!([3, 2, 1]));
    check_filters("compact", json!([1, null, 2]), json!([1, 2]));
    check_filters("compact: 'a'", json!([{"a": 1}, {"b": 1}]), json!([{"a": 1}]));
    check_filters("uniq", json!(["b", "a", "b", {"x": 1}, {"x": 1}]), json!(["b", "a", {"x": 1}]));
    check_filters("uniq: 'a'", json!([{"a": 1, "b": 1}, {"a": 1}]), json!([{"a": 1, "b": 1}]));
    check_filters("map: 'a'", json!([{"a": 1}, {"b": 2}]), json!([1, null]));
    check_filters("map: 'a'", json!({"a": 1}), json!([1]));
    check_failed("map: 'a'", json!([1]), Failed::NotAnObject);
}

#[test]
fn lists_are_searched_by_a_member() {
    let shop = json!([{"t": "a", "n": 1}, {"t": "b", "n": 2.0}, {"t": "b", "n": false}]);
    check_filters("where: 't', 'b' | map: 'n'", shop.clone(), json!([2.0, false]));
    check_filters("where: 'n' | map: 't'", shop.clone(), json!(["a", "b"]));
    check_filters("where: 'n', 2 | map: 't'", shop.clone(), json!(["b"]));
    check_filters("reject: 't', 'b' | map: 'n'", shop.clone(), json!([1]));
    check_filters("find: 't', 'b' | to_string", json!([]), Value::Null);
    check_filters("find: 't', 'a'", shop.clone(), json!({"t": "a", "n": 1}));
    check_filters("find_index: 't', 'b'", shop.clone(), 1);
    check_filters("has: 't', 'c'", shop, false);
}

#[test]
fn lists_are_summed_and_sorted() {
    check_filters("sum", json!([1, 2.5, "3", null]), 6.5);
    check_filters("sum: 'a'", json!([{"a": 1}, {"a": 2}, {}]), 3);
    check_failed("sum", json!([true]), Failed::NotANumber);
    check_filters("sort", json!(["b", null, "C", "a"]), json!(["C", "a", "b", null]));
    check_filters("sort", json!([10, 9, 1.5]), json!([1.5, 9, 10]));
    check_filters("sort", json!([u64::MAX, -1, u64::MAX - 1]), json!([-1, u64::MAX - 1, u64::MAX]));
    check_filters("sort: 'a' | map: 'a'", json!([{"a": 2}, {"a": 1}]), json!([1, 2]));
    check_filters("sort_natural", json!(["b", "C", "a", null]), json!(["a", "b", "C", null]));
    check_failed("sort", json!([1, "a"]), Failed::Incomparable);
    check_failed("sort_natural", json!([{}]), Failed::Incomparable);
}

#[test]
fn default_stands_in_for_what_is_missing_or_empty() {
    for empty in [json!(null), json!(false), json!(""), json!([]), json!({})] {
        check_filters("default: 2.99", empty, 2.99);
    }
    check_filters("default: 2.99", 0, 0);
    check_filters("default: 2.99, allow_false: true", false, false);
    check_filters("default: 2.99, allow_false: 'true'", Value::Null, 2.99);
    check_malformed("{{ data | default: allow_false: true }}", 19, MalformedReason::BadArgument);
}
