//! Cached callers are dropped in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinSet;

use crate::app::generation_cache::GenerationCache;
use crate::app::tests::{TestVault, everything, new_application};
use crate::app::{Error, TenantChange, Vault, Write};
use crate::bounds::CALLERS_MAX;
use crate::domain::key_text::KeyText;
use crate::store::tests::block_on;

fn refused(app: &Vault, key: &KeyText) -> bool {
    match app.access().authenticate(key) {
        Ok(_) => false,
        Err(Error::Unauthenticated) => true,
        Err(other) => panic!("{other:?}"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Deleted {
    Application,
    Key,
}

/// Once a deletion is answered, the key is refused for all concurrent requests.
async fn check_deleted(deleted: Deleted) {
    let vault = Arc::new(TestVault::new());
    let tenant = vault.caller.tenant.id;
    for _ in 0..10 {
        let (application, key) = new_application(&vault.app, tenant, &everything()).await;
        let key = Arc::new(key);
        let answered = Arc::new(AtomicBool::new(false));
        let mut tries = JoinSet::new();
        for _ in 0..4 {
            let (vault, key) = (Arc::clone(&vault), Arc::clone(&key));
            let answered = Arc::clone(&answered);
            tries.spawn(async move {
                loop {
                    let too_late = answered.load(Ordering::SeqCst);
                    let refused = refused(&vault.app, &key.text);
                    assert!(refused || !too_late, "let in after the answer");
                    if too_late {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
        assert!(!refused(&vault.app, &key.text));
        let (access, owner) = (vault.app.access(), Some(&*vault.caller));
        match deleted {
            Deleted::Application => {
                access.delete_application(tenant, application.id, owner).await.unwrap();
            }
            Deleted::Key => {
                access.delete_key(tenant, application.id, key.key.id, None).await.unwrap();
            }
        }
        answered.store(true, Ordering::SeqCst);
        assert!(refused(&vault.app, &key.text));
        tries.join_all().await;
    }
    vault.assert_clean();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deleted_key_is_refused_from_the_answer_on() {
    check_deleted(Deleted::Key).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_keys_of_a_deleted_application_are_refused_from_the_answer_on() {
    check_deleted(Deleted::Application).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_that_is_made_while_its_application_goes_does_not_outlive_it() {
    let vault = Arc::new(TestVault::new());
    let tenant = vault.caller.tenant.id;
    for _ in 0..10 {
        let (application, _) = new_application(&vault.app, tenant, &everything()).await;
        let mut makers = JoinSet::new();
        for _ in 0..2 {
            let vault = Arc::clone(&vault);
            makers.spawn(async move {
                let (access, write) = (vault.app.access(), Write::plain());
                access.create_key(tenant, application.id, None, None, &write).await
            });
        }
        let (access, owner) = (vault.app.access(), Some(&*vault.caller));
        access.delete_application(tenant, application.id, owner).await.unwrap();
        for made in makers.join_all().await {
            match made {
                Ok(key) => assert!(refused(&vault.app, &key.outcome.text)),
                Err(error) => assert!(matches!(error, Error::NotFound(_)), "{error:?}"),
            }
        }
        vault.assert_clean();
    }
}

#[test]
fn a_changed_tenant_is_seen_by_the_next_request() {
    let vault = TestVault::new();
    let key = crate::app::tests::prepared_key();
    let change = TenantChange { name: Some(String::from("other")), ..TenantChange::default() };
    assert_eq!(vault.app.access().authenticate(&key).unwrap().tenant.name, "first");
    let (tenant, write) = (vault.caller.tenant.id, Write::plain());
    block_on(vault.app.access().change_tenant(tenant, &change, None, &write)).unwrap();
    assert_eq!(vault.app.access().authenticate(&key).unwrap().tenant.name, "other");
}

#[test]
fn a_caller_is_read_once_as_long_as_nothing_changes() {
    let vault = TestVault::new();
    let key = crate::app::tests::prepared_key();
    let first = vault.app.access().authenticate(&key).unwrap();
    assert!(Arc::ptr_eq(&first, &vault.app.access().authenticate(&key).unwrap()));
}

#[test]
fn a_caller_of_an_older_generation_is_neither_kept_nor_found() {
    let caller = TestVault::new().caller;
    let callers = GenerationCache::<_, _, CALLERS_MAX>::default();
    callers.remember([1; 32], &caller, 5);
    assert!(callers.find(&[1; 32], 5).is_some());
    assert!(callers.find(&[2; 32], 5).is_none());
    for other in [4, 6] {
        assert!(callers.find(&[1; 32], other).is_none(), "generation {other}");
    }
    callers.remember([2; 32], &caller, 4);
    for generation in 3..7 {
        assert!(callers.find(&[2; 32], generation).is_none(), "generation {generation}");
    }
    callers.remember([3; 32], &caller, 6);
    assert!(callers.find(&[1; 32], 5).is_none(), "the older ones are forgotten");
    assert!(callers.find(&[1; 32], 6).is_none(), "the older ones are forgotten");
    assert!(callers.find(&[3; 32], 6).is_some());
}

#[test]
fn remembered_callers_have_a_bound() {
    let caller = TestVault::new().caller;
    let callers = GenerationCache::<_, _, CALLERS_MAX>::default();
    let tag = |n: usize| {
        let mut tag = [0; 32];
        tag[..8].copy_from_slice(&n.to_be_bytes());
        tag
    };
    (0..CALLERS_MAX).for_each(|n| callers.remember(tag(n), &caller, 1));
    assert!(callers.find(&tag(0), 1).is_some());
    callers.remember(tag(CALLERS_MAX), &caller, 1);
    assert!(callers.find(&tag(0), 1).is_none(), "the bound was passed");
    assert!(callers.find(&tag(CALLERS_MAX), 1).is_some());
}
