//! Random damage to the archive: a restore refuses it, or gives exactly the stored rows.

use std::fs;
use std::path::{Path, PathBuf};

use crate::clock::Clock;
use crate::domain::time::Timestamp;
use crate::store::archive::{Replay, Signer, write_piece};
use crate::store::backup::{Reader, SnapshotTimes, write};
use crate::store::tests::backups::master;
use crate::store::tests::damage::{damage, number};
use crate::store::tests::disk::{Dice, Image};
use crate::store::tests::{TestDirectory, block_on};
use crate::store::{Change, RestoreFailure, Row, Snapshot, Store, Table, meta};

const NOW: Timestamp = Timestamp::from_seconds(1_794_648_600);
const TIMES: SnapshotTimes = SnapshotTimes { created_at: NOW, settled_at: NOW };
const BACKUP: &str = "a.backup";

/// A backup, the archive's pieces after it, and the rows that a restore must give.
struct Copies {
    place: TestDirectory,
    archive: Image,
    rows: Vec<(Table, Vec<Row>)>,
}

fn rows(snapshot: &Snapshot) -> Vec<(Table, Vec<Row>)> {
    let all = |table: &Table| (*table, snapshot.first(&table.whole(), usize::MAX).unwrap());
    // The restore itself writes rows of this table.
    Table::ALL.iter().filter(|table| **table != Table::Meta).map(all).collect()
}

fn change(dice: &mut Dice) -> Change {
    let tables = [Table::Tokens, Table::TokenLists, Table::Applications, Table::Audit];
    let mut change = Change::new();
    for _ in 0..=dice.roll(4) {
        let table = tables[usize::try_from(dice.roll(4)).unwrap()];
        let mut bytes =
            |len: u64| (0..len).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect();
        let (key, value): (Vec<u8>, Vec<u8>) = (bytes(20), bytes(90));
        change = change.put(table, key, value);
    }
    change
}

impl Copies {
    fn new() -> Self {
        let place = TestDirectory::new();
        for name in ["data", "archive", "restored"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        let mut dice = Dice(1);
        let first = meta::put_master_check(Change::new(), master(b'1').check());
        let store = Store::create(&place.join("data"), &Clock::new(), first).unwrap();
        for _ in 0..40 {
            block_on(store.commit(change(&mut dice))).unwrap();
        }
        let source = store.log_source().unwrap();
        let mut tail = source.tail(None).unwrap().unwrap();
        let snapshot = store.snapshot().unwrap();
        let key = master(b'1');
        write(&snapshot, &place.join(BACKUP), key.backup_key(), TIMES).unwrap();
        drop(snapshot);
        for _ in 0..4 {
            for _ in 0..3 {
                block_on(store.commit(change(&mut dice))).unwrap();
            }
            let signer = Signer { master: *key.check(), key: key.backup_key() };
            let tail = (&mut tail, source.end());
            write_piece(&place.join("archive"), &source, tail, &signer).unwrap().unwrap();
        }
        let rows = rows(&store.snapshot().unwrap());
        store.close();
        let archive = contents(&place.join("archive"));
        Self { place, archive, rows }
    }

    fn archive(&self) -> PathBuf {
        self.place.join("archive")
    }

    fn put(&self, archive: &Image) {
        fs::remove_dir_all(self.archive()).unwrap();
        fs::create_dir(self.archive()).unwrap();
        for (name, bytes) in archive {
            fs::write(self.archive().join(name), bytes).unwrap();
        }
    }

    fn restore(&self) -> Result<Vec<(Table, Vec<Row>)>, RestoreFailure> {
        let data = self.place.join("restored");
        fs::remove_dir_all(&data).unwrap();
        fs::create_dir(&data).unwrap();
        let backup = Reader::open(&self.place.join(BACKUP)).map_err(RestoreFailure::Backup)?;
        backup.check_origin(&master(b'1')).map_err(RestoreFailure::Backup)?;
        let (directory, keys) = (self.archive(), [master(b'1')]);
        let replay = Replay { directory: &directory, keys: &keys, until: None, timeline: None };
        Store::restore(&data, backup, Some(replay), Change::new())?;
        let store = Store::open(&data, &Clock::new()).map_err(RestoreFailure::File)?;
        let found = rows(&store.snapshot().unwrap());
        store.close();
        Ok(found)
    }
}

fn contents(directory: &Path) -> Image {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

#[test]
fn a_damaged_archive_is_refused_or_leads_to_the_same_rows() {
    let copies = Copies::new();
    assert!(copies.restore().unwrap() == copies.rows);
    let seed = number("STRONGROOM_SEED", 4_000_000);
    let (mut refused, mut shorter) = (0, 0);
    let last = copies.archive.keys().next_back().unwrap();
    for seed in seed..seed + number("STRONGROOM_FLIPS", 300) {
        let Some((sample, damaged)) = damage(seed, &copies.archive, &Image::new()) else {
            continue;
        };
        copies.put(&damaged);
        match copies.restore() {
            Err(RestoreFailure::Archive(_)) => refused += 1,
            Err(other) => panic!("{sample}: {other:?}"),
            // A missing last piece looks the same as one that was not written yet.
            Ok(_) if sample.file == *last && !damaged.contains_key(last) => shorter += 1,
            Ok(_) => panic!("{sample}: it was restored"),
        }
    }
    println!("archive: {refused} refused, {shorter} without the last piece");
}

#[test]
fn pieces_that_changed_places_or_are_missing_are_refused() {
    let copies = Copies::new();
    let names: Vec<&String> = copies.archive.keys().collect();
    for (at, one) in names.iter().enumerate() {
        for other in &names[at + 1..] {
            let mut swapped = copies.archive.clone();
            swapped.insert((*one).clone(), copies.archive[*other].clone());
            swapped.insert((*other).clone(), copies.archive[*one].clone());
            copies.put(&swapped);
            let found = copies.restore();
            assert!(matches!(found, Err(RestoreFailure::Archive(_))), "{one} and {other}");
            let mut older = copies.archive.clone();
            older.insert((*other).clone(), copies.archive[*one].clone());
            copies.put(&older);
            let found = copies.restore();
            assert!(matches!(found, Err(RestoreFailure::Archive(_))), "{one} as {other}");
        }
        if at + 1 < names.len() {
            let mut missing = copies.archive.clone();
            missing.remove(*one);
            copies.put(&missing);
            let found = copies.restore();
            assert!(matches!(found, Err(RestoreFailure::Archive(_))), "{one} is missing");
        }
    }
}
