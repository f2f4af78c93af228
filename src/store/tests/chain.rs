//! The audit chain: its numbers have no gaps, and all damage is found without keys.

use std::sync::Arc;

use crate::crypto::SigningKey;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::chain::{
    ChainReport, ChainRows, Checkpoint, Handover, Head, Heads, Inspection, Receipt, RecordState,
    ShardStates, SignatureKind, Statement, TrustAnchors,
};
use crate::store::chain::{decode_receipt, encode_receipt};
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{block_on, open};
use crate::store::{Change, SealedEntries, Shard, Store, Table, Verdict, meta, tables};

const FILE: [u8; 16] = [7; 16];
const SCOPES: [[u8; 16]; 3] = [[0; 16], [1; 16], [0xff; 16]];

fn key() -> SigningKey {
    SigningKey::from_seed(&Secret::new([3; 32])).unwrap()
}

fn statement(signed: SignatureKind, head: Head, previous: u64, at: Timestamp) -> Statement {
    let state = RecordState::default();
    Statement { signed, file: FILE, head, previous, at, signer: 1, state }
}

fn since(receipt: Receipt) -> TrustAnchors {
    TrustAnchors { receipt: Some(receipt), ..TrustAnchors::default() }
}

fn entries(scope: [u8; 16], count: u16) -> Change {
    let at = Timestamp::from_seconds(1_800_000_000);
    Change::new().audit(SealedEntries { scope, at, count, sealed: vec![b's'; 40] })
}

fn commit(store: &Store, change: Change) {
    assert_eq!(block_on(store.commit(change)), Ok(Verdict::Applied));
}

fn sign(store: &Store) {
    sign_as(store, &key(), 1, RecordState::default());
}

fn sign_as(store: &Store, key: &SigningKey, signer: u32, state: RecordState) {
    let snapshot = store.snapshot().unwrap();
    let previous = Checkpoint::newest(&snapshot).unwrap().map_or(0, |newest| newest.sequence);
    let (heads, at) = (Heads::read(&snapshot).unwrap(), Timestamp::from_seconds(1_800_000_001));
    let statement = statement(SignatureKind::Checkpoint, heads.position(), previous, at);
    let statement = Statement { signer, state, ..statement };
    commit(store, statement.sign(key).keep(&heads, &ShardStates::default()));
}

fn receipt(store: &Store) -> Receipt {
    let checkpoint = Checkpoint::newest(&store.snapshot().unwrap()).unwrap().unwrap();
    Receipt { file: FILE, public_key: key().public(), checkpoint }
}

/// Three scopes in turn, signed after 12, 24 and 36 entries, and four more entries.
fn chain() -> Store {
    let store = open(&TestDisk::new());
    let public = key().public().to_vec();
    let first = meta::put_file_id(Change::new(), FILE);
    commit(&store, first.put(Table::Meta, tables::meta::AUDIT_PUBLIC_KEY.to_vec(), public));
    for _ in 0..3 {
        for (count, scope) in [(1, 0), (2, 1), (3, 2), (3, 2), (2, 1), (1, 0)] {
            commit(&store, entries(SCOPES[scope], count));
        }
        sign(&store);
    }
    commit(&store, entries(SCOPES[1], 2).and(entries(SCOPES[0], 2)));
    store
}

fn inspect(store: &Store, expected: &TrustAnchors) -> ChainReport {
    Inspection::new(&store.snapshot().unwrap(), expected).unwrap().run(&mut |_| ()).unwrap()
}

fn found_in(store: &Store) -> Vec<String> {
    inspect(store, &TrustAnchors::default()).findings
}

fn own(key: &SigningKey) -> TrustAnchors {
    TrustAnchors { own: Some(key.public()), ..TrustAnchors::default() }
}

fn rows(store: &Store) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = store.snapshot().unwrap().first(&Table::Audit.whole(), usize::MAX).unwrap();
    rows.sort_by_key(|(key, _)| tables::audit_of_key(key).unwrap().1);
    rows
}

fn findings(damage: impl Fn(&Store) -> Change) -> Vec<String> {
    let store = chain();
    let change = damage(&store);
    commit(&store, change);
    found_in(&store)
}

#[track_caller]
fn check(expected: &[&str], damage: impl Fn(&Store) -> Change) {
    assert_eq!(findings(damage), expected);
}

