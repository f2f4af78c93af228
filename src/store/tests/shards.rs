//! Shards: each has its own audit chain and digests, and batches take only the turns they need.

use std::sync::Arc;

use crate::crypto::{DigestKey, SigningKey};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::alarm::Alarm;
use crate::store::batch::Batch;
use crate::store::chain::{
    ChainReport, Checkpoint, Heads, Inspection, Receipt, RecordState, ShardState, ShardStates,
    SignatureKind, Statement, TrustAnchors,
};
use crate::store::engine::memory::MemoryEngine;
use crate::store::engine::{Engine as _, Row, Turns, lane_of};
use crate::store::failure::StorageFailure;
use crate::store::shards::Shards;
use crate::store::shared::{Process, turns_of};
use crate::store::tables::{self, CountKind, Shard, Table};
use crate::store::tests::block_on;
use crate::store::{Change, RecordDigests, SealedEntries, Store, Verdict, meta, whole_of};

const AT: Timestamp = Timestamp::from_seconds(1_800_000_000);
const FILE: [u8; 16] = [7; 16];

/// The row that gives a store this many shards for its tenants.
pub(crate) fn row(count: u16) -> Row {
    let mut value = count.to_be_bytes().to_vec();
    value.extend([9; 16]);
    (tables::meta::SHARDS.to_vec(), value)
}

fn signing() -> SigningKey {
    SigningKey::from_seed(&Secret::new([3; 32])).unwrap()
}

fn digest_key() -> DigestKey {
    DigestKey::new(&Secret::new([5; 32]))
}

fn open(engine: &Arc<MemoryEngine>) -> Store {
    Store::open_engine(Arc::<MemoryEngine>::clone(engine), Alarm::default()).unwrap()
}

fn commit(store: &Store, change: Change) {
    assert_eq!(block_on(store.commit(change)), Ok(Verdict::Applied));
}

fn tenants() -> impl Iterator<Item = TenantId> {
    (1..=8).map(|number| TenantId::new(uuid::Uuid::from_u128(number)))
}

fn made(tenant: TenantId) -> Change {
    Change::new().put(Table::Tenants, tables::tenants(tenant), vec![1; 40])
}

fn token(tenant: TenantId, number: u8) -> Change {
    let key = [tenant.bytes().as_slice(), &[number; 16]].concat();
    let entries = SealedEntries { scope: *tenant.bytes(), at: AT, count: 2, sealed: vec![8; 40] };
    Change::new()
        .put(Table::Tokens, key, vec![number; 40])
        .count(tables::counts(tenant, CountKind::Tokens), 1)
        .audit(entries)
}

fn sign(store: &Store) {
    let snapshot = store.snapshot().unwrap();
    let previous = Checkpoint::newest(&snapshot).unwrap().map_or(0, |newest| newest.sequence);
    let heads = Heads::read(&snapshot).unwrap();
    let statement = Statement {
        signed: SignatureKind::Checkpoint,
        file: FILE,
        head: heads.position(),
        previous,
        at: AT,
        signer: 1,
        state: RecordState::default(),
    };
    commit(store, statement.sign(&signing()).keep(&heads, &ShardStates::default()));
}

/// A vault of eight tenants whose first tokens are from before it had shards.
fn vault() -> (Arc<MemoryEngine>, Store) {
    let engine = Arc::new(MemoryEngine::shared());
    let store = open(&engine);
    let public = signing().public().to_vec();
    let first = meta::put_file_id(Change::new(), FILE);
    commit(&store, first.put(Table::Meta, tables::meta::AUDIT_PUBLIC_KEY.to_vec(), public));
    assert_eq!(store.begin_digests(&digest_key(), Change::new()).unwrap(), Verdict::Applied);
    assert_eq!(store.keep_digests(&digest_key()).unwrap(), None);
    for tenant in tenants() {
        commit(&store, made(tenant));
        commit(&store, token(tenant, 1));
    }
    sign(&store);
    store.close();
    engine.insert(Table::Meta, vec![row(4)]);
    let store = open(&engine);
    assert_eq!(store.keep_digests(&digest_key()).unwrap(), None);
    for number in 2..5 {
        for tenant in tenants() {
            commit(&store, token(tenant, number));
        }
        sign(&store);
    }
    for tenant in tenants() {
        commit(&store, token(tenant, 9));
    }
    (engine, store)
}

fn inspect(store: &Store, expected: &TrustAnchors) -> ChainReport {
    Inspection::new(&store.snapshot().unwrap(), expected).unwrap().run(&mut |_| ()).unwrap()
}

