//! What is embedded: the published brand ranges, and the cards that the documentation lists for
//! testing. Readable tables (`iin.csv`, `test_cards.csv`), parsed once.

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
        TEST_CARDS
            .iter()
            .find(|card| card.digits == number.len() && card.span.holds(key))
    }
}

/// Narrowest first, so that the first hit is the right one.
static RANGES: LazyLock<Vec<Range>> = LazyLock::new(|| {
    let mut ranges: Vec<Range> = rows(include_str!("iin.csv")).filter_map(range).collect();
    ranges.sort_by_key(|range| range.span.width());
    ranges
});

static TEST_CARDS: LazyLock<Vec<TestCard>> = LazyLock::new(|| {
    rows(include_str!("test_cards.csv"))
        .filter_map(test_card)
        .collect()
});

#[derive(Debug, Clone, Copy)]
struct Range {
    span: Span,
    lengths: Lengths,
    brand: Brand,
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn range(row: &'static str) -> Option<Range> {
    let mut fields = row.split(',');
    let span = Span::parse(fields.next()?, fields.next()?).ok()?;
    let lengths = Lengths::parse(fields.next()?)?;
    let brand = Brand::parse(fields.next()?)?;
    fields.next().is_none().then_some(Range {
        span,
        lengths,
        brand,
    })
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
    Some(TestCard {
        brand,
        funding,
        additional_brand,
        used_for,
        span,
        digits,
    })
}

/// The lengths a brand issues, one bit each.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::luhn;

    #[test]
    fn every_line_of_both_tables_is_read() {
        assert_eq!(RANGES.len(), rows(include_str!("iin.csv")).count());
        assert_eq!(
            TEST_CARDS.len(),
            rows(include_str!("test_cards.csv")).count()
        );
    }

