//! Walks over the file by two tenants.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::{TestVault, new_tenant};
use crate::app::Error;
use crate::bounds::{WALKS_MAX, WALKS_WAITING_MAX};

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn a_second_tenant_walks_while_the_first_has_all_places_and_all_it_may_queue() {
    let vault = TestVault::new();
    let (_, key) = new_tenant(&vault.app, "Other").await;
    let other = vault.app.access().authenticate(&key).unwrap();
    let (walks, first) = (&vault.app.walks, vault.caller.party());
    let mut held = Vec::new();
    for _ in 0..WALKS_MAX {
        held.push(walks.permit(first).await.unwrap());
    }
    let mut waiting: Vec<_> =
        (0..2 * WALKS_WAITING_MAX).map(|_| Box::pin(walks.permit(first))).collect();
    let refused = waiting.iter_mut().filter_map(|it| match poll(it.as_mut()) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    });
    let refused: Vec<_> = refused.collect();
    assert!(refused.len() > WALKS_WAITING_MAX, "{}", refused.len());
    assert!(refused.iter().all(|it| matches!(it, Err(Error::Busy))));
    let mut usage = pin!(vault.app.tokens(&other).usage());
    assert!(poll(usage.as_mut()).is_pending(), "both places are taken");
    drop(held.pop());
    let Poll::Ready(usage) = poll(usage) else { panic!("the next place is for the other tenant") };
    assert_eq!(usage.unwrap().total, 0);
}
