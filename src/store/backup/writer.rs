//! Writes a backup in one pass over a snapshot, with one chunk in memory at a time.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::bounds::BACKUP_CHUNK_BYTES;
use crate::crypto::{BackupKey, Sha256};
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::files::{Directory, NamedFile, Unfinished};
use crate::store::backup::format::{
    BackupFailure, CHUNK, CHUNK_HEAD_BYTES, END, FORMAT, MAGIC, MANIFEST, UNFINISHED,
};
use crate::store::backup::manifest::Manifest;
use crate::store::chain::Heads;
use crate::store::chain::signers::Signers;
use crate::store::failure::StorageFailure;
use crate::store::meta;
use crate::store::snapshot::Snapshot;
use crate::store::tables::Table;

/// A complete and durable backup.
#[derive(Debug)]
pub struct BackupSummary {
    pub manifest: Manifest,
    /// The length of the backup file.
    pub file_bytes: u64,
    /// For a caller that has to remove it.
    pub file: NamedFile,
}

/// Times around a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotTimes {
    /// Every change that was answered before this time is in the snapshot.
    pub created_at: Timestamp,
    /// No change of the snapshot is later than this.
    pub settled_at: Timestamp,
}

/// Writes every row of the snapshot. The file appears under its name only when it is durable, and
/// existing files are never overwritten.
///
/// The store's writer goes on during a backup. The engine keeps the pages of the snapshot until it
/// is dropped, so the data file may grow by the amount written meanwhile.
pub fn write(
    snapshot: &Snapshot,
    path: &Path,
    key: &BackupKey,
    times: SnapshotTimes,
) -> Result<BackupSummary, BackupFailure> {
    let (directory, name) = Directory::of(path)?;
    if directory.identity(&name)?.is_some() {
        return Err(BackupFailure::Exists);
    }
    let mut unfinished = name.clone();
    unfinished.push(UNFINISHED);
    // A leftover file would look like a backup in progress to the next one.
    let new = Unfinished::create_for_owner(&directory, &unfinished).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return BackupFailure::Unfinished(directory.path().join(&unfinished));
        }
        BackupFailure::Target(error)
    })?;
    let mut out = BackupOutput::new(new.file()?);
    let manifest = fill(&mut out, snapshot, key, times)?;
    let file_bytes = out.at;
    let file = new.finish(&name).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return BackupFailure::Exists;
        }
        BackupFailure::Target(error)
    })?;
    Ok(BackupSummary { manifest, file_bytes, file })
}

struct BackupOutput<W> {
    to: W,
    at: u64,
    /// The digest over the chunks' digests.
    digest: Sha256,
    rows: u64,
    bytes: u64,
}

impl<W: Write> BackupOutput<W> {
    fn new(to: W) -> Self {
        Self { to, at: 0, digest: Sha256::new(), rows: 0, bytes: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.at = self.at.saturating_add(length(bytes));
        Ok(())
    }

    /// Writes bytes and their digest, and returns the digest.
    fn put_digested(&mut self, bytes: &[u8]) -> io::Result<[u8; 32]> {
        let mut digest = Sha256::new();
        digest.update(bytes);
        let digest = digest.finish();
        self.put(bytes)?;
        self.put(&digest)?;
        Ok(digest)
    }
}

fn fill<W: Write>(
    out: &mut BackupOutput<W>,
    snapshot: &Snapshot,
    key: &BackupKey,
    times: SnapshotTimes,
) -> Result<Manifest, BackupFailure> {
    out.put(MAGIC)?;
    out.put(&[FORMAT])?;
    let mut counts = BTreeMap::new();
    for table in tables() {
        let before = out.rows;
        put_table(out, snapshot, table)?;
        counts.insert(String::from(table.name()), out.rows.saturating_sub(before));
    }
    let digest = std::mem::take(&mut out.digest).finish();
    // A file that no engine has opened has no history.
    let moment = Some(snapshot.moment()?).filter(|it| it.timeline != [0; 16]);
    let manifest = Manifest {
        program: String::from(env!("CARGO_PKG_VERSION")),
        file_format: meta::format(snapshot)?
            .ok_or_else(|| StorageFailure::Damaged(String::from("it does not name its format")))?,
        file_id: meta::file_id(snapshot)?.map(|id| id.to_string()),
        created_at_us: times.created_at.micros(),
        master_key: hex::encode(&meta::master_check(snapshot)?.unwrap_or_default()),
        rows: out.rows,
        bytes: out.bytes,
        counts,
        audit_head: audit_head(snapshot)?,
        timeline: moment.map(|it| hex::encode(&it.timeline)),
        sequence: moment.map(|it| it.sequence),
        history: moment.map(|it| hex::encode(&it.digest)),
        departed: snapshot.departed().map(|it| String::from(it.name())),
        settled_at_us: moment.map(|_| times.settled_at.micros()),
        digest: hex::encode(&digest),
    };
    put_manifest(out, &manifest, key)?;
    Ok(manifest)
}

/// The tables of a backup, in the order of their numbers. The rows of live processes are left out:
/// they mean nothing in a restored store.
fn tables() -> Vec<Table> {
    let mut tables = Table::ALL.to_vec();
    tables.retain(|table| *table != Table::Processes);
    tables.sort_by_key(|table| table.number());
    tables
}

/// The length and the last link of the audit chain; `None` for a file without one.
pub(in crate::store) fn audit_head(snapshot: &Snapshot) -> Result<Option<String>, StorageFailure> {
    if Signers::read(snapshot)?.is_none() {
        return Ok(None);
    }
    let head = Heads::read(snapshot)?.position();
    Ok(Some(format!("{} {}", head.next, hex::encode(head.link.bytes()))))
}

fn put_table<W: Write>(
    out: &mut BackupOutput<W>,
    snapshot: &Snapshot,
    table: Table,
) -> Result<(), BackupFailure> {
    let mut chunk = ChunkBuilder::new(table);
    for entry in snapshot.range(&table.whole())? {
        let (key, value) = entry?;
        out.rows = out.rows.saturating_add(1);
        out.bytes = out.bytes.saturating_add(length(&key)).saturating_add(length(&value));
        chunk.push(key, &value)?;
        if chunk.bytes.len() >= BACKUP_CHUNK_BYTES {
            put_chunk(out, &mut chunk)?;
        }
    }
    if chunk.count > 0 {
        put_chunk(out, &mut chunk)?;
    }
    Ok(())
}

fn put_chunk<W: Write>(out: &mut BackupOutput<W>, chunk: &mut ChunkBuilder) -> io::Result<()> {
    let digest = out.put_digested(chunk.finish()?)?;
    out.digest.update(&digest);
    chunk.clear();
    Ok(())
}

fn put_manifest<W: Write>(
    out: &mut BackupOutput<W>,
    manifest: &Manifest,
    key: &BackupKey,
) -> io::Result<()> {
    let at = out.at;
    let json = serde_json::to_vec(manifest)?;
    let mut bytes = vec![MANIFEST];
    bytes.extend(length_of(json.len())?);
    bytes.extend(&json);
    bytes.extend(key.sign(&json));
    out.put_digested(&bytes)?;
    out.put(&at.to_be_bytes())?;
    out.put(END)?;
    out.to.flush()
}

struct ChunkBuilder {
    table: Table,
    count: u32,
    bytes: Vec<u8>,
    last_key: Vec<u8>,
}

impl ChunkBuilder {
    fn new(table: Table) -> Self {
        let mut rows = Self { table, count: 0, bytes: Vec::new(), last_key: Vec::new() };
        rows.clear();
        rows
    }

    fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
        self.bytes.resize(CHUNK_HEAD_BYTES, 0);
        self.last_key.clear();
    }

    fn push(&mut self, key: Vec<u8>, value: &[u8]) -> Result<(), StorageFailure> {
        let too_long = |_| StorageFailure::Damaged(String::from("a row is longer than any"));
        let shared = key.iter().zip(&self.last_key).take_while(|(one, other)| one == other).count();
        let rest = key.get(shared..).unwrap_or_default();
        self.bytes.extend(u16::try_from(shared).map_err(too_long)?.to_be_bytes());
        self.bytes.extend(u16::try_from(rest.len()).map_err(too_long)?.to_be_bytes());
        self.bytes.extend(u32::try_from(value.len()).map_err(too_long)?.to_be_bytes());
        self.bytes.extend(rest);
        self.bytes.extend(value);
        self.last_key = key;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// The chunk without its digest.
    fn finish(&mut self) -> io::Result<&[u8]> {
        let length = length_of(self.bytes.len().saturating_sub(CHUNK_HEAD_BYTES))?;
        let head = [CHUNK, self.table.number()].into_iter();
        let head = head.chain(self.count.to_be_bytes()).chain(length);
        for (to, from) in self.bytes.iter_mut().zip(head) {
            *to = from;
        }
        Ok(&self.bytes)
    }
}

/// Encodes a length. Fails for 4 GiB and more, because the format has four bytes for it.
fn length_of(length: usize) -> io::Result<[u8; 4]> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidData, "a part of 4 GiB or more");
    u32::try_from(length).map(u32::to_be_bytes).map_err(too_long)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::MasterKey;
    use crate::secret::Secret;
    use crate::store::change::Change;
    use crate::store::handle::Store;
    use crate::store::tests::disk::TestDisk;

    struct Room(usize);

    impl Write for Room {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.0);
            self.0 -= fits;
            if fits > 0 { Ok(fits) } else { Err(io::ErrorKind::StorageFull.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_without_room_for_it_is_a_failure_of_the_backup_alone() {
        let first = Change::new().put(Table::Tokens, vec![1], vec![1; 40]);
        let store = Store::on_disk(&TestDisk::new(), first).unwrap();
        let key = MasterKey::parse(&Secret::new(b"1".repeat(64))).unwrap();
        let snapshot = store.snapshot().unwrap();
        let write = |room| {
            let mut out = BackupOutput::new(Room(room));
            let time = Timestamp::from_seconds(1);
            let times = SnapshotTimes { created_at: time, settled_at: time };
            fill(&mut out, &snapshot, key.backup_key(), times).map(|_| out.at)
        };
        let whole = usize::try_from(write(usize::MAX).unwrap()).unwrap();
        for room in 0..whole {
            assert!(matches!(write(room), Err(BackupFailure::Target(_))), "{room} bytes");
        }
        assert!(write(whole).is_ok());
        assert!(store.snapshot().is_ok());
    }
}
