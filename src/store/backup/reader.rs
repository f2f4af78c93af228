//! Reads a backup: the manifest first, then chunk after chunk. Each is checked before it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::bounds::{BACKUP_CHUNK_BYTES_MAX, BACKUP_MANIFEST_BYTES_MAX, BACKUP_ROWS_BYTES_MAX};
use crate::crypto::{MasterKey, Sha256};
use crate::domain::hex;
use crate::files::open_regular;
use crate::metrics::Progress;
use crate::store::backup::format::{
    CHUNK, CHUNK_HEAD_BYTES, DIGEST_BYTES, END, FORMAT, HEADER_BYTES, InvalidBackup, MAGIC,
    MANIFEST, MANIFEST_HEAD_BYTES, TRAILER_BYTES, UNRELEASED_MAGIC,
};
use crate::store::backup::manifest::Manifest;
use crate::store::engine::Row;
use crate::store::opening;
use crate::store::tables::Table;

/// An open backup. It checks everything that it returns, except the origin:
/// [`Reader::check_origin`] needs the master key for that.
#[derive(Debug)]
pub struct Reader<F = File> {
    file: BufReader<F>,
    manifest: Manifest,
    signed: SignedManifest,
    /// The offset behind the last chunk.
    end: u64,
    at: u64,
    digest: Sha256,
    counts: BTreeMap<&'static str, u64>,
    last: Option<(Table, Vec<u8>)>,
    progress: Option<Arc<Progress>>,
}

#[derive(Debug)]
struct SignedManifest {
    json: Vec<u8>,
    tag: Vec<u8>,
}

/// Rows of one table, in key order.
#[derive(Debug)]
pub struct Chunk {
    pub table: Table,
    pub rows: Vec<Row>,
    /// The encoded length of the rows.
    pub bytes: usize,
}

impl Reader {
    /// Reads only the manifest.
    pub fn open(path: &Path) -> Result<Self, InvalidBackup> {
        let file = open_regular(path).map_err(|error| {
            if error.kind() == io::ErrorKind::InvalidInput {
                return InvalidBackup::NotABackup;
            }
            error.into()
        })?;
        let length = file.metadata()?.len();
        Self::new(file, length)
    }
}

impl<'a> Reader<&'a File> {
    /// For a backup that the caller has opened.
    pub fn over(file: &'a File) -> Result<Self, InvalidBackup> {
        Self::new(file, file.metadata()?.len())
    }
}

impl<F> Reader<F> {
    pub fn is_of(&self, file_id: Option<&str>) -> bool {
        self.manifest.file_id.as_deref() == file_id
    }
}

impl<F: Read + Seek> Reader<F> {
    pub(in crate::store) fn new(mut file: F, length: u64) -> Result<Self, InvalidBackup> {
        let mut magic = [0; 18];
        match file.read_exact(&mut magic) {
            Ok(()) if magic.starts_with(MAGIC) => (),
            Ok(()) if magic.starts_with(UNRELEASED_MAGIC) => return Err(InvalidBackup::Unreleased),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            Ok(()) | Err(_) => return Err(InvalidBackup::NotABackup),
        }
        match magic.last() {
            Some(&FORMAT) => (),
            Some(newer) if *newer > FORMAT => return Err(InvalidBackup::Newer(None)),
            Some(_) | None => return Err(InvalidBackup::NotABackup),
        }
        let end = find_manifest(&mut file, length)?;
        let (manifest, signed) = read_manifest(&mut file, end, length)?;
        if manifest.file_format > opening::FORMAT {
            return Err(InvalidBackup::Newer(Some(manifest.program)));
        }
        file.seek(SeekFrom::Start(HEADER_BYTES))?;
        Ok(Self {
            file: BufReader::new(file),
            manifest,
            signed,
            end,
            at: HEADER_BYTES,
            digest: Sha256::new(),
            counts: BTreeMap::new(),
            last: None,
            progress: None,
        })
    }

