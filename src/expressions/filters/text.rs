//! Filters that rewrite a text. Lengths and positions are in characters, not bytes.

use serde_json::Value;

use super::arguments::{Invocation, text_of};
use crate::bounds;
use crate::expressions::budget::{CHARACTER, check_size, text_made};
use crate::expressions::context::Text;
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The work of one cut of a text.
pub(super) const MATCH: usize = 24;

/// Rewrites a text. Null stays null.
pub(in crate::expressions) fn rewrite(
    input: &Value,
    change: impl FnOnce(&str) -> Result<Text, Failed>,
) -> Outcome {
    if input.is_null() {
        return Ok(Value::Null);
    }
    change(&text_of(input)?).map(Text::finish)
}

/// As [`rewrite`], for a function that reads the text character by character.
pub(in crate::expressions) fn spell_out(
    input: &Value,
    call: &Invocation<'_>,
    change: impl FnOnce(&str) -> Result<Text, Failed>,
) -> Outcome {
    rewrite(input, |text| {
        call.budget.spend(text.len().saturating_mul(CHARACTER))?;
        change(text)
    })
}

pub(super) fn join(parts: &[&str]) -> Result<Text, Failed> {
    let mut text = Text::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        text.push_str(part)?;
    }
    Ok(text)
}

fn spell(
    chars: impl Iterator<Item = char>,
    capacity: usize,
    call: &Invocation<'_>,
) -> Result<Text, Failed> {
    call.budget.spend(capacity.saturating_mul(CHARACTER))?;
    let mut text = Text::with_capacity(capacity);
    for c in chars {
        text.push(c)?;
    }
    Ok(text)
}

pub(super) fn append(input: &Value, call: &Invocation<'_>) -> Outcome {
    join(&[&text_of(input)?, &call.text(0)?]).map(Text::finish)
}

pub(super) fn prepend(input: &Value, call: &Invocation<'_>) -> Outcome {
    join(&[&call.text(0)?, &text_of(input)?]).map(Text::finish)
}

pub(super) fn upcase(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    if text.is_ascii() {
        return Text::from(text.to_ascii_uppercase());
    }
    spell(text.chars().flat_map(char::to_uppercase), text.len(), call)
}

pub(super) fn downcase(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    if text.is_ascii() {
        return Text::from(text.to_ascii_lowercase());
    }
    spell(text.chars().flat_map(char::to_lowercase), text.len(), call)
}

pub(super) fn capitalize(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    spell(first.chain(chars.flat_map(char::to_lowercase)), text.len(), call)
}

/// Removes a carriage return only before a newline.
pub(super) fn strip_newlines(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    let mut line = Text::with_capacity(text.len());
    for part in text.split("\r\n").flat_map(|part| part.split('\n')) {
        call.budget.spend(MATCH)?;
        line.push_str(part)?;
    }
    Ok(line)
}

/// Replaces the first argument by the second one; without a second one the matches are removed.
pub(super) fn replace(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    substitute(text, &call.text(0)?, &call.text(1)?, call)
}

pub(super) fn replace_first(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    cut(text.split_once(&*call.text(0)?), text, &call.text(1)?)
}

pub(super) fn replace_last(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    cut(text.rsplit_once(&*call.text(0)?), text, &call.text(1)?)
}

/// Stops at the bound while it builds the result: a short expression can request gigabytes.
fn substitute(text: &str, old: &str, new: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    call.budget.spend(text.len().saturating_mul(2))?;
    let mut changed = Text::with_capacity(text.len());
    for (place, part) in text.split(old).enumerate() {
        call.budget.spend(MATCH)?;
        // With an empty `old`, `split` also gives an empty text at both ends, as Ruby does.
        if place > 0 {
            changed.push_str(new)?;
        }
        changed.push_str(part)?;
    }
    Ok(changed)
}

fn cut(halves: Option<(&str, &str)>, whole: &str, new: &str) -> Result<Text, Failed> {
    match halves {
        Some((before, after)) => join(&[before, new, after]),
        None => join(&[whole]),
    }
}

pub(super) fn pad_left(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    let mut padded = padding(text, call)?;
    padded.push_str(text)?;
    Ok(padded)
}

pub(super) fn pad_right(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    join(&[text, padding(text, call)?.as_str()])
}

fn padding(text: &str, call: &Invocation<'_>) -> Result<Text, Failed> {
    let length = call.length(0, 0)?;
    let filler = call.character(1, ' ')?;
    check_size(length)?;
    spell(std::iter::repeat_n(filler, length.saturating_sub(text.chars().count())), length, call)
}

/// Splits as Ruby does: at white space if the separator is one space, into characters if it is
/// empty, and without empty texts at the end.
pub(super) fn split(input: &Value, call: &Invocation<'_>) -> Outcome {
    let text = text_of(input)?;
    let mark = call.text(0)?;
    call.budget.spend(text.len().saturating_mul(2))?;
    let mut parts: Vec<Value> = Vec::new();
    let mut push = |part: &str| {
        // Charged here, since empty texts at the end are removed before the result is charged.
        call.budget.spend(text_made(0))?;
        parts.push(Value::from(part));
        if parts.len() > bounds::EXPRESSION_ITEMS_MAX { Err(Failed::TooLarge) } else { Ok(()) }
    };
    match &*mark {
        " " => text.split_whitespace().try_for_each(&mut push)?,
        "" => text.chars().try_for_each(|c| push(c.encode_utf8(&mut [0; 4])))?,
        mark => text.split(mark).try_for_each(&mut push)?,
    }
    while parts.last().is_some_and(|part| part.as_str() == Some("")) {
        parts.pop();
    }
    Ok(Value::Array(parts))
}

/// The length includes the ellipsis.
pub(super) fn truncate(input: &Value, call: &Invocation<'_>) -> Outcome {
    let length = call.length(0, 50)?;
    let ellipsis = ellipsis(call)?;
    rewrite(input, |text| {
        if text.chars().nth(length).is_none() {
            return join(&[text]);
        }
        let kept = length.saturating_sub(ellipsis.chars().count());
        let mut short = Text::with_capacity(text.len());
        for c in text.chars().take(kept) {
            short.push(c)?;
        }
        short.push_str(&ellipsis)?;
        Ok(short)
    })
}

pub(super) fn truncatewords(input: &Value, call: &Invocation<'_>) -> Outcome {
    let most = call.length(0, 15)?.max(1);
    let ellipsis = ellipsis(call)?;
    rewrite(input, |text| {
        if text.split_whitespace().nth(most).is_none() {
            return join(&[text]);
        }
        let mut kept = Text::with_capacity(text.len());
        for (place, word) in text.split_whitespace().take(most).enumerate() {
            if place > 0 {
                kept.push(' ')?;
            }
            kept.push_str(word)?;
        }
        kept.push_str(&ellipsis)?;
        Ok(kept)
    })
}

fn ellipsis<'a>(call: &'a Invocation<'_>) -> Result<std::borrow::Cow<'a, str>, Failed> {
    if call.value(1).is_some() { call.text(1) } else { Ok("...".into()) }
}