#[test]
fn a_chain_that_nobody_touched_is_whole() {
    let report = inspect(&chain(), &TrustAnchors::default());
    assert_eq!(report.findings, Vec::<String>::new());
    let at = Timestamp::from_seconds(1_800_000_001);
    assert_eq!((report.entries, report.checkpoints), (40, 3));
    assert_eq!((report.last_signed, report.unanchored), (Some((36, at)), 4));
    let empty = inspect(&open(&TestDisk::new()), &TrustAnchors::default());
    assert_eq!((empty.is_whole(), empty.entries), (true, 0));
}

#[test]
fn rows_come_in_the_order_of_the_chain_from_any_place_on() {
    let store = chain();
    let snapshot = store.snapshot().unwrap();
    let mut all = ChainRows::of_shard(&snapshot, Shard::VAULT, SCOPES.into_iter(), 24).unwrap();
    let mut next = 24;
    while let Some(row) = all.next_row().unwrap() {
        assert_eq!(row.sequence, next);
        next = row.end();
    }
    assert_eq!(next, 40);
}

#[test]
fn any_changed_byte_of_any_row_is_found() {
    let count = rows(&chain()).len();
    let signed: [&str; 3] = [
        "an entry from 0 to 11 was changed: the links differ",
        "an entry from 12 to 23 was changed: the links differ",
        "an entry from 24 to 35 was changed: the links differ",
    ];
    for row in 0..count {
        // A byte of the time, the last byte of the count, and one of the sealed entries.
        for byte in [7, 9, 20] {
            let found = findings(|store| {
                let (key, mut value) = rows(store).swap_remove(row);
                value[byte] ^= 1;
                Change::new().put(Table::Audit, key, value)
            });
            let expected = signed.get(row / 6).copied();
            let expected = expected.unwrap_or("an entry from 36 on was changed: the links differ");
            // Another count of entries also leaves a gap or an overlap.
            let is_found = if byte == 9 { !found.is_empty() } else { found == [expected] };
            assert!(is_found, "row {row}, byte {byte}: {found:?}");
        }
    }
}

#[test]
fn a_removed_row_leaves_a_gap() {
    check(&["entries 13 to 14 are missing"], |store| {
        Change::new().delete(Table::Audit, rows(store).swap_remove(7).0)
    });
    check(&["entries 0 to 0 are missing"], |store| {
        Change::new().delete(Table::Audit, rows(store).swap_remove(0).0)
    });
}

#[test]
fn rows_that_changed_places_are_found() {
    check(&["an entry from 0 to 11 was changed: the links differ"], |store| {
        let rows = rows(store);
        let (one, other) = (&rows[1], &rows[4]);
        Change::new().put(Table::Audit, one.0.clone(), [&other.1[..], &[0]].concat()).put(
            Table::Audit,
            other.0.clone(),
            one.1.clone(),
        )
    });
}

#[test]
fn a_row_that_was_moved_to_another_tenant_is_found() {
    check(&["an entry from 12 to 23 was changed: the links differ"], |store| {
        let (key, value) = rows(store).swap_remove(7);
        let moved = tables::audit(&SCOPES[2], 13);
        Change::new().delete(Table::Audit, key).put(Table::Audit, moved, value)
    });
}

#[test]
fn a_row_that_was_made_up_is_found() {
    let insert = |key: Vec<u8>| {
        move |store: &Store| {
            let value = rows(store).swap_remove(0).1;
            Change::new().put(Table::Audit, key.clone(), value)
        }
    };
    check(&["entry 0 is there twice"], insert(tables::audit(&SCOPES[2], 0)));
    assert!(!findings(insert(tables::audit(&SCOPES[1], 40))).is_empty());
    check(&["21 rows are stored, but 20 belong to the chain"], insert(vec![1; 17]));
}

/// Removes everything after the first 24 entries and rewrites the head to match.
fn cut(store: &Store) -> Change {
    let mut change =
        Change::new().delete(Table::AuditCheckpoints, tables::audit_checkpoints(36)).put(
            Table::Meta,
            tables::meta::AUDIT_NEWEST_CHECKPOINT.to_vec(),
            tables::audit_checkpoints(24),
        );
    for (key, _) in rows(store).split_off(12) {
        change = change.delete(Table::Audit, key);
    }
    let at_24 = Checkpoint::oldest(&store.snapshot().unwrap(), 2).unwrap()[1].0;
    let head = [24_u64.to_be_bytes().as_slice(), at_24.link.bytes()].concat();
    change.put(Table::Meta, tables::meta::AUDIT_HEAD.to_vec(), head)
}