fn findings(store: &Store) -> Vec<String> {
    inspect(store, &TrustAnchors::default()).findings
}

fn receipt(store: &Store) -> TrustAnchors {
    let checkpoint = Checkpoint::newest(&store.snapshot().unwrap()).unwrap().unwrap();
    let receipt = Receipt { file: FILE, public_key: signing().public(), checkpoint };
    TrustAnchors { receipt: Some(receipt), ..TrustAnchors::default() }
}

#[test]
fn each_shard_has_a_chain_and_all_of_them_are_verified_together() {
    let (_, store) = vault();
    let report = inspect(&store, &receipt(&store));
    assert_eq!(report.findings, Vec::<String>::new());
    assert_eq!((report.entries, report.checkpoints, report.unanchored), (80, 4, 16));
    assert_eq!(report.last_signed.map(|(entries, _)| entries), Some(64));
    assert_eq!(report.after_receipt, Some(16));
    let heads = Heads::read(&store.snapshot().unwrap()).unwrap();
    assert!(heads.all().count() > 2, "the tenants are in several shards: {heads:?}");
    assert_eq!(heads.of(Shard::VAULT).next, 16, "entries from before stay in the vault's chain");
}

#[test]
fn the_digests_of_shards_add_up_and_count_what_is_there() {
    let (_, store) = vault();
    let snapshot = store.snapshot().unwrap();
    let stored = RecordDigests::read(&snapshot, &digest_key()).unwrap().unwrap();
    let counted = RecordDigests::count(&snapshot, &digest_key()).unwrap();
    assert!(stored.add_up());
    assert_eq!(whole_of(stored.shards()), counted.whole());
    assert_eq!(stored.whole().count(), 8 + 8 * 5);
    for (scope, state) in counted.scopes() {
        assert_eq!(stored.of(scope), state.digest);
    }
    assert!(stored.shards().len() > 2);
}

/// A tenant of another shard than the vault's, and that shard.
fn of_shard(store: &Store) -> (TenantId, Shard) {
    let tenant = tenants().next().unwrap();
    (tenant, store.shards().of_scope(tenant.bytes()))
}

fn last_row(store: &Store, tenant: TenantId) -> Row {
    let rows = store.snapshot().unwrap().first(&tables::audit_of(tenant.bytes()), 99).unwrap();
    rows.into_iter().next_back().unwrap()
}

#[test]
fn damage_is_found_in_the_shard_where_it_is() {
    let (_, store) = vault();
    let (tenant, shard) = of_shard(&store);
    let name = format!("shard {}: ", shard.number());
    let (key, mut value) = last_row(&store, tenant);
    value.pop();
    commit(&store, Change::new().put(Table::Audit, key.clone(), value));
    let found = findings(&store);
    assert!(found.iter().all(|it| it.starts_with(&name)) && found.len() == 1, "{found:?}");
    commit(&store, Change::new().delete(Table::Audit, key));
    let found = findings(&store);
    assert!(found.iter().any(|it| it.starts_with(&name)), "{found:?}");
}

#[test]
fn a_shard_that_was_rolled_back_with_its_head_is_found_by_the_checkpoint() {
    let (_, store) = vault();
    let (_, shard) = of_shard(&store);
    let snapshot = store.snapshot().unwrap();
    let place = tables::meta::audit_head(shard);
    let (_, first) = Checkpoint::oldest(&snapshot, 9).unwrap().remove(1);
    let back = first.of(shard);
    let mut change = Change::new().put(Table::Meta, place, back.encode());
    for (key, _) in snapshot.first(&Table::Audit.whole(), usize::MAX).unwrap() {
        if shard.entries().contains(&tables::audit_of_key(&key).unwrap().1)
            && tables::audit_of_key(&key).unwrap().1 >= back.next
        {
            change = change.delete(Table::Audit, key);
        }
    }
    let expected = receipt(&store);
    commit(&store, change);
    assert!(!findings(&store).is_empty());
    assert!(!inspect(&store, &expected).findings.is_empty());
}

#[test]
fn a_head_or_a_digest_of_a_shard_that_was_removed_is_found() {
    let (engine, store) = vault();
    let (_, shard) = of_shard(&store);
    commit(&store, Change::new().delete(Table::Meta, tables::meta::audit_head(shard)));
    assert!(!findings(&store).is_empty());
    commit(&store, Change::new().delete(Table::Meta, tables::meta::audit_records(shard)));
    assert!(open(&engine).keep_digests(&digest_key()).unwrap().is_some());
}

