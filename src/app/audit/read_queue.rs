//! The queue of audit entries of reads that are not written yet.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, Notify, oneshot};

use crate::bounds::AUDIT_QUEUE_MAX;
use crate::domain::audit::AuditEntry;
use crate::domain::id::TenantId;
use crate::store::{CommitFailure, Verdict};

/// The moment from which a read may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditReads {
    /// After its entry is queued.
    Batched,
    /// After its entry is durable.
    Strict,
}

#[derive(Debug)]
pub(in crate::app) struct ReadQueue {
    pub(super) mode: AuditReads,
    pub(super) sender: Sender<ReadNote>,
    pub(super) outbox: Mutex<Outbox>,
    /// True from the first queued entry until the flusher starts to empty the queue.
    pub(super) is_known: AtomicBool,
    pub(super) wake: Notify,
}

#[derive(Debug)]
pub(super) struct ReadNote {
    pub(super) tenant: TenantId,
    pub(super) entry: AuditEntry,
    /// True if a webhook wants to know of the read.
    pub(super) has_event: bool,
    /// Signalled when the entry is durable.
    pub(super) written: Option<oneshot::Sender<()>>,
}

/// The receiving end of the queue. Entries that were taken from the queue stay here until the
/// writer's verdict arrives, so that a cancelled flush loses neither entries nor their waiters.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) queue: Receiver<ReadNote>,
    pub(super) taken: Vec<ReadNote>,
    pub(super) handed: Option<SubmittedReads>,
}

/// Entries that were submitted to the writer.
pub(super) struct SubmittedReads {
    pub(super) verdict: Pin<Box<dyn Future<Output = Result<Verdict, CommitFailure>> + Send>>,
    pub(super) written: Vec<oneshot::Sender<()>>,
}

impl Outbox {
    /// Waits for the verdict on the submitted entries, then signals their waiters.
    pub(super) async fn hear(&mut self) -> Result<(), CommitFailure> {
        let Some(handed) = &mut self.handed else { return Ok(()) };
        let heard = handed.verdict.as_mut().await;
        let written = self.handed.take().map(|handed| handed.written);
        if let Err(failure) = heard {
            self.queue.close();
            return Err(failure);
        }
        for waiter in written.into_iter().flatten() {
            // Sending fails if the client has disconnected; then no task needs the signal.
            waiter.send(()).ok();
        }
        Ok(())
    }
}

impl fmt::Debug for SubmittedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handed")
    }
}

impl ReadQueue {
    pub(in crate::app) fn new(mode: AuditReads) -> Self {
        let (sender, queue) = channel(AUDIT_QUEUE_MAX);
        Self {
            mode,
            sender,
            outbox: Mutex::new(Outbox { queue, taken: Vec::new(), handed: None }),
            is_known: AtomicBool::new(false),
            wake: Notify::new(),
        }
    }

    /// The two ends of the signal that an entry is durable. Only strict mode waits for it.
    pub(super) fn waiter(&self) -> (Option<oneshot::Sender<()>>, Option<oneshot::Receiver<()>>) {
        match self.mode {
            AuditReads::Batched => (None, None),
            AuditReads::Strict => {
                let (written, wait) = oneshot::channel();
                (Some(written), Some(wait))
            }
        }
    }

    /// Wakes the flusher. Call this after queueing: the flusher clears the flag before it takes
    /// entries, so it misses none.
    pub(super) fn announce(&self) {
        if !self.is_known.swap(true, Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }
}
