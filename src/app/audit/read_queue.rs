//! The queue of reads on their way into the audit chain.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, Notify, oneshot};

use crate::bounds::AUDIT_QUEUE_MAX;
use crate::domain::audit::AuditEntry;
use crate::domain::id::TenantId;
use crate::store::{CommitFailure, Verdict};

/// When a read is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditReads {
    /// When its entry has a place in the queue.
    Batched,
    /// When its entry is durable.
    Strict,
}

#[derive(Debug)]
pub(in crate::app) struct ReadQueue {
    pub(super) mode: AuditReads,
    pub(super) sender: Sender<ReadNote>,
    pub(super) outbox: Mutex<Outbox>,
    /// Whether the flusher knows that there is something.
    pub(super) is_known: AtomicBool,
    pub(super) wake: Notify,
}

#[derive(Debug)]
pub(super) struct ReadNote {
    pub(super) tenant: TenantId,
    pub(super) entry: AuditEntry,
    /// Told when the entry is durable.
    pub(super) written: Option<oneshot::Sender<()>>,
}

/// The queue's other end. What was taken out of it stays here until the writer has said what became
/// of it, so that a flush that is cut off loses neither entries nor those who wait for them.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) queue: Receiver<ReadNote>,
    pub(super) taken: Vec<ReadNote>,
    pub(super) handed: Option<SubmittedReads>,
}

/// Entries that are the writer's now.
pub(super) struct SubmittedReads {
    pub(super) verdict: Pin<Box<dyn Future<Output = Result<Verdict, CommitFailure>> + Send>>,
    pub(super) written: Vec<oneshot::Sender<()>>,
}

impl Outbox {
    /// Hears what became of the entries that the writer has, and tells those who wait for them.
    pub(super) async fn hear(&mut self) -> Result<(), CommitFailure> {
        let Some(handed) = &mut self.handed else { return Ok(()) };
        let heard = handed.verdict.as_mut().await;
        let written = self.handed.take().map(|handed| handed.written);
        if let Err(failure) = heard {
            self.queue.close();
            return Err(failure);
        }
        for waiter in written.into_iter().flatten() {
            // Whoever has gone does not need to know.
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

    /// Who is told that an entry is durable, where someone waits for it.
    pub(super) fn waiter(&self) -> (Option<oneshot::Sender<()>>, Option<oneshot::Receiver<()>>) {
        match self.mode {
            AuditReads::Batched => (None, None),
            AuditReads::Strict => {
                let (written, wait) = oneshot::channel();
                (Some(written), Some(wait))
            }
        }
    }

    /// Queued before, known after: the flusher forgets before it takes, and so misses nothing.
    pub(super) fn announce(&self) {
        if !self.is_known.swap(true, Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }
}
