//! The brands of cards as JSON, for the field of the card number.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::bounds::{CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::card::brand::Brand;
use crate::domain::card::iin::{
    PublishedRange, TestUse, brand_of, published_ranges, published_test_cards,
};

/// `ranges` and `test_cards` hold the first and last number, the lengths and the brand; the first
/// match decides. A test card also says if its check digit may be wrong. Test cards that the ranges
/// cover are left out.
pub(super) fn json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let brand = |brand: Brand| {
            let details = json!({
                "name": brand.display_name(),
                "groups": brand.groups(),
                "cvc": brand.cvc_digits(),
            });
            (String::from(brand.as_str()), details)
        };
        let brands: Map<String, Value> = Brand::ALL.into_iter().map(brand).collect();
        let ranges: Vec<Value> = published_ranges().map(|range| row(&range)).collect();
        let test_card = |(range, used_for): (PublishedRange, TestUse)| {
            let mut row = row(&range);
            if let Value::Array(cells) = &mut row {
                cells.push(Value::from(used_for == TestUse::ThreeDs));
            }
            row
        };
        let test_cards = published_test_cards().filter(|(card, used_for)| {
            *used_for == TestUse::ThreeDs || brand_of(&first(card)) != Some(card.brand)
        });
        let test_cards: Vec<Value> = test_cards.map(test_card).collect();
        let digits = [CARD_NUMBER_DIGITS_MIN, CARD_NUMBER_DIGITS_MAX];
        json!({
            "digits": digits, "brands": brands, "ranges": ranges, "test_cards": test_cards,
        })
        .to_string()
    });
    &TEXT
}

/// The first number of a test card, without the zeros that fill it up.
fn first(card: &PublishedRange) -> String {
    let mut text = filled(card.first);
    text.truncate(card.lengths.first().copied().unwrap_or_default());
    text
}

fn filled(number: u64) -> String {
    format!("{number:0CARD_NUMBER_DIGITS_MAX$}")
}

/// Numbers are written as text: a JavaScript number does not hold 19 digits.
fn row(range: &PublishedRange) -> Value {
    json!([filled(range.first), filled(range.last), range.lengths, range.brand.as_str()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_range_and_test_card() {
        let table: Value = serde_json::from_str(json()).unwrap();
        assert_eq!(table["brands"].as_object().unwrap().len(), Brand::ALL.len());
        assert_eq!(table["ranges"].as_array().unwrap().len(), published_ranges().count());
        let visa = json!(["4000000000000000000", "4999999999999999999", [13, 16, 18, 19], "visa"]);
        assert!(table["ranges"].as_array().unwrap().contains(&visa));
        let wrong_digit =
            json!(["6011601160116011000", "6011601160116011999", [16], "discover", true]);
        assert!(table["test_cards"].as_array().unwrap().contains(&wrong_digit));
        // A Mastercard of 19 digits, which no range has, but not one that a range has.
        let long = json!(["5589092000000000006", "5589092000000000006", [19], "mastercard", false]);
        assert!(table["test_cards"].as_array().unwrap().contains(&long));
        assert!(!json().contains("4242424242424242"));
        assert_eq!(table["digits"], json!([13, 19]));
    }
}
