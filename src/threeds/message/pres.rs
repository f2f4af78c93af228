//! Reading a `PRes`. The answer of a large scheme has a hundred thousand ranges in tens of
//! megabytes, so only one range at a time is parsed into a tree of JSON values.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::bounds::{JSON_DEPTH_MAX, THREEDS_RANGES_MAX};
use crate::domain::merge_patch::is_within;
use crate::domain::outside_json;
use crate::threeds::ProtocolVersion;
use crate::threeds::message::{
    CardRange, CardRanges, Element as _, ElementReader, Erro, ErrorCode, Pres, Rejection, distinct,
    read, type_of,
};

/// The answer to a `PReq`.
#[derive(Debug, PartialEq, Eq)]
pub enum RangesAnswer {
    Erro(Erro),
    Pres(Pres),
}

const RANGES: &str = "cardRangeData";

pub fn parse_pres(bytes: &[u8]) -> Result<RangesAnswer, Rejection> {
    let members = serde_json::from_slice::<BTreeMap<String, &RawValue>>(bytes);
    let mut members = members.ok().ok_or_else(not_json)?;
    if let Some(path) = distinct::repeated(bytes) {
        return Err(Rejection { code: ErrorCode::DuplicateElement, detail: path });
    }
    let ranges = members.remove(RANGES);
    let mut rest = Map::new();
    for (name, raw) in members {
        rest.insert(name, value(raw)?);
    }
    let rest = Value::Object(rest);
    if type_of(&rest) == Some("Erro") {
        return read(&rest).map(RangesAnswer::Erro);
    }
    let mut pres: Pres = read(&rest)?;
    if let Some(raw) = ranges {
        pres.ranges = Some(read_ranges(raw, pres.version)?);
    }
    Ok(RangesAnswer::Pres(pres))
}

fn read_ranges(raw: &RawValue, version: ProtocolVersion) -> Result<CardRanges, Rejection> {
    let items = serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok();
    let items = items.filter(|items| items.len() <= THREEDS_RANGES_MAX);
    let items = items.ok_or_else(|| Rejection::new(ErrorCode::FormatInvalid, RANGES))?;
    let mut ranges = Vec::with_capacity(items.len());
    for item in items {
        let item = value(item)?;
        let mut reader = ElementReader::new(version);
        let range = reader.within(RANGES, |reader| CardRange::read(&item, reader));
        match (range, reader.flaws.into_rejection()) {
            (Some(range), None) => ranges.push(range),
            (_, Some(rejection)) => return Err(rejection),
            (None, None) => return Err(Rejection::new(ErrorCode::FormatInvalid, RANGES)),
        }
    }
    Ok(CardRanges(ranges))
}

fn value(raw: &RawValue) -> Result<Value, Rejection> {
    let mut value = outside_json::parse(raw.get().as_bytes()).ok_or_else(not_json)?;
    let value = value.expose_mut().take();
    if is_within(&value, JSON_DEPTH_MAX) { Ok(value) } else { Err(not_json()) }
}

fn not_json() -> Rejection {
    Rejection::new(ErrorCode::MessageInvalid, "not JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::threeds::message::{Message as _, parse, render};

    fn sample() -> Value {
        json!({
            "messageType": "PRes", "messageVersion": "2.2.0",
            "threeDSServerTransID": "6d1f3a54-0001-4000-8000-000000000001",
            "dsTransID": "6d1f3a54-0001-4000-8000-000000000002",
            "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.2.0", "serialNum": "42",
            "cardRangeData": [{
                "startRange": "4200000000000000", "endRange": "4200000000000099",
                "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
                "actionInd": "A", "acsInfoInd": ["01", "80"],
                "threeDSMethodURL": "https://acs.example/method",
            }],
        })
    }

    #[track_caller]
    fn check_refused(message: &str, code: ErrorCode, detail: &str) {
        let expected = Rejection::new(code, detail);
        assert_eq!(parse_pres(message.as_bytes()), Err(expected), "{message}");
    }

    #[test]
    fn it_reads_what_the_plain_reader_reads() {
        for text in [sample().to_string(), {
            let mut without = sample();
            without.as_object_mut().unwrap().remove(RANGES);
            without.to_string()
        }] {
            let plain: Pres = parse(text.as_bytes()).unwrap();
            let bytes = render(&plain);
            assert_eq!(parse_pres(bytes.expose()), Ok(RangesAnswer::Pres(plain)));
        }
    }

    #[test]
    fn every_flaw_has_its_code() {
        check_refused("x", ErrorCode::MessageInvalid, "not JSON");
        check_refused("[]", ErrorCode::MessageInvalid, "not JSON");
        check_refused(r#"{"messageType":"ARes"}"#, ErrorCode::MessageInvalid, "messageType");
        let text = sample().to_string();
        let twice = text.replacen("\"startRange\"", "\"endRange\":\"1\",\"startRange\"", 1);
        check_refused(&twice, ErrorCode::DuplicateElement, "cardRangeData.endRange");
        for (member, with, code, detail) in [
            ("startRange", json!("123"), ErrorCode::FormatInvalid, "cardRangeData.startRange"),
            ("endRange", Value::Null, ErrorCode::ElementMissing, "cardRangeData.endRange"),
            ("actionInd", json!("X"), ErrorCode::FormatInvalid, "cardRangeData.actionInd"),
            (
                "threeDSMethodURL",
                json!(""),
                ErrorCode::FormatInvalid,
                "cardRangeData.threeDSMethodURL",
            ),
        ] {
            let mut message = sample();
            message[RANGES][0][member] = with;
            check_refused(&message.to_string(), code, detail);
        }
        for ranges in [Value::Null, json!(""), json!({}), json!("x")] {
            let mut message = sample();
            message[RANGES] = ranges;
            check_refused(&message.to_string(), ErrorCode::FormatInvalid, RANGES);
        }
        let mut message = sample();
        message["messageVersion"] = json!("2.3.1");
        check_refused(&message.to_string(), ErrorCode::VersionNotSupported, "2.1.0,2.2.0");
    }

    #[test]
    fn an_erro_is_told_apart() {
        let erro = Rejection::new(ErrorCode::SerialNumberInvalid, "serialNum")
            .into_erro(&Value::Null, crate::threeds::message::Component::DirectoryServer);
        assert_eq!(erro.version(), ProtocolVersion::V220);
        let bytes = render(&erro);
        assert_eq!(parse_pres(bytes.expose()), Ok(RangesAnswer::Erro(erro)));
    }
}
