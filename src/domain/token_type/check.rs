//! The rules of each type's data, by the published tables.

use serde_json::{Map, Value};

use crate::bounds::{ACCOUNT_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::card::expiry::{BadExpiry, Scalar, parse_month, parse_year};
use crate::domain::card::iin::{TestCard, TestUse};
use crate::domain::mistakes::Mistakes;
use crate::domain::token_type::{TestNumbers, TokenType};
use crate::domain::{aba, luhn};

/// A value of the wrong JSON type, in the words of the published API.
pub(super) const WRONG_TYPE: &str = "Deserialization error, invalid input.";
const REQUIRED: &str = "A value is required.";
const CHECK_DIGIT: &str = "The card number is not valid: its check digit is wrong.";
const CVC: &str = "The cvc must be 3 or 4 digits.";
const CVC_ZEROS: &str =
    "The cvc must be 3 or 4 digits; send it as text, since a number loses leading zeros.";
const MONTH: &str = "The expiration month must be from 1 to 12.";
const NINE_DIGITS: &str = "The number must be 9 digits, with or without hyphens between them.";
const ROUTING: &str = "The routing number must be 9 digits.";
const ROUTING_CHECKSUM: &str = "The routing number is not valid: its checksum is wrong.";
const YEAR: &str = "The expiration year must have four digits.";

pub(super) fn check(
    token_type: TokenType,
    data: &Value,
    numbers: TestNumbers,
) -> Result<(), Mistakes> {
    let mut mistakes = Mistakes::new();
    if data.is_null() {
        return Err(Mistakes::one("data", REQUIRED));
    }
    match token_type {
        TokenType::Token => {}
        TokenType::Bank => object(data, &mut mistakes, |bank, mistakes| {
            required(bank, "routing_number", mistakes, routing);
            required(bank, "account_number", mistakes, |text| account(text, 1));
        }),
        TokenType::Card => object(data, &mut mistakes, |card, mistakes| {
            required(card, "number", mistakes, |text| checked_card_number(text, numbers));
            card_members(card, mistakes);
        }),
        // The tables state no check digit for network tokens.
        TokenType::NetworkToken => object(data, &mut mistakes, |card, mistakes| {
            required(card, "number", mistakes, card_number);
            card_members(card, mistakes);
        }),
        TokenType::CardNumber => {
            text(|| "data", data, &mut mistakes, |text| checked_card_number(text, numbers));
        }
        TokenType::UsBankAccountNumber => {
            text(|| "data", data, &mut mistakes, |text| account(text, 3));
        }
        TokenType::UsBankRoutingNumber => text(|| "data", data, &mut mistakes, routing),
        TokenType::EmployerIdNumber | TokenType::SocialSecurityNumber => {
            text(|| "data", data, &mut mistakes, nine_digits);
        }
    }
    mistakes.into_result()
}

type Verdict = Result<(), String>;

fn object(
    data: &Value,
    mistakes: &mut Mistakes,
    check: impl FnOnce(&Map<String, Value>, &mut Mistakes),
) {
    match data.as_object() {
        Some(members) => check(members, mistakes),
        None => mistakes.add("data", WRONG_TYPE),
    }
}

/// A required member. `null` counts as absent.
fn required(
    members: &Map<String, Value>,
    name: &str,
    mistakes: &mut Mistakes,
    check: impl FnOnce(&str) -> Verdict,
) {
    let path = || format!("data.{name}");
    match members.get(name) {
        None | Some(Value::Null) => mistakes.add(path(), REQUIRED),
        Some(value) => text(path, value, mistakes, check),
    }
}

fn text<P: Into<String>>(
    path: impl FnOnce() -> P,
    value: &Value,
    mistakes: &mut Mistakes,
    check: impl FnOnce(&str) -> Verdict,
) {
    match value.as_str() {
        None => mistakes.add(path(), WRONG_TYPE),
        Some(text) => {
            if let Err(message) = check(text) {
                mistakes.add(path(), message);
            }
        }
    }
}

/// The optional members of a card. An expiry in the past is accepted.
fn card_members(card: &Map<String, Value>, mistakes: &mut Mistakes) {
    expiry(card, "expiration_month", |it| parse_month(Scalar::of(it)).err(), MONTH, mistakes);
    expiry(card, "expiration_year", |it| parse_year(Scalar::of(it)).err(), YEAR, mistakes);
    match card.get("cvc") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            if !is_digits(text, 3..=4) {
                mistakes.add("data.cvc", CVC);
            }
        }
        Some(value) => match value.as_u64() {
            None => mistakes.add("data.cvc", WRONG_TYPE),
            Some(100..=9999) => {}
            Some(_) => mistakes.add("data.cvc", CVC_ZEROS),
        },
    }
}

fn expiry(
    card: &Map<String, Value>,
    name: &str,
    fault: impl FnOnce(&Value) -> Option<BadExpiry>,
    message: &str,
    mistakes: &mut Mistakes,
) {
    let Some(value) = card.get(name).filter(|value| !value.is_null()) else { return };
    match fault(value) {
        None => {}
        Some(BadExpiry::NotANumber) => mistakes.add(format!("data.{name}"), WRONG_TYPE),
        Some(BadExpiry::OutOfRange) => mistakes.add(format!("data.{name}"), message),
    }
}

fn checked_card_number(text: &str, numbers: TestNumbers) -> Verdict {
    card_number(text)?;
    let is_taken = luhn::passes(text)
        || numbers == TestNumbers::Taken
            && TestCard::of(text).is_some_and(|card| card.used_for == TestUse::ThreeDs);
    verdict(is_taken, || CHECK_DIGIT.to_owned())
}

fn card_number(text: &str) -> Verdict {
    verdict(is_digits(text, CARD_NUMBER_DIGITS_MIN..=CARD_NUMBER_DIGITS_MAX), || {
        format!(
            "The card number must be {CARD_NUMBER_DIGITS_MIN} to {CARD_NUMBER_DIGITS_MAX} digits \
             without separators."
        )
    })
}

fn account(text: &str, digits_min: usize) -> Verdict {
    verdict(is_digits(text, digits_min..=ACCOUNT_NUMBER_DIGITS_MAX), || {
        format!("The account number must be {digits_min} to {ACCOUNT_NUMBER_DIGITS_MAX} digits.")
    })
}

fn routing(text: &str) -> Verdict {
    verdict(is_digits(text, 9..=9), || ROUTING.to_owned())?;
    verdict(aba::passes(text), || ROUTING_CHECKSUM.to_owned())
}

/// Nine digits, with single hyphens between any of them.
fn nine_digits(text: &str) -> Verdict {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits == 9 && text.split('-').all(|part| is_digits(part, 1..=9));
    verdict(is_number, || NINE_DIGITS.to_owned())
}

fn is_digits(text: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn verdict(is_right: bool, message: impl FnOnce() -> String) -> Verdict {
    if is_right { Ok(()) } else { Err(message()) }
}
