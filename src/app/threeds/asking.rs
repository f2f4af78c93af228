//! Sessions whose request is out. A result may overtake the answer to the request that it belongs
//! to; whoever brings one waits here until the answer is kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::domain::id::SessionId;

/// As many entries as there are requests under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Asking(Arc<Mutex<HashMap<SessionId, watch::Receiver<()>>>>);

/// Held while a request is out.
#[derive(Debug)]
pub(super) struct Out {
    session: SessionId,
    asking: Asking,
    /// Dropped with this, which is what the others wait for.
    _done: watch::Sender<()>,
}

impl Asking {
    pub(super) fn begin(&self, session: SessionId) -> Out {
        let (done, waiting) = watch::channel(());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session, waiting);
        Out { session, asking: self.clone(), _done: done }
    }

    /// At once, unless a request of this session is out.
    pub(super) async fn finished(&self, session: SessionId) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
        if let Some(mut waiting) = waiting {
            while waiting.changed().await.is_ok() {}
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let mut asking = self.asking.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        assert!(asking.0.lock().unwrap().is_empty());
    }
}
