//! A receipt of an erasure as text, to be kept outside the vault: one JSON object, signed by the
//! audit chain's signing key. It holds no personal value.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::crypto::{SIGNATURE_BYTES, SigningKey, is_signed_by};
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::store::record::encoding::{BadRecord, EncodeFailed, bad, unencodable};

const FORMAT: &str = "strongroom erasure receipt 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureReceipt {
    /// The id of the data file, which is the vault's id.
    pub file: [u8; 16],
    pub tenant: Uuid,
    /// The id of the erasure, which is the entity of its audit entry.
    pub erasure: Uuid,
    /// `fingerprint` or `metadata`.
    pub criterion: String,
    /// A keyed hash of the criterion.
    pub hash: String,
    pub tokens: Vec<Uuid>,
    pub token_intents: Vec<Uuid>,
    pub threeds_sessions: Vec<Uuid>,
    /// The time of the entry.
    pub at: Timestamp,
    /// The number of the erasure's entry in the audit chain. A search of the vault after this entry
    /// was written found no match.
    pub entry: u64,
    /// The number of the signing key.
    pub signer: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedErasure {
    pub receipt: ErasureReceipt,
    pub public_key: [u8; 32],
    signature: [u8; SIGNATURE_BYTES],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErasureText {
    format: String,
    vault_id: String,
    tenant_id: Uuid,
    erasure_id: Uuid,
    criterion: String,
    criterion_hash: String,
    tokens: Vec<Uuid>,
    token_intents: Vec<Uuid>,
    threeds_sessions: Vec<Uuid>,
    count: usize,
    /// The time in a readable form; `time_micros` is the exact value.
    time: String,
    time_micros: i64,
    entry: u64,
    key_number: u32,
    public_key: String,
    signature: String,
}

impl ErasureReceipt {
    pub fn count(&self) -> usize {
        let Self { tokens, token_intents, threeds_sessions, .. } = self;
        [tokens, token_intents, threeds_sessions].map(Vec::len).iter().sum()
    }

    pub fn sign(self, key: &SigningKey) -> SignedErasure {
        let (public_key, signature) = (key.public(), key.sign(&self.message()));
        SignedErasure { receipt: self, public_key, signature }
    }

    /// The signed bytes. Every part of variable length follows its length.
    fn message(&self) -> Vec<u8> {
        let mut message = FORMAT.as_bytes().to_vec();
        message.push(0);
        message.extend(self.file);
        message.extend(self.tenant.as_bytes());
        message.extend(self.erasure.as_bytes());
        for text in [&self.criterion, &self.hash] {
            message.extend(length(text.len()));
            message.extend(text.as_bytes());
        }
        for ids in [&self.tokens, &self.token_intents, &self.threeds_sessions] {
            message.extend(length(ids.len()));
            for id in ids {
                message.extend(id.as_bytes());
            }
        }
        message.extend(self.at.micros().to_be_bytes());
        message.extend(self.entry.to_be_bytes());
        message.extend(self.signer.to_be_bytes());
        message
    }
}

impl SignedErasure {
    pub fn is_signed_by(&self, public: &[u8; 32]) -> bool {
        self.public_key == *public && is_signed_by(public, &self.receipt.message(), &self.signature)
    }
}

pub fn encode_erasure(signed: &SignedErasure) -> Result<String, EncodeFailed> {
    let SignedErasure { receipt, public_key, signature } = signed;
    let text = ErasureText {
        format: String::from(FORMAT),
        vault_id: hex::encode(&receipt.file),
        tenant_id: receipt.tenant,
        erasure_id: receipt.erasure,
        criterion: receipt.criterion.clone(),
        criterion_hash: receipt.hash.clone(),
        tokens: receipt.tokens.clone(),
        token_intents: receipt.token_intents.clone(),
        threeds_sessions: receipt.threeds_sessions.clone(),
        count: receipt.count(),
        time: receipt.at.to_wire(),
        time_micros: receipt.at.micros(),
        entry: receipt.entry,
        key_number: receipt.signer,
        public_key: hex::encode(public_key),
        signature: hex::encode(signature),
    };
    serde_json::to_string(&text).map_err(unencodable)
}

/// Refuses a receipt whose unsigned members do not follow from the signed ones.
pub fn decode_erasure(text: &str) -> Result<SignedErasure, BadRecord> {
    let text: ErasureText = serde_json::from_str(text).map_err(bad)?;
    let signature = hex::decode_all(&text.signature).and_then(|it| it.try_into().ok());
    let receipt = ErasureReceipt {
        file: hex::decode(&text.vault_id).ok_or(BadRecord)?,
        tenant: text.tenant_id,
        erasure: text.erasure_id,
        criterion: text.criterion,
        hash: text.criterion_hash,
        tokens: text.tokens,
        token_intents: text.token_intents,
        threeds_sessions: text.threeds_sessions,
        at: Timestamp::from_micros(text.time_micros),
        entry: text.entry,
        signer: text.key_number,
    };
    let is_consistent =
        text.format == FORMAT && text.count == receipt.count() && text.time == receipt.at.to_wire();
    if !is_consistent {
        return Err(BadRecord);
    }
    let public_key = hex::decode(&text.public_key).ok_or(BadRecord)?;
    Ok(SignedErasure { receipt, public_key, signature: signature.ok_or(BadRecord)? })
}

fn length(count: usize) -> [u8; 8] {
    u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::secret::Secret;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&Secret::new([byte; 32])).unwrap()
    }

    fn signed() -> SignedErasure {
        let id = Uuid::from_u128;
        let receipt = ErasureReceipt {
            file: [1; 16],
            tenant: id(2),
            erasure: id(3),
            criterion: String::from("metadata"),
            hash: String::from("h"),
            tokens: vec![id(4), id(5)],
            token_intents: vec![id(6)],
            threeds_sessions: Vec::new(),
            at: Timestamp::from_micros(1_794_648_600_123_456),
            entry: 17,
            signer: 1,
        };
        receipt.sign(&key(9))
    }

    #[test]
    fn a_receipt_leads_back_and_is_signed_by_its_own_key_alone() {
        let signed = signed();
        let again = decode_erasure(&encode_erasure(&signed).unwrap()).unwrap();
        assert_eq!(again, signed);
        assert!(again.is_signed_by(&key(9).public()));
        assert!(!again.is_signed_by(&key(8).public()));
    }

    #[test]
    fn a_receipt_with_any_other_member_is_refused() {
        let good: Value = serde_json::from_str(&encode_erasure(&signed()).unwrap()).unwrap();
        let other = Uuid::from_u128(99).to_string();
        let forged = [
            ("format", json!("strongroom erasure receipt 2")),
            ("vault_id", json!("02".repeat(16))),
            ("tenant_id", json!(other)),
            ("erasure_id", json!(other)),
            ("criterion", json!("fingerprint")),
            ("criterion_hash", json!("i")),
            ("tokens", json!([Uuid::from_u128(4)])),
            ("tokens", json!([Uuid::from_u128(4), other])),
            ("token_intents", json!([])),
            ("threeds_sessions", json!([other])),
            ("count", json!(4)),
            ("time", json!("2026-01-01T00:00:00.0000000+00:00")),
            ("time_micros", json!(1)),
            ("entry", json!(18)),
            ("key_number", json!(2)),
            ("public_key", json!(hex::encode(&key(8).public()))),
            ("signature", json!("00".repeat(64))),
            ("note", json!("also the backups")),
        ];
        for (member, value) in forged {
            let mut text = good.clone();
            text[member] = value;
            let read = decode_erasure(&text.to_string());
            let holds = read.is_ok_and(|it| it.is_signed_by(&key(9).public()));
            assert!(!holds, "{member}");
        }
        let moved = {
            let mut text = good;
            text["token_intents"] = json!([]);
            text["tokens"] = json!([4, 5, 6].map(Uuid::from_u128));
            text
        };
        let read = decode_erasure(&moved.to_string()).unwrap();
        assert!(!read.is_signed_by(&key(9).public()), "an id moved to another list");
    }
}
