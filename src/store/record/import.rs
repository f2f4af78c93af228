//! The state of an import, in [`crate::store::Table::Meta`]. It is in clear: it holds numbers, and
//! a keyed digest that reveals nothing about the rows without the tenant's keys.

use crate::domain::time::Timestamp;
use crate::store::record::shape::record;

/// The progress of an import, written in the same change as the rows that it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    /// Rows of the file that are done, from its start.
    pub rows: u64,
    pub created: u64,
    /// Rows whose content the tenant had already.
    pub duplicates: u64,
    /// Rows that were skipped because of errors.
    pub bad: u64,
    /// The keyed digest of the rows that are done.
    pub digest: String,
    pub is_finished: bool,
    pub changed_at: Timestamp,
}

record! { in_clear encode_import, decode_import(): ImportRecord {
    rows, created, duplicates, bad, digest, is_finished = "finished", changed_at,
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::record::encoding::BadRecord;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state = ImportRecord {
            rows: 1_000,
            created: 990,
            duplicates: 7,
            bad: 3,
            digest: String::from("4fd"),
            is_finished: true,
            changed_at: Timestamp::from_seconds(1_794_648_600),
        };
        assert_eq!(decode_import(&encode_import(&state).unwrap()), Ok(state));
        // Version 1 is read forever.
        let kept = "\u{1}{\"rows\":2,\"created\":1,\"duplicates\":0,\"bad\":1,\"digest\":\"x\",\
                    \"finished\":false,\"changed_at\":7}";
        let read = decode_import(kept.as_bytes()).unwrap();
        assert_eq!((read.rows, read.created, read.is_finished), (2, 1, false));
        for bad in ["", "\u{2}{}", "\u{1}{}"] {
            assert_eq!(decode_import(bad.as_bytes()), Err(BadRecord));
        }
    }
}
