//! A receipt of the audit chain as text: one JSON object with hexadecimal members, for keeping
//! where the vault's own disk is not.

use serde::{Deserialize, Serialize};

use crate::crypto::Link;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::chain::{Checkpoint, Receipt};
use crate::store::record::{BadRecord, bad};

const FORMAT: &str = "strongroom audit receipt 1";

#[derive(Serialize, Deserialize)]
struct ReceiptV1 {
    format: String,
    file_id: String,
    public_key: String,
    /// How many entries the chain had.
    entries: u64,
    previous: u64,
    /// For people.
    time: String,
    time_micros: i64,
    link: String,
    signature: String,
}

pub fn encode_receipt(receipt: &Receipt) -> String {
    let Receipt { file, public_key, checkpoint } = receipt;
    let text = ReceiptV1 {
        format: String::from(FORMAT),
        file_id: hex::encode(file),
        public_key: hex::encode(public_key),
        entries: checkpoint.sequence,
        previous: checkpoint.previous,
        time: checkpoint.at.to_wire(),
        time_micros: checkpoint.at.micros(),
        link: hex::encode(checkpoint.link.bytes()),
        signature: hex::encode(&checkpoint.signature),
    };
    serde_json::to_string(&text).unwrap_or_default()
}

pub fn decode_receipt(text: &str) -> Result<Receipt, BadRecord> {
    let receipt: ReceiptV1 = serde_json::from_str(text).map_err(bad)?;
    if receipt.format != FORMAT {
        return Err(BadRecord);
    }
    let signature = hex::decode_all(&receipt.signature).and_then(|it| it.try_into().ok());
    Ok(Receipt {
        file: hex::decode(&receipt.file_id).ok_or(BadRecord)?,
        public_key: hex::decode(&receipt.public_key).ok_or(BadRecord)?,
        checkpoint: Checkpoint {
            sequence: receipt.entries,
            previous: receipt.previous,
            at: Timestamp::from_micros(receipt.time_micros),
            link: Link::from_bytes(hex::decode(&receipt.link).ok_or(BadRecord)?),
            signature: signature.ok_or(BadRecord)?,
        },
    })
}
