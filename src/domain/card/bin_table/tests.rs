use std::fmt::Write as _;

use proptest::prelude::*;

use crate::bounds::{
    BIN_ADDITIONAL_MAX, BIN_FILE_MISTAKES_MAX, BIN_LINE_BYTES_MAX, BIN_TEXT_BYTES_MAX,
};
use crate::domain::card::bin_table::file::Limits;
use crate::domain::card::bin_table::mistake::{BinFileError, BinMistake};
use crate::domain::card::bin_table::{BinFile, BinTable};
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;

const HEADER: &str = "first,last,role,brand,funding,authentication,issuer,country,segment,product";

#[track_caller]
fn parse(rows: &[&str]) -> BinTable {
    BinTable::parse(&format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap()
}

/// The mistakes of a file with these rows; the first row is line 2.
#[track_caller]
fn check_mistakes(rows: &[&str], expected: &[(u32, BinMistake)]) {
    let mistakes = BinTable::parse(&format!("{HEADER}\n{}\n", rows.join("\n"))).unwrap_err();
    let found: Vec<_> = mistakes.iter().map(|mistake| (mistake.line, mistake.why)).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_header(text: &str, line: u32, why: BinMistake) {
    let mistakes = BinTable::parse(text).unwrap_err();
    assert_eq!(mistakes.len(), 1);
    assert_eq!((mistakes[0].line, mistakes[0].why), (line, why));
}

#[test]
fn a_row_says_everything_it_holds() {
    let table = parse(&[
        "# a comment, and an empty line",
        "",
        r#"40000000,40000099,primary,visa,credit,sca_required,"BANK ""A"", N.A.",US,Consumer,G1"#,
    ]);
    let found = table.find("4000005000000000").unwrap();
    assert_eq!(found.brand, Brand::Visa);
    assert_eq!(found.funding, Some(Funding::Credit));
    assert_eq!(found.authentication, Some(Authentication::ScaRequired));
    assert_eq!(found.issuer.as_deref(), Some("BANK \"A\", N.A."));
    assert_eq!(found.country.map(Country::alpha2), Some("US"));
    assert_eq!(found.segment, Some(Segment::Consumer));
    assert_eq!(found.product.as_deref(), Some("G1"));
    assert_eq!(found.additional, []);
    assert_eq!(table.ranges(), 1);
}

#[test]
fn a_range_holds_its_edges_and_no_more() {
    let table = parse(&["40000010,40000019,,visa,,,,,,", "9,,,mir,,,,,,"]);
    for (number, is_held) in [
        ("4000000999999999999", false),
        ("4000001000000", true),
        ("4000001999999999999", true),
        ("4000002000000", false),
        ("8999999999999999999", false),
        ("9000000000000", true),
        ("9999999999999999999", true),
    ] {
        assert_eq!(table.find(number).is_some(), is_held, "{number}");
    }
    assert_eq!(table.find(""), None);
    assert_eq!(table.find("4000001x00000"), None);
}

#[track_caller]
fn check_brand(table: &BinTable, number: &str, brand: Brand) {
    assert_eq!(table.find(number).map(|found| found.brand), Some(brand), "{number}");
}

#[test]
fn the_narrowest_range_wins_wherever_it_stands() {
    let table = parse(&[
        "401178,,,elo,,,,,,",
        "4,,,visa,,,,,,",
        "40117855,,,mir,,,,,,",
        "40117,,,jcb,,,,,,",
    ]);
    check_brand(&table, "4011785500000000", Brand::Mir);
    check_brand(&table, "4011785600000000", Brand::Elo);
    check_brand(&table, "4011785499999999", Brand::Elo);
    check_brand(&table, "4011790000000000", Brand::Jcb);
    check_brand(&table, "4011800000000000", Brand::Visa);
    check_brand(&table, "4000000000000000", Brand::Visa);
}

#[test]
fn of_two_equally_wide_ranges_the_later_line_wins() {
    let table = parse(&["400005,400014,,jcb,,,,,,", "400000,400009,,visa,,,,,,"]);
    check_brand(&table, "4000070000000000", Brand::Visa);
    check_brand(&table, "4000100000000000", Brand::Jcb);
    let table = parse(&["400000,400009,,visa,,,,,,", "400005,400014,,jcb,,,,,,"]);
    check_brand(&table, "4000070000000000", Brand::Jcb);
    check_brand(&table, "4000040000000000", Brand::Visa);
}

#[test]
fn additional_rows_belong_to_the_row_of_the_same_range() {
    let table = parse(&[
        "400000,,additional,cartes-bancaires,debit,sca_required,Bank,FR,,",
        "4,,,visa,credit,,,,,",
        "400000,,,visa,credit,,Bank,FR,Consumer,F",
        "400000,,additional,accel,,,,,,",
    ]);
    let found = table.find("4000000000000000").unwrap();
    let brands: Vec<&str> = found.additional.iter().map(|one| &*one.brand).collect();
    assert_eq!(brands, ["cartes-bancaires", "accel"]);
    assert_eq!(found.additional[0].funding, Some(Funding::Debit));
    assert_eq!(found.additional[0].authentication, Some(Authentication::ScaRequired));
    assert_eq!(found.additional[0].issuer.as_deref(), Some("Bank"));
    assert_eq!(found.additional[0].country.map(Country::alpha2), Some("FR"));
    assert_eq!(table.find("4100000000000000").unwrap().additional, []);
    assert_eq!(table.ranges(), 2);
}

#[test]
fn columns_may_stand_in_any_order_or_be_left_out() {
    let table = BinTable::parse("\u{feff}brand,first\r\nvisa,4\r\n").unwrap();
    check_brand(&table, "4000000000000000", Brand::Visa);
    let table =
        BinTable::parse("# ranges\n\nfunding, brand ,last,first\ncredit , visa, 45 ,40").unwrap();
    assert_eq!(table.find("4500000000000000").unwrap().funding, Some(Funding::Credit));
    assert_eq!(BinTable::parse("first,brand\n").unwrap().ranges(), 0);
}

#[test]
fn a_header_that_is_wrong_is_the_only_mistake() {
    check_header("", 1, BinMistake::NoHeader);
    check_header("# nothing\n\n", 2, BinMistake::NoHeader);
    check_header("first,last\n4,\n5,\n", 1, BinMistake::MissingColumn);
    check_header("last,brand\n", 1, BinMistake::MissingColumn);
    check_header("\nfirst,brand,colour\n4,visa,blue\n", 2, BinMistake::UnknownColumn);
    check_header("first,brand,first\n", 1, BinMistake::RepeatedColumn);
    check_header("first,\"brand\n", 1, BinMistake::Quotes);
}

#[test]
fn every_kind_of_mistake_has_its_line() {
    use BinMistake as Why;
    let rows = [
        ("4,,,visa,,,,,", Why::FieldCount { columns: 10, fields: 9 }),
        ("4x,,,visa,,,,,,", Why::NotAPrefix),
        (",,,visa,,,,,,", Why::NotAPrefix),
        ("4,55,,visa,,,,,,", Why::DifferentLengths),
        ("5,4,,visa,,,,,,", Why::RangeBackwards),
        ("4,,,amex,,,,,,", Why::Brand),
        ("4,,,,,,,,,", Why::Brand),
        ("4,,other,visa,,,,,,", Why::Role),
        ("4,,,visa,charge,,,,,", Why::Funding),
        ("4,,,visa,,3ds,,,,", Why::Authentication),
        ("4,,,visa,,,,ZZ,,", Why::Country),
        ("4,,,visa,,,,,Private,", Why::Segment),
        ("4,,additional,Visa,,,,,,", Why::Brand),
        ("4,,additional,,,,,,,", Why::Brand),
        ("4,,additional,visa,,,,,Consumer,", Why::PrimaryColumn),
        ("4,,,visa,,,a\tb,,,", Why::ControlCharacter),
        ("4,,,visa,,,\"a,,,", Why::Quotes),
        ("4,,,visa,,,\"a\"b,,,", Why::Quotes),
        ("4,,,visa,,,a\"b,,,", Why::Quotes),
    ];
    let expected: Vec<_> = (2..).zip(rows.map(|(_, why)| why)).collect();
    check_mistakes(&rows.map(|(row, _)| row), &expected);
}

#[test]
fn ranges_that_do_not_fit_together_are_mistakes() {
    check_mistakes(
        &["40,49,,visa,,,,,,", "5,,,mastercard,,,,,,", "4,,,elo,,,,,,"],
        &[(4, BinMistake::DuplicateRange)],
    );
    check_mistakes(
        &["4,,,visa,,,,,,", "41,,additional,accel,,,,,,", "3,,additional,accel,,,,,,"],
        &[(3, BinMistake::AdditionalWithoutRange), (4, BinMistake::AdditionalWithoutRange)],
    );
}

#[test]
fn the_bounds_hold() {
    let text = "x".repeat(BIN_TEXT_BYTES_MAX);
    parse(&[&format!("4,,,visa,,,{text},,,")]);
    check_mistakes(&[&format!("4,,,visa,,,{text}x,,,")], &[(2, BinMistake::TextTooLong)]);

    let comment = format!("4,,,visa,,,{},,,", "y".repeat(BIN_LINE_BYTES_MAX));
    check_mistakes(&[&comment], &[(2, BinMistake::LineTooLong)]);

    let mut rows = vec!["4,,,visa,,,,,,".to_owned()];
    rows.extend((0..BIN_ADDITIONAL_MAX).map(|n| format!("4,,additional,brand-{n},,,,,,")));
    let borrowed: Vec<&str> = rows.iter().map(String::as_str).collect();
    assert_eq!(parse(&borrowed).find("4000").unwrap().additional.len(), BIN_ADDITIONAL_MAX);
    rows.push("4,,additional,one-more,,,,,,".to_owned());
    let borrowed: Vec<&str> = rows.iter().map(String::as_str).collect();
    check_mistakes(&borrowed, &[(3, BinMistake::TooManyAdditional)]);
}

#[test]
fn rows_and_texts_are_bounded_and_said_once() {
    let read = |ranges, texts| {
        let mut file = BinFile::with_limits(Limits { ranges, texts });
        file.line(HEADER);
        for prefix in 41..=44 {
            file.line(&format!("{prefix},,,visa,,,Bank {prefix},,,"));
        }
        file.finish().map(|table| table.ranges())
    };
    assert_eq!(read(4, 4), Ok(4));
    let ranges = BinFileError { line: 5, why: BinMistake::TooManyRanges };
    assert_eq!(read(3, 4), Err(vec![ranges]));
    let texts = BinFileError { line: 4, why: BinMistake::TooManyTexts };
    assert_eq!(read(4, 2), Err(vec![texts]));
}

#[test]
fn reading_stops_at_the_bound_of_mistakes() {
    let mut file = BinFile::default();
    file.line(HEADER);
    for _ in 0..BIN_FILE_MISTAKES_MAX {
        assert!(!file.is_done());
        file.line("bad");
    }
    assert!(file.is_done());
    file.line("bad");
    assert_eq!(file.finish().unwrap_err().len(), BIN_FILE_MISTAKES_MAX);
}

#[test]
fn a_mistake_says_its_line_and_never_the_value() {
    let mistakes = BinTable::parse(&format!("{HEADER}\n4x,,,visa,,,,,,")).unwrap_err();
    assert_eq!(mistakes[0].to_string(), "line 2: first or last is not 1 to 19 digits");
}

#[test]
fn the_same_text_is_held_once() {
    let mut text = format!("{HEADER}\n");
    for prefix in 400_000..400_500 {
        writeln!(text, "{prefix},,,visa,,,Bank {},,,F", prefix % 3).unwrap();
    }
    let table = BinTable::parse(&text).unwrap();
    assert_eq!(table.texts.len(), 4);
    assert_eq!(table.find("4003000000000000").unwrap().issuer.as_deref(), Some("Bank 1"));
}

proptest! {
    #[test]
    fn quoted_fields_come_back_as_they_were(name in "[ -~]{1,40}") {
        let quoted = name.replace('"', "\"\"");
        let table = parse(&[&format!("4,,,visa,,,\"{quoted}\",,,")]);
        let found = table.find("4").unwrap();
        prop_assert_eq!(found.issuer.as_deref(), Some(name.as_str()));
    }
}
