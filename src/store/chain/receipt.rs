//! A receipt of the audit chain as text, to be stored outside the vault: one JSON object with
//! hexadecimal members.

use serde::{Deserialize, Serialize};

use crate::crypto::Link;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::chain::checkpoint::{Checkpoint, Receipt, RecordState};
use crate::store::record::encoding::{BadRecord, EncodeFailed, bad, unencodable};

const FORMAT: &str = "strongroom audit receipt 1";

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
    /// The number of the signing key.
    key_number: u32,
    records: u64,
    generation: u64,
    commitment: String,
    signature: String,
}

pub fn encode_receipt(receipt: &Receipt) -> Result<String, EncodeFailed> {
    let Receipt { file, public_key, checkpoint } = receipt;
    let text = ReceiptText {
        format: String::from(FORMAT),
        file_id: hex::encode(file),
        public_key: hex::encode(public_key),
        entries: checkpoint.sequence,
        previous: checkpoint.previous,
        time: checkpoint.at.to_wire(),
        time_micros: checkpoint.at.micros(),
        link: hex::encode(checkpoint.link.bytes()),
        key_number: checkpoint.signer,
        records: checkpoint.state.count,
        generation: checkpoint.state.generation,
        commitment: hex::encode(&checkpoint.state.commitment),
        signature: hex::encode(&checkpoint.signature),
    };
    serde_json::to_string(&text).map_err(unencodable)
}

pub fn decode_receipt(text: &str) -> Result<Receipt, BadRecord> {
    let receipt: ReceiptText = serde_json::from_str(text).map_err(bad)?;
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
            signer: receipt.key_number,
            state: RecordState {
                generation: receipt.generation,
                count: receipt.records,
                commitment: hex::decode(&receipt.commitment).ok_or(BadRecord)?,
            },
            signature: signature.ok_or(BadRecord)?,
        },
    })
}
