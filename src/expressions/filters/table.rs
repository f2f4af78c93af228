//! The table of all filters, in alphabetical order for the binary search.

use serde_json::Value;

use super::signature::Kind::{
    Any, CardDate, Character, Flag, HashName, Integer, Length, Number, Path, Separators, Text,
};
use super::signature::{Action, Calculation, Filter, FilterPosition, Kind, Rewrite, Run};
use super::{alias, arithmetic, card, encode, list, number, text};
use crate::domain::hex;
use crate::expressions::context::Text as Output;

pub(in crate::expressions) fn find(name: &str) -> Option<&'static Filter> {
    FILTERS.binary_search_by(|filter| filter.name.cmp(name)).ok().and_then(|at| FILTERS.get(at))
}

#[cfg(test)]
pub(in crate::expressions) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|filter| filter.name)
}

type Kinds = &'static [Kind];

const fn filter(name: &'static str, least: usize, kinds: Kinds, action: Action) -> Filter {
    Filter { name, least, kinds, named: None, place: FilterPosition::Anywhere, action }
}

const fn plain(name: &'static str, least: usize, kinds: Kinds, run: Run<Value>) -> Filter {
    filter(name, least, kinds, Action::Value(run))
}

const fn rewrite(name: &'static str, least: usize, kinds: Kinds, run: Rewrite) -> Filter {
    filter(name, least, kinds, Action::Rewrite(run))
}

const fn spell_out(name: &'static str, run: Rewrite) -> Filter {
    filter(name, 0, &[], Action::SpellOut(run))
}

const fn calculation(name: &'static str, run: Calculation) -> Filter {
    filter(name, 1, &[Number], Action::Calculation(run))
}

const fn total(name: &'static str, run: fn(&Value) -> Value) -> Filter {
    filter(name, 0, &[], Action::Total(run))
}

const fn encoding(name: &'static str, encode: fn(&[u8]) -> String) -> Filter {
    filter(name, 0, &[], Action::Encode(encode))
}

static FILTERS: &[Filter] = &[
    plain("abs", 0, &[], arithmetic::abs),
    plain("alias_card", 0, &[Flag, Flag], alias::alias_card),
    plain("alias_preserve_format", 0, &[Length, Length], alias::alias_preserve_format),
    plain("alias_preserve_length", 0, &[Length, Length], alias::alias_preserve_length),
    plain("append", 1, &[Text], text::append),
    calculation("at_least", |number, least| Ok(number.at_least(least))),
    calculation("at_most", |number, most| Ok(number.at_most(most))),
    spell_out("base64_decode", |text, _| encode::from_base64(text, &encode::FROM_STANDARD)),
    spell_out("base64_encode", |text, _| Output::from(encode::base64(text))),
    spell_out("base64_url_safe_decode", |text, _| {
        encode::from_base64(text, &encode::FROM_URL_SAFE)
    }),
    spell_out("base64_url_safe_encode", |text, _| Output::from(encode::base64_url_safe(text))),
    spell_out("capitalize", text::capitalize),
    plain("card_bin", 0, &[Separators], card::card_bin),
    plain("card_exp", 1, &[CardDate], card::card_exp),
    plain("card_mask", 0, &[Flag, Flag, Character, Separators], card::card_mask),
    plain("ceil", 0, &[], arithmetic::ceil),
    plain("compact", 0, &[Text], list::compact),
    plain("concat", 1, &[Any], list::concat),
    Filter { named: Some("allow_false"), ..plain("default", 1, &[Any, Flag], list::default) },
    calculation("divided_by", number::Number::divided_by),
    rewrite("downcase", 0, &[], text::downcase),
    spell_out("escape", encode::escape),
    spell_out("escape_once", encode::escape_once),
    plain("find", 1, &[Text, Any], list::find),
    plain("find_index", 1, &[Text, Any], list::find_index),
    total("first", list::first),
    plain("floor", 0, &[], arithmetic::floor),
    plain("has", 1, &[Text, Any], list::has),
    Filter {
        place: FilterPosition::BeforeEncoding,
        ..filter("hmac", 2, &[HashName, Text], Action::Sign(encode::hmac))
    },
    plain("join", 0, &[Text], list::join),
    filter("json", 1, &[Path], Action::Path),
    Filter { place: FilterPosition::Last, ..total("json_stringify", encode::stringify) },
    total("last", list::last),
    rewrite("last4", 0, &[], card::last4),
    rewrite("lstrip", 0, &[], |text, _| text::join(&[text.trim_start()])),
    plain("map", 1, &[Text], list::map),
    calculation("minus", number::Number::subtract),
    calculation("modulo", number::Number::modulo),
    spell_out("newline_to_br", encode::newline_to_br),
    rewrite("pad_left", 2, &[Length, Character], text::pad_left),
    rewrite("pad_right", 2, &[Length, Character], text::pad_right),
    calculation("plus", number::Number::add),
    plain("prepend", 1, &[Text], text::prepend),
    plain("reject", 1, &[Text, Any], list::reject),
    rewrite("remove", 1, &[Text], text::replace),
    rewrite("remove_first", 1, &[Text], text::replace_first),
    rewrite("remove_last", 1, &[Text], text::replace_last),
    rewrite("replace", 1, &[Text, Text], text::replace),
    rewrite("replace_first", 1, &[Text, Text], text::replace_first),
    rewrite("replace_last", 1, &[Text, Text], text::replace_last),
    plain("reveal", 0, &[Length, Length, Character, Separators], card::reveal),
    plain("reveal_last", 1, &[Length, Character], card::reveal_last),
    total("reverse", list::reverse),
    plain("round", 0, &[Integer], arithmetic::round),
    rewrite("rstrip", 0, &[], |text, _| text::join(&[text.trim_end()])),
    total("size", list::size),
    plain("slice", 1, &[Integer, Length], list::slice),
    plain("sort", 0, &[Text], list::sort),
    plain("sort_natural", 0, &[Text], list::sort_natural),
    plain("split", 1, &[Text], text::split),
    Filter { place: FilterPosition::Last, ..total("stringify", encode::stringify) },
    rewrite("strip", 0, &[], |text, _| text::join(&[text.trim()])),
    spell_out("strip_html", encode::strip_html),
    rewrite("strip_newlines", 0, &[], text::strip_newlines),
    plain("sum", 0, &[Text], list::sum),
    calculation("times", number::Number::times),
    encoding("to_base16", hex::encode_upper),
    encoding("to_base64", |bytes| encode::base64(bytes)),
    plain("to_boolean", 0, &[], encode::to_boolean),
    plain("to_number", 0, &[], arithmetic::to_number),
    plain("to_string", 0, &[], encode::to_string),
    plain("truncate", 0, &[Length, Text], text::truncate),
    plain("truncatewords", 0, &[Length, Text], text::truncatewords),
    plain("uniq", 0, &[Text], list::uniq),
    rewrite("upcase", 0, &[], text::upcase),
    spell_out("url_decode", encode::url_decode),
    spell_out("url_encode", encode::url_encode),
    plain("where", 1, &[Text, Any], list::where_),
];