    /// Counts the rows that are read as progress towards the manifest's total.
    pub fn count(&mut self, progress: &Arc<Progress>) {
        progress.set_total(self.manifest.rows);
        self.progress = Some(Arc::clone(progress));
    }

    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Checks that a holder of this master key wrote the backup.
    pub fn check_origin(&self, master: &MasterKey) -> Result<(), InvalidBackup> {
        let check = hex::decode_all(&self.manifest.master_key);
        if check.as_deref() != Some(master.check()) {
            return Err(InvalidBackup::WrongMasterKey);
        }
        let SignedManifest { json, tag } = &self.signed;
        master.backup_key().has_signed(json, tag).then_some(()).ok_or(InvalidBackup::Forged)
    }

    /// Reads the next rows. Returns `None` after the last chunk, if row counts and digest match the
    /// manifest.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, InvalidBackup> {
        if self.at == self.end {
            return self.check_sums().map(|()| None);
        }
        let start = self.at;
        let damaged = |what| InvalidBackup::Damaged(start, what);
        let head: [u8; CHUNK_HEAD_BYTES] = self.take(CHUNK_HEAD_BYTES)?.try_into().map_err(cut)?;
        let [kind, number, c0, c1, c2, c3, l0, l1, l2, l3] = head;
        if kind != CHUNK {
            return Err(damaged("no rows begin here"));
        }
        let count = u32::from_be_bytes([c0, c1, c2, c3]);
        let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        if length > BACKUP_CHUNK_BYTES_MAX {
            return Err(damaged("rows are longer than any"));
        }
        let bytes = self.take(length)?;
        let stored = self.take(DIGEST_BYTES)?;
        let mut digest = Sha256::new();
        digest.update(&head);
        digest.update(&bytes);
        if digest.finish().as_slice() != stored {
            return Err(damaged("the digest of these rows is another"));
        }
        self.digest.update(&stored);
        let table = Table::ALL.iter().copied().find(|table| table.number() == number);
        let table = table.ok_or_else(|| damaged("a table that no program has"))?;
        let rows = parse(&bytes, count).ok_or_else(|| damaged("the rows make no sense"))?;
        self.check_order(table, &rows).ok_or_else(|| damaged("the rows are out of order"))?;
        if let Some(progress) = &self.progress {
            progress.add(rows.len());
        }
        Ok(Some(Chunk { table, rows, bytes: bytes.len() }))
    }

    /// Reads the remaining rows to check them.
    pub fn check_rows(&mut self) -> Result<(), InvalidBackup> {
        while self.next_chunk()?.is_some() {}
        Ok(())
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, InvalidBackup> {
        let after = self.at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        if after > self.end {
            return Err(InvalidBackup::Damaged(self.at, "rows run into the manifest"));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes)?;
        self.at = after;
        Ok(bytes)
    }

    /// Checks that tables come in the order of their numbers and that keys ascend.
    fn check_order(&mut self, table: Table, rows: &[Row]) -> Option<()> {
        let mut last = match self.last.take() {
            Some((before, key)) if before == table => Some(key),
            Some((before, _)) if before.number() > table.number() => return None,
            Some(_) | None => None,
        };
        for (key, _) in rows {
            if last.as_ref().is_some_and(|last| last >= key) {
                return None;
            }
            last = Some(key.clone());
        }
        let count = self.counts.entry(table.name()).or_default();
        *count = count.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        self.last = last.map(|key| (table, key));
        Some(())
    }

    fn check_sums(&mut self) -> Result<(), InvalidBackup> {
        let damaged = |what| InvalidBackup::Damaged(self.end, what);
        let digest = std::mem::take(&mut self.digest).finish();
        if hex::encode(&digest) != self.manifest.digest {
            return Err(damaged("the digest of all rows is another"));
        }
        let names: BTreeSet<&str> = self
            .manifest
            .counts
            .keys()
            .map(String::as_str)
            .chain(self.counts.keys().copied())
            .collect();
        let same =
            |name: &&str| self.counts.get(name).copied().unwrap_or(0) == self.manifest.count(name);
        names.iter().all(same).then_some(()).ok_or_else(|| damaged("the counts are others"))
    }
}

