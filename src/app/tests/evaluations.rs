//! Budgets and places of requests with costly expressions.

use uuid::Uuid;

use super::{TestVault, draft};
use crate::app::fair_pool::{Credential, Party};
use crate::app::tokens::evaluations::{Evaluations, Work};
use crate::app::{Error, Write};
use crate::bounds::{EVALUATIONS_MAX, EVALUATIONS_WAITING_MAX, EXPRESSION_WORK_INLINE_MAX};
use crate::domain::id::TenantId;
use crate::store::tests::block_on;
use crate::store::{Change, Table, tables};

const fn party(tenant: u128) -> Party {
    Party { tenant: TenantId::new(Uuid::from_u128(tenant)), credential: Credential::Secret }
}

const PARTY: Party = party(0);

/// Takes more than the part of the budget that is spent on the request's thread.
fn costly() -> String {
    "x".repeat(EXPRESSION_WORK_INLINE_MAX / 2)
}

#[test]
fn a_read_that_needs_more_is_begun_again_with_the_whole_budget() {
    let vault = TestVault::new();
    let mut runs = 0;
    let read = block_on(vault.app.evaluating(PARTY, Work::Read.budget(), |budget| {
        runs += 1;
        Ok(budget.spend_json(&costly()).is_ok())
    }));
    assert!(read.unwrap());
    assert_eq!(runs, 2);
    let mut runs = 0;
    let read = block_on(vault.app.evaluating(PARTY, Work::Read.budget(), |budget| {
        runs += 1;
        while budget.spend_json(&costly()).is_ok() {}
        Ok(budget.ran_out())
    }));
    assert!(read.unwrap(), "what does not fit is for the read itself to redact");
    assert_eq!(runs, 2);
}

#[test]
fn a_decision_that_is_refused_again_and_again_gets_no_fresh_budget() {
    let vault = TestVault::new();
    let token = block_on(vault.create(draft("x"))).unwrap().shown.token;
    let record = tables::tokens(token.tenant, token.id);
    let mut decisions = 0;
    let write = Write::plain();
    let settled = block_on(vault.app.commit_evaluating(PARTY, Work::Write, &write, |_, budget| {
        decisions += 1;
        budget.spend_json(&costly()).ok();
        Ok((Change::new().expect_absent(Table::Tokens, record.clone()), ()))
    }));
    assert!(matches!(settled, Err(Error::Busy)), "{settled:?}");
    // One on the thread of the request, three that fit, one that does not.
    assert_eq!(decisions, 5);
}

#[test]
fn a_write_whose_answer_cannot_be_masked_is_refused() {
    let vault = TestVault::new();
    let write = Write::plain();
    let settled = block_on(vault.app.commit_evaluating(PARTY, Work::Write, &write, |_, budget| {
        while budget.spend_json(&costly()).is_ok() {}
        Ok((Change::new(), ()))
    }));
    let Err(Error::Invalid(mistakes)) = settled else { panic!("{settled:?}") };
    assert_eq!(mistakes.by_path().keys().collect::<Vec<_>>(), ["mask"]);
}

#[tokio::test]
async fn few_evaluate_at_a_time_and_few_wait_for_it() {
    use std::future::Future as _;
    use std::task::{Context, Poll, Waker};

    let evaluations = Evaluations::new();
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = Vec::new();
    for at in 0..EVALUATIONS_MAX + EVALUATIONS_WAITING_MAX {
        // A tenant may use only a part of the queue.
        let party = party(u128::try_from(at).unwrap() / 4);
        let mut place = Box::pin(evaluations.pool.permit(party));
        match place.as_mut().poll(&mut context) {
            Poll::Ready(found) => {
                assert!(at < EVALUATIONS_MAX);
                std::mem::forget(found.unwrap());
            }
            Poll::Pending => {
                assert!(at >= EVALUATIONS_MAX);
                waiting.push(place);
            }
        }
    }
    assert!(matches!(evaluations.pool.permit(PARTY).await, Err(Error::Busy)));
    // A request that leaves the queue makes room for another.
    waiting.pop();
    let mut place = Box::pin(evaluations.pool.permit(PARTY));
    assert!(place.as_mut().poll(&mut context).is_pending());
}

#[tokio::test]
async fn a_second_tenant_is_served_while_the_first_takes_all_it_can_get() {
    use std::future::Future as _;
    use std::task::{Context, Poll, Waker};

    let evaluations = Evaluations::new();
    let mut context = Context::from_waker(Waker::noop());
    for pool in [&evaluations.pool, &evaluations.masks] {
        let mut held = vec![pool.permit(party(1)).await.unwrap()];
        let mut waiting = Vec::new();
        loop {
            let mut place = Box::pin(pool.permit(party(1)));
            match place.as_mut().poll(&mut context) {
                Poll::Ready(Ok(permit)) => held.push(permit),
                Poll::Ready(Err(error)) => break assert!(matches!(error, Error::Busy)),
                Poll::Pending => waiting.push(place),
            }
        }
        let mut second = Box::pin(pool.permit(party(2)));
        assert!(second.as_mut().poll(&mut context).is_pending());
        held.pop();
        assert!(second.as_mut().poll(&mut context).is_ready(), "the next place is for it");
    }
}
