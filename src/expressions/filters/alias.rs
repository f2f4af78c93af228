//! Filters that replace characters by random ones, each choice equally likely. A call that replaces
//! no character fails: its alias would be the value.

use serde_json::Value;

use super::arguments::Invocation;
use super::card::bin_length;
use super::text::spell_out;
use crate::expressions::context::{Host, Text};
use crate::expressions::failures::Failed;

type Outcome = Result<Value, Failed>;

/// The work of one random character.
const RANDOM: usize = 16;

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const LETTERS_AND_DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

pub(super) fn alias_card(input: &Value, call: &Invocation<'_>) -> Outcome {
    let (bin, last) = (call.flag(0)?, call.flag(1)?);
    let is_separator = |c: char| matches!(c, ' ' | '-');
    spell_out(input, call, |text| {
        call.budget.spend(text.len().saturating_mul(RANDOM))?;
        let digits = text.chars().filter(|c| !is_separator(*c)).count();
        let first = if bin { bin_length(digits) } else { 0 };
        let last = if last { 4 } else { 0 };
        if digits <= first.saturating_add(last) {
            return Err(Failed::TooShort);
        }
        let mut dice = Dice::new(call.host);
        let mut digit = 0_usize;
        let mut alias = Text::with_capacity(text.len());
        for c in text.chars() {
            if is_separator(c) {
                alias.push(c)?;
                continue;
            }
            let hidden = (first..digits.saturating_sub(last)).contains(&digit);
            alias.push(if hidden { dice.one_of(DIGITS)? } else { c })?;
            digit = digit.saturating_add(1);
        }
        Ok(alias)
    })
}

pub(super) fn alias_preserve_format(input: &Value, call: &Invocation<'_>) -> Outcome {
    alias(input, call, |c, dice| {
        if c.is_alphabetic() {
            dice.one_of(LETTERS).map(Some)
        } else if c.is_numeric() {
            dice.one_of(DIGITS).map(Some)
        } else {
            Ok(None)
        }
    })
}

pub(super) fn alias_preserve_length(input: &Value, call: &Invocation<'_>) -> Outcome {
    alias(input, call, |_, dice| dice.one_of(LETTERS_AND_DIGITS).map(Some))
}

fn alias(
    input: &Value,
    call: &Invocation<'_>,
    replacement: impl Fn(char, &mut Dice<'_>) -> Result<Option<char>, Failed>,
) -> Outcome {
    let (first, last) = (call.length(0, 0)?, call.length(1, 0)?);
    spell_out(input, call, |text| {
        call.budget.spend(text.len().saturating_mul(RANDOM))?;
        let chars = text.chars().count();
        let mut dice = Dice::new(call.host);
        let mut alias = Text::with_capacity(text.len());
        let mut replaced = 0_usize;
        for (at, c) in text.chars().enumerate() {
            let hidden = (first..chars.saturating_sub(last)).contains(&at);
            match replacement(c, &mut dice)?.filter(|_| hidden) {
                Some(random) => {
                    replaced = replaced.saturating_add(1);
                    alias.push(random)?;
                }
                None => alias.push(c)?,
            }
        }
        if replaced == 0 { Err(Failed::TooShort) } else { Ok(alias) }
    })
}

/// A source of random bytes. It reads blocks, because each call of the host may be a system call.
struct Dice<'a> {
    host: &'a dyn Host,
    block: [u8; 256],
    used: usize,
}

impl<'a> Dice<'a> {
    const fn new(host: &'a dyn Host) -> Self {
        Self { host, block: [0; 256], used: 256 }
    }

    fn byte(&mut self) -> Result<u8, Failed> {
        if self.used >= self.block.len() {
            self.host.random(&mut self.block);
            self.used = 0;
        }
        let byte = self.block.get(self.used).copied().ok_or(Failed::NotRandom)?;
        self.used = self.used.saturating_add(1);
        Ok(byte)
    }

    /// A byte past the last whole multiple of the number of choices is drawn again: it would favour
    /// the first choices. 128 such bytes in a row come only from a source that is not random.
    fn one_of(&mut self, choices: &[u8]) -> Result<char, Failed> {
        let excess = 256_usize.checked_rem(choices.len()).ok_or(Failed::NotRandom)?;
        let fair = 256_usize.saturating_sub(excess);
        for _ in 0..128 {
            let byte = usize::from(self.byte()?);
            let choice = byte.checked_rem(choices.len()).and_then(|at| choices.get(at));
            if byte < fair {
                return choice.copied().map(char::from).ok_or(Failed::NotRandom);
            }
        }
        Err(Failed::NotRandom)
    }
}
