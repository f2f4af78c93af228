use serde_json::{Value, json};

use super::*;
use crate::threeds::message::{RangesAnswer, Text, parse_pres};

const ID: &str = "6d1f3a54-0001-4000-8000-000000000001";
const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

fn range(start: &str, end: &str) -> Value {
    json!({
        "startRange": start, "endRange": end,
        "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
    })
}

fn with(mut range: Value, more: &Value) -> Value {
    range.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    range
}

fn pres(serial: &str, ranges: Option<Value>) -> Pres {
    let mut message = json!({
        "messageType": "PRes", "messageVersion": "2.2.0", "threeDSServerTransID": ID,
        "dsTransID": ID, "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.2.0",
        "serialNum": serial,
    });
    if let Some(ranges) = ranges {
        message["cardRangeData"] = ranges;
    }
    match parse_pres(message.to_string().as_bytes()).unwrap() {
        RangesAnswer::Pres(pres) => pres,
        RangesAnswer::Erro(erro) => panic!("{erro:?}"),
    }
}

fn preq(serial: Option<&str>) -> Preq {
    Preq {
        version: ProtocolVersion::V220,
        server_transaction: ID.parse().unwrap(),
        server_reference: Text::cut("R"),
        server_operator: None,
        serial: serial.and_then(Text::parse),
    }
}

fn whole(ranges: Value) -> Result<RangeTable, Rejection> {
    DirectoryRanges::NOTHING.take(&preq(None), pres("1", Some(ranges)))
}

fn updated(table: &RangeTable, ranges: Option<Value>) -> Result<RangeTable, Rejection> {
    let known = DirectoryRanges { table: Some(table.clone()), ..DirectoryRanges::NOTHING };
    known.take(&preq(Some("1")), pres("2", ranges))
}

fn finds(table: &RangeTable, number: &str) -> bool {
    table.find(Scheme::Visa, number).is_some()
}

const TWO: [(&str, &str); 2] =
    [("4100000000000000", "4199999999999999"), ("4300000000000000", "4300000000000000")];

fn two() -> RangeTable {
    whole(TWO.iter().map(|(start, end)| range(start, end)).collect()).unwrap()
}

#[test]
fn a_card_is_found_between_the_ends_of_a_range_and_nowhere_else() {
    let table = two();
    for number in ["4100000000000000", "4150000000000000", "4199999999999999", "4300000000000000"] {
        assert!(finds(&table, number), "{number}");
    }
    let elsewhere =
        ["4099999999999999", "4200000000000000", "4299999999999999", "4300000000000001", "x", ""];
    for number in elsewhere {
        assert!(!finds(&table, number), "{number}");
    }
    // A longer number with the same prefix belongs to the same issuer.
    assert!(finds(&table, "4100000000000000123"));
    let found = table.find(Scheme::Visa, "4100000000000000").unwrap();
    assert_eq!(found.directory_server, "A000000003");
}

#[test]
fn what_a_range_says_stands_over_what_the_server_says() {
    let more = json!({
        "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.1.0",
        "threeDSMethodURL": "https://acs.example/m", "acsInfoInd": ["01", "02", "80"],
    });
    let later = json!({"acsStartProtocolVersion": "2.3.1", "acsEndProtocolVersion": "2.3.1"});
    let table = whole(json!([
        with(range(TWO[0].0, TWO[0].1), &more),
        with(range(TWO[1].0, TWO[1].1), &later),
    ]))
    .unwrap();
    let found = table.find(Scheme::Visa, TWO[0].0).unwrap();
    assert_eq!(found.recommended(), Some(ProtocolVersion::V210));
    assert_eq!(found.method_url.as_deref(), Some("https://acs.example/m"));
    assert_eq!(found.acs_information.len(), 2);
    // Without a common version the card is not found.
    assert_eq!(table.find(Scheme::Visa, TWO[1].0), None);
}

