//! The part of a request that the ACS's pages show to the cardholder.
//!
//! The protocol shows it to any browser that brings the challenge's message: an ACS has no other
//! way to recognize the browser of its cardholder. That message holds two random transaction ids,
//! which only the shop's page and server get. Of the card the page shows only the last four digits.

use crate::threeds::message::{Areq, Digits, Numeric};

/// A purchase as the cardholder sees it. All texts come from the shop or the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPurchase {
    /// The merchant, or the requestor of an authentication without a purchase, without invisible
    /// characters.
    pub merchant: String,
    /// Absent without a purchase.
    pub amount: Option<PurchaseAmount>,
    pub last_four: Numeric<4>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurchaseAmount {
    /// In minor units.
    pub units: Digits<1, 48>,
    /// The numeric code of ISO 4217.
    pub currency: Numeric<3>,
    /// Number of minor digits.
    pub exponent: Numeric<1>,
}

impl ShownPurchase {
    /// `None` is impossible: a card number has at least four digits.
    pub(super) fn of(areq: &Areq) -> Option<Self> {
        let named = areq.options.merchant_name.as_ref().map(|name| visible(name.as_str()));
        let merchant = named.filter(|name| !name.is_empty());
        let number = areq.card_number.expose();
        let last_four = number.len().checked_sub(4).and_then(|start| number.get(start..))?;
        Some(Self {
            merchant: merchant.unwrap_or_else(|| visible(areq.requestor_name.as_str())),
            amount: PurchaseAmount::of(areq),
            last_four: Numeric::parse(last_four)?,
        })
    }
}

impl PurchaseAmount {
    fn of(areq: &Areq) -> Option<Self> {
        let options = &areq.options;
        Some(Self {
            units: options.amount.clone()?,
            currency: options.currency.clone()?,
            exponent: options.exponent.clone()?,
        })
    }
}

/// Removes characters that are invisible or change the order of their neighbours. With them, a shop
/// could show another name or amount than the one that was authenticated.
fn visible(text: &str) -> String {
    let spaced = text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    let seen: String = spaced.filter(|letter| !is_hidden(*letter)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Control characters, and the format characters of Unicode: direction, joiners, tags, fillers.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::threeds::codes::{Category, Channel};
    use crate::threeds::message::{CardNumber, Text};
    use crate::threeds::version::ProtocolVersion;

    fn areq() -> Areq {
        let number = CardNumber::parse("4200000000001234").unwrap();
        let (version, channel) = (ProtocolVersion::V220, Channel::Browser);
        Areq::sample(version, channel, Category::Payment, Uuid::nil(), number)
    }

    #[test]
    fn a_purchase_shows_the_merchant_the_amount_and_four_digits() {
        let mut areq = areq();
        areq.options.merchant_name = Text::parse("Books & More");
        areq.options.amount = Digits::parse("80000");
        areq.options.currency = Numeric::parse("826");
        areq.options.exponent = Numeric::parse("2");
        let shown = ShownPurchase::of(&areq).unwrap();
        assert_eq!(shown.merchant, "Books & More");
        assert_eq!(shown.last_four.as_str(), "1234");
        let amount = shown.amount.unwrap();
        assert_eq!((amount.units.as_str(), amount.exponent.as_str()), ("80000", "2"));
        assert_eq!(amount.currency.as_str(), "826");
    }

    #[test]
    fn without_a_purchase_the_requestor_is_shown_and_no_amount() {
        let shown = ShownPurchase::of(&areq()).unwrap();
        assert_eq!((shown.merchant.as_str(), shown.amount), ("Name", None));
        let mut unseen = areq();
        unseen.options.merchant_name = Text::parse("\u{202e}\u{200b}");
        assert_eq!(ShownPurchase::of(&unseen).unwrap().merchant, "Name");
    }

    #[test]
    fn a_name_cannot_reorder_or_hide_text() {
        for (sent, seen) in [
            ("Shop \u{202e}00.1 PBG", "Shop 00.1 PBG"),
            ("\u{2067}Shop\u{2069}", "Shop"),
            ("A\u{200d}B\u{200b}C\u{feff}", "ABC"),
            ("two\nlines\tand\u{85}more\u{2029}", "two lines and more"),
            ("  wide \u{3000} space ", "wide space"),
            ("bell\u{7} and \u{1b}[31m", "bell and [31m"),
            ("tag\u{e0041}", "tag"),
            (
                "B\u{e4}ckerei \u{d1}and\u{fa} \u{6771}\u{4eac} \u{645}\u{62a}\u{62c}\u{631}",
                "B\u{e4}ckerei \u{d1}and\u{fa} \u{6771}\u{4eac} \u{645}\u{62a}\u{62c}\u{631}",
            ),
        ] {
            assert_eq!(visible(sent), seen);
        }
        proptest::proptest!(|(text: String)| {
            let seen = visible(&text);
            proptest::prop_assert!(!seen.chars().any(is_hidden));
            proptest::prop_assert_eq!(visible(&seen), seen.clone());
            proptest::prop_assert!(seen.chars().count() <= text.chars().count());
        });
    }
}
