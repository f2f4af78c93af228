//! The mark at the end of a timeline, which the promotion of a standby and a new timeline write.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::files::{Directory, Unfinished};
use crate::store::archive::format::{
    FORMAT, InvalidPiece, MAGIC, MARK_LABEL, UNFINISHED, check_start, mark_name,
};
use crate::store::archive::reader::{check_signature, read_bounded};
use crate::store::engine::local::log::segment::Lineage;

const SIGNED_BYTES: usize = 18 + 2 + 16 + 16 + 8 + 32 + 16 + 8 + 8;
const BYTES: u64 = 124 + 32;

/// In place of a digest that the writer of a mark does not have.
pub(in crate::store) const UNKNOWN_DIGEST: [u8; 32] = [0; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct TimelineEnd {
    pub(in crate::store) vault: [u8; 16],
    pub(in crate::store) timeline: [u8; 16],
    /// The last batch that the next timeline contains.
    pub(in crate::store) last: u64,
    /// The digest of the history up to that batch, or [`UNKNOWN_DIGEST`].
    pub(in crate::store) digest: [u8; 32],
    /// The timeline that continues.
    pub(in crate::store) next: [u8; 16],
    pub(in crate::store) time: Timestamp,
}

impl TimelineEnd {
    /// Writes the mark. Returns false if the timeline has one already, which stays unchanged.
    pub(in crate::store) fn write(&self, directory: &Path, key: &MasterKey) -> io::Result<bool> {
        let name = mark_name(&self.timeline);
        let directory = Directory::open(directory)?;
        let new = Unfinished::create_again(&directory, format!("{name}{UNFINISHED}"))?;
        new.file()?.write_all(&self.encode(key))?;
        // The vault that must see the mark may run as another user than the owner of the directory.
        // The mark holds nothing secret.
        new.file()?.set_permissions(Permissions::from_mode(0o644))?;
        match new.finish(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            written => written.map(|_| true),
        }
    }

    pub(in crate::store) fn read(
        directory: &Path,
        timeline: &[u8; 16],
        keys: &[MasterKey],
    ) -> Result<Option<Self>, InvalidPiece> {
        Self::read_by(directory, timeline, |bytes| Self::decode(bytes, keys))
    }

    /// Returns true if the timeline has a mark, also under a master key that is not at hand: the
    /// vault that continues may have replaced the key.
    pub(in crate::store) fn is_there(
        directory: &Path,
        lineage: Lineage,
        keys: &[MasterKey],
    ) -> Result<bool, InvalidPiece> {
        let is_own = |end: Self| end.vault == lineage.vault;
        let unsigned = |bytes: &[u8]| Self::split(bytes).map(|(end, ..)| end);
        match Self::read(directory, &lineage.timeline, keys) {
            Err(InvalidPiece::UnknownKey(check)) => {
                let end = Self::read_by(directory, &lineage.timeline, unsigned)?;
                if end.is_some_and(is_own) {
                    Ok(true)
                } else {
                    Err(InvalidPiece::UnknownKey(check))
                }
            }
            end => Ok(end?.is_some_and(is_own)),
        }
    }

    /// True if a file has the name of the timeline's mark, also one that cannot be read.
    pub(in crate::store) fn has_name(directory: &Path, timeline: &[u8; 16]) -> bool {
        std::fs::symlink_metadata(directory.join(mark_name(timeline))).is_ok()
    }

    fn read_by(
        directory: &Path,
        timeline: &[u8; 16],
        decode: impl FnOnce(&[u8]) -> Result<Self, InvalidPiece>,
    ) -> Result<Option<Self>, InvalidPiece> {
        let path = directory.join(mark_name(timeline));
        let bytes = match read_bounded(&path, BYTES) {
            Err(InvalidPiece::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            read => read?,
        };
        let end = decode(&bytes)?;
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
        bytes.extend(self.digest);
        bytes.extend(self.next);
        bytes.extend(self.time.micros().to_be_bytes());
        bytes.extend(key.check());
        let tag = key.backup_key().sign(&[MARK_LABEL, &bytes].concat());
        bytes.extend(tag);
        bytes
    }

    pub(in crate::store) fn decode(bytes: &[u8], keys: &[MasterKey]) -> Result<Self, InvalidPiece> {
        let (end, master, signed, tag) = Self::split(bytes)?;
        check_signature(keys, master, &[MARK_LABEL, signed].concat(), tag)?;
        Ok(end)
    }

    /// Splits a mark into its fields, the check value of its master key, the signed bytes, and the
    /// HMAC.
    #[expect(clippy::type_complexity, reason = "its two callers take the parts apart at once")]
    fn split(bytes: &[u8]) -> Result<(Self, [u8; 8], &[u8], &[u8]), InvalidPiece> {
        let rest = check_start(bytes)?;
        let parts = || {
            let (signed, tag) = bytes.split_at_checked(SIGNED_BYTES)?;
            let (vault, rest) = rest.split_first_chunk()?;
            let (timeline, rest) = rest.split_first_chunk()?;
            let (last, rest) = rest.split_first_chunk()?;
            let (digest, rest) = rest.split_first_chunk()?;
            let (next, rest) = rest.split_first_chunk()?;
            let (time, rest) = rest.split_first_chunk()?;
            let (master, _) = rest.split_first_chunk()?;
            let end = Self {
                vault: *vault,
                timeline: *timeline,
                last: u64::from_be_bytes(*last),
                digest: *digest,
                next: *next,
                time: Timestamp::from_micros(i64::from_be_bytes(*time)),
            };
            Some((end, *master, signed, tag))
        };
        parts().ok_or(InvalidPiece::CutShort)
    }
}
