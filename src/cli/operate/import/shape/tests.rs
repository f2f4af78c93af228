use crate::cli::support::Result;
use argh::FromArgs as _;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(options: &[&str]) -> Result<Shape> {
    let arguments: Vec<_> =
        ["--tenant", "x"].iter().chain(options).chain(&["f"]).copied().collect();
    let command = ImportCommand::from_args(&["import"], &arguments).unwrap();
    Shape::parse(&command)
}

fn csv(options: &[&str]) -> Shape {
    parse(&[&["--format", "csv"], options].concat()).unwrap()
}

fn body(shape: &Shape, header: &[&str], row: &[&str]) -> Result<Value, (String, &'static str)> {
    let bytes = |all: &[&str]| all.iter().map(|it| it.as_bytes().to_vec()).collect::<Vec<_>>();
    let places = shape.header(&bytes(header)).unwrap();
    shape.of_record(&places, bytes(row))
}

#[test]
fn columns_go_where_the_map_or_their_names_say() {
    let shape = csv(&[
        "--map",
        "pan=data.number",
        "--map",
        "exp=expiration",
        "--map",
        "cust=metadata.customer.id",
        "--ignore",
        "note",
        "--type",
        "card",
        "--set",
        "containers=/pci/high/,/x/",
    ]);
    let header = ["id", "pan", "exp", "cust", "note", "data.cardholder_name"];
    let found = body(&shape, &header, &["a1", "4242", "02/31", "c", "n", ""]);
    let expected = json!({
        "id": "a1",
        "data": {"number": "4242", "expiration_month": 2, "expiration_year": 2031},
        "metadata": {"customer.id": "c"},
        "containers": ["/pci/high/", "/x/"],
        "type": "card",
    });
    assert_eq!(found, Ok(expected));
}

#[test]
fn a_value_of_the_row_comes_before_that_of_an_option() {
    let shape = csv(&["--type", "card"]);
    let found = body(&shape, &["type", "data"], &["token", "x"]).unwrap();
    assert_eq!(found, json!({"type": "token", "data": "x"}));
    let found = body(&shape, &["type", "data"], &["", "x"]).unwrap();
    assert_eq!(found, json!({"type": "card", "data": "x"}));
}

#[test]
fn a_column_cannot_be_an_expression_and_none_is_left_out_by_a_slip() {
    for path in
        ["mask", "search_indexes", "fingerprint_expression", "created_by", "nothing", "data."]
    {
        let map = format!("column={path}");
        assert!(parse(&["--format", "csv", "--map", &map]).is_err(), "{path}");
    }
    let shape = csv(&[]);
    for name in ["mask", "pan", "", "metadata", "id.x"] {
        assert!(shape.header(&[name.as_bytes().to_vec()]).is_err(), "{name}");
    }
    assert!(csv(&["--map", "a=id"]).header(&[b"data".to_vec()]).is_err(), "the column is missing");
    let twice = [b"id".to_vec(), b"id".to_vec()];
    assert!(shape.header(&twice).is_err());
}

#[test]
fn a_file_without_names_of_columns_does_not_put_a_card_number_into_a_message() {
    let failure = csv(&[]).header(&[b"4242424242424242".to_vec()]).unwrap_err().to_string();
    assert!(failure.contains("column 1") && !failure.contains("4242"), "{failure}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let wrong: [&[&str]; 8] = [
        &["--format", "xml"],
        &["--format", "csv", "--map", "a"],
        &["--format", "csv", "--map", "a=id", "--map", "a=data"],
        &["--format", "csv", "--map", "a=id", "--ignore", "a"],
        &["--format", "csv", "--set", "id=1"],
        &["--format", "csv", "--set", "mask=x"],
        &["--format", "csv", "--delimiter", "ab"],
        &["--format", "csv", "--delimiter", "\""],
    ];
    for options in wrong {
        assert_eq!(parse(options).map(drop).map_err(|it| it.exit), Err(Exit::Usage), "{options:?}");
    }
}

#[test]
fn members_of_a_line_stay_unless_the_map_moves_them() {
    let shape =
        parse(&["--format", "jsonl", "--map", "pan=data.number", "--type", "card"]).unwrap();
    let found = shape.of_line(json!({"pan": "4242", "mask": {"a": "b"}})).unwrap();
    assert_eq!(found, json!({"data": {"number": "4242"}, "mask": {"a": "b"}, "type": "card"}));
    let other = json!({"kind": "tenant", "id": "x"});
    assert_eq!(shape.of_line(other.clone()), Ok(other));
    assert!(shape.of_line(json!([1])).is_err());
    assert!(shape.of_line(json!({"pan": "1", "data": {"number": "2"}})).is_err());
}

#[test]
fn months_and_years_are_read_in_the_usual_forms() {
    for text in ["02/31", "02/2031", "2/31", "0231", "2031-02", "2031/02", "02-31"] {
        assert_eq!(expiration(text), Some((2, 2031)), "{text}");
    }
    for text in ["", "2/3/1", "ab/cd", "02/1", "02/20311", "231", "\u{e9}\u{e9}"] {
        assert_eq!(expiration(text), None, "{text}");
    }
    let path = Path::of(&["data", "expiration_year"]);
    assert_eq!(path.value(String::from("31")), json!(2031));
    assert_eq!(path.value(String::from("2031")), json!(2031));
    assert_eq!(path.value(String::from("soon")), json!("soon"));
}

proptest! {
    #[test]
    fn no_row_makes_the_shape_panic(fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..6)) {
        let shape = csv(&["--map", "a=data.x", "--map", "b=expiration"]);
        let places = shape.header(&[b"a".to_vec(), b"b".to_vec(), b"id".to_vec()]).unwrap();
        let is_ok = shape.of_record(&places, fields.clone()).is_ok();
        prop_assert!(fields.len() == 3 || !is_ok);
    }
}
