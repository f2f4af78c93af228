//! File formats: other programs' files are refused, and a step leads from each format to the next.

use crate::bounds::CACHE_BYTES;
use crate::store::change::Change;
use crate::store::engine::local::database::GuardedDatabase;
use crate::store::engine::local::file::{DataFile, definition};
use crate::store::opening::{first_look, migrate};
use crate::store::tests::disk::{EIO, ENOSPC, Fate, Fault, Operation, TestDisk};
use crate::store::tests::{has, open, put};
use crate::store::{OpenFailure, Store, Table, meta};

fn database(disk: &TestDisk) -> GuardedDatabase {
    DataFile::open(disk, CACHE_BYTES).unwrap().database
}

/// Changes the rows that describe a closed file; `None` removes one.
fn describe(disk: &TestDisk, rows: &[(&str, Option<&[u8]>)]) {
    let database = database(disk);
    let transaction = database.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(definition(Table::Meta)).unwrap();
        for (key, value) in rows {
            match value {
                Some(value) => drop(meta.insert(key.as_bytes(), *value).unwrap()),
                None => drop(meta.remove(key.as_bytes()).unwrap()),
            }
        }
    }
    transaction.commit().unwrap();
}

fn refused(rows: &[(&str, Option<&[u8]>)]) -> OpenFailure {
    let disk = TestDisk::new();
    open(&disk).close();
    describe(&disk, rows);
    Store::on_disk(&disk, Change::new()).unwrap_err()
}

#[test]
fn a_newer_file_is_refused_with_the_version_that_wrote_it() {
    let newer = refused(&[("file_format", Some(&[0, 0, 0, 9])), ("program", Some(b"9.1.0"))]);
    assert!(matches!(newer, OpenFailure::Newer(9, Some(program)) if program == "9.1.0"));
}

#[test]
fn a_file_from_before_the_first_release_is_refused_as_such_whatever_its_number() {
    for format in 1..=6 {
        let older = refused(&[("file_format", None), ("format", Some(&[0, 0, 0, format]))]);
        assert!(matches!(older, OpenFailure::Unreleased), "{format}: {older:?}");
    }
}

#[test]
fn a_file_without_a_format_is_not_ours() {
    for rows in [("file_format", None), ("file_format", Some([0; 4].as_slice()))] {
        assert!(matches!(refused(&[rows]), OpenFailure::NotOurs));
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

/// Formats 2 and 3 of a future program.
#[test]
fn a_failure_at_any_moment_of_a_migration_leaves_one_format_or_the_next() {
    let prepared = TestDisk::new();
    Store::on_disk(&prepared, put(1)).unwrap().close();
    let prepared = prepared.durable();
    let reached = |disk: &TestDisk| {
        let database = database(disk);
        let snapshot = first_look(&database).unwrap();
        let has = |key| snapshot.value(Table::Tokens, &[key]).unwrap().is_some();
        (meta::format(&snapshot).unwrap().unwrap(), [1, 2, 3].map(has))
    };
    let (mut cut_off, mut done) = (0, 0);
    for operation in [Operation::Write, Operation::Sync] {
        let lost = [Fate::Lost, Fate::Reached, Fate::Torn(7)].map(Fault::PowerLoss);
        for fault in lost.into_iter().chain([Fault::Once(EIO), Fault::Always(ENOSPC)]) {
            for nth in 1.. {
                let disk = TestDisk::holding(prepared.clone());
                let database = database(&disk);
                disk.plan(operation, nth, fault);
                let migrated = migrate(&database, &[|_| Ok(put(2)), |_| Ok(put(3))]).is_ok();
                drop(database);
                let left = TestDisk::holding(disk.durable());
                match reached(&left) {
                    (1, [true, false, false]) | (2, [true, true, false]) => cut_off += 1,
                    (3, [true, true, true]) => done += 1,
                    other => panic!("{operation:?} {nth} {fault:?}: {other:?}"),
                }
                migrate(&self::database(&left), &[|_| Ok(put(2)), |_| Ok(put(3))]).unwrap();
                assert_eq!(reached(&left), (3, [true; 3]));
                if migrated {
                    break;
                }
            }
        }
    }
    assert!(cut_off > 3 && done > 3, "{cut_off} were cut off, {done} were done");
}