#[test]
fn a_cut_tail_is_found_by_its_head_and_behind_a_receipt_by_that() {
    check(&["the chain ends with 38 entries, but 40 were written: its tail was cut"], |store| {
        Change::new().delete(Table::Audit, rows(store).pop().unwrap().0)
    });
    let store = chain();
    let receipt = receipt(&store);
    let change = cut(&store);
    commit(&store, change);
    assert_eq!(found_in(&store), Vec::<String>::new(), "it was cut with care");
    let expected = "the receipt is of 36 entries, but the chain has 24: its tail was cut";
    assert_eq!(inspect(&store, &since(receipt)).findings, [expected]);
    // Entries written after the cut form another chain.
    commit(&store, entries(SCOPES[0], 12));
    let expected = "the chain of 36 entries is not the one of the receipt";
    assert_eq!(inspect(&store, &since(receipt)).findings, [expected]);
}

#[test]
fn a_receipt_of_the_chain_is_met_and_others_are_not() {
    let store = chain();
    let good = receipt(&store);
    let report = inspect(&store, &since(good));
    assert_eq!((report.findings, report.after_receipt), (Vec::new(), Some(4)));
    let text = encode_receipt(&good).unwrap();
    assert_eq!(decode_receipt(&text).unwrap(), good);
    assert!(decode_receipt(&text.replace("receipt 1", "receipt 2")).is_err());
    assert!(decode_receipt("{}").is_err());

    let mut forged = good;
    forged.checkpoint.at = Timestamp::from_seconds(0);
    assert_eq!(inspect(&store, &since(forged)).findings, ["the receipt's own signature is wrong"]);
    let other = SigningKey::from_seed(&Secret::new([4; 32])).unwrap();
    let Checkpoint { sequence, link, previous, at, .. } = good.checkpoint;
    let signed = |file| {
        let head = Head { next: sequence, link };
        let statement =
            Statement { file, ..statement(SignatureKind::Checkpoint, head, previous, at) };
        let checkpoint = statement.sign(&other);
        Receipt { file, public_key: other.public(), checkpoint }
    };
    let expected = "the chain has another signing key than the receipt";
    assert_eq!(inspect(&store, &since(signed(FILE))).findings, [expected]);
    let expected = "the receipt is of another vault";
    assert_eq!(inspect(&store, &since(signed([8; 16]))).findings, [expected]);
}

#[test]
fn a_removed_checkpoint_is_missed() {
    let remove = |at: u64| {
        move |_: &Store| {
            Change::new().delete(Table::AuditCheckpoints, tables::audit_checkpoints(at))
        }
    };
    check(&["a checkpoint between 0 and 24 entries is missing"], remove(12));
    check(&["a checkpoint between 12 and 36 entries is missing"], remove(24));
    check(&["the newest checkpoint, of 36 entries, is missing"], remove(36));
}

#[test]
fn any_changed_byte_of_a_checkpoint_is_found() {
    let length = chain().snapshot().unwrap().first(&Table::AuditCheckpoints.whole(), 1).unwrap();
    for byte in 0..length[0].1.len() {
        let found = findings(|store| {
            let stored =
                store.snapshot().unwrap().first(&Table::AuditCheckpoints.whole(), 2).unwrap();
            let (key, mut value) = stored[1].clone();
            value[byte] ^= 0x40;
            Change::new().put(Table::AuditCheckpoints, key, value)
        });
        // The first byte is the version.
        let expected = match byte {
            0 => "a checkpoint is damaged",
            _ => "the checkpoint of 24 entries is not signed by the vault",
        };
        assert!(found.contains(&String::from(expected)), "byte {byte}: {found:?}");
    }
}

