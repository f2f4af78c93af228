//! Backups and archive pieces: raw, and with correct digests and signatures. Without those, any
//! changed byte would end the reading at the first check.

use std::collections::BTreeMap;
use std::io::Cursor;

use super::{master, part};
use crate::bounds::BACKUP_CHUNK_BYTES_MAX;
use crate::crypto::{MasterKey, Sha256};
use crate::domain::hex;
use crate::fuzz::check_sentence;
use crate::store::archive::InvalidPiece;
use crate::store::archive::format::{
    END as PIECE_END, HEADER_BYTES as PIECE_HEADER_BYTES, PIECE_LABEL, PieceHeader, PieceName,
};
use crate::store::archive::mark::TimelineEnd;
use crate::store::archive::reader::Piece;
use crate::store::backup::format::{CHUNK, END, FORMAT, InvalidBackup, MAGIC, MANIFEST};
use crate::store::backup::{Manifest, Reader};
use crate::store::engine::local::log::segment::Lineage;
use crate::store::engine::local::state::Origin;
use crate::store::opening;
use crate::store::tables::Table;

/// The first byte selects: a raw file, chunks with their digests, or the text of a manifest.
pub(crate) fn backup(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let Some(master) = master() else { return };
    match kind % 3 {
        0 => check_backup(data, &master),
        1 => {
            let (rows, counts, digest) = chunks(data);
            let manifest = manifest(&master, counts, digest);
            let json = serde_json::to_vec(&manifest).unwrap_or_default();
            check_backup(&file(rows, &json, &master), &master);
        }
        _ => check_backup(&file(start(), data, &master), &master),
    }
}

fn check_backup(bytes: &[u8], master: &MasterKey) {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let read = Reader::new(Cursor::new(bytes), length);
    let mut reader = match read {
        Ok(reader) => reader,
        Err(invalid) => return check_failure(&invalid),
    };
    if let Err(invalid) = reader.check_origin(master) {
        check_failure(&invalid);
    }
    let mut last: Option<(u8, Vec<u8>)> = None;
    let (mut rows, mut held) = (0_u64, 0_usize);
    loop {
        match reader.next_chunk() {
            Ok(Some(chunk)) => {
                for (key, value) in chunk.rows {
                    held = held.saturating_add(key.len()).saturating_add(value.len());
                    let next = (chunk.table.number(), key);
                    assert!(last.as_ref().is_none_or(|last| *last < next), "rows out of order");
                    last = Some(next);
                    rows = rows.saturating_add(1);
                }
            }
            Ok(None) => {
                let named: u64 = reader.manifest().counts.values().sum();
                assert_eq!(rows, named, "rows that the manifest does not name");
                break;
            }
            Err(invalid) => return check_failure(&invalid),
        }
    }
    assert!(held <= bytes.len().saturating_mul(64).max(BACKUP_CHUNK_BYTES_MAX), "too much memory");
}

fn check_failure(invalid: &InvalidBackup) {
    // These messages name the program version or the position of the damage, for the operator.
    if !matches!(invalid, InvalidBackup::Newer(_) | InvalidBackup::Damaged(..)) {
        check_sentence(&invalid.to_string());
    }
}

fn start() -> Vec<u8> {
    [MAGIC.as_slice(), &[FORMAT]].concat()
}

/// Builds chunks from the parts of the input. Returns them with the rows by table and the digest.
fn chunks(mut data: &[u8]) -> (Vec<u8>, BTreeMap<String, u64>, String) {
    let (mut bytes, mut counts, mut all) = (start(), BTreeMap::new(), Sha256::new());
    while let Some(rows) = part(&mut data) {
        let Some((&[number, count], rows)) = rows.split_first_chunk() else { break };
        let length = u32::try_from(rows.len()).unwrap_or(u32::MAX).to_be_bytes();
        let number = Table::ALL.get(usize::from(number) % Table::ALL.len().max(1));
        let number = number.map_or(0, |table| table.number());
        let count_bytes = u32::from(count).to_be_bytes();
        let chunk = [&[CHUNK, number], count_bytes.as_slice(), &length, rows].concat();
        let digest = digest(&[&chunk]);
        all.update(&digest);
        bytes.extend(chunk);
        bytes.extend(digest);
        let table = Table::from_number(number).map_or("", Table::name);
        let rows = counts.entry(String::from(table)).or_insert(0_u64);
        *rows = rows.saturating_add(u64::from(count));
    }
    (bytes, counts, hex::encode(&all.finish()))
}

fn manifest(master: &MasterKey, counts: BTreeMap<String, u64>, digest: String) -> Manifest {
    Manifest {
        program: String::from("0.0.0"),
        file_format: opening::FORMAT,
        file_id: None,
        created_at_us: 1,
        master_key: hex::encode(master.check()),
        rows: counts.values().sum(),
        bytes: 0,
        counts,
        audit_head: None,
        timeline: None,
        sequence: None,
        history: None,
        departed: None,
        settled_at_us: None,
        digest,
    }
}

