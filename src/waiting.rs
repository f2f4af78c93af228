//! Waits with a deadline, for the unit tests of every room: a failure names the thing that did not
//! happen. And how thorough a run is.

use std::future::Future;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The deadline of every wait. It only has to tell "late" from "never", so it is long enough for a
/// machine that is busy with other work.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The deadline of a whole test: longer than any of them takes without optimisation.
pub(crate) const TEST_MAX: Duration = Duration::from_mins(15);

/// `many` in a run with `STRONGROOM_THOROUGH`, as `.ci/run` makes it, and `few` otherwise: for tests
/// that repeat a costly step.
pub(crate) fn thorough<T>(few: T, many: T) -> T {
    if std::env::var_os("STRONGROOM_THOROUGH").is_some() { many } else { few }
}

/// The directory for temporary files. In memory where there is room: on a disk the tests wait for
/// `fsync` longer than they compute, and no test can lose the power.
pub(crate) fn scratch() -> PathBuf {
    const ROOM_MIN: u64 = 1 << 30;
    let memory = PathBuf::from("/dev/shm");
    let room = rustix::fs::statvfs(&memory).map_or(0, |it| it.f_bavail * it.f_frsize);
    if room >= ROOM_MIN { memory } else { std::env::temp_dir() }
}

/// The output of a future.
pub(crate) async fn within<F: Future>(what: &str, work: F) -> F::Output {
    let output = tokio::time::timeout(PATIENCE, work).await;
    output.unwrap_or_else(|why| panic!("waited {PATIENCE:?} in vain: {what}: {why}"))
}

/// Looks at the condition until it holds, and lets other tasks run in between.
pub(crate) async fn wait_until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    within(what, looking).await;
}

/// Steps that must come to an end by themselves: each is counted against a bound, since a step that
/// never waits would not let a deadline fire.
#[track_caller]
pub(crate) fn steps(what: &'static str) -> impl Iterator<Item = usize> {
    const STEPS_MAX: usize = 100_000;
    (0..=STEPS_MAX).inspect(move |step| assert!(*step < STEPS_MAX, "no end after {step}: {what}"))
}

/// The next message of a channel.
#[track_caller]
pub(crate) fn receive<T>(what: &str, receiver: &Receiver<T>) -> T {
    match receiver.recv_timeout(PATIENCE) {
        Ok(message) => message,
        Err(why) => panic!("waited for {what}: {why}"),
    }
}

/// Runs the future of a whole test.
#[track_caller]
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let output = runtime.block_on(async { tokio::time::timeout(TEST_MAX, future).await });
    output.unwrap_or_else(|why| panic!("waited {TEST_MAX:?} in vain for this test: {why}"))
}