/// The chain without its first 24 entries, as the sweep leaves it.
fn pruned(signed: SignatureKind) -> Store {
    let store = chain();
    let oldest = Checkpoint::oldest(&store.snapshot().unwrap(), 2).unwrap();
    let head = Head { next: 24, link: oldest[1].0.link };
    let at = Timestamp::from_seconds(1_900_000_000);
    let start = statement(signed, head, 0, at).sign(&key());
    let mut change = start.keep_as_start(&oldest[1].1);
    for (checkpoint, _) in oldest {
        let place = tables::audit_checkpoints(checkpoint.sequence);
        change = change.delete(Table::AuditCheckpoints, place);
    }
    // One row is still due for removal.
    for (key, _) in rows(&store).into_iter().take(11) {
        change = change.delete(Table::Audit, key);
    }
    commit(&store, change);
    store
}

#[test]
fn a_chain_starts_later_only_where_the_vault_says_so() {
    let store = pruned(SignatureKind::Start);
    let report = inspect(&store, &TrustAnchors::default());
    assert_eq!((report.findings, report.first, report.entries), (Vec::new(), 24, 16));
    let mut old = receipt(&chain());
    old.checkpoint = Checkpoint::oldest(&chain().snapshot().unwrap(), 1).unwrap()[0].0;
    let found = inspect(&store, &since(old)).findings;
    assert!(found.iter().any(|it| it.contains("a newer receipt is needed")), "{found:?}");

    // A checkpoint's own signature is not valid for a start, and a missing start leaves a gap.
    let found = inspect(&pruned(SignatureKind::Checkpoint), &TrustAnchors::default()).findings;
    assert_eq!(found, ["the chain's start at 24 is not signed by the vault"]);
    let store = pruned(SignatureKind::Start);
    commit(&store, Change::new().delete(Table::Meta, tables::meta::AUDIT_START.to_vec()));
    let found = found_in(&store);
    assert!(found.contains(&String::from("entries 0 to 22 are missing")), "{found:?}");
}

#[test]
fn sixty_four_writers_leave_no_gap_and_a_refused_change_leaves_nothing() {
    let store = chain();
    let before = Heads::read(&store.snapshot().unwrap()).unwrap().position().next;
    let store = Arc::new(store);
    std::thread::scope(|scope| {
        for writer in 0..64_u8 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for _ in 0..8 {
                    let tenant = SCOPES[usize::from(writer % 3)];
                    let taken = Change::new()
                        .expect_absent(Table::Meta, tables::meta::AUDIT_PUBLIC_KEY.to_vec());
                    let refused = block_on(store.commit(taken.and(entries(tenant, 5))));
                    assert_eq!(refused, Ok(Verdict::Refused));
                    commit(&store, entries(tenant, 1).and(entries(SCOPES[0], 2)));
                }
            });
        }
    });
    let report = inspect(&store, &TrustAnchors::default());
    assert_eq!((report.findings, report.entries), (Vec::new(), before + 64 * 8 * 3));
}

#[test]
fn the_head_is_what_it_always_was() {
    let store = chain();
    let head = store.snapshot().unwrap().value(Table::Meta, tables::meta::AUDIT_HEAD).unwrap();
    let known = "0000000000000028e32920ef95f5c3e5d70815a9fefad413190e6f1ee43f79c8ac7f906006c6574e";
    assert_eq!(hex::encode(&head.unwrap()), known);
}

fn new_key() -> SigningKey {
    SigningKey::from_seed(&Secret::new([5; 32])).unwrap()
}

/// The chain with a second key from 40 entries on, and twelve more entries.
fn rotated(by: &SigningKey) -> Store {
    let store = chain();
    sign(&store);
    let head = Heads::read(&store.snapshot().unwrap()).unwrap().position();
    let at = Timestamp::from_seconds(1_800_000_002);
    commit(&store, Handover::sign(&FILE, 2, by, &new_key(), head, at).keep());
    commit(&store, entries(SCOPES[1], 12));
    sign_as(&store, &new_key(), 2, RecordState::default());
    store
}

fn known(key: &SigningKey) -> TrustAnchors {
    TrustAnchors { public_key: Some(key.public()), ..TrustAnchors::default() }
}

#[test]
fn a_new_key_is_trusted_by_who_trusts_the_old_one_and_the_other_way_around() {
    let store = rotated(&key());
    let old = receipt(&chain());
    for expected in
        [TrustAnchors::default(), known(&key()), known(&new_key()), since(old), own(&new_key())]
    {
        let report = inspect(&store, &expected);
        assert_eq!((report.findings, report.unanchored), (Vec::new(), 0));
        let signer = report.signer.unwrap();
        assert_eq!((signer.number, signer.public_key, signer.from), (2, new_key().public(), 40));
    }
    let found = inspect(&store, &own(&key())).findings;
    assert_eq!(found, ["the chain is not signed by the vault's own key"]);
}

