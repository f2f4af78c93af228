//! Card details that follow from a card number, without the number itself.
//!
//! The brand comes from the embedded ranges; funding, issuer and required authentication from the
//! operator's BIN file; the documented test cards have fixed details. Of the card number, only the
//! BIN and the last four digits are kept.

pub mod bin_table;
pub mod brand;
pub mod country;
mod digits;
pub mod expiry;
pub mod iin;
pub mod in_text;
mod span;
#[cfg(test)]
mod tests;
pub mod value;

use std::sync::Arc;

use crate::bounds::{CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::card::bin_table::{AdditionalDetails, BinTable};
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::domain::card::digits::Digits;
use crate::domain::card::iin::{TestCard, brand_of};

/// The `card` object of a token or an intent. Unknown values are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardDetails {
    pub bin: Digits,
    pub last4: Digits,
    pub expiration_month: Option<u8>,
    pub expiration_year: Option<u16>,
    pub brand: Option<Brand>,
    pub funding: Option<Funding>,
    pub authentication: Option<Authentication>,
    pub issuer: Option<Arc<str>>,
    pub issuer_country: Option<Country>,
    pub segment: Option<Segment>,
    pub product: Option<Arc<str>>,
    pub additional: Vec<AdditionalDetails>,
}

impl CardDetails {
    /// `None` unless the text is a card number (13 to 19 digits): other texts may not be shown.
    ///
    /// A documented test card always has its documented details, even if the operator's file covers
    /// its range: clients' tests rely on them. For other numbers the narrowest range of the file
    /// decides. A number outside of all its ranges gets the brand of the published ranges.
    pub fn of(
        number: &str,
        month: Option<u8>,
        year: Option<u16>,
        table: &BinTable,
    ) -> Option<Self> {
        let mut card = Self::without_brand(number, month, year)?;
        if let Some(test) = TestCard::of(number) {
            card.brand = Some(test.brand);
            card.funding = Some(test.funding);
            card.additional =
                test.additional_brand.map(|brand| additional(test, brand)).into_iter().collect();
        } else if let Some(known) = table.find(number) {
            card.brand = Some(known.brand);
            card.funding = known.funding;
            card.authentication = known.authentication;
            card.issuer = known.issuer;
            card.issuer_country = known.country;
            card.segment = known.segment;
            card.product = known.product;
            card.additional = known.additional;
        } else {
            card.brand = brand_of(number);
        }
        Some(card)
    }

    fn without_brand(number: &str, month: Option<u8>, year: Option<u16>) -> Option<Self> {
        let digits = number.len();
        if !(CARD_NUMBER_DIGITS_MIN..=CARD_NUMBER_DIGITS_MAX).contains(&digits)
            || !number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        let bin_digits = if digits >= LONG_BIN_FROM { BIN_DIGITS_LONG } else { BIN_DIGITS_SHORT };
        Some(Self {
            bin: Digits::new(number.get(..bin_digits)?)?,
            last4: Digits::new(number.get(digits.checked_sub(LAST_DIGITS)?..)?)?,
            expiration_month: month,
            expiration_year: year,
            brand: None,
            funding: None,
            authentication: None,
            issuer: None,
            issuer_country: None,
            segment: None,
            product: None,
            additional: Vec::new(),
        })
    }
}

/// PCI DSS allows at most these digits to be shown: the first eight of a number of 16 or more
/// digits, the first six of a shorter one, and the last four.
const LONG_BIN_FROM: usize = 16;
const BIN_DIGITS_LONG: usize = 8;
const BIN_DIGITS_SHORT: usize = 6;
const LAST_DIGITS: usize = 4;

fn additional(test: &TestCard, brand: &str) -> AdditionalDetails {
    AdditionalDetails {
        brand: Arc::from(brand),
        funding: Some(test.funding),
        authentication: None,
        issuer: None,
        country: None,
    }
}
