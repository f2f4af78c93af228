//! The state of scheduled backups. It holds only times and sizes, and is stored in clear in
//! [`crate::store::Table::Meta`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::backup::{BackupState, Proven, Taken};
use crate::domain::time::Timestamp;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct StateV1 {
    taken: Option<TakenV1>,
    failed_at: Option<i64>,
    proven: Option<ProvenV1>,
    proof_failed_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct TakenV1 {
    at: i64,
    bytes: u64,
    rows: u64,
    took_us: u64,
}

#[derive(Serialize, Deserialize)]
struct ProvenV1 {
    at: i64,
    backup_at: i64,
    rows: u64,
    took_us: u64,
}

pub fn encode_backups(state: &BackupState) -> Result<Vec<u8>, EncodeFailed> {
    let record = StateV1 {
        taken: state.taken.map(|it| TakenV1 {
            at: micros(it.at),
            bytes: it.bytes,
            rows: it.rows,
            took_us: length(it.took),
        }),
        failed_at: state.failed_at.map(micros),
        proven: state.proven.map(|it| ProvenV1 {
            at: micros(it.at),
            backup_at: micros(it.backup_at),
            rows: it.rows,
            took_us: length(it.took),
        }),
        proof_failed_at: state.proof_failed_at.map(micros),
    };
    Ok(encode(VERSION, &record)?.expose().clone())
}

pub fn decode_backups(bytes: &[u8]) -> Result<BackupState, BadRecord> {
    let record: StateV1 = decode(VERSION, bytes)?;
    let time = Timestamp::from_micros;
    Ok(BackupState {
        taken: record.taken.map(|it| Taken {
            at: time(it.at),
            bytes: it.bytes,
            rows: it.rows,
            took: Duration::from_micros(it.took_us),
        }),
        failed_at: record.failed_at.map(time),
        proven: record.proven.map(|it| Proven {
            at: time(it.at),
            backup_at: time(it.backup_at),
            rows: it.rows,
            took: Duration::from_micros(it.took_us),
        }),
        proof_failed_at: record.proof_failed_at.map(time),
    })
}

fn length(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
