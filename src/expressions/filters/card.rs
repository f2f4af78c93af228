//! Filters that show a part of a value, such as a card number.
//!
//! Invariant: each shows only the characters that its arguments select, and the separators that
//! they keep (`reveal_last` always keeps `-`, as documented).

use serde_json::Value;

use super::arguments::Invocation;
use super::text::spell_out;
use crate::domain::card::expiry::Scalar;
use crate::expressions::budget::CHARACTER;
use crate::expressions::context::{Revealing, Text};
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The first six digits of a short number identify the issuer, and the first eight of a long one.
pub(super) const fn bin_length(digits: usize) -> usize {
    if digits < 16 { 6 } else { 8 }
}

pub(super) fn last4(text: &str, _: &Invocation<'_>) -> Result<Text, Failed> {
    let mut shown = Text::with_capacity(16);
    for c in text.chars().skip(text.chars().count().saturating_sub(4)) {
        shown.push(c)?;
    }
    Ok(shown)
}

pub(super) fn reveal_last(input: &Value, call: &Invocation<'_>) -> Outcome {
    let length = call.length(0, 0)?;
    let filler = call.character(1, 'X')?;
    spell_out(input, call, |text| {
        let chars = text.chars().count();
        if chars <= length && call.revealing == Revealing::AsAsked {
            return cover(text, filler, |_, _| true);
        }
        let hidden = if chars <= length { chars } else { chars.saturating_sub(length) };
        let shown = cover(text, filler, |at, c| at >= hidden || c == '-')?;
        if call.revealing == Revealing::NeverWhole && (chars <= length || shown.as_str() == text) {
            return cover(text, filler, |_, _| false);
        }
        Ok(shown)
    })
}

pub(super) fn reveal(input: &Value, call: &Invocation<'_>) -> Outcome {
    let first = call.length(0, 0)?;
    let last = call.length(1, 0)?;
    let filler = call.character(2, 'X')?;
    let kept = call.separators(3)?;
    spell_out(input, call, |text| {
        let chars = text.chars().count();
        if chars <= first.saturating_add(last) {
            return cover(text, filler, |_, _| false);
        }
        let tail = chars.saturating_sub(last);
        let shown = cover(text, filler, |at, c| at < first || at >= tail || kept.contains(c))?;
        if shown.as_str() == text { cover(text, filler, |_, _| false) } else { Ok(shown) }
    })
}

pub(super) fn card_mask(input: &Value, call: &Invocation<'_>) -> Outcome {
    let (bin, last) = (call.flag(0)?, call.flag(1)?);
    let filler = call.character(2, 'X')?;
    let kept = call.separators(3)?;
    spell_out(input, call, |text| {
        call.budget.spend(text.len().saturating_mul(2 * CHARACTER))?;
        let digits = text.chars().filter(|c| !kept.contains(*c)).count();
        let first = if bin { bin_length(digits) } else { 0 };
        let tail = digits.saturating_sub(if last { 4 } else { 0 });
        let mut digit = 0_usize;
        let shown = cover(text, filler, |_, c| {
            if kept.contains(c) {
                return true;
            }
            let at = digit;
            digit = digit.saturating_add(1);
            at < first || at >= tail
        })?;
        if shown.as_str() == text { cover(text, filler, |_, _| false) } else { Ok(shown) }
    })
}

/// Replaces every character that may not be shown.
fn cover(
    text: &str,
    filler: char,
    mut is_shown: impl FnMut(usize, char) -> bool,
) -> Result<Text, Failed> {
    let mut covered = Text::with_capacity(text.len());
    for (at, c) in text.chars().enumerate() {
        covered.push(if is_shown(at, c) { c } else { filler })?;
    }
    Ok(covered)
}

/// Refuses a number without digits after the issuer's: the result would be the whole value.
pub(super) fn card_bin(input: &Value, call: &Invocation<'_>) -> Outcome {
    let separator = call.separators(0)?;
    spell_out(input, call, |text| {
        call.budget.spend(text.len().saturating_mul(2 * CHARACTER))?;
        let digits = || text.chars().filter(|c| !separator.contains(*c));
        let count = digits().count();
        let length = bin_length(count);
        if count <= length {
            return Err(Failed::TooShort);
        }
        let mut bin = Text::with_capacity(32);
        for c in digits().take(length) {
            bin.push(c)?;
        }
        Ok(bin)
    })
}

/// A format consists of `MM`, `YY`, `YYYY` and characters that are neither letters nor digits.
pub(super) fn is_date_format(format: &str) -> bool {
    !format.is_empty()
        && format.len() <= 32
        && format.contains(['M', 'Y'])
        && date(format, Some(1), Some(2000)).is_ok()
}

pub(super) fn card_exp(input: &Value, call: &Invocation<'_>) -> Outcome {
    let format = call.text(0)?;
    if !is_date_format(&format) {
        return Err(Failed::BadArgument);
    }
    let card = match input {
        Value::Null => return Ok(Value::Null),
        Value::Object(card) => card,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Failed::NotACard);
        }
    };
    let part =
        |name: &str| card.get(name).and_then(|part| Scalar::of(part)?.whole()?.parse::<u16>().ok());
    let month = part("expiration_month").filter(|month| (1..=12).contains(month));
    let year = part("expiration_year").map(|year| if year < 100 { 2000 + year } else { year });
    date(&format, month, year.filter(|year| *year <= 9999)).map(Text::finish)
}

fn date(format: &str, month: Option<u16>, year: Option<u16>) -> Result<Text, Failed> {
    let mut rest = format;
    let mut date = Text::with_capacity(16);
    loop {
        let mut chars = rest.chars();
        let Some(next) = chars.next() else { return Ok(date) };
        let placeholders =
            [("YYYY", year, 4), ("YY", year.map(|year| year % 100), 2), ("MM", month, 2)];
        let found = placeholders
            .into_iter()
            .find_map(|(mark, part, width)| Some((rest.strip_prefix(mark)?, part, width)));
        match found {
            Some((after, part, width)) => {
                let part = part.ok_or(Failed::NotACard)?;
                date.push_str(&format!("{part:0width$}"))?;
                rest = after;
            }
            None if next.is_alphanumeric() => return Err(Failed::BadArgument),
            None => {
                date.push(next)?;
                rest = chars.as_str();
            }
        }
    }
}