#[test]
fn changes_add_remove_and_replace() {
    let delete = json!({"actionInd": "D"});
    let modify = json!({"actionInd": "M", "threeDSMethodURL": "https://acs.example/new"});
    let table = updated(
        &two(),
        Some(json!([
            // This range overlaps one that the same answer deletes later.
            range("4100000000000000", "4100000000000009"),
            with(range(TWO[0].0, TWO[0].1), &delete),
            with(range(TWO[1].0, TWO[1].1), &modify),
        ])),
    )
    .unwrap();
    assert_eq!(table.serial.as_deref(), Some("2"));
    assert!(finds(&table, "4100000000000009") && !finds(&table, "4100000000000010"));
    let found = table.find(Scheme::Visa, TWO[1].0).unwrap();
    assert_eq!(found.method_url.as_deref(), Some("https://acs.example/new"));
    // An answer without ranges changes nothing.
    let same = updated(&table, None).unwrap();
    assert_eq!(same, table);
}

#[track_caller]
fn check_unfit(change: &Value) {
    let refused = updated(&two(), Some(json!([change]))).unwrap_err();
    assert_eq!(refused, Rejection::new(ErrorCode::FormatInvalid, "cardRangeData"));
}

#[test]
fn an_update_that_does_not_fit_is_refused_whole() {
    let (delete, modify) = (json!({"actionInd": "D"}), json!({"actionInd": "M"}));
    // Overlaps with a known range: at its start, its end, inside it, and all of it.
    check_unfit(&range(TWO[0].0, TWO[0].1));
    check_unfit(&range("4050000000000000", "4100000000000000"));
    check_unfit(&range("4199999999999999", "4200000000000000"));
    check_unfit(&range("4120000000000000", "4130000000000000"));
    check_unfit(&range("4000000000000000", "4400000000000000"));
    // The range is not known, or has another end.
    check_unfit(&with(range("4500000000000000", "4500000000000001"), &delete));
    check_unfit(&with(range(TWO[0].0, "4199999999999998"), &delete));
    check_unfit(&with(range(TWO[0].0, "4199999999999998"), &modify));
    // The end is before the start.
    check_unfit(&range("4600000000000001", "4600000000000000"));
    assert!(whole(json!([range("4600000000000001", "4600000000000000")])).is_err());
    let twice = json!([range(TWO[0].0, TWO[0].1), range(TWO[0].0, TWO[0].1)]);
    assert!(whole(twice).is_err());
}

#[test]
fn a_whole_answer_ignores_actions_and_must_hold_ranges() {
    let delete = json!({"actionInd": "D"});
    assert!(whole(json!([with(range(TWO[0].0, TWO[0].1), &delete)])).is_ok());
    let refused = DirectoryRanges::NOTHING.take(&preq(None), pres("1", None)).unwrap_err();
    assert_eq!(refused, Rejection::new(ErrorCode::ElementMissing, "cardRangeData"));
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let mut other = preq(None);
    other.server_transaction = Uuid::nil();
    let refused = DirectoryRanges::NOTHING.take(&other, pres("1", Some(json!([])))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TransactionUnknown);
    let older = Preq { version: ProtocolVersion::V210, ..preq(None) };
    let refused = DirectoryRanges::NOTHING.take(&older, pres("1", Some(json!([])))).unwrap_err();
    assert_eq!(refused, Rejection::new(ErrorCode::FormatInvalid, "messageVersion"));
}

#[test]
fn it_is_asked_daily_again_in_an_hour_after_a_refusal_and_in_a_minute_after_silence() {
    let known = DirectoryRanges { table: Some(two()), ..DirectoryRanges::NOTHING };
    let answered = known.clone().after(PreqResult::Answered, NOW);
    assert_eq!(answered.due_at, NOW.plus(THREEDS_RANGES_REFRESH));
    assert!(answered.table.unwrap().serial.is_some());
    let silent = known.clone().after(PreqResult::Unanswered, NOW);
    assert_eq!(silent.due_at, NOW.plus(THREEDS_RANGES_RETRY));
    assert!(silent.table.unwrap().serial.is_some());
    let refused = known.clone().after(PreqResult::Refused(ErrorCode::SerialNumberInvalid), NOW);
    assert_eq!(refused.due_at, NOW.plus(THREEDS_RANGES_AGAIN));
    assert_eq!(refused.version, ProtocolVersion::V220);
    assert_eq!(refused.table.unwrap().serial, None);
    let older = known.after(PreqResult::Refused(ErrorCode::VersionNotSupported), NOW);
    assert_eq!(older.version, ProtocolVersion::V210);
}
