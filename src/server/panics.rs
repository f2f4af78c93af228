//! Confines a panic to the request that caused it.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// A request panicked. The panic hook logs the location; the payload is dropped because it may hold
/// a secret.
#[derive(Debug)]
pub(super) struct RequestPanic;

/// Calls the function and catches a panic in it.
///
/// Unwind safety is asserted: the function is dropped right after, and state that it shares with
/// other requests is behind locks and channels, which stay consistent.
pub(super) fn call<T>(work: impl FnOnce() -> T) -> Result<T, RequestPanic> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(output) => Ok(output),
        Err(_text) => Err(RequestPanic),
    }
}

pub(super) async fn catch<F: Future>(work: F) -> Result<F::Output, RequestPanic> {
    let mut work = pin!(work);
    poll_fn(|cx| match call(|| work.as_mut().poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(panicked) => Poll::Ready(Err(panicked)),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_before_and_after_an_await_is_caught() {
        assert!(catch(async { std::panic::resume_unwind(Box::new("before")) }).await.is_err());
        let after = async {
            tokio::task::yield_now().await;
            std::panic::resume_unwind(Box::new("after"))
        };
        assert!(catch(after).await.is_err());
        assert!(matches!(catch(async { 7 }).await, Ok(7)));
    }

    #[test]
    fn a_panic_of_a_plain_call_is_caught() {
        assert!(call(|| std::panic::resume_unwind(Box::new("call"))).is_err());
        assert!(matches!(call(|| 7), Ok(7)));
    }
}
