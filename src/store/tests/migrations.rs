//! Older files become newer ones: whole or not at all, and never without a way back.

use std::fs;
use std::path::Path;

use crate::bounds::{CACHE_BYTES, MIGRATION_BACKUPS_MAX, MIGRATION_CHUNK_BYTES};
use crate::clock::Clock;
use crate::crypto::{MasterKey, Random};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::backup::{BackupFailure, Reader};
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{DataFile, definition};
use crate::store::migration::{MigrationFailure, run};
use crate::store::opening::first_look;
use crate::store::tests::backups::master;
use crate::store::tests::disk::{EIO, ENOSPC, EROFS, Fate, Fault, Operation, TestDisk};
use crate::store::tests::{TestDirectory, has, open, put};
use crate::store::volume::Directory;
use crate::store::{Change, FORMAT, OpenFailure, Store, Table, meta};

const NOW: Timestamp = Timestamp::from_seconds(1_794_648_600);
/// Made by the last program whose format was 1.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1.backup");
const FIXTURE_KEY: &[u8] = include_bytes!("../../../tests/fixtures/format-1.key");
const BACKUP: &str = "strongroom.redb.format-1.backup";

/// A disk with a file of the first format: without an id, and with a table less.
fn first_format() -> TestDisk {
    let disk = TestDisk::new();
    Store::on_disk(&disk, put(1)).unwrap().close();
    let database = database(&disk);
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(definition(Table::Meta)).unwrap();
        meta.insert(b"format".as_slice(), 1_u32.to_be_bytes().as_slice()).unwrap();
        meta.remove(b"id".as_slice()).unwrap();
        meta.remove(b"program".as_slice()).unwrap();
    }
    transaction.delete_table(definition(Table::ThreedsSessions)).unwrap();
    transaction.delete_table(redb::TableDefinition::<&str, &[u8]>::new("engine")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    TestDisk::with_data_file(disk.durable().remove(Store::FILE).unwrap())
}

fn database(disk: &TestDisk) -> GuardedDatabase {
    DataFile::open(disk, CACHE_BYTES).unwrap().database
}

#[test]
fn a_failure_at_any_moment_leaves_the_old_format_or_the_new_one() {
    let prepared = first_format().durable();
    let opened = Store::on_disk(&TestDisk::holding(prepared.clone()), Change::new());
    assert!(matches!(opened, Err(OpenFailure::Older(1))));
    let (mut old, mut new) = (0, 0);
    for operation in [Operation::Write, Operation::Sync] {
        let faults = [
            Fault::PowerLoss(Fate::Lost),
            Fault::PowerLoss(Fate::Reached),
            Fault::PowerLoss(Fate::Torn(7)),
            Fault::Once(EIO),
            Fault::Always(ENOSPC),
            Fault::Always(EROFS),
        ];
        for fault in faults {
            for nth in 1.. {
                let disk = TestDisk::holding(prepared.clone());
                let database = database(&disk);
                disk.plan(operation, nth, fault);
                let migrated = run(&database, 1, None, &Random::new()).is_ok();
                drop(database);
                let left = TestDisk::holding(disk.durable());
                match Store::on_disk(&left, Change::new()) {
                    Ok(store) => {
                        new += 1;
                        assert!(has(&store, 1));
                        store.close();
                    }
                    Err(OpenFailure::Older(at)) if at < FORMAT => {
                        old += 1;
                        assert!(!migrated, "{operation:?} {nth}: it was told to be done");
                        run(&self::database(&left), at, None, &Random::new()).unwrap();
                    }
                    Err(other) => panic!("{operation:?} {nth} {fault:?}: {other:?}"),
                }
                let store = open(&left);
                let snapshot = store.snapshot().unwrap();
                assert_eq!(meta::format(&snapshot).unwrap(), Some(FORMAT));
                assert!(meta::file_id(&snapshot).unwrap().is_some() && has(&store, 1));
                assert_eq!(snapshot.len(Table::ThreedsSessions).unwrap(), 0);
                store.close();
                if migrated {
                    break;
                }
            }
        }
    }
    assert!(old > 3 && new > 3, "{old} stayed old, {new} became new");
}

