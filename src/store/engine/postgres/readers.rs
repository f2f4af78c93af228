//! Reads of many requests in few statements.
//!
//! A thread takes all waiting reads and fetches their rows with one statement. The next reads
//! gather meanwhile. A read by itself would take two messages and a waiting thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tokio::sync::oneshot;

use crate::bounds::{DATABASE_READ_KEYS_MAX, DATABASE_READERS, DATABASE_READS_QUEUED_MAX};
use crate::lock::Lock;
use crate::store::engine::fetch::{Fetch, Fetched, Values};
use crate::store::engine::postgres::dial::Use;
use crate::store::engine::postgres::faults::{ENDED, Fault};
use crate::store::engine::postgres::prepared::PreparedClient;
use crate::store::engine::postgres::shared::Shared;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::tables::Table;

/// The threads end when this is dropped.
pub(super) struct Readers(SyncSender<Job>);

struct Job {
    places: Vec<(Table, Vec<u8>)>,
    reply: oneshot::Sender<Result<Values, StorageFailure>>,
}

struct Reader {
    shared: Arc<Shared>,
    session: Option<PreparedClient>,
}

const BUSY: &str = "too many reads wait for the database";
const REFUSED: &str = "the database refused a read";

impl Readers {
    pub(super) fn start(shared: &Arc<Shared>) -> Result<Self, OpenFailure> {
        let (sender, jobs) = sync_channel(DATABASE_READS_QUEUED_MAX);
        let jobs = Arc::new(Lock::new(jobs));
        for _ in 0..DATABASE_READERS {
            let jobs = Arc::clone(&jobs);
            let reader = Reader { shared: Arc::clone(shared), session: None };
            let thread = thread::Builder::new().name(String::from("database reads"));
            thread.spawn(move || reader.run(&jobs))?;
        }
        Ok(Self(sender))
    }
}

impl Fetch for Readers {
    fn fetch(&self, places: Vec<(Table, Vec<u8>)>) -> Fetched {
        let (reply, values) = oneshot::channel();
        let queued = self.0.try_send(Job { places, reply });
        Box::pin(async move {
            queued.or(Err(StorageFailure::Unavailable(BUSY)))?;
            values.await.unwrap_or(Err(StorageFailure::Unavailable(ENDED)))
        })
    }
}

impl Reader {
    fn run(mut self, jobs: &Lock<Receiver<Job>>) {
        while let Some(batch) = next(jobs) {
            // A panic must not cost the process its reader threads. It fails only its own batch:
            // `read` has taken the connection, and the replies are dropped.
            catch_unwind(AssertUnwindSafe(|| self.serve(batch))).ok();
        }
    }

    fn serve(&mut self, batch: Vec<Job>) {
        let places = batch.iter().flat_map(|job| &job.places);
        let keys: Vec<_> = places.map(|(table, key)| (*table, key.as_slice())).collect();
        match self.read(&keys) {
            Ok(values) => answer(batch, values),
            Err(fault) => refuse(batch, fault.failure()),
        }
    }

    /// Reads on this thread's connection, or on a new one if it has ended.
    fn read(&mut self, keys: &[(Table, &[u8])]) -> Result<Values, Fault> {
        if let Some(session) = self.session.take().filter(PreparedClient::is_open) {
            let values = ask(&session, keys);
            if !matches!(values, Err(Fault::Lost(_))) {
                self.session = Some(session);
                return values;
            }
        }
        let session = self.shared.connect(Use::Reading)?;
        let values = ask(&session, keys)?;
        self.session = Some(session);
        Ok(values)
    }
}

fn ask(session: &PreparedClient, keys: &[(Table, &[u8])]) -> Result<Values, Fault> {
    session.run(session.statements.get_many(&session.client, keys, None))
}

/// Blocks for the next job and takes all others that wait; `None` when the engine is dropped.
fn next(jobs: &Lock<Receiver<Job>>) -> Option<Vec<Job>> {
    let jobs = jobs.lock();
    let first = jobs.recv().ok()?;
    let mut keys = first.places.len();
    let mut batch = vec![first];
    while keys < DATABASE_READ_KEYS_MAX
        && let Ok(job) = jobs.try_recv()
    {
        keys = keys.saturating_add(job.places.len());
        batch.push(job);
    }
    Some(batch)
}

fn answer(batch: Vec<Job>, values: Values) {
    let mut values = values.into_iter();
    for Job { places, reply } in batch {
        let own = values.by_ref().take(places.len()).collect();
        // The client may have disconnected.
        reply.send(Ok(own)).ok();
    }
}

/// Answers with a failure. Only the first job gets a failure that ends the process.
fn refuse(batch: Vec<Job>, failure: StorageFailure) {
    let again = if let StorageFailure::Unavailable(why) = failure { why } else { REFUSED };
    let mut failure = Some(failure);
    for Job { reply, .. } in batch {
        let failure = failure.take().unwrap_or(StorageFailure::Unavailable(again));
        reply.send(Err(failure)).ok();
    }
}