#[test]
fn rows_of_one_shard_in_the_place_of_those_of_another_are_found() {
    for case in ["entries", "heads", "digests"] {
        let (engine, store) = vault();
        let (one, shard) = of_shard(&store);
        let is_elsewhere = |it: &TenantId| store.shards().of_scope(it.bytes()) != shard;
        let other = tenants().find(is_elsewhere).unwrap();
        let home = store.shards().of_scope(other.bytes());
        // All other entries of this test are alike.
        let sealed = SealedEntries { scope: *other.bytes(), at: AT, count: 1, sealed: vec![9; 40] };
        commit(&store, Change::new().audit(sealed));
        let snapshot = store.snapshot().unwrap();
        let meta = |key: &[u8]| snapshot.value(Table::Meta, key).unwrap().unwrap();
        let exchanged = |keys: [Vec<u8>; 2]| {
            let [first, second] = keys.each_ref().map(|key| meta(key));
            let [one, other] = keys;
            Change::new().put(Table::Meta, one, second).put(Table::Meta, other, first)
        };
        let ((key, value), (other_key, other_value)) =
            (last_row(&store, one), last_row(&store, other));
        let change = match case {
            "entries" => Change::new().put(Table::Audit, key, other_value).put(
                Table::Audit,
                other_key,
                value,
            ),
            "heads" => exchanged([shard, home].map(tables::meta::audit_head)),
            _ => exchanged([shard, home].map(tables::meta::audit_records)),
        };
        commit(&store, change);
        let is_found = match case {
            "entries" => !findings(&store).is_empty(),
            "heads" => {
                let snapshot = store.snapshot().unwrap();
                Inspection::new(&snapshot, &TrustAnchors::default()).is_err()
            }
            _ => open(&engine).keep_digests(&digest_key()).is_err(),
        };
        assert!(is_found, "{case}");
    }
}

#[test]
fn an_assignment_of_tenants_that_was_changed_is_refused_at_the_next_start() {
    let (engine, store) = vault();
    let (key, value) = row(4);
    let mut other_key = value.clone();
    *other_key.last_mut().unwrap() ^= 1;
    for (changed, is_known) in [(row(5).1, false), (other_key, false), (value, true)] {
        commit(&store, Change::new().put(Table::Meta, key.clone(), changed));
        let opened = open(&engine).keep_digests(&digest_key());
        assert_eq!(opened.is_ok(), is_known, "{opened:?}");
    }
    commit(&store, Change::new().delete(Table::Meta, key));
    assert!(open(&engine).keep_digests(&digest_key()).is_err(), "it is no vault without shards");
}

#[test]
fn a_checkpoint_has_the_heads_and_the_states_that_it_signs_and_no_others() {
    let (_, store) = vault();
    let snapshot = store.snapshot().unwrap();
    let before_shards = Checkpoint::oldest(&snapshot, 1).unwrap().remove(0).1;
    let of_shards = Heads::read(&snapshot).unwrap();
    let shards: [&[u16]; 4] = [&[], &[0], &[5], &[0, 3, 16]];
    for (heads, shards) in [before_shards, of_shards]
        .iter()
        .flat_map(|heads| shards.iter().map(move |shards| (heads, shards)))
    {
        let state = |shard: &u16| {
            let commitment = [3; 32];
            (Shard::new(*shard), ShardState { generation: u64::from(*shard) + 1, commitment })
        };
        let states = ShardStates::new(shards.iter().map(state));
        let statement = Statement {
            signed: SignatureKind::Checkpoint,
            file: FILE,
            head: heads.position(),
            previous: 0,
            at: AT,
            signer: 1,
            state: states.whole(7),
        };
        let checkpoint = statement.sign(&signing());
        let key = tables::audit_checkpoints(checkpoint.sequence);
        let decode = |value: &[u8]| Checkpoint::decode(&key, value);
        let value = checkpoint.value(heads, &states);
        let listed = value.len() - (1 + 4 + 3 * 8 + 32 + 8 + 32 + 64);
        let is_one = heads.is_one() && shards.iter().all(|shard| *shard == 0);
        assert_eq!(listed == 0, is_one, "{heads:?} {states:?}");
        assert_eq!(decode(&value), Some((checkpoint, heads.clone(), states)));
        assert_eq!(decode(&[value.as_slice(), &[0]].concat()), None);
        for place in value.len() - listed..value.len() {
            let mut changed = value.clone();
            changed[place] ^= 1;
            assert_eq!(decode(&changed), None, "{place} of {}", value.len());
        }
    }
}

