//! A receipt of the audit chain as text: one JSON object with hexadecimal members. It is meant to
//! be stored outside the vault.

use serde::{Deserialize, Serialize};

use crate::crypto::Link;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::chain::checkpoint::{Checkpoint, Extent, Receipt, RecordState};
use crate::store::record::encoding::{BadRecord, EncodeFailed, bad, unencodable};

/// The formats for checkpoints of version 1 and of version 2, which has more members.
const FORMATS: [&str; 2] = ["strongroom audit receipt 1", "strongroom audit receipt 2"];

#[derive(Serialize, Deserialize)]
struct ReceiptText {
    format: String,
    file_id: String,
    public_key: String,
    /// The number of entries of the chain.
    entries: u64,
    previous: u64,
    /// The time in a readable form; `time_micros` is the exact value.
    time: String,
    time_micros: i64,
    link: String,
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    extent: Option<ExtentText>,
    signature: String,
}

#[derive(Serialize, Deserialize)]
struct ExtentText {
    /// The number of the signing key.
    key_number: u32,
    records: u64,
    generation: u64,
    commitment: String,
}

pub fn encode_receipt(receipt: &Receipt) -> Result<String, EncodeFailed> {
    let Receipt { file, public_key, checkpoint } = receipt;
    let [plain, extended] = FORMATS;
    let extent = checkpoint.extent.map(|Extent { signer, records }| ExtentText {
        key_number: signer,
        records: records.count,
        generation: records.generation,
        commitment: hex::encode(&records.commitment),
    });
    let text = ReceiptText {
        format: String::from(if extent.is_some() { extended } else { plain }),
        file_id: hex::encode(file),
        public_key: hex::encode(public_key),
        entries: checkpoint.sequence,
        previous: checkpoint.previous,
        time: checkpoint.at.to_wire(),
        time_micros: checkpoint.at.micros(),
        link: hex::encode(checkpoint.link.bytes()),
        extent,
        signature: hex::encode(&checkpoint.signature),
    };
    serde_json::to_string(&text).map_err(unencodable)
}

pub fn decode_receipt(text: &str) -> Result<Receipt, BadRecord> {
    let receipt: ReceiptText = serde_json::from_str(text).map_err(bad)?;
    let [plain, extended] = FORMATS;
    let extent = match receipt.extent {
        None if receipt.format == plain => None,
        Some(it) if receipt.format == extended => {
            let commitment = hex::decode(&it.commitment).ok_or(BadRecord)?;
            let (generation, count) = (it.generation, it.records);
            let records = RecordState { generation, count, commitment };
            Some(Extent { signer: it.key_number, records })
        }
        None | Some(_) => return Err(BadRecord),
    };
    let signature = hex::decode_all(&receipt.signature).and_then(|it| it.try_into().ok());
    Ok(Receipt {
        file: hex::decode(&receipt.file_id).ok_or(BadRecord)?,
        public_key: hex::decode(&receipt.public_key).ok_or(BadRecord)?,
        checkpoint: Checkpoint {
            sequence: receipt.entries,
            previous: receipt.previous,
            at: Timestamp::from_micros(receipt.time_micros),
            link: Link::from_bytes(hex::decode(&receipt.link).ok_or(BadRecord)?),
            extent,
            signature: signature.ok_or(BadRecord)?,
        },
    })
}
