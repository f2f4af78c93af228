//! Rotations step by step, with concurrent work between the steps.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::app::tests::{assert_clean, other_master};
use crate::app::tokens::lists::cursor::tests::{TestVault, texts};
use crate::app::{
    CursorStart, Deduplicate, LogQuery, LogStart, TokenDraft, TokenOrigin, TokenPatch, Write,
};
use crate::domain::permission::Permission;
use crate::domain::token_query::{TokenFilter, TokenQuery};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::waiting::steps;

/// Steps until something other than waiting or walking happens.
async fn next(vault: &TestVault, walk: &mut Walk) -> Step {
    for _ in steps("the walk of a rotation") {
        match vault.app.rotation().rotate_step(walk).await.unwrap() {
            Step::Walked { .. } => (),
            other @ (Step::Idle
            | Step::Waiting
            | Step::MasterReplaced
            | Step::Entered(..)
            | Step::Finished(..)) => return other,
        }
    }
    unreachable!("the steps are bounded")
}

async fn finish(vault: &TestVault, walk: &mut Walk) {
    for _ in steps("the phases of a rotation") {
        match next(vault, walk).await {
            Step::Finished(_, unopened) => return assert_eq!(unopened, 0),
            Step::Entered(..) => drop(assert_clean(&vault.app)),
            other @ (Step::Idle | Step::Waiting | Step::MasterReplaced | Step::Walked { .. }) => {
                unexpected(&other)
            }
        }
    }
}

#[track_caller]
fn unexpected(step: &Step) -> ! {
    panic!("{step:?}")
}

/// Records and index entries under the tenant's key of this number.
async fn under(vault: &TestVault, number: u32) -> (u64, u64) {
    let inventory = vault.app.keys().inventory().await.unwrap();
    let of_tenant = inventory.keys.iter().filter(|key| key.tenant == Some(vault.tenant.id));
    let counts = of_tenant
        .filter(|key| key.number == number && key.purpose != Some(KeyPurpose::Fingerprint))
        .map(|key| (key.records.unwrap_or(0), key.index_entries.unwrap_or(0)));
    counts.fold((0, 0), |all, own| (all.0 + own.0, all.1 + own.1))
}

fn searching(term: &str) -> TokenQuery {
    let filter = TokenFilter::SearchTerm(Secret::new(String::from(term)));
    TokenQuery { container: None, filter }
}

async fn found(vault: &TestVault, term: &str) -> usize {
    let owner = vault.owner().await;
    let (start, search) = (CursorStart { after: None, size: 100 }, searching(term));
    let page = vault.app.tokens(&owner).list(Permission::TokenSearch, &search, &start);
    page.await.unwrap().tokens.len()
}

fn deduplicating(text: &str) -> TokenDraft {
    TokenDraft {
        kind: Some(TokenType::Token),
        data: Some(Secret::new(json!(text))),
        deduplicate: Some(Deduplicate::Yes),
        ..TokenDraft::default()
    }
}

#[tokio::test]
async fn everything_is_found_in_every_phase_and_nothing_is_left_under_the_old_key() {
    let vault = TestVault::new().await;
    let named = |draft: &mut TokenDraft| draft.id = Some(String::from("my-own-id"));
    vault.create_with("a", &["/a/", "/b/"], named).await;
    for _ in 0..70 {
        vault.create("a", &["/a/"]).await;
    }
    let owner = vault.owner().await;
    let first = vault.app.tokens(&owner).create(deduplicating("d"), &Write::plain()).await.unwrap();
    drop(owner);
    assert_eq!(vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap(), 2);
    assert!(matches!(
        vault.app.rotation().rotate_tenant(vault.tenant.id).await,
        Err(Error::Conflict(_))
    ));
    let (mut walk, mut phases, mut count) = (Walk::default(), Vec::new(), 71);
    for _ in steps("the phases of a rotation") {
        let owner = vault.owner().await;
        assert_eq!(found(&vault, "a").await, count.min(100));
        assert!(vault.app.tokens(&owner).read("my-own-id").await.is_ok());
        let again = vault.app.tokens(&owner).create(deduplicating("d"), &Write::plain()).await;
        let again = again.unwrap();
        assert_eq!(
            (again.outcome.origin, again.outcome.shown.token.id),
            (TokenOrigin::Read, first.outcome.shown.token.id)
        );
        let taken = TokenDraft { id: Some(String::from("my-own-id")), ..deduplicating("x") };
        let taken = vault.app.tokens(&owner).create(taken, &Write::plain()).await;
        assert!(matches!(taken, Err(Error::Conflict(_))));
        let metadata = Some(json!({"patched": phases.len().to_string()}));
        let change = TokenPatch { metadata, ..TokenPatch::default() };
        let changed = vault.app.tokens(&owner).update("my-own-id", &change, &Write::plain()).await;
        changed.unwrap();
        drop(owner);
        assert_clean(&vault.app);
        // Delete one token and keep another.
        let gone = vault.create("b", &["/a/"]).await;
        vault.delete(&gone).await;
        vault.create("a", &["/c/"]).await;
        count += 1;
        assert_clean(&vault.app);
        match next(&vault, &mut walk).await {
            Step::Entered(_, phase) => phases.push(phase),
            Step::Finished(..) => break,
            other @ (Step::Idle | Step::Waiting | Step::MasterReplaced | Step::Walked { .. }) => {
                unexpected(&other)
            }
        }
    }
    assert_eq!(phases, [Phase::Announced, Phase::Both, Phase::Flipped, Phase::Clearing]);
    assert_clean(&vault.app);
    assert_eq!(under(&vault, 1).await, (0, 0));
    assert!(under(&vault, 2).await.0 > 71);
    vault.app.rotation().destroy_key(Some(vault.tenant.id), 2).await.unwrap_err();
    vault.app.rotation().destroy_key(Some(vault.tenant.id), 1).await.unwrap();
    assert_eq!(found(&vault, "a").await, count);
    assert_clean(&vault.app);
}