/// A signed backup of these rows with this manifest.
fn file(mut rows: Vec<u8>, json: &[u8], master: &MasterKey) -> Vec<u8> {
    let at = u64::try_from(rows.len()).unwrap_or(u64::MAX).to_be_bytes();
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX).to_be_bytes();
    let tag = master.backup_key().sign(json);
    let content = [&[MANIFEST], length.as_slice(), json, &tag].concat();
    rows.extend_from_slice(&content);
    rows.extend(digest(&[&content]));
    rows.extend(at);
    rows.extend(END);
    rows
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finish()
}

/// The first byte selects: a raw piece, frames in a signed piece, a mark, or the name of a file.
pub(crate) fn archive(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let Some(master) = master() else { return };
    let keys = [master];
    match kind % 4 {
        0 => check_piece(data.to_vec(), &keys),
        1 => check_piece(piece(data, &keys), &keys),
        2 => check_mark(data, &keys),
        _ => {
            let Ok(text) = std::str::from_utf8(data) else { return };
            if let Some(name) = PieceName::parse(text) {
                assert_eq!(name.to_string(), text, "a name has one spelling");
                assert!(!text.contains('/') && name.first <= name.last);
            }
        }
    }
}

/// A signed piece with the input as frames. The first two bytes are its first and last number.
fn piece(data: &[u8], keys: &[MasterKey]) -> Vec<u8> {
    let [first, last] = data.first_chunk().copied().unwrap_or_default();
    let master = keys.first().map_or([0; 8], |key| *key.check());
    let header = PieceHeader {
        data_format: opening::FORMAT,
        lineage: Lineage::default(),
        origin: Origin { timeline: [0; 16], sequence: 0 },
        master,
        first: u64::from(first),
        before: [0; 32],
    };
    let mut bytes = header.encode();
    bytes.extend_from_slice(data.get(2..).unwrap_or_default());
    bytes.extend(u64::from(last).to_be_bytes());
    bytes.extend(0_i64.to_be_bytes());
    let digest = digest(&[&bytes]);
    let tag = keys.first().map(|key| key.backup_key().sign(&[PIECE_LABEL, &digest].concat()));
    bytes.extend(digest);
    bytes.extend(tag.unwrap_or_default());
    bytes.extend(PIECE_END);
    bytes
}

fn check_piece(bytes: Vec<u8>, keys: &[MasterKey]) {
    let length = bytes.len();
    let header = match PieceHeader::decode(&bytes) {
        Ok((header, _)) => header,
        Err(invalid) => return check_invalid(&invalid),
    };
    assert_eq!(bytes.get(..PIECE_HEADER_BYTES), Some(header.encode().as_slice()));
    // The name that the piece itself implies.
    let at = length.saturating_sub(88);
    let last = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    let name = PieceName {
        timeline: header.lineage.timeline,
        first: header.first,
        last: u64::from_be_bytes(last),
    };
    let piece = match Piece::parse(bytes, &name, keys) {
        Ok(piece) => piece,
        Err(invalid) => return check_invalid(&invalid),
    };
    let mut next = piece.header.first;
    let mut steps = 0_usize;
    for frame in piece.frames() {
        steps = steps.saturating_add(1);
        assert!(steps <= length, "the frames do not end");
        match frame {
            Ok(frame) => {
                assert_eq!(frame.sequence, next, "a gap between frames");
                assert!(frame.sequence <= piece.last, "a frame behind the last one");
                next = next.saturating_add(1);
            }
            Err(InvalidPiece::Damaged(_)) => return,
            Err(_) => assert!(steps == 0, "a frame fails in another way"),
        }
    }
    assert_eq!(next, piece.last.wrapping_add(1), "frames are missing");
}

fn check_invalid(invalid: &InvalidPiece) {
    // This message names the check value of the key, for the operator.
    if !matches!(invalid, InvalidPiece::UnknownKey(_)) {
        check_sentence(&invalid.to_string());
    }
}

fn check_mark(data: &[u8], keys: &[MasterKey]) {
    let Some(key) = keys.first() else { return };
    if let Err(invalid) = TimelineEnd::decode(data, keys) {
        check_invalid(&invalid);
    } else {
        assert!(data.is_empty(), "a forged mark was taken");
    }
    let Some((vault, rest)) = data.split_first_chunk() else { return };
    let Some((next, rest)) = rest.split_first_chunk() else { return };
    let last = u64::from_be_bytes(rest.first_chunk().copied().unwrap_or_default());
    let time = crate::domain::time::Timestamp::from_micros(i64::MIN);
    let digest = [7; 32];
    let end = TimelineEnd { vault: *vault, timeline: *next, last, digest, next: *vault, time };
    let mut bytes = end.encode(key);
    assert_eq!(TimelineEnd::decode(&bytes, keys).ok(), Some(end));
    let at = data.len() % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1;
    }
    assert!(TimelineEnd::decode(&bytes, keys).is_err(), "a changed mark was taken");
}
