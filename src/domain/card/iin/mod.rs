//! The published brand ranges (`iin.csv`) and the documented test cards (`test_cards.csv`),
//! embedded and parsed once.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::bounds::{CARD_NUMBER_DIGITS_MAX, CARD_NUMBER_DIGITS_MIN};
use crate::domain::card::brand::{Brand, Funding};
use crate::domain::card::span::{Span, key};

/// The brand by the narrowest published range that holds a number of this length.
pub fn brand_of(number: &str) -> Option<Brand> {
    let key = key(number)?;
    RANGES
        .iter()
        .find(|range| range.span.holds(key) && range.lengths.holds(number.len()))
        .map(|range| range.brand)
}

/// The last of the numbers of this length, filled up to 19 digits, that have the brand of `number`
/// by the same range.
pub(super) fn end_of(number: &str) -> Option<u64> {
    let key = key(number)?;
    let holds = |range: &&Range| range.lengths.holds(number.len());
    let place = RANGES.iter().position(|range| holds(&range) && range.span.holds(key));
    let last = place.and_then(|place| RANGES.get(place)).map_or(u64::MAX, |it| it.span.last);
    // A narrower range inside of this one decides from its first number on.
    let narrower = RANGES.iter().take(place.unwrap_or(RANGES.len())).filter(holds);
    let next = narrower.map(|range| range.span.first).filter(|first| *first > key).min();
    Some(next.map_or(last, |next| last.min(next.saturating_sub(1))))
}

/// A published range of a brand, for programs that recognize a card while its number is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedRange {
    /// The first and the last number, filled up to 19 digits.
    pub first: u64,
    pub last: u64,
    pub lengths: Vec<usize>,
    pub brand: Brand,
}

/// The narrowest range is first: the first range that holds a number of its length names the brand.
pub fn published_ranges() -> impl Iterator<Item = PublishedRange> {
    RANGES.iter().map(|range| PublishedRange {
        first: range.span.first,
        last: range.span.last,
        lengths: (CARD_NUMBER_DIGITS_MIN..=CARD_NUMBER_DIGITS_MAX)
            .filter(|digits| range.lengths.holds(*digits))
            .collect(),
        brand: range.brand,
    })
}

/// The documented test cards. [`TestUse`] says if a test tenant takes a card with a wrong check
/// digit.
pub fn published_test_cards() -> impl Iterator<Item = (PublishedRange, TestUse)> {
    TEST_CARDS.iter().map(|card| {
        let lengths = vec![card.digits];
        let (first, last) = (card.span.first, card.span.last);
        (PublishedRange { first, last, lengths, brand: card.brand }, card.used_for)
    })
}

/// A card of the documentation's test tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestCard {
    pub brand: Brand,
    pub funding: Funding,
    /// The other brand of a co-badged card.
    pub additional_brand: Option<&'static str>,
    pub used_for: TestUse,
    span: Span,
    digits: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestUse {
    /// Its BIN details are fixed.
    BinDetails,
    /// It selects an outcome of the 3DS simulator.
    ThreeDs,
}

impl TestCard {
    pub fn of(number: &str) -> Option<&'static Self> {
        let key = key(number)?;
        TEST_CARDS.iter().find(|card| card.digits == number.len() && card.span.holds(key))
    }
}

/// Narrowest range first, so that the first match decides.
static RANGES: LazyLock<Vec<Range>> = LazyLock::new(|| {
    let mut ranges: Vec<Range> = rows(include_str!("iin.csv")).filter_map(range).collect();
    ranges.sort_by_key(|range| range.span.width());
    ranges
});

static TEST_CARDS: LazyLock<Vec<TestCard>> =
    LazyLock::new(|| rows(include_str!("test_cards.csv")).filter_map(test_card).collect());

#[derive(Debug, Clone, Copy)]
struct Range {
    span: Span,
    lengths: Lengths,
    brand: Brand,
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn range(row: &'static str) -> Option<Range> {
    let mut fields = row.split(',');
    let span = Span::parse(fields.next()?, fields.next()?).ok()?;
    let lengths = Lengths::parse(fields.next()?)?;
    let brand = Brand::parse(fields.next()?)?;
    fields.next().is_none().then_some(Range { span, lengths, brand })
}

fn test_card(row: &'static str) -> Option<TestCard> {
    let mut fields = row.split(',');
    let first = fields.next()?;
    let span = Span::parse(first, fields.next()?).ok()?;
    let brand = Brand::parse(fields.next()?)?;
    let funding = Funding::parse(fields.next()?)?;
    let additional_brand = fields.next().filter(|brand| !brand.is_empty());
    let used_for = match fields.next()? {
        "3ds" => TestUse::ThreeDs,
        "bin" => TestUse::BinDetails,
        _ => return None,
    };
    let digits = first.len();
    Some(TestCard { brand, funding, additional_brand, used_for, span, digits })
}

/// The lengths of a brand's numbers, one bit each.
#[derive(Debug, Clone, Copy)]
struct Lengths(u32);

impl Lengths {
    /// `16`, `14-19` or `13 16 18-19`.
    fn parse(text: &str) -> Option<Self> {
        let mut bits = 0u32;
        for part in text.split(' ') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            let range = u32::try_from(CARD_NUMBER_DIGITS_MIN).ok()?
                ..=u32::try_from(CARD_NUMBER_DIGITS_MAX).ok()?;
            if first > last || !range.contains(&first) || !range.contains(&last) {
                return None;
            }
            for length in first..=last {
                bits |= 1u32.checked_shl(length)?;
            }
        }
        Some(Self(bits))
    }

    fn holds(self, digits: usize) -> bool {
        u32::try_from(digits)
            .ok()
            .and_then(|digits| self.0.checked_shr(digits))
            .is_some_and(|bits| bits & 1 == 1)
    }
}
