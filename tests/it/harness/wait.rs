//! Waits that end: each has a deadline, and a failure that names the thing that did not happen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::harness::Vault;

/// The deadline of every wait. It only has to tell "late" from "never", so it is long enough for a
/// machine that is busy with other work.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The bounds of the pause between two looks at a condition. It is twice as long as a look, which may be
/// a process: the machine has other work meanwhile.
const TICK: Duration = Duration::from_millis(1);
const TICK_MAX: Duration = Duration::from_millis(50);

/// `many` in a run with `STRONGROOM_THOROUGH`, as `.ci/run` makes it, and `few` otherwise: for tests
/// that repeat a costly step, or wait for a deadline of the program in real time.
pub(crate) fn thorough<T>(few: T, many: T) -> T {
    if std::env::var_os("STRONGROOM_THOROUGH").is_some() { many } else { few }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        let looked = Instant::now();
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        // `park_timeout` in place of the banned `sleep`: this wait is for the condition above.
        thread::park_timeout((2 * looked.elapsed()).clamp(TICK, TICK_MAX));
    }
}

/// The same for a future.
pub(crate) async fn within<F: Future>(what: &str, work: F) -> F::Output {
    let output = tokio::time::timeout(PATIENCE, work).await;
    output.unwrap_or_else(|why| panic!("waited {PATIENCE:?} in vain: {what}: {why}"))
}

/// Waits for a condition that client threads bring about, and fails at once when all of them have
/// ended without it.
#[track_caller]
pub(crate) fn wait_for_clients<T>(
    what: &str,
    clients: &[ScopedJoinHandle<'_, T>],
    mut condition: impl FnMut() -> bool,
) {
    wait_until(what, || {
        let all_ended = clients.iter().all(ScopedJoinHandle::is_finished);
        // Looked at after the clients: the last one may have brought it about.
        let holds = condition();
        assert!(holds || !all_ended, "all clients ended before this: {what}");
        holds
    });
}

/// Sets a flag when dropped, also by a panic, so that the threads of a scope end and the test fails
/// in place of waiting for them.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills the server when dropped, also by a panic: clients that go on until it is gone then end.
pub(crate) struct KillOnDrop<'a>(pub(crate) &'a Vault);

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        self.0.signal("KILL");
    }
}
