//! Backups: a restore gives the same rows, any damage is found, and no file is ever overwritten.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use crate::bounds::{BACKUP_CHUNK_BYTES, BACKUP_MANIFEST_BYTES_MAX};
use crate::clock::Clock;
use crate::crypto::MasterKey;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::backup::{BackupFailure, InvalidBackup, Manifest, Reader, SnapshotTimes, write};
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{TestDirectory, block_on, put};
use crate::store::{Change, OpenFailure, RestoreFailure, Row, Snapshot, Store, Table, meta};

const NOW: Timestamp = Timestamp::from_seconds(1_794_648_600);
const TIMES: SnapshotTimes = SnapshotTimes { created_at: NOW, settled_at: NOW };

pub(in crate::store) fn master(digit: u8) -> MasterKey {
    MasterKey::parse(&Secret::new(vec![digit; 64])).unwrap()
}

fn store(first: Change) -> Store {
    let first = meta::put_master_check(first, master(b'1').check());
    Store::on_disk(&TestDisk::new(), first).unwrap()
}

fn back_up(store: &Store, path: &Path) -> Manifest {
    let snapshot = store.snapshot().unwrap();
    write(&snapshot, path, master(b'1').backup_key(), TIMES).unwrap().manifest
}

fn rows(snapshot: &Snapshot) -> Vec<(Table, Vec<Row>)> {
    let all = |table: &Table| {
        let range = snapshot.range(&table.whole()).unwrap();
        (*table, range.map(Result::unwrap).collect())
    };
    Table::ALL.iter().map(all).collect()
}

fn check(path: &Path) -> Result<(), InvalidBackup> {
    let mut backup = Reader::open(path)?;
    backup.check_rows()
}

#[track_caller]
fn assert_restores(store: &Store, directory: &TestDirectory) {
    let path = directory.join("a.backup");
    let manifest = back_up(store, &path);
    let restored = directory.join("restored");
    fs::create_dir(&restored).unwrap();
    let backup = Reader::open(&path).unwrap();
    backup.check_origin(&master(b'1')).unwrap();
    let made = Store::restore(&restored, backup, None, Change::new()).unwrap();
    assert_eq!(made.manifest, manifest);
    let again = Store::open(&restored, &Clock::new()).unwrap();
    let snapshot = again.snapshot().unwrap();
    assert_eq!(rows(&snapshot), rows(&store.snapshot().unwrap()));
    let file_id = meta::file_id(&snapshot).unwrap().map(|id| id.to_string());
    assert!(file_id.is_some() && manifest.file_id == file_id);
    for (table, rows) in rows(&snapshot) {
        assert_eq!(manifest.count(table.name()), u64::try_from(rows.len()).unwrap());
    }
    again.close();
}

#[test]
fn tables_of_many_chunks_are_restored_row_by_row() {
    let mut first = Change::new();
    for key in 0..9_u8 {
        first = first.put(Table::Tokens, vec![7, key], vec![key; BACKUP_CHUNK_BYTES / 3]).put(
            Table::TokenLists,
            vec![key; usize::from(key) * 300],
            vec![],
        );
    }
    assert_restores(&store(first), &TestDirectory::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_in_the_tables_is_restored(
        entries in prop::collection::vec(
            (0..Table::ALL.len(), "[ab]{1,6}", prop::collection::vec(any::<u8>(), 0..40)),
            0..60,
        ),
    ) {
        let mut first = Change::new();
        for (table, key, value) in entries {
            // The store itself writes these tables.
            if !matches!(Table::ALL[table], Table::Meta | Table::Processes) {
                first = first.put(Table::ALL[table], key.into_bytes(), value);
            }
        }
        assert_restores(&store(first), &TestDirectory::new());
    }
}

#[test]
fn a_backup_leaves_out_the_processes_that_shared_the_rows() {
    let directory = TestDirectory::new();
    let store = store(put(1).put(Table::Processes, b"lease".to_vec(), vec![1; 24]));
    let manifest = back_up(&store, &directory.join("a.backup"));
    assert_eq!((manifest.count("tokens"), manifest.count("processes")), (1, 0));
}

#[test]
fn a_backup_shows_the_moment_of_its_snapshot_and_nothing_later() {
    let directory = TestDirectory::new();
    let store = store(put(1));
    let snapshot = store.snapshot().unwrap();
    block_on(store.commit(put(2))).unwrap();
    let path = directory.join("a.backup");
    let manifest = write(&snapshot, &path, master(b'1').backup_key(), TIMES).unwrap().manifest;
    assert_eq!(manifest.count("tokens"), 1);
    assert_eq!(back_up(&store, &directory.join("b.backup")).count("tokens"), 2);
}

#[test]
fn every_flipped_bit_and_every_cut_is_found_without_a_key() {
    let directory = TestDirectory::new();
    let path = directory.join("a.backup");
    back_up(&store(put(1)), &path);
    let whole = fs::read(&path).unwrap();
    let damaged = directory.join("b.backup");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&damaged, &bytes).unwrap();
        assert!(check(&damaged).is_err(), "the flip at {at} was not found");
        fs::write(&damaged, &whole[..at]).unwrap();
        assert!(check(&damaged).is_err(), "the cut at {at} was not found");
    }
    fs::write(&damaged, [&whole[..], b"x"].concat()).unwrap();
    assert!(check(&damaged).is_err(), "what was added was not found");
    check(&path).unwrap();
}