    #[test]
    fn no_two_ranges_of_one_width_overlap() {
        for (at, one) in RANGES.iter().enumerate() {
            for other in RANGES.iter().skip(at + 1) {
                let apart = one.span.last < other.span.first || other.span.last < one.span.first;
                assert!(
                    apart || one.span.width() != other.span.width(),
                    "{one:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn every_brand_with_published_ranges_is_there() {
        for brand in Brand::ALL {
            let published = !matches!(brand, Brand::PrivateLabel | Brand::Proprietary);
            assert_eq!(
                RANGES.iter().any(|range| range.brand == brand),
                published,
                "{brand:?}"
            );
        }
    }

    /// `prefix` filled up to `digits` digits.
    #[track_caller]
    fn check_brand(prefix: &str, digits: usize, brand: Option<Brand>) {
        for filler in ["0", "9"] {
            let number = format!("{prefix}{}", filler.repeat(digits - prefix.len()));
            assert_eq!(brand_of(&number), brand, "{number}");
        }
    }

    #[track_caller]
    fn check_edges(below: (&str, Option<Brand>), inside: [&str; 2], above: (&str, Option<Brand>)) {
        let brand = brand_of(&format!("{:0<16}", inside[0]));
        assert!(brand.is_some());
        check_brand(below.0, 16, below.1);
        check_brand(inside[0], 16, brand);
        check_brand(inside[1], 16, brand);
        check_brand(above.0, 16, above.1);
    }

    #[test]
    fn the_edges_of_every_brand() {
        use Brand::{
            DinersClub, Discover, Ebt, Elo, Hipercard, Jcb, Mastercard, Mir, UnionPay, Visa,
        };
        check_edges(
            ("399999", Some(DinersClub)),
            ["400000", "499999"],
            ("500000", None),
        );
        check_edges(
            ("509999", Some(Elo)),
            ["510000", "559999"],
            ("560000", None),
        );
        check_edges(("222099", None), ["222100", "272099"], ("272100", None));
        check_edges(("299999", None), ["300000", "305999"], ("306000", None));
        check_edges(("309499", None), ["309500", "309599"], ("309600", None));
        check_edges(("359999", None), ["360000", "369999"], ("370000", None));
        check_edges(
            ("379999", None),
            ["380000", "384099"],
            ("384100", Some(Hipercard)),
        );
        check_edges(
            ("384160", Some(Hipercard)),
            ["384161", "399999"],
            ("400000", Some(Visa)),
        );
        check_edges(("601099", None), ["601100", "601199"], ("601200", None));
        check_edges(
            ("643999", None),
            ["644000", "650030"],
            ("650031", Some(Elo)),
        );
        check_edges(
            ("655058", Some(Elo)),
            ["655059", "659999"],
            ("660000", None),
        );
        check_edges(
            ("619999", None),
            ["620000", "622043"],
            ("622044", Some(Ebt)),
        );
        check_edges(
            ("622044", Some(Ebt)),
            ["622045", "627484"],
            ("627485", Some(UnionPay)),
        );
        check_edges(
            ("627780", Some(Elo)),
            ["627781", "629999"],
            ("630000", None),
        );
        check_edges(("809999", None), ["810000", "817199"], ("817200", None));
        check_edges(("352799", None), ["352800", "358999"], ("359000", None));
        check_edges(("219999", None), ["220000", "220499"], ("220500", None));
        check_edges(("606281", None), ["606282", "606282"], ("606283", None));
        check_edges(("506698", None), ["506699", "506778"], ("506779", None));
        check_edges(
            ("508999", None),
            ["509000", "509999"],
            ("510000", Some(Mastercard)),
        );
        check_edges(
            ("401177", Some(Visa)),
            ["401178", "401179"],
            ("401180", Some(Visa)),
        );
        check_edges(
            ("650033", Some(Elo)),
            ["650034", "650034"],
            ("650035", Some(Elo)),
        );
        check_edges(
            ("655019", Some(Elo)),
            ["655020", "655020"],
            ("655021", Some(Elo)),
        );
        check_edges(("507679", None), ["507680", "507683"], ("507684", None));
        check_brand("220000", 16, Some(Mir));
        check_brand("352800", 16, Some(Jcb));
        check_brand("650034", 16, Some(Discover));
        for prefix in ["34", "37"] {
            check_brand(prefix, 15, Some(Brand::AmericanExpress));
        }
        check_brand("33", 15, None);
        check_brand("35", 15, None);
    }

    #[test]
    fn a_brand_has_the_lengths_it_issues() {
        check_brand("4", 13, Some(Brand::Visa));
        check_brand("4", 14, None);
        check_brand("4", 17, None);
        check_brand("4", 19, Some(Brand::Visa));
        check_brand("51", 15, None);
        check_brand("51", 19, None);
        check_brand("36", 14, Some(Brand::DinersClub));
        check_brand("36", 13, None);
        check_brand("34", 16, None);
        check_brand("1800", 15, Some(Brand::Jcb));
        check_brand("2131", 16, None);
        check_brand("6011", 15, None);
        // The state's number has 19 digits; with 16 it is the wider range's.
        check_brand("627485", 19, Some(Brand::Ebt));
        check_brand("627485", 16, Some(Brand::UnionPay));
    }

    #[test]
    fn what_is_no_number_has_no_brand() {
        for text in ["", "4x42424242424242", "42424242424242424242", "4242-4242"] {
            assert_eq!(brand_of(text), None);
            assert_eq!(TestCard::of(text), None);
        }
    }

    #[track_caller]
    fn check_test_card(number: &str, brand: Brand, funding: Funding, used_for: TestUse) {
        let card = TestCard::of(number).unwrap();
        assert_eq!(
            (card.brand, card.funding, card.used_for),
            (brand, funding, used_for)
        );
    }

    #[test]
    fn documented_cards_are_found() {
        use TestUse::{BinDetails, ThreeDs};
        check_test_card("4242424242424242", Brand::Visa, Funding::Credit, BinDetails);
        check_test_card(
            "5555555555554444",
            Brand::Mastercard,
            Funding::Credit,
            BinDetails,
        );
        check_test_card(
            "378282246310005",
            Brand::AmericanExpress,
            Funding::Credit,
            BinDetails,
        );
        check_test_card("4000056655665556", Brand::Visa, Funding::Credit, BinDetails);
        check_test_card(
            "6200000000000005",
            Brand::UnionPay,
            Funding::Credit,
            BinDetails,
        );
        check_test_card(
            "6011010000000003",
            Brand::Discover,
            Funding::Debit,
            BinDetails,
        );
        check_test_card("3566002020360505", Brand::Jcb, Funding::Debit, BinDetails);
        check_test_card(
            "5200828282828210",
            Brand::Mastercard,
            Funding::Debit,
            BinDetails,
        );
        check_test_card(
            "6011000990139424",
            Brand::Discover,
            Funding::Credit,
            BinDetails,
        );
        check_test_card(
            "5204247750001471",
            Brand::Mastercard,
            Funding::Credit,
            ThreeDs,
        );
        check_test_card("4200000000000017", Brand::Visa, Funding::Credit, ThreeDs);
        let co_badged = TestCard::of("4150580996517927").unwrap();
        assert_eq!(co_badged.additional_brand, Some("cartes-bancaires"));
    }

    #[test]
    fn a_neighbour_of_a_documented_card_is_not_one() {
        for number in [
            "4242424242424241",
            "42424242424242420",
            "3782822463100050",
            "4200000000000001",
            "4200000000000018",
        ] {
            assert_eq!(TestCard::of(number), None, "{number}");
        }
    }

    #[test]
    fn a_test_card_has_the_brand_of_its_range() {
        for card in TEST_CARDS.iter() {
            let number = card.span.first.to_string();
            let number = number.get(..card.digits).unwrap();
            let expected = (card.digits != 19).then_some(card.brand);
            assert_eq!(brand_of(number), expected, "{number}");
        }
    }

    #[test]
    fn every_documented_number_with_a_wrong_check_digit_is_for_3ds() {
        let wrong = (2..=17).map(|n| format!("42000000000000{n:02}"));
        let more = ["6011601160116011", "4100000000000003"].map(String::from);
        for number in wrong.chain(more) {
            assert!(!luhn::passes(&number), "{number}");
            assert_eq!(
                TestCard::of(&number).map(|card| card.used_for),
                Some(TestUse::ThreeDs)
            );
        }
    }
}
