//! The table of all filters, in alphabetical order for the binary search.

use serde_json::Value;

use super::signature::Kind::{
    Any, CardDate, Character, Flag, HashName, Integer, Length, Number, Path, Separators, Text,
};
use super::signature::{Action, Filter, Kind, Place, Run};
use super::{alias, arithmetic, card, encode, list, text};
use crate::domain::hex;

pub(in crate::expressions) fn find(name: &str) -> Option<&'static Filter> {
    FILTERS.binary_search_by(|filter| filter.name.cmp(name)).ok().and_then(|at| FILTERS.get(at))
}

#[cfg(test)]
pub(in crate::expressions) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|filter| filter.name)
}

const fn plain(
    name: &'static str,
    least: usize,
    kinds: &'static [Kind],
    run: Run<Value>,
) -> Filter {
    Filter { name, least, kinds, named: None, place: Place::Anywhere, action: Action::Value(run) }
}

const fn total(name: &'static str, place: Place, run: fn(&Value) -> Value) -> Filter {
    Filter { name, least: 0, kinds: &[], named: None, place, action: Action::Total(run) }
}

const fn encoding(name: &'static str, encode: fn(&[u8]) -> String) -> Filter {
    let action = Action::Encode(encode);
    Filter { name, least: 0, kinds: &[], named: None, place: Place::Anywhere, action }
}

static FILTERS: &[Filter] = &[
    plain("abs", 0, &[], arithmetic::abs),
    plain("alias_card", 0, &[Flag, Flag], alias::alias_card),
    plain("alias_preserve_format", 0, &[Length, Length], alias::alias_preserve_format),
    plain("alias_preserve_length", 0, &[Length, Length], alias::alias_preserve_length),
    plain("append", 1, &[Text], text::append),
    plain("at_least", 1, &[Number], arithmetic::at_least),
    plain("at_most", 1, &[Number], arithmetic::at_most),
    plain("base64_decode", 0, &[], encode::base64_decode),
    plain("base64_encode", 0, &[], encode::base64_encode),
    plain("base64_url_safe_decode", 0, &[], encode::base64_url_safe_decode),
    plain("base64_url_safe_encode", 0, &[], encode::base64_url_safe_encode),
    plain("capitalize", 0, &[], text::capitalize),
    plain("card_bin", 0, &[Separators], card::card_bin),
    plain("card_exp", 1, &[CardDate], card::card_exp),
    plain("card_mask", 0, &[Flag, Flag, Character, Separators], card::card_mask),
    plain("ceil", 0, &[], arithmetic::ceil),
    plain("compact", 0, &[Text], list::compact),
    plain("concat", 1, &[Any], list::concat),
    Filter { named: Some("allow_false"), ..plain("default", 1, &[Any, Flag], list::default) },
    plain("divided_by", 1, &[Number], arithmetic::divided_by),
    plain("downcase", 0, &[], text::downcase),
    plain("escape", 0, &[], encode::escape),
    plain("escape_once", 0, &[], encode::escape_once),
    plain("find", 1, &[Text, Any], list::find),
    plain("find_index", 1, &[Text, Any], list::find_index),
    total("first", Place::Anywhere, list::first),
    plain("floor", 0, &[], arithmetic::floor),
    plain("has", 1, &[Text, Any], list::has),
    Filter {
        name: "hmac",
        least: 2,
        kinds: &[HashName, Text],
        named: None,
        place: Place::BeforeEncoding,
        action: Action::Sign(encode::hmac),
    },
    plain("join", 0, &[Text], list::join),
    Filter {
        name: "json",
        least: 1,
        kinds: &[Path],
        named: None,
        place: Place::Anywhere,
        action: Action::Path,
    },
    total("json_stringify", Place::Last, encode::stringify),
    total("last", Place::Anywhere, list::last),
    plain("last4", 0, &[], card::last4),
    plain("lstrip", 0, &[], text::lstrip),
    plain("map", 1, &[Text], list::map),
    plain("minus", 1, &[Number], arithmetic::minus),
    plain("modulo", 1, &[Number], arithmetic::modulo),
    plain("newline_to_br", 0, &[], encode::newline_to_br),
    plain("pad_left", 2, &[Length, Character], text::pad_left),
    plain("pad_right", 2, &[Length, Character], text::pad_right),
    plain("plus", 1, &[Number], arithmetic::plus),
    plain("prepend", 1, &[Text], text::prepend),
    plain("reject", 1, &[Text, Any], list::reject),
    plain("remove", 1, &[Text], text::remove),
    plain("remove_first", 1, &[Text], text::remove_first),
    plain("remove_last", 1, &[Text], text::remove_last),
    plain("replace", 1, &[Text, Text], text::replace),
    plain("replace_first", 1, &[Text, Text], text::replace_first),
    plain("replace_last", 1, &[Text, Text], text::replace_last),
    plain("reveal", 0, &[Length, Length, Character, Separators], card::reveal),
    plain("reveal_last", 1, &[Length, Character], card::reveal_last),
    total("reverse", Place::Anywhere, list::reverse),
    plain("round", 0, &[Integer], arithmetic::round),
    plain("rstrip", 0, &[], text::rstrip),
    total("size", Place::Anywhere, list::size),
    plain("slice", 1, &[Integer, Length], list::slice),
    plain("sort", 0, &[Text], list::sort),
    plain("sort_natural", 0, &[Text], list::sort_natural),
    plain("split", 1, &[Text], text::split),
    total("stringify", Place::Last, encode::stringify),
    plain("strip", 0, &[], text::strip),
    plain("strip_html", 0, &[], encode::strip_html),
    plain("strip_newlines", 0, &[], text::strip_newlines),
    plain("sum", 0, &[Text], list::sum),
    plain("times", 1, &[Number], arithmetic::times),
    encoding("to_base16", hex::encode_upper),
    encoding("to_base64", encode::base64),
    plain("to_boolean", 0, &[], encode::to_boolean),
    plain("to_number", 0, &[], arithmetic::to_number),
    plain("to_string", 0, &[], encode::to_string),
    plain("truncate", 0, &[Length, Text], text::truncate),
    plain("truncatewords", 0, &[Length, Text], text::truncatewords),
    plain("uniq", 0, &[Text], list::uniq),
    plain("upcase", 0, &[], text::upcase),
    plain("url_decode", 0, &[], encode::url_decode),
    plain("url_encode", 0, &[], encode::url_encode),
    plain("where", 1, &[Text, Any], list::where_),
];