#[tokio::test]
async fn a_phase_waits_for_those_who_hold_the_keys_of_the_phase_before() {
    let vault = TestVault::new().await;
    vault.create("a", &["/a/"]).await;
    let early = vault.owner().await;
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    let mut walk = Walk::default();
    assert!(matches!(next(&vault, &mut walk).await, Step::Entered(_, Phase::Announced)));
    assert_eq!(next(&vault, &mut walk).await, Step::Waiting);
    // This caller writes with the keys of its epoch, and none of its rows is missed.
    let created = vault.app.tokens(&early).create(deduplicating("late"), &Write::plain()).await;
    created.unwrap();
    assert_eq!(next(&vault, &mut walk).await, Step::Waiting);
    drop(early);
    finish(&vault, &mut walk).await;
    assert_eq!(under(&vault, 1).await, (0, 0));
    assert_clean(&vault.app);
}

#[tokio::test]
async fn a_queued_change_that_nobody_waits_for_is_not_overtaken() {
    use std::task::{Context, Waker};
    let vault = TestVault::new().await;
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    let mut walk = Walk::default();
    assert!(matches!(next(&vault, &mut walk).await, Step::Entered(_, Phase::Announced)));
    vault.app.callers.forget();
    // This caller seals under the old key while the next phase is about to begin.
    let early = vault.owner().await;
    assert!(matches!(next(&vault, &mut walk).await, Step::Entered(_, Phase::Both)));
    assert_eq!(next(&vault, &mut walk).await, Step::Waiting);
    let write = Write::plain();
    {
        let mut create =
            std::pin::pin!(vault.app.tokens(&early).create(deduplicating("x"), &write));
        // The change is queued, then its client disconnects. The writer may have answered already.
        drop(create.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    }
    drop(early);
    finish(&vault, &mut walk).await;
    assert_eq!(vault.app.access().count_tokens(vault.tenant.id).unwrap(), 1);
    assert_eq!(under(&vault, 1).await, (0, 0));
    assert_clean(&vault.app);
}

#[tokio::test]
async fn a_new_walk_goes_on_in_any_phase_as_after_a_restart() {
    let vault = TestVault::new().await;
    for _ in 0..40 {
        vault.create("a", &["/a/"]).await;
    }
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    for steps in 0.. {
        // A process takes this number of steps, then another one continues.
        let mut walk = Walk::default();
        for _ in 0..=steps {
            vault.app.rotation().rotate_step(&mut walk).await.unwrap();
        }
        assert_clean(&vault.app);
        assert_eq!(found(&vault, "a").await, 40);
        if Rotation::first(&vault.app.snapshot().unwrap()).unwrap().is_none() {
            break;
        }
    }
    assert_eq!(under(&vault, 1).await, (0, 0));
}

#[tokio::test]
async fn a_rotation_that_began_later_waits_also_that_of_the_server() {
    let vault = TestVault::new().await;
    let (tenant, server) = (*vault.tenant.id.bytes(), SystemKeys::SCOPE);
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    let mut walk = Walk::default();
    assert_eq!(next(&vault, &mut walk).await, Step::Entered(tenant, Phase::Announced));
    vault.app.clock().advance(Duration::from_secs(1));
    vault.app.rotation().rotate_server().await.unwrap();
    for scope in [tenant, server] {
        for _ in steps("the phases of a rotation") {
            match next(&vault, &mut walk).await {
                Step::Entered(entered, _) => assert_eq!(entered, scope),
                Step::Finished(finished, unopened) => {
                    assert_eq!((finished, unopened), (scope, 0));
                    break;
                }
                other @ (Step::Idle
                | Step::Waiting
                | Step::MasterReplaced
                | Step::Walked { .. }) => unexpected(&other),
            }
        }
    }
    assert_eq!(next(&vault, &mut walk).await, Step::Idle);
}

#[tokio::test]
async fn a_rotation_estimates_the_time_that_is_left() {
    let vault = TestVault::new().await;
    for _ in 0..150 {
        vault.create("a", &["/a/"]).await;
    }
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    let mut walk = Walk::default();
    for _ in steps("the first batch") {
        assert_eq!(vault.app.rotation().progress().unwrap().left, None);
        let step = vault.app.rotation().rotate_step(&mut walk).await.unwrap();
        if matches!(step, Step::Walked { looked_at: 1.., .. }) {
            break;
        }
    }
    // A batch has at most 128 records, and there are 150 and as many tokens.
    vault.app.clock().advance(Duration::from_mins(10));
    let progress = vault.app.rotation().progress().unwrap();
    assert!(progress.percent < 50 && progress.left > Some(Duration::from_mins(10)), "{progress:?}");
}

#[tokio::test]
async fn a_cursor_from_before_a_rotation_goes_on_after_it() {
    let vault = TestVault::new().await;
    for _ in 0..5 {
        vault.create("a", &["/a/"]).await;
    }
    let page = async |after: Option<Vec<u8>>, owner: &crate::app::Caller| {
        let (start, search) = (CursorStart { after, size: 2 }, searching("a"));
        vault.app.tokens(owner).list(Permission::TokenSearch, &search, &start).await.unwrap()
    };
    let first = page(None, &*vault.owner().await).await;
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    finish(&vault, &mut Walk::default()).await;
    vault.app.rotation().destroy_key(Some(vault.tenant.id), 1).await.unwrap();
    let owner = vault.owner().await;
    let second = page(first.next, &owner).await;
    assert_eq!(texts(&second.tokens).len(), 2);
    let third = page(second.next, &owner).await;
    assert_eq!((third.tokens.len(), third.next), (1, None));
}

#[tokio::test]
async fn entries_of_the_log_keep_their_ids_over_a_rotation() {
    let vault = TestVault::new().await;
    vault.create("a", &["/a/"]).await;
    let ids = async |skip: usize| {
        let (query, start) = (LogQuery::default(), LogStart::Skip(skip));
        let page =
            vault.app.audit().list_logs(&*vault.owner().await, &query, &start, 99).await.unwrap();
        page.entries.iter().map(|(id, _)| *id).collect::<Vec<_>>()
    };
    let before = ids(0).await;
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    finish(&vault, &mut Walk::default()).await;
    let after = ids(0).await;
    assert!(!before.is_empty() && after.ends_with(&before), "{before:?} {after:?}");
}

#[tokio::test]
async fn the_servers_own_key_rotates_and_the_keys_of_callers_still_work() {
    let vault = TestVault::new().await;
    vault.create("a", &["/a/"]).await;
    assert_eq!(vault.app.rotation().rotate_server().await.unwrap(), 2);
    finish(&vault, &mut Walk::default()).await;
    let inventory = vault.app.keys().inventory().await.unwrap();
    let own = |number| {
        let mut keys = inventory.keys.iter().filter(|key| key.tenant.is_none());
        keys.find(|key| key.purpose == Some(KeyPurpose::Seal) && key.number == number)
            .map(|key| (key.state, key.records.unwrap_or(0)))
    };
    assert_eq!(own(1), Some((KeyState::Retiring, 0)));
    assert!(own(2).is_some_and(|(state, records)| state == KeyState::Current && records > 1));
    vault.app.rotation().destroy_key(None, 1).await.unwrap();
    assert_eq!(found(&vault, "a").await, 1);
    assert_clean(&vault.app);
}

#[tokio::test]
async fn another_master_key_opens_everything_also_for_those_who_began_before() {
    let vault = TestVault::new().await;
    vault.create("a", &["/a/"]).await;
    let before = vault.app.snapshot().unwrap();
    let rotated = vault.app.rotation().rotate_master(other_master()).await.unwrap();
    let all = usize::try_from(before.len(Table::Keys).unwrap()).unwrap();
    assert_eq!(rotated.keys, all);
    let again = vault.app.rotation().rotate_master(other_master()).await.unwrap();
    assert_eq!(again, MasterRotation { keys: 0, ..rotated });
    assert!(vault.app.keys().tenant_keys(&before, vault.tenant.id).is_ok());
    assert_eq!(vault.app.rotation().rotate_step(&mut Walk::default()).await.unwrap(), Step::Idle);
    assert!(vault.app.masters.are_several());
    drop(before);
    let step = vault.app.rotation().rotate_step(&mut Walk::default()).await.unwrap();
    assert_eq!(step, Step::MasterReplaced);
    assert!(!vault.app.masters.are_several());
    assert_eq!(found(&vault, "a").await, 1);
    assert_clean(&vault.app);
}

#[tokio::test]
async fn who_is_a_phase_behind_leaves_nothing_of_what_it_replaces() {
    let vault = TestVault::new().await;
    let named = |id: &'static str| move |draft: &mut TokenDraft| draft.id = Some(String::from(id));
    vault.create_with("a", &["/a/"], named("patched")).await;
    vault.create_with("a", &["/a/"], named("deleted")).await;
    vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
    let mut walk = Walk::default();
    let mut behind = None;
    for _ in steps("the phases of a rotation") {
        if matches!(next(&vault, &mut walk).await, Step::Entered(_, Phase::Both)) {
            break;
        }
        behind = Some(vault.owner().await);
    }
    let behind = behind.unwrap();
    // The rotation waits for the older caller, and drops cached callers.
    assert_eq!(vault.app.rotation().rotate_step(&mut walk).await.unwrap(), Step::Waiting);
    let ahead = vault.owner().await;
    for (owner, color) in [(&ahead, "red"), (&behind, "blue")] {
        for id in ["patched", "deleted"] {
            let metadata = Some(json!({"color": color}));
            let change = TokenPatch { metadata, ..TokenPatch::default() };
            vault.app.tokens(owner).update(id, &change, &Write::plain()).await.unwrap();
        }
    }
    vault.app.tokens(&behind).delete("deleted").await.unwrap();
    drop((ahead, behind));
    finish(&vault, &mut walk).await;
    assert_clean(&vault.app);
    assert_eq!(under(&vault, 1).await, (0, 0));
    let owner = vault.owner().await;
    assert!(matches!(vault.app.tokens(&owner).read("deleted").await, Err(Error::NotFound(_))));
    let again = TokenDraft { id: Some(String::from("deleted")), ..deduplicating("y") };
    vault.app.tokens(&owner).create(again, &Write::plain()).await.unwrap();
}

/// Index entries of the tenant's keys by number: entries of this key alone, and entries that the
/// newest key has too.
async fn entries(vault: &TestVault) -> Vec<(u32, u64, u64)> {
    let inventory = vault.app.keys().inventory().await.unwrap();
    let of_tenant = inventory.keys.iter().filter(|key| key.tenant == Some(vault.tenant.id));
    let listed = of_tenant
        .filter(|key| key.purpose == Some(KeyPurpose::Index))
        .map(|key| (key.number, key.index_entries.unwrap_or(0), key.doubled_entries.unwrap_or(0)));
    listed.collect()
}

#[tokio::test]
async fn the_entries_of_an_old_key_only_fall_also_while_tokens_are_made() {
    let vault = TestVault::new().await;
    for _ in 0..150 {
        vault.create("a", &["/a/"]).await;
    }
    let mut first = 0;
    for newest in [2, 3] {
        vault.app.rotation().rotate_tenant(vault.tenant.id).await.unwrap();
        let mut walk = Walk::default();
        let (mut last, mut doubled_most) = (None, 0);
        for _ in steps("the rotation") {
            let step = vault.app.rotation().rotate_step(&mut walk).await.unwrap();
            let listed = entries(&vault).await;
            let of = |number| listed.iter().find(|it| it.0 == number).copied().unwrap_or_default();
            // The key that the previous rotation replaced never gets an entry back.
            assert!(newest == 2 || of(1) == (1, 0, 0), "{listed:?}");
            let (_, alone, doubled) = of(newest - 1);
            assert!(last.is_none_or(|last| alone <= last), "{listed:?} after {last:?}");
            doubled_most = doubled_most.max(doubled);
            match step {
                Step::Finished(..) => {
                    assert_eq!((alone, doubled), (0, 0));
                    break;
                }
                // Until the next phase, new tokens have entries under the old key only.
                Step::Entered(_, Phase::Announced) => (),
                Step::Entered(..) | Step::Walked { .. } | Step::Waiting => {
                    last = matches!(
                        walk_phase(&vault),
                        Some(Phase::Both | Phase::Flipped | Phase::Clearing)
                    )
                    .then_some(alone);
                    vault.create("a", &["/a/"]).await;
                }
                Step::Idle | Step::MasterReplaced => unexpected(&step),
            }
        }
        assert!(doubled_most > first, "every token had both at one time");
        first = doubled_most;
    }
}

fn walk_phase(vault: &TestVault) -> Option<Phase> {
    vault.app.keys().ages().unwrap().rotations.first().map(|rotation| rotation.phase)
}
