//! `PReq` and `PRes`: the card ranges of a directory server, and the enrolment data of each.

use serde_json::Value;
use uuid::Uuid;

use crate::domain::words::words;
use crate::threeds::codes::AcsInformation;
use crate::threeds::message::{Digits, Element, ElementReader, Text, message, object, textual};
use crate::threeds::{NamedVersion, ProtocolVersion};

object! {
    Preq {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        server_reference: Text<32> = "threeDSServerRefNumber" V210;
        server_operator: Option<Text<32>> = "threeDSServerOperatorID" V210;
        /// The serial number of the last answer; without it the answer has every range.
        serial: Option<Text<20>> = "serialNum" V210;
    }
}

object! {
    Pres {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        ds_transaction: Uuid = "dsTransID" V210;
        ds_start: NamedVersion = "dsStartProtocolVersion" V210;
        ds_end: NamedVersion = "dsEndProtocolVersion" V210;
        serial: Option<Text<20>> = "serialNum" V210;
        ranges: Option<CardRanges> = "cardRangeData" V210;
    }
}

object! {
    CardRange {
        start: Digits<13, 19> = "startRange" V210;
        end: Digits<13, 19> = "endRange" V210;
        action: Option<ActionIndicator> = "actionInd" V210;
        acs_start: NamedVersion = "acsStartProtocolVersion" V210;
        acs_end: NamedVersion = "acsEndProtocolVersion" V210;
        ds_start: Option<NamedVersion> = "dsStartProtocolVersion" V210;
        ds_end: Option<NamedVersion> = "dsEndProtocolVersion" V210;
        method_url: Option<Text<256>> = "threeDSMethodURL" V210;
        acs_information: Option<AcsInformations> = "acsInfoInd" V210;
    }
}

message! { Preq = "PReq" }

message! { Pres = "PRes" }

#[derive(Debug, PartialEq, Eq)]
pub struct CardRanges(pub Vec<CardRange>);

impl Element for CardRanges {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let items = reader.valid(value.as_array())?;
        let read = |item| CardRange::read(item, reader);
        items.iter().map(read).collect::<Option<_>>().map(Self)
    }

    fn write(&self, version: ProtocolVersion) -> Value {
        Value::Array(self.0.iter().map(|it| it.write(version)).collect())
    }
}

words! {
    /// The change of a range, by its code. It is ignored in an answer that has every range.
    pub enum ActionIndicator {
        Add = "A";
        Delete = "D";
        Modify = "M";
    }
}

textual! { <> ActionIndicator: as_str; }

/// Capabilities of the ACS. Codes that a directory server defines itself are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcsInformations(pub Vec<AcsInformation>);

impl Element for AcsInformations {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let codes = value.as_array().map(|items| items.iter().map(Value::as_str));
        let codes = codes.and_then(Iterator::collect::<Option<Vec<_>>>);
        let known = |code| AcsInformation::from_code(code, ProtocolVersion::V220);
        Some(Self(reader.valid(codes)?.into_iter().filter_map(known).collect()))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::Array(self.0.iter().map(|it| Value::from(it.code())).collect())
    }
}