fn find_manifest(file: &mut (impl Read + Seek), length: u64) -> Result<u64, InvalidBackup> {
    let trailer = length.checked_sub(TRAILER_BYTES).filter(|at| *at > HEADER_BYTES);
    file.seek(SeekFrom::Start(trailer.ok_or(InvalidBackup::CutShort)?))?;
    let mut at = [0; 8];
    let mut end = [0; 8];
    file.read_exact(&mut at)?;
    file.read_exact(&mut end)?;
    if &end != END {
        return Err(InvalidBackup::CutShort);
    }
    Ok(u64::from_be_bytes(at))
}

fn read_manifest(
    file: &mut (impl Read + Seek),
    at: u64,
    length: u64,
) -> Result<(Manifest, SignedManifest), InvalidBackup> {
    let damaged = || InvalidBackup::Damaged(at, "the manifest makes no sense");
    let frame = MANIFEST_HEAD_BYTES.saturating_add(2 * DIGEST_BYTES);
    let size = length.saturating_sub(TRAILER_BYTES).checked_sub(at).filter(|_| at >= HEADER_BYTES);
    let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(damaged)?;
    let json_length = size.checked_sub(frame).ok_or_else(damaged)?;
    if json_length > BACKUP_MANIFEST_BYTES_MAX {
        return Err(damaged());
    }
    let mut bytes = vec![0; size];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    let (content, stored) =
        bytes.split_at_checked(size.saturating_sub(DIGEST_BYTES)).ok_or_else(damaged)?;
    let mut digest = Sha256::new();
    digest.update(content);
    if digest.finish().as_slice() != stored {
        return Err(damaged());
    }
    let (head, rest) = content.split_at_checked(MANIFEST_HEAD_BYTES).ok_or_else(damaged)?;
    let told = u32::try_from(json_length).unwrap_or(u32::MAX).to_be_bytes();
    if head.first() != Some(&MANIFEST) || head.get(1..) != Some(told.as_slice()) {
        return Err(damaged());
    }
    let (json, tag) = rest.split_at_checked(json_length).ok_or_else(damaged)?;
    let manifest = serde_json::from_slice(json).ok().ok_or_else(damaged)?;
    Ok((manifest, SignedManifest { json: json.to_vec(), tag: tag.to_vec() }))
}

/// Returns `None` if the rows do not fill the chunk exactly or take too much memory.
fn parse(mut bytes: &[u8], count: u32) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut left = BACKUP_ROWS_BYTES_MAX;
    for _ in 0..count {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let [s0, s1, k0, k1, v0, v1, v2, v3] = *head;
        let shared = usize::from(u16::from_be_bytes([s0, s1]));
        let suffix = usize::from(u16::from_be_bytes([k0, k1]));
        let value = usize::try_from(u32::from_be_bytes([v0, v1, v2, v3])).ok()?;
        let (suffix, rest) = rest.split_at_checked(suffix)?;
        let (value, rest) = rest.split_at_checked(value)?;
        let taken = shared.saturating_add(suffix.len()).saturating_add(value.len());
        left = left.checked_sub(taken.saturating_add(size_of::<Row>()))?;
        let before = rows.last().map_or(&[][..], |(key, _)| key.as_slice());
        let key = [before.get(..shared)?, suffix].concat();
        rows.push((key, value.to_vec()));
        bytes = rest;
    }
    bytes.is_empty().then_some(rows)
}

fn cut(_: Vec<u8>) -> InvalidBackup {
    InvalidBackup::CutShort
}

impl From<io::Error> for InvalidBackup {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::CutShort;
        }
        Self::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_their_beginning_take_bounded_memory() {
        let key = vec![7; 60_000];
        let rows = |count: u32| {
            let mut bytes = [&[0, 0, 0xea, 0x60, 0, 0, 0, 0], key.as_slice()].concat();
            for number in 1..count {
                bytes.extend([0xea, 0x60, 0, 4, 0, 0, 0, 0]);
                bytes.extend(number.to_be_bytes());
            }
            parse(&bytes, count).map(|rows| rows.len())
        };
        assert_eq!(rows(1_000), Some(1_000));
        assert_eq!(rows(2_000), None);
    }
}
