//! A store without threads: the test runs each round of the writer and each merge, so that a run
//! repeats exactly.

use std::io;
use std::sync::Arc;

use crate::clock::Clock;
use crate::store::Store;
use crate::store::alarm::Alarm;
use crate::store::change::Change;
use crate::store::engine::local::{LocalEngine, Sizes};
use crate::store::failure::OpenFailure;
use crate::store::opening;
use crate::store::tests::disk::TestDisk;
use crate::store::writer::{Round, Writer};

/// A few batches fill a segment.
const SEGMENT_BYTES: u64 = 8 * 1024;

/// A store's writer. It runs on the test's thread, one round per call.
pub(crate) struct Stepper(Option<Writer>);

impl Stepper {
    /// Runs one round of the writer. Returns false if no job was queued, or if the writer has
    /// ended.
    pub(crate) fn step(&mut self) -> bool {
        let Some(writer) = &self.0 else { return false };
        let Ok(job) = writer.jobs.try_recv() else { return false };
        if writer.round(|_| job) == Round::Ended {
            // Queued changes are never answered, as with the thread.
            self.0 = None;
        }
        true
    }
}

/// Opens the store on this disk. An empty disk gets a new store with the rows of `first`.
pub(crate) fn open_stepped(
    disk: &TestDisk,
    clock: &Clock,
    first: impl FnOnce() -> Change,
) -> Result<(Store, Stepper), OpenFailure> {
    let (volume, alarm) = (disk.volume(), Alarm::default());
    if volume.open(Store::FILE)?.is_none() {
        opening::create(volume.as_ref(), first())?;
    }
    let sizes = Sizes { segment_bytes: SEGMENT_BYTES, ..Sizes::default() };
    let data = opening::open(volume.as_ref())?;
    let engine = LocalEngine::start_without_merger(&volume, data, (clock, &alarm), sizes);
    let engine = engine?;
    let (store, mut writers) = Store::assemble(Arc::new(engine), alarm, at_once)?;
    Ok((store, Stepper(writers.pop())))
}

#[expect(clippy::unnecessary_wraps, reason = "starting a thread can fail, this cannot")]
fn at_once(work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    work();
    Ok(())
}
