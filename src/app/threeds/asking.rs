//! Sessions whose request was sent and not yet answered. A result may arrive before the answer to
//! its request; its handler waits here until the answer is stored.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::domain::id::SessionId;
use crate::lock::Lock;

/// One entry for each pending request.
#[derive(Debug, Clone, Default)]
pub(super) struct Asking(Arc<Lock<HashMap<SessionId, watch::Receiver<()>>>>);

/// Dropping it ends the pending request.
#[derive(Debug)]
pub(super) struct OutstandingRequest {
    session: SessionId,
    asking: Asking,
    /// Dropping it wakes the tasks in [`Asking::finished`].
    _done: watch::Sender<()>,
}

impl Asking {
    pub(super) fn begin(&self, session: SessionId) -> OutstandingRequest {
        let (done, waiting) = watch::channel(());
        self.0.lock().insert(session, waiting);
        OutstandingRequest { session, asking: self.clone(), _done: done }
    }

    /// Waits until no request of this session is pending.
    pub(super) async fn finished(&self, session: SessionId) {
        let waiting = self.0.lock().get(&session).cloned();
        if let Some(mut waiting) = waiting {
            while waiting.changed().await.is_ok() {}
        }
    }
}

impl Drop for OutstandingRequest {
    fn drop(&mut self) {
        let mut asking = self.asking.0.lock();
        asking.remove(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn who_brings_a_result_waits_for_the_answer_and_for_nothing_else() {
        let asking = Asking::default();
        let (one, other) = (SessionId::new(Uuid::nil()), SessionId::new(Uuid::max()));
        let out = asking.begin(one);
        asking.finished(other).await;
        let mut waiting = std::pin::pin!(asking.finished(one));
        tokio::select! {
            biased;
            () = &mut waiting => panic!("it did not wait"),
            () = tokio::task::yield_now() => (),
        }
        drop(out);
        waiting.await;
        asking.finished(one).await;
        assert!(asking.0.lock().is_empty());
    }
}
