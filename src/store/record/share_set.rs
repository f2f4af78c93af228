//! A set of recovery shares. It is stored in clear in [`crate::store::Table::Meta`], because it is
//! needed to recover the master key, when no key can open anything. Hashes of shares reveal nothing
//! about the key.

use serde::{Deserialize, Serialize};

use crate::domain::hex;
use crate::domain::share_set::ShareSet;
use crate::domain::time::Timestamp;
use crate::store::record::encoding::{BadRecord, EncodeFailed, decode, encode, micros};

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct ShareSetV1 {
    needed: u8,
    made_at: i64,
    hashes: Vec<String>,
}

pub fn encode_share_set(set: &ShareSet) -> Result<Vec<u8>, EncodeFailed> {
    let record = ShareSetV1 {
        needed: set.needed,
        made_at: micros(set.made_at),
        hashes: set.hashes.iter().map(|hash| hex::encode(hash)).collect(),
    };
    Ok(encode(VERSION, &record)?.expose().clone())
}

/// `set` comes from the row's key.
pub fn decode_share_set(set: [u8; 4], bytes: &[u8]) -> Result<ShareSet, BadRecord> {
    let ShareSetV1 { needed, made_at, hashes } = decode(VERSION, bytes)?;
    let hashes: Option<Vec<_>> = hashes.iter().map(|hash| hex::decode(hash)).collect();
    let made_at = Timestamp::from_micros(made_at);
    Ok(ShareSet { set, needed, made_at, hashes: hashes.ok_or(BadRecord)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_as_it_was_written() {
        let made_at = Timestamp::from_seconds(1_794_648_600);
        let set = ShareSet { set: [1; 4], needed: 2, made_at, hashes: vec![[1; 32], [2; 32]] };
        let bytes = encode_share_set(&set).unwrap();
        assert_eq!(decode_share_set([1; 4], &bytes).unwrap(), set);
        // Version 1 is read forever.
        let kept =
            format!("\u{1}{{\"needed\":2,\"made_at\":7,\"hashes\":[\"{}\"]}}", "ab".repeat(32));
        let read = decode_share_set([2; 4], kept.as_bytes()).unwrap();
        assert_eq!((read.needed, read.hashes), (2, vec![[0xab; 32]]));
        for bad in
            ["", "\u{2}{}", "\u{1}{}", "\u{1}{\"needed\":2,\"made_at\":7,\"hashes\":[\"a\"]}"]
        {
            assert!(decode_share_set([1; 4], bad.as_bytes()).is_err());
        }
    }
}
