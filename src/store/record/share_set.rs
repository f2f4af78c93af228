//! A set of recovery shares. It is stored in clear in [`crate::store::Table::Meta`]: recovering the
//! master key needs it, and no key can open anything then. Hashes of shares reveal nothing about
//! the key.

use crate::domain::share_set::ShareSet;
use crate::store::record::shape::record;

record! { in_clear encode_share_set, decode_share_set(set: [u8; 4]): ShareSet {
    needed, made_at, master, hashes, keepers?,
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    #[test]
    fn a_set_is_read_as_it_was_written() {
        let made_at = Timestamp::from_seconds(1_794_648_600);
        let set = ShareSet {
            set: [1; 4],
            needed: 2,
            made_at,
            master: [5; 8],
            hashes: vec![[1; 32], [2; 32]],
            keepers: vec![String::from("ana"), String::from("bo")],
        };
        let bytes = encode_share_set(&set).unwrap();
        assert_eq!(decode_share_set([1; 4], &bytes).unwrap(), set);
        // Version 1 is read forever.
        let kept = format!(
            "\u{1}{{\"needed\":2,\"made_at\":7,\"master\":\"{}\",\"hashes\":[\"{}\"]}}",
            "cd".repeat(8),
            "ab".repeat(32)
        );
        let read = decode_share_set([2; 4], kept.as_bytes()).unwrap();
        assert_eq!((read.needed, read.master, read.hashes), (2, [0xcd; 8], vec![[0xab; 32]]));
        assert_eq!(read.keepers, Vec::<String>::new());
        for bad in
            ["", "\u{2}{}", "\u{1}{}", "\u{1}{\"needed\":2,\"made_at\":7,\"hashes\":[\"a\"]}"]
        {
            assert!(decode_share_set([1; 4], bad.as_bytes()).is_err());
        }
    }
}