/// Entries of format 3 that take several chunks: for each token one in a container and one more for
/// all containers, of which some have no other.
#[test]
fn a_step_over_more_rows_than_a_chunk_writes_all_of_them() {
    let (disk, key_bytes) = (TestDisk::new(), 57);
    let count = u32::try_from(MIGRATION_CHUNK_BYTES / key_bytes * 2).unwrap();
    let tenant_and_filter = [7; 32];
    let rank = |number: u32| [[9; 20].as_slice(), &number.to_be_bytes()].concat();
    let key = |path: &[u8], number| [&tenant_and_filter[..], path, &[0], &rank(number)].concat();
    let mut change = Change::new();
    for number in 0..count {
        let value = [[u8::MAX; 8].as_slice(), b"/a/"].concat();
        change = change.put(Table::TokenLists, key(b"", number), value);
        if number % 2 == 0 {
            change = change.put(Table::TokenLists, key(b"/a/", number), Vec::new());
        }
    }
    Store::on_disk(&disk, change).unwrap().close();
    let database = database(&disk);
    run(&database, 3, None, &Random::new()).unwrap();
    let snapshot = first_look(&database).unwrap();
    assert_eq!(snapshot.len(Table::TokenLists).unwrap(), u64::from(count));
    for (number, path) in [(0, b"/a/".as_slice()), (1, b"\x01/a/"), (count - 1, b"\x01/a/")] {
        let value = snapshot.value(Table::TokenLists, &key(path, number)).unwrap();
        assert_eq!(value, Some(Vec::new()), "{number}");
    }
}

#[test]
fn a_table_that_came_without_a_format_is_made_when_the_file_is_opened() {
    let disk = TestDisk::new();
    Store::on_disk(&disk, put(1)).unwrap().close();
    let database = database(&disk);
    let transaction = database.begin_write().unwrap();
    transaction.delete_table(definition(Table::ThreedsSessions)).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let store = open(&disk);
    assert_eq!(store.snapshot().unwrap().len(Table::ThreedsSessions).unwrap(), 0);
    assert!(has(&store, 1));
}

#[test]
fn a_newer_file_is_refused_with_the_version_that_wrote_it() {
    let disk = TestDisk::new();
    open(&disk).close();
    let database = database(&disk);
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(definition(Table::Meta)).unwrap();
        meta.insert(b"format".as_slice(), 9_u32.to_be_bytes().as_slice()).unwrap();
        meta.insert(b"program".as_slice(), b"9.1.0".as_slice()).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);
    match Store::on_disk(&disk, Change::new()) {
        Err(OpenFailure::Newer(9, Some(program))) => assert_eq!(program, "9.1.0"),
        other => panic!("{other:?}"),
    }
}

fn fixture_key() -> MasterKey {
    MasterKey::parse(&Secret::new(FIXTURE_KEY.to_vec())).unwrap()
}

/// The fixture as a data file in a directory of its own.
fn restored(directory: &TestDirectory, name: &str) -> std::path::PathBuf {
    let path = directory.join(name);
    fs::create_dir(&path).unwrap();
    Store::restore(&path, Reader::open(Path::new(FIXTURE)).unwrap(), None, Change::new()).unwrap();
    path
}

#[test]
fn a_file_is_backed_up_before_it_is_migrated_and_two_tries_leave_one_backup() {
    let directory = TestDirectory::new();
    let path = restored(&directory, "a");
    assert!(matches!(Store::open(&path, &Clock::new()), Err(OpenFailure::Older(1))));
    let migrated = Store::migrate(&path, &fixture_key(), NOW).unwrap();
    assert_eq!((migrated.from, &migrated.backup), (1, &path.join(BACKUP)));
    let mut backup = Reader::open(&migrated.backup).unwrap();
    backup.check_origin(&fixture_key()).unwrap();
    backup.check_rows().unwrap();
    let fixture = Reader::open(Path::new(FIXTURE)).unwrap();
    assert_eq!(backup.manifest().digest, fixture.manifest().digest);
    Store::open(&path, &Clock::new()).unwrap().close();
    // As if the first try had ended after its backup.
    let again = restored(&directory, "b");
    fs::copy(&migrated.backup, again.join(BACKUP)).unwrap();
    assert_eq!(Store::migrate(&again, &fixture_key(), NOW).unwrap().backup, again.join(BACKUP));
    assert!(!again.join("strongroom.redb.format-1-2.backup").exists());
    // Whatever else is there stays.
    let other = restored(&directory, "c");
    fs::write(other.join(BACKUP), "something else").unwrap();
    let migrated = Store::migrate(&other, &fixture_key(), NOW).unwrap();
    assert_eq!(migrated.backup, other.join("strongroom.redb.format-1-2.backup"));
    assert_eq!(fs::read(other.join(BACKUP)).unwrap(), b"something else");
}

