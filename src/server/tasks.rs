//! Tasks that a stop waits for. The only place that may start one.
//!
//! A stop has two steps: [`Tasks::stop`] asks, [`Tasks::end`] drops whatever has not finished.
//! Looking whether a stop was asked for costs one atomic load, since every connection looks each
//! time it is woken; the lock is taken when a task starts to watch and when it ends.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

/// A group of tasks that stop together.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Group>);

#[derive(Default)]
struct Group {
    phase: AtomicU8,
    running: AtomicUsize,
    empty: Notify,
    watchers: Mutex<Watchers>,
}

#[derive(Default)]
struct Watchers {
    next: u64,
    wakers: HashMap<u64, Waker>,
}

/// How far a stop has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Running,
    /// Finish what is begun, begin nothing.
    Stopping,
    /// Time is up.
    Ended,
}

impl Tasks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a task. When [`Tasks::end`] is called, it is dropped at its next await.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut watch = self.watch();
        // In memory of its own: a future within futures is stored by each of them, and a
        // connection's is large.
        let mut work = Box::pin(work);
        self.spawn_counted(async move {
            poll_fn(|cx| match watch.poll_phase(cx) {
                Phase::Running | Phase::Stopping => work.as_mut().poll(cx),
                Phase::Ended => Poll::Ready(()),
            })
            .await;
        });
    }

    /// Starts a task that is waited for, but that something else ends: a stream ends with its
    /// connection. It takes no lock.
    pub fn spawn_counted(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(Arc::clone(&self.0));
        #[expect(clippy::disallowed_methods, reason = "this is where tasks are counted")]
        drop(tokio::spawn(async move {
            let _running = running;
            work.await;
        }));
    }

    /// Something that is woken when the phase changes.
    pub fn watch(&self) -> Watch {
        Watch { group: Arc::clone(&self.0), registered: None }
    }

    /// Asks every task to finish.
    pub fn stop(&self) {
        self.0.enter(Phase::Stopping);
    }

    /// Drops every task that has not finished.
    pub fn end(&self) {
        self.0.enter(Phase::Ended);
    }

    /// How many tasks have not finished.
    pub fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }

    /// Resolves when no task is left.
    pub async fn finished(&self) {
        let mut empty = pin!(self.0.empty.notified());
        loop {
            // Registered before looking, so that a task that ends in between is not missed.
            empty.as_mut().enable();
            if self.running() == 0 {
                return;
            }
            empty.as_mut().await;
            empty.set(self.0.empty.notified());
        }
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running()).finish_non_exhaustive()
    }
}

impl Group {
    fn enter(&self, phase: Phase) {
        let wakers: Vec<Waker> = {
            let watchers = self.lock();
            self.phase.fetch_max(phase.number(), Ordering::SeqCst);
            watchers.wakers.values().cloned().collect()
        };
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    fn phase(&self) -> Phase {
        Phase::from_number(self.phase.load(Ordering::Acquire))
    }

    fn lock(&self) -> MutexGuard<'_, Watchers> {
        // Nothing in here panics half way, so a poisoned lock still guards whole data.
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    const fn number(self) -> u8 {
        match self {
            Self::Running => 0,
            Self::Stopping => 1,
            Self::Ended => 2,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Running,
            1 => Self::Stopping,
            _ => Self::Ended,
        }
    }
}

/// Counts a task for as long as it lives, however it ends.
struct Running(Arc<Group>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.empty.notify_waiters();
        }
    }
}

/// One task's view of the phase.
pub struct Watch {
    group: Arc<Group>,
    registered: Option<(u64, Waker)>,
}

impl Watch {
    /// The phase now; the task is woken when it changes.
    pub fn poll_phase(&mut self, cx: &mut Context<'_>) -> Phase {
        let same = self.registered.as_ref().is_some_and(|(_, waker)| waker.will_wake(cx.waker()));
        if !same {
            self.register(cx.waker());
        }
        self.group.phase()
    }

    /// Resolves when a stop is asked for.
    pub async fn stopping(&mut self) {
        poll_fn(|cx| match self.poll_phase(cx) {
            Phase::Running => Poll::Pending,
            Phase::Stopping | Phase::Ended => Poll::Ready(()),
        })
        .await;
    }

    /// The phase is read after this, under which order a change is either seen by that read or
    /// finds the waker here.
    fn register(&mut self, waker: &Waker) {
        let mut watchers = self.group.lock();
        let number = if let Some((number, _)) = self.registered {
            number
        } else {
            watchers.next = watchers.next.wrapping_add(1);
            watchers.next
        };
        watchers.wakers.insert(number, waker.clone());
        drop(watchers);
        self.registered = Some((number, waker.clone()));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((number, _)) = self.registered {
            self.group.lock().wakers.remove(&number);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("phase", &self.group.phase()).finish_non_exhaustive()
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
        let mut watch = tasks.watch();
        tasks.spawn(async move {
            watch.stopping().await;
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
    async fn a_panicking_task_is_counted_out_and_forgotten() {
        let tasks = Tasks::new();
        tasks.spawn(async { std::panic::resume_unwind(Box::new(())) });
        tasks.finished().await;
        assert!(tasks.0.lock().wakers.is_empty());
    }

    #[tokio::test]
    async fn a_task_started_after_the_end_does_not_run() {
        let tasks = Tasks::new();
        tasks.end();
        tasks.spawn(async { std::future::pending::<()>().await });
        tasks.finished().await;
    }
}