#[test]
fn a_receipt_whose_checkpoint_was_removed_is_not_taken_for_met() {
    let (_, store) = vault();
    let expected = receipt(&store);
    let TrustAnchors { receipt: Some(kept), .. } = expected else { panic!() };
    let newest = tables::audit_checkpoints(kept.checkpoint.sequence);
    commit(&store, Change::new().delete(Table::AuditCheckpoints, newest));
    let found = inspect(&store, &expected).findings;
    assert!(found.iter().any(|it| it.contains("the receipt's checkpoint")), "{found:?}");
}

#[test]
fn a_batch_cannot_change_a_shard_without_its_turn() {
    let (engine, store) = vault();
    let (tenant, shard) = of_shard(&store);
    let rows = engine.snapshot().unwrap();
    let process = Process::new();
    for (turns, is_allowed) in [(shard, true), (Shard::VAULT, false)] {
        let turns = Turns::from([turns]);
        let mut batch = Batch::new(rows.as_ref(), None).within(store.shards());
        batch = batch.sharing(Some(&process), &turns);
        assert_eq!(batch.take(token(tenant, 20)).unwrap(), Verdict::Applied);
        match batch.rows() {
            Ok(_) => assert!(is_allowed),
            Err(StorageFailure::Impossible(_)) => assert!(!is_allowed),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// A thread remembers the last scopes.
#[test]
fn a_scope_has_the_same_shard_whatever_was_asked_before() {
    let scopes = (1_u128..400).map(|it| ((it << 64) | (it % 50)).to_be_bytes());
    let (one, other) = (Shards::new(16), Shards::new(16));
    let found: Vec<_> = scopes.clone().map(|it| (one.of_scope(&it), other.of_scope(&it))).collect();
    for (scope, found) in scopes.zip(found) {
        let alone = std::thread::spawn(move || (one.of_scope(&scope), other.of_scope(&scope)));
        assert_eq!((one.of_scope(&scope), other.of_scope(&scope)), found);
        assert_eq!(alone.join().unwrap(), found, "{scope:?}");
    }
}

#[test]
fn a_change_takes_the_turns_of_what_it_writes_and_of_what_must_be_absent() {
    let shards = Shards::decode(Some(row(4).1)).unwrap();
    let mut tenants = tenants();
    let one = tenants.next().unwrap();
    let home = |tenant: TenantId| shards.of_scope(tenant.bytes());
    let other = tenants.find(|tenant| home(*tenant) != home(one)).unwrap();
    let key = |tenant: TenantId| [tenant.bytes().as_slice(), &[1; 16]].concat();
    let turns = |change: &Change| turns_of(change, shards);
    let only = |shards: &[Shard]| shards.iter().copied().collect::<Turns>();
    assert_eq!(turns(&token(one, 1)), only(&[home(one)]));
    assert_eq!(turns(&token(one, 1).and(token(other, 1))), only(&[home(one), home(other)]));
    let present = token(one, 1).expect_present(Table::Tokens, key(other));
    assert_eq!(turns(&present), only(&[home(one)]), "the row is held instead");
    let absent = token(one, 1).expect_absent(Table::Tokens, key(other));
    assert_eq!(turns(&absent), only(&[home(one), home(other)]));
    let webhook = Change::new().put(Table::Webhooks, key(one), vec![1; 40]);
    assert_eq!(turns(&webhook), only(&[Shard::VAULT, home(one)]), "generations are the vault's");
    assert_eq!(turns(&made(one)), only(&[Shard::VAULT]));
    let waiting = Change::new().count(tables::all_webhook_counts(home(one)), 1);
    assert_eq!(turns(&waiting), only(&[home(one)]));
    assert_eq!(turns(&Change::new()), only(&[Shard::VAULT]));
    assert_eq!(turns_of(&token(one, 1), Shards::default()), only(&[Shard::VAULT]));
}

#[test]
fn a_change_of_one_tenant_and_the_vault_does_not_wait_behind_changes_of_other_tenants() {
    let [one, other] = [3, 5].map(Shard::new);
    let lane = |turns: &[Shard]| lane_of(&turns.iter().copied().collect());
    assert_eq!(lane(&[one]), one);
    assert_eq!(lane(&[Shard::VAULT, other]), other);
    assert_eq!(lane(&[Shard::VAULT]), Shard::VAULT);
    assert_eq!(lane(&[one, other]), Shard::VAULT, "no change of a running server has several");
    assert_eq!(lane(&[]), Shard::VAULT);
}
