//! The mark at the end of a timeline, which the promotion of a standby writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::store::archive::format::{
    FORMAT, InvalidPiece, MAGIC, MARK_LABEL, UNFINISHED, check_start, mark_name,
};
use crate::store::archive::reader::{check_signature, read_bounded};

const SIGNED_BYTES: usize = 18 + 2 + 16 + 16 + 8 + 16 + 8 + 8;
const BYTES: u64 = 92 + 32;

/// The end of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct TimelineEnd {
    pub(in crate::store) vault: [u8; 16],
    pub(in crate::store) timeline: [u8; 16],
    /// The last batch of it that the promoted vault has.
    pub(in crate::store) last: u64,
    /// The timeline of the promoted vault.
    pub(in crate::store) next: [u8; 16],
    pub(in crate::store) time: Timestamp,
}

impl TimelineEnd {
    /// Writes the mark. Returns false if the timeline has a mark already, which is left as it is.
    pub(in crate::store) fn write(&self, directory: &Path, key: &MasterKey) -> io::Result<bool> {
        let path = directory.join(mark_name(&self.timeline));
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = file.open(&unfinished)?;
        file.write_all(&self.encode(key))?;
        file.sync_all()?;
        // A link fails if the name is taken; a rename would replace the other mark.
        let linked = match fs::hard_link(&unfinished, &path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        fs::remove_file(&unfinished)?;
        File::open(directory)?.sync_all()?;
        Ok(linked)
    }

    /// Reads the mark of a timeline; `None` if the timeline has none.
    pub(in crate::store) fn read(
        directory: &Path,
        timeline: &[u8; 16],
        keys: &[MasterKey],
    ) -> Result<Option<Self>, InvalidPiece> {
        let path = directory.join(mark_name(timeline));
        let bytes = match read_bounded(&path, BYTES) {
            Err(InvalidPiece::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            read => read?,
        };
        let end = Self::decode(&bytes, keys)?;
        if end.timeline != *timeline {
            return Err(InvalidPiece::Foreign);
        }
        Ok(Some(end))
    }

    pub(in crate::store) fn encode(&self, key: &MasterKey) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_be_bytes());
        bytes.extend(self.vault);
        bytes.extend(self.timeline);
        bytes.extend(self.last.to_be_bytes());
        bytes.extend(self.next);
        bytes.extend(self.time.micros().to_be_bytes());
        bytes.extend(key.check());
        let tag = key.backup_key().sign(&[MARK_LABEL, &bytes].concat());
        bytes.extend(tag);
        bytes
    }

    pub(in crate::store) fn decode(bytes: &[u8], keys: &[MasterKey]) -> Result<Self, InvalidPiece> {
        let rest = check_start(bytes)?;
        let parts = || {
            let (signed, tag) = bytes.split_at_checked(SIGNED_BYTES)?;
            let (vault, rest) = rest.split_first_chunk()?;
            let (timeline, rest) = rest.split_first_chunk()?;
            let (last, rest) = rest.split_first_chunk()?;
            let (next, rest) = rest.split_first_chunk()?;
            let (time, rest) = rest.split_first_chunk()?;
            let (master, _) = rest.split_first_chunk()?;
            let end = Self {
                vault: *vault,
                timeline: *timeline,
                last: u64::from_be_bytes(*last),
                next: *next,
                time: Timestamp::from_micros(i64::from_be_bytes(*time)),
            };
            Some((end, *master, signed, tag))
        };
        let (end, master, signed, tag) = parts().ok_or(InvalidPiece::CutShort)?;
        check_signature(keys, master, &[MARK_LABEL, signed].concat(), tag)?;
        Ok(end)
    }
}

/// Returns true if the timeline has a mark, valid or not.
pub(in crate::store) fn is_marked(directory: &Path, timeline: &[u8; 16]) -> io::Result<bool> {
    match fs::symlink_metadata(directory.join(mark_name(timeline))) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