#[test]
fn a_key_that_was_not_introduced_by_the_one_before_it_is_found() {
    let stranger = SigningKey::from_seed(&Secret::new([6; 32])).unwrap();
    let found = inspect(&rotated(&stranger), &TrustAnchors::default()).findings;
    let expected = "signing key 2 was not introduced by the one before it: it is not the vault's";
    assert_eq!(found, [expected]);
    // Without the handover the new key is unknown.
    let store = rotated(&key());
    let place = tables::meta::audit_signer(2);
    commit(&store, Change::new().delete(Table::Meta, place));
    let found = found_in(&store);
    assert_eq!(found, ["the checkpoint of 52 entries is not signed by the vault"]);
}

#[test]
fn a_key_that_was_replaced_signs_nothing_more() {
    let store = rotated(&key());
    commit(&store, entries(SCOPES[0], 1));
    sign(&store);
    let found = found_in(&store);
    assert_eq!(found, ["the checkpoint of 53 entries is not signed by the vault"]);
    // Nor may it sign the start of the chain.
    let store = rotated(&key());
    let (first, heads) = Checkpoint::oldest(&store.snapshot().unwrap(), 1).unwrap().remove(0);
    let at = Timestamp::from_seconds(1_900_000_000);
    let start = statement(SignatureKind::Start, first.head(), 0, at).sign(&key());
    commit(&store, start.keep_as_start(&heads));
    let found = found_in(&store);
    assert!(
        found.contains(&String::from("the chain's start at 12 is not signed by the vault")),
        "{found:?}"
    );
}

#[test]
fn a_chain_that_was_signed_anew_by_another_key_is_found_by_who_knows_the_old_one() {
    let kept = receipt(&chain());
    let store = chain();
    let stranger = SigningKey::from_seed(&Secret::new([6; 32])).unwrap();
    let mut change = Change::new().put(
        Table::Meta,
        tables::meta::AUDIT_PUBLIC_KEY.to_vec(),
        stranger.public().to_vec(),
    );
    for (it, heads) in Checkpoint::oldest(&store.snapshot().unwrap(), 9).unwrap() {
        let statement = statement(SignatureKind::Checkpoint, it.head(), it.previous, it.at);
        let place = tables::audit_checkpoints(it.sequence);
        // As it would be stored without an existing one.
        let again = open(&TestDisk::new());
        commit(&again, statement.sign(&stranger).keep(&heads, &ShardStates::default()));
        let value = again.snapshot().unwrap().value(Table::AuditCheckpoints, &place).unwrap();
        change = change.put(Table::AuditCheckpoints, place, value.unwrap());
    }
    commit(&store, change);
    assert_eq!(found_in(&store), Vec::<String>::new());
    let found = inspect(&store, &known(&key())).findings;
    assert_eq!(found, ["the chain is not signed by the public key that was given"]);
    let found = inspect(&store, &since(kept)).findings;
    assert_eq!(found, ["the chain has another signing key than the receipt"]);
    let found = inspect(&store, &own(&key())).findings;
    assert_eq!(found, ["the chain is not signed by the vault's own key"]);
}

#[test]
fn records_that_go_back_from_one_checkpoint_to_the_next_are_found() {
    let state = |generation, count: u8| RecordState {
        generation,
        count: u64::from(count),
        commitment: [count; 32],
    };
    let found = |states: &[RecordState]| {
        let store = chain();
        for records in states {
            commit(&store, entries(SCOPES[0], 1));
            sign_as(&store, &key(), 1, *records);
        }
        found_in(&store)
    };
    assert_eq!(found(&[state(4, 3), state(4, 3), state(5, 2)]), Vec::<String>::new());
    let back = found(&[state(4, 3), RecordState::default(), state(3, 3)]);
    assert!(matches!(back.as_slice(), [one] if one.contains("rolled back")), "{back:?}");
    let others = found(&[state(4, 3), state(4, 2)]);
    assert!(matches!(others.as_slice(), [one] if one.contains("are others")), "{others:?}");
}
