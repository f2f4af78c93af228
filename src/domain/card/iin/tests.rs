use crate::domain::card::brand::{Brand, Funding};
use crate::domain::card::iin::{RANGES, TEST_CARDS, TestCard, TestUse, brand_of, rows};
use crate::domain::luhn;

#[test]
fn every_line_of_both_tables_is_read() {
    assert_eq!(RANGES.len(), rows(include_str!("iin.csv")).count());
    assert_eq!(TEST_CARDS.len(), rows(include_str!("test_cards.csv")).count());
}

#[test]
fn no_two_ranges_of_one_width_overlap() {
    for (at, one) in RANGES.iter().enumerate() {
        for other in RANGES.iter().skip(at + 1) {
            let apart = one.span.last < other.span.first || other.span.last < one.span.first;
            assert!(apart || one.span.width() != other.span.width(), "{one:?} {other:?}");
        }
    }
}

#[test]
fn every_brand_with_published_ranges_is_there() {
    for brand in Brand::ALL {
        let published = !matches!(brand, Brand::PrivateLabel | Brand::Proprietary);
        assert_eq!(RANGES.iter().any(|range| range.brand == brand), published, "{brand:?}");
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

/// Each line: the prefix below with its brand, the first and last prefix of a range with theirs,
/// and the prefix above. All numbers have 16 digits; `-` is no brand.
const EDGES: &str = "\
    399999 diners-club | 400000 401177 visa        | 401178 elo
    401177 visa        | 401178 401179 elo         | 401180 visa
    457632 elo         | 457633 499999 visa        | 500000 -
    509999 elo         | 510000 559999 mastercard  | 560000 -
    222099 -           | 222100 272099 mastercard  | 272100 -
    299999 -           | 300000 305999 diners-club | 306000 -
    309499 -           | 309500 309599 diners-club | 309600 -
    359999 -           | 360000 369999 diners-club | 370000 -
    379999 -           | 380000 384099 diners-club | 384100 hipercard
    384139 diners-club | 384140 384140 hipercard   | 384141 diners-club
    384160 hipercard   | 384161 399999 diners-club | 400000 visa
    601099 -           | 601100 601199 discover    | 601200 -
    643999 -           | 644000 650030 discover    | 650031 elo
    655058 elo         | 655059 659999 discover    | 660000 -
    619999 -           | 620000 622043 unionpay    | 622044 ebt
    622044 ebt         | 622045 627779 unionpay    | 627780 elo
    627780 elo         | 627781 629999 unionpay    | 630000 -
    809999 -           | 810000 817199 unionpay    | 817200 -
    352799 -           | 352800 358999 jcb         | 359000 -
    219999 -           | 220000 220499 mir         | 220500 -
    606281 -           | 606282 606282 hipercard   | 606283 -
    506698 -           | 506699 506778 elo         | 506779 -
    508999 -           | 509000 509999 elo         | 510000 mastercard
    650030 discover    | 650031 650033 elo         | 650034 discover
    650034 discover    | 650035 650051 elo         | 650052 discover
    655020 discover    | 655021 655058 elo         | 655059 discover
    507679 -           | 507680 507683 ebt         | 507684 -
    508147 ebt         | 508148 508148 ebt         | 508149 -";

#[test]
fn the_edges_of_every_brand() {
    for line in EDGES.lines() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "|").collect();
        let &[below, below_brand, first, last, brand, above, above_brand] = words.as_slice() else {
            panic!("{line}");
        };
        check_brand(below, 16, Brand::parse(below_brand));
        check_brand(first, 16, Some(Brand::parse(brand).unwrap()));
        check_brand(last, 16, Brand::parse(brand));
        check_brand(above, 16, Brand::parse(above_brand));
    }
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
    // The state's number has 19 digits; with 16 digits the wider range applies.
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
    assert_eq!((card.brand, card.funding, card.used_for), (brand, funding, used_for));
}

#[test]
fn documented_cards_are_found() {
    use TestUse::{BinDetails, ThreeDs};
    check_test_card("4242424242424242", Brand::Visa, Funding::Credit, BinDetails);
    check_test_card("5555555555554444", Brand::Mastercard, Funding::Credit, BinDetails);
    check_test_card("378282246310005", Brand::AmericanExpress, Funding::Credit, BinDetails);
    check_test_card("4000056655665556", Brand::Visa, Funding::Credit, BinDetails);
    check_test_card("6200000000000005", Brand::UnionPay, Funding::Credit, BinDetails);
    check_test_card("6011010000000003", Brand::Discover, Funding::Debit, BinDetails);
    check_test_card("3566002020360505", Brand::Jcb, Funding::Debit, BinDetails);
    check_test_card("5200828282828210", Brand::Mastercard, Funding::Debit, BinDetails);
    check_test_card("6011000990139424", Brand::Discover, Funding::Credit, BinDetails);
    check_test_card("5204247750001471", Brand::Mastercard, Funding::Credit, ThreeDs);
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
        assert_eq!(TestCard::of(&number).map(|card| card.used_for), Some(TestUse::ThreeDs));
    }
}