#[test]
fn backups_before_migrations_do_not_pile_up_without_end() {
    let directory = TestDirectory::new();
    let path = restored(&directory, "a");
    fs::write(path.join(BACKUP), "1").unwrap();
    for number in 2..=MIGRATION_BACKUPS_MAX {
        let name = format!("strongroom.redb.format-1-{number}.backup");
        fs::write(path.join(name), "more").unwrap();
    }
    let refused = Store::migrate(&path, &fixture_key(), NOW);
    assert!(matches!(refused, Err(MigrationFailure::Backup(_, BackupFailure::Exists))));
}

#[test]
fn without_the_key_or_without_a_backup_nothing_is_migrated() {
    let directory = TestDirectory::new();
    let path = restored(&directory, "a");
    let refused = Store::migrate(&path, &master(b'1'), NOW);
    assert!(matches!(refused, Err(MigrationFailure::WrongMasterKey)));
    assert!(!path.join(BACKUP).exists());
    // Nothing of ours, so it is not removed.
    fs::create_dir(path.join(format!("{BACKUP}.unfinished"))).unwrap();
    let refused = Store::migrate(&path, &fixture_key(), NOW);
    assert!(matches!(refused, Err(MigrationFailure::Backup(_, BackupFailure::Target(_)))));
    let database = DataFile::open(&Directory::new(&path), CACHE_BYTES).unwrap();
    assert_eq!(meta::format(&first_look(&database.database).unwrap()).unwrap(), Some(1));
}

/// What a killed process may leave at each stage of its backup: a file that was just made, one that
/// was cut off anywhere, one that is whole but has not got its name.
#[test]
fn what_a_killed_migration_left_is_removed_and_the_file_is_migrated() {
    let directory = TestDirectory::new();
    let whole = fs::read(FIXTURE).unwrap();
    for (at, length) in [0, 1, 17, whole.len() / 2, whole.len() - 1, whole.len()].iter().enumerate()
    {
        let path = restored(&directory, &at.to_string());
        let left = [
            format!("{BACKUP}.unfinished"),
            String::from("strongroom.redb.format-1-2.backup.unfinished"),
        ];
        for name in &left {
            fs::write(path.join(name), &whole[..*length]).unwrap();
        }
        let migrated = Store::migrate(&path, &fixture_key(), NOW).unwrap();
        assert_eq!(migrated.backup, path.join(BACKUP), "{length} bytes");
        assert!(!left.iter().any(|name| path.join(name).exists()), "{length} bytes");
        Reader::open(&migrated.backup).unwrap().check_rows().unwrap();
        Store::open(&path, &Clock::new()).unwrap().close();
    }
}

#[test]
fn files_of_other_names_stay_when_leftovers_are_removed() {
    let directory = TestDirectory::new();
    let path = restored(&directory, "a");
    let others = [
        "other.unfinished",
        "strongroom.redb.unfinished",
        "strongroom.redb.format-.backup.unfinished",
        "strongroom.redb.format-1-.backup.unfinished",
        "strongroom.redb.format-1-x.backup.unfinished",
        "strongroom.redb.format-x.backup.unfinished",
        "xstrongroom.redb.format-1.backup.unfinished",
    ];
    for name in others {
        fs::write(path.join(name), "another's").unwrap();
    }
    Store::migrate(&path, &fixture_key(), NOW).unwrap();
    for name in others {
        assert_eq!(fs::read(path.join(name)).unwrap(), b"another's", "{name}");
    }
}

/// The lock is what makes it safe to remove a leftover: it may be no leftover.
#[test]
fn nothing_is_removed_while_another_process_has_the_file() {
    let directory = TestDirectory::new();
    let path = restored(&directory, "a");
    let unfinished = path.join(format!("{BACKUP}.unfinished"));
    fs::write(&unfinished, "being written").unwrap();
    let held = DataFile::open(&Directory::new(&path), CACHE_BYTES).unwrap();
    let refused = Store::migrate(&path, &fixture_key(), NOW);
    assert!(matches!(refused, Err(MigrationFailure::File(OpenFailure::AlreadyOpen))));
    assert_eq!(fs::read(&unfinished).unwrap(), b"being written");
    drop(held);
}
