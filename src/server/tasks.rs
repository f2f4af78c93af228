//! Tasks that a drain waits for. Tasks are started only here.
//!
//! A drain has two steps: [`Tasks::stop`] asks every task to finish, [`Tasks::end`] drops those
//! that have not. Each task has its own child tokens, because a connection checks its token each
//! time it is woken: on a shared token all connections would take one lock.

use std::pin::Pin;
use std::task::Context;

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

/// A group of tasks that stop together.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stopped: CancellationToken,
    ended: CancellationToken,
}

impl Tasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task. When [`Tasks::end`] is called, it is dropped at its next await.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Boxed: each future that wraps another stores it, and a connection's is large. With one
        // type, the runtime's code for tasks is compiled once.
        self.spawn_boxed(Box::pin(work));
    }

    fn spawn_boxed(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let ended = self.ended.child_token();
        self.spawn_tracked(async move {
            ended.run_until_cancelled(work).await;
        });
    }

    /// Starts a task that the drain waits for but does not end: a stream ends with its connection.
    pub fn spawn_tracked(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.tracker.spawn(work));
    }

    /// A signal that wakes its task when a stop is requested.
    pub fn stop_signal(&self) -> StopSignal {
        StopSignal(Box::pin(self.stopped.child_token().cancelled_owned()))
    }

    pub fn stop(&self) {
        self.stopped.cancel();
    }

    pub fn end(&self) {
        self.stopped.cancel();
        self.ended.cancel();
    }

    #[cfg(test)]
    pub fn running(&self) -> usize {
        self.tracker.len()
    }

    /// Resolves when no task is left.
    pub async fn finished(&self) {
        // A tracker that is not closed also waits for future tasks.
        self.tracker.close();
        self.tracker.wait().await;
    }
}

#[derive(Debug)]
pub struct StopSignal(Pin<Box<WaitForCancellationFutureOwned>>);

impl StopSignal {
    /// Returns whether a stop was requested. If not, the task is woken when it is.
    pub fn poll_is_stopping(&mut self, cx: &mut Context<'_>) -> bool {
        self.0.as_mut().poll(cx).is_ready()
    }

    pub async fn stopping(&mut self) {
        self.0.as_mut().await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_stop_waits_for_a_task_that_finishes() {
        let tasks = Tasks::new();
        let (finish, wait) = oneshot::channel::<()>();
        let mut stop = tasks.stop_signal();
        tasks.spawn(async move {
            stop.stopping().await;
            wait.await.unwrap();
        });
        tasks.stop();
        assert_eq!(tasks.running(), 1);
        finish.send(()).unwrap();
        tasks.finished().await;
        assert_eq!(tasks.running(), 0);
    }

    #[tokio::test]
    async fn the_end_drops_a_task_that_does_not_finish() {
        let tasks = Tasks::new();
        let (held, dropped) = oneshot::channel::<()>();
        tasks.spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
        tasks.stop();
        tokio::task::yield_now().await;
        assert_eq!(tasks.running(), 1);
        tasks.end();
        tasks.finished().await;
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn a_panicking_task_is_counted_out() {
        let tasks = Tasks::new();
        tasks.spawn(async { std::panic::resume_unwind(Box::new(())) });
        tasks.finished().await;
        assert_eq!(tasks.running(), 0);
    }

    #[tokio::test]
    async fn a_task_started_after_the_end_does_not_run() {
        let tasks = Tasks::new();
        tasks.end();
        tasks.spawn(async { std::future::pending::<()>().await });
        tasks.finished().await;
    }
}
