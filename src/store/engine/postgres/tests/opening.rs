//! Databases without a vault, or with an unusable one; and backups moved between places.

use crate::clock::Clock;
use crate::store::backup::{Reader, SnapshotTimes, write};
use crate::store::engine::postgres::tests::server::{self, Security, Server};
use crate::store::engine::postgres::url::Host;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::tests::{TestDirectory, put};
use crate::store::{Change, RestoreFailure, Row, Store, StorePlace, Table, Verdict, meta};

const SECRET: &str = "correct-horse";

#[track_caller]
fn refused(database: &Database) -> StorageFailure {
    match database.open_store() {
        Err(OpenFailure::Storage(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

/// The shared server, and an empty database with its name.
fn new_database(test: &str) -> Option<(&'static Server, String, Database)> {
    let server = server::server_for(test)?;
    let url = server.new_database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    Some((server, name, Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap()))
}

#[tokio::test]
async fn a_vault_that_cannot_be_opened_is_no_panic_on_a_thread_of_a_server() {
    let url = "postgres://postgres@/none?host=/nowhere";
    let database = Database::new(DatabaseUrl::parse(url).unwrap(), None).unwrap();
    assert!(refused(&database).is_transient());
}

#[test]
fn a_database_has_one_vault_or_none() {
    let Some(database) = server::empty_database("one vault") else { return };
    assert!(matches!(database.open_store(), Err(OpenFailure::Missing)));
    let store = database.create_store(put(1)).unwrap();
    assert!(matches!(database.create_store(put(2)), Err(OpenFailure::Exists)));
    let id = meta::file_id(&store.snapshot().unwrap()).unwrap();
    assert_eq!(store.amend(put(2)).unwrap(), Verdict::Applied);
    store.close();
    let again = database.open_store().unwrap();
    assert!(id.is_some() && meta::file_id(&again.snapshot().unwrap()).unwrap() == id);
    assert!(crate::store::tests::has(&again, 1) && crate::store::tests::has(&again, 2));
    again.close();
}

#[test]
fn a_start_removes_the_rows_of_writers_that_ended_long_ago_and_no_others() {
    let Some((server, name, database)) = new_database("old writers") else { return };
    database.create_store(put(1)).unwrap().close();
    server.sql(
        &name,
        "INSERT INTO strongroom_writers SELECT int4send(days), 1, now() - days * interval '1 day' \
         FROM generate_series(0, 3) AS days; DELETE FROM strongroom_writers WHERE length(writer) > 4",
    );
    database.open_store().unwrap().close();
    let left =
        server.sql(&name, "SELECT count(*) FROM strongroom_writers WHERE length(writer) = 4");
    assert_eq!(left, "1");
}

#[test]
fn a_server_that_does_not_wait_for_its_disk_is_noticed() {
    if server::server_for("fsync").is_none() {
        return;
    }
    let server = Server::of_its_own(&Security::Open);
    for fsync in ["off", "on"] {
        server.sql("postgres", &format!("ALTER SYSTEM SET fsync = {fsync}"));
        server.stop();
        server.run();
        let url = DatabaseUrl::parse(&server.new_database()).unwrap();
        let database = Database::new(url, None).unwrap();
        let store = database.create_store(put(1)).unwrap();
        assert_eq!(store.health().lacks_sync, fsync == "off");
        store.close();
    }
}

#[test]
fn tables_and_rows_of_another_version_are_refused_and_stay_as_they_are() {
    let Some((server, name, database)) = new_database("newer tables") else { return };
    database.create_store(put(1)).unwrap().close();
    for (version, advice) in [(3, "use the newer program"), (1, "back the vault up with")] {
        server.sql(&name, &format!("UPDATE strongroom_state SET version = {version}"));
        let failure = refused(&database);
        let text = format!("version {version}, and this program knows 2");
        assert!(failure.to_string().contains(&text), "{failure}");
        assert!(failure.advice().starts_with(advice), "{}", failure.advice());
    }
    server.sql(&name, "UPDATE strongroom_state SET version = 2, is_complete = false");
    let failure = refused(&database);
    assert!(failure.to_string().contains("the restore into it did not end"), "{failure}");
    server.sql(&name, "UPDATE strongroom_state SET is_complete = true");
    let newer =
        Change::new().put(Table::Meta, b"file_format".to_vec(), 99_u32.to_be_bytes().to_vec());
    let store = database.open_store().unwrap();
    store.amend(newer).unwrap();
    store.close();
    assert!(matches!(database.open_store(), Err(OpenFailure::Newer(99, Some(_)))));
}

#[test]
fn another_vault_in_the_place_of_the_open_one_is_noticed() {
    let Some((server, name, database)) = new_database("a replaced vault") else { return };
    let store = database.create_store(put(1)).unwrap();
    server.sql(&name, "UPDATE strongroom_state SET timeline = decode(repeat('77', 16), 'hex')");
    assert!(matches!(store.check_place(), Err(StorageFailure::Database(..))));
    assert!(matches!(store.amend(put(2)), Err(StorageFailure::Database(..))));
    assert!(!crate::store::tests::has(&store, 2));
    server.sql(&name, "DROP TABLE strongroom_rows, strongroom_state");
    assert!(matches!(store.check_place(), Err(StorageFailure::Database(..))));
    store.close();
}

#[test]
fn failures_say_why_and_never_show_the_password() {
    let Some(server) = server::server_for("failures") else { return };
    let directory = server.directory().display();
    let cases = [
        (format!("/nothere?host={directory}"), "the server has no database of this name"),
        (
            format!("/postgres?host={directory}/nowhere"),
            "no server accepts connections at the address of the database",
        ),
        (
            format!("/postgres?host={directory}&port=1"),
            "no server accepts connections at the address of the database",
        ),
    ];
    for (rest, why) in cases {
        let url = format!("postgres://postgres:{SECRET}@{rest}");
        let database = Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap();
        let failure = refused(&database);
        assert_eq!(failure.to_string(), format!("the storage cannot be reached: {why}"));
        assert!(failure.is_transient());
        let shown = format!("{failure:?} {database:?} {database}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

#[test]
fn a_wrong_password_is_named_and_the_right_one_is_not_shown() {
    if server::server_for("passwords").is_none() {
        return;
    }
    let server = Server::of_its_own(&Security::Password(SECRET));
    let of = |password: &str| {
        let url = server.new_database().replace("postgres@", &format!("postgres:{password}@"));
        Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap()
    };
    let right = of(SECRET);
    right.create_store(put(1)).unwrap().close();
    let failure = refused(&of("wrong-horse"));
    assert!(failure.to_string().ends_with("the database refused the user or the password"));
    let engine = PostgresEngine::start(&right, Access::ReadWrite).unwrap();
    let shown = format!("{failure:?} {right:?} {right} {engine:?} {:?}", engine.shared);
    assert!(!shown.contains("horse"), "{shown}");
    assert!(!server.log().contains(SECRET));
}

#[test]
fn a_host_that_is_away_or_read_only_is_passed_over() {
    let Some(server) = server::server_for("several hosts") else { return };
    let url = server.new_database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let here = Host::Socket(server.directory().to_owned(), 5432);
    let away = Host::Socket(server.directory().join("nowhere"), 5432);
    let with = |hosts: Vec<Host>| {
        Database::new(DatabaseUrl::parse(&url).unwrap().with_hosts(hosts), None).unwrap()
    };
    let store = Database::create_store(&with(vec![away.clone(), here.clone()]), put(1)).unwrap();
    store.close();
    server
        .sql("postgres", &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
    let failure = refused(&with(vec![here, away]));
    assert_eq!(
        failure.to_string(),
        "the storage cannot be reached: no server accepts connections at the address of the database"
    );
    let failure = refused(&Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap());
    assert!(failure.to_string().ends_with("no server of the database is writable"), "{failure}");
}

fn rows(store: &Store) -> Vec<(Table, Vec<Row>)> {
    let snapshot = store.snapshot().unwrap();
    let all = |table: &Table| {
        let range = snapshot.range(&table.whole()).unwrap();
        (*table, range.map(Result::unwrap).collect())
    };
    Table::ALL.iter().map(all).collect()
}

#[test]
fn a_backup_of_either_place_restores_into_the_other() {
    let Some(first) = server::empty_database("backups") else { return };
    let second = server::empty_database("backups").unwrap();
    let directory = TestDirectory::new();
    let master = crate::store::tests::backups::master(b'1');
    let mut change = meta::put_master_check(Change::new(), master.check());
    for key in 0..200_u8 {
        change = change.put(Table::Tokens, vec![key; 20], vec![key; 100_000]);
    }
    let data = directory.join("vault");
    std::fs::create_dir(&data).unwrap();
    let places =
        [StorePlace::Database(first), StorePlace::Directory(data), StorePlace::Database(second)];
    let mut store = places[0].create(&Clock::new(), change).unwrap();
    let expected = rows(&store);
    for (number, next) in places.iter().enumerate().skip(1) {
        let path = directory.join(&format!("{number}.backup"));
        let now = crate::domain::time::Timestamp::from_seconds(1_794_648_600);
        let times = SnapshotTimes { created_at: now, settled_at: now };
        let snapshot = store.snapshot().unwrap();
        let moment = snapshot.moment().unwrap();
        write(&snapshot, &path, master.backup_key(), times).unwrap();
        drop(snapshot);
        store.close();
        let backup = Reader::open(&path).unwrap();
        let restored = next.restore(backup, None, Change::new()).unwrap();
        assert_eq!(restored.contents.master_check, master.check());
        assert_eq!(restored.manifest.moment(), Some(moment));
        store = next.open(&Clock::new()).unwrap();
        assert_eq!(rows(&store), expected, "{number}");
        let after = store.snapshot().unwrap().moment().unwrap();
        assert!(after.timeline != moment.timeline, "a new history");
        assert_eq!(after.sequence, moment.sequence);
        assert_eq!(store.amend(put(201)).unwrap(), Verdict::Applied, "it can be written");
        let gone = Change::new().delete(Table::Tokens, vec![201]);
        store.amend(gone).unwrap();
        let again = next.restore(Reader::open(&path).unwrap(), None, Change::new());
        assert!(matches!(again, Err(RestoreFailure::File(_))), "a vault is never overwritten");
    }
    store.close();
}

#[test]
fn a_damaged_backup_leaves_no_vault_and_a_later_restore_succeeds() {
    let Some(database) = server::empty_database("a damaged backup") else { return };
    let directory = TestDirectory::new();
    let master = crate::store::tests::backups::master(b'1');
    let change = meta::put_master_check(put(1), master.check());
    let store = StorePlace::Directory(directory.path().to_owned());
    let store = store.create(&Clock::new(), change).unwrap();
    let path = directory.join("a.backup");
    let now = crate::domain::time::Timestamp::from_seconds(1_794_648_600);
    let times = SnapshotTimes { created_at: now, settled_at: now };
    write(&store.snapshot().unwrap(), &path, master.backup_key(), times).unwrap();
    store.close();
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let backup = Reader::open(&path).unwrap();
    let failed = database.restore_store(backup, None, &Change::new()).unwrap_err();
    assert!(matches!(failed, RestoreFailure::Backup(_)), "{failed:?}");
    assert!(matches!(database.open_store(), Err(OpenFailure::Missing)));
    std::fs::write(&path, whole).unwrap();
    let backup = Reader::open(&path).unwrap();
    database.restore_store(backup, None, &Change::new()).unwrap();
    let store = database.open_store().unwrap();
    assert!(crate::store::tests::has(&store, 1));
    store.close();
}