#[test]
fn damage_is_told_by_its_place_and_restores_nothing() {
    let directory = TestDirectory::new();
    let path = directory.join("a.backup");
    back_up(&store(put(1)), &path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(check(&path), Err(InvalidBackup::Damaged(18, _))), "the first chunk");
    let restored = directory.join("restored");
    fs::create_dir(&restored).unwrap();
    let refused = Store::restore(&restored, Reader::open(&path).unwrap(), None, Change::new());
    assert!(matches!(refused, Err(RestoreFailure::Backup(InvalidBackup::Damaged(18, _)))));
    assert_eq!(fs::read_dir(&restored).unwrap().count(), 0);
}

#[test]
fn lengths_beyond_any_are_not_believed() {
    let directory = TestDirectory::new();
    let path = directory.join("a.backup");
    back_up(&store(put(1)), &path);
    let whole = fs::read(&path).unwrap();
    // The length of the first chunk's rows.
    let mut bytes = whole.clone();
    bytes[24..28].copy_from_slice(&[0xff; 4]);
    fs::write(&path, &bytes).unwrap();
    let refused = check(&path).unwrap_err().to_string();
    assert!(refused.contains("longer than any"), "{refused}");
    // A manifest whose offset points at the rows.
    let padding = vec![0; BACKUP_MANIFEST_BYTES_MAX];
    let end = whole.len() - 16;
    let bytes = [&whole[..end], &padding, 18_u64.to_be_bytes().as_slice(), b"srbakend"].concat();
    fs::write(&path, bytes).unwrap();
    let refused = check(&path).unwrap_err().to_string();
    assert!(refused.contains("the manifest makes no sense"), "{refused}");
}

#[test]
fn only_the_holder_of_the_master_key_writes_what_passes_for_its_backup() {
    let directory = TestDirectory::new();
    let store = store(put(1));
    back_up(&store, &directory.join("ours.backup"));
    let ours = Reader::open(&directory.join("ours.backup")).unwrap();
    ours.check_origin(&master(b'1')).unwrap();
    assert!(matches!(ours.check_origin(&master(b'2')), Err(InvalidBackup::WrongMasterKey)));
    let path = directory.join("forged.backup");
    write(&store.snapshot().unwrap(), &path, master(b'2').backup_key(), TIMES).unwrap();
    check(&path).unwrap();
    let forged = Reader::open(&path).unwrap();
    assert!(matches!(forged.check_origin(&master(b'1')), Err(InvalidBackup::Forged)));
}

#[test]
fn nothing_is_overwritten_and_a_backup_that_fails_leaves_nothing() {
    let directory = TestDirectory::new();
    let snapshot = store(put(1)).snapshot().unwrap();
    let write = |name: &str| {
        write(&snapshot, &directory.join(name), master(b'1').backup_key(), TIMES).map(|_| ())
    };
    fs::write(directory.join("a"), "mine").unwrap();
    assert!(matches!(write("a"), Err(BackupFailure::Exists)));
    assert_eq!(fs::read(directory.join("a")).unwrap(), b"mine");
    fs::write(directory.join("b.unfinished"), "another's").unwrap();
    assert!(matches!(write("b"), Err(BackupFailure::Unfinished(_))));
    assert_eq!(fs::read(directory.join("b.unfinished")).unwrap(), b"another's");
    std::os::unix::fs::symlink("nowhere", directory.join("c")).unwrap();
    assert!(matches!(write("c"), Err(BackupFailure::Exists)));
    assert!(matches!(write("missing/d"), Err(BackupFailure::Target(_))));
    let mut left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    left.sort_by_key(fs::DirEntry::file_name);
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left, ["a", "b.unfinished", "c"]);
}

#[test]
fn a_data_file_is_never_restored_over() {
    let directory = TestDirectory::new();
    let path = directory.join("a.backup");
    back_up(&store(put(1)), &path);
    fs::write(directory.join(Store::FILE), "mine").unwrap();
    let refused =
        Store::restore(directory.path(), Reader::open(&path).unwrap(), None, Change::new());
    assert!(matches!(refused, Err(RestoreFailure::File(OpenFailure::Exists))));
    assert_eq!(fs::read(directory.join(Store::FILE)).unwrap(), b"mine");
}
