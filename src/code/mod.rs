//! Programs of tenants, each call in a worker process of its own.
//!
//! A worker is this binary again (`strongroom code-worker`), with one socket and without rights. It
//! runs the engine, `QuickJS`; the vault serves what a program asks for: requests, files of packages.
//! The vault decides, and it trusts nothing that a worker says. Workers are copies of a process that
//! has started the engine ([`template`]). They are made before they are needed and used once, so
//! nothing of one call reaches another.
//!
//! - Node in a child process was considered and rejected: it needs executable memory, which the
//!   service does not have, reserves gigabytes of addresses, and takes 90 ms of a processor to start.
//! - `QuickJS` inside the vault was considered and rejected: an error in its C code would be an error
//!   of the process that holds the keys.

mod conversation;
mod frames;
mod library;
mod observe;
mod outcome;
mod packages;
mod pool;
mod priority;
mod template;
#[cfg(test)]
mod tests;
mod trace;
pub mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::app::programs::{
    ProgramCall, ProgramHost, ProgramOutcome, ProgramState, Programs, Running, Stop, VAULT_URL,
    Walls,
};
use crate::app::{Credential, Error, FairPool, Fault, Party};
use crate::bounds::{CODE_FRAMES_BYTES_MAX, CODE_START_MAX, CODE_TIMEOUT_MAX, CODE_WAITING_MAX};
use crate::domain::shares::{Claimant, Shares};

use self::conversation::{Conversation, FrameBudget, FrameMemory, greeting};
use self::frames::{Confinement, WorkerCall};
use self::observe::{End, Endings};
pub use self::packages::{LOCK_FILE, Packages};
use self::pool::{WorkerPlan, WorkerPool};
use self::priority::Priorities;
pub use self::trace::{TracePrinter, TracedPrograms};

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz {
    pub(crate) use super::frames::fuzz::messages;
    pub(crate) use super::packages::fuzz::locks;
}

/// The first argument of this binary when it is a worker.
pub const WORKER_COMMAND: &str = "code-worker";

const NO_LANDLOCK: &str = "the kernel of this server has no Landlock";
const NO_SECCOMP: &str = "the kernel of this server has no seccomp filters";
const NO_START: &str = "this server cannot start workers";

/// The filled arguments of a call are in memory as its caller has them, as the argument of the program
/// and as a frame.
const ARGUMENT_COPIES: usize = 3;

/// Everything that programs need to run.
#[derive(Debug)]
pub struct CodePlan {
    /// This program.
    pub binary: PathBuf,
    pub workers_max: usize,
    pub workers_warm: usize,
    pub memory_mib: u64,
    /// Run programs although the kernel lacks Landlock or seccomp.
    pub allow_without_sandbox: bool,
    pub packages: Packages,
}

/// Runs programs of tenants in worker processes.
pub struct ProgramsOnWorkers {
    /// If there are none, the state that says why.
    workers: Result<Workers, ProgramState>,
    endings: Endings,
}

struct Workers {
    pool: WorkerPool,
    places: FairPool,
    priorities: Priorities,
    /// The memory of frames between the vault and its workers.
    frames: Shares,
    packages: Packages,
    needed: Confinement,
    walls: Walls,
}

opaque_debug!(ProgramsOnWorkers);

impl ProgramsOnWorkers {
    /// The path by which the kernel starts this program again, also after an upgrade has replaced
    /// its file.
    pub const THIS_BINARY: &str = "/proc/self/exe";

    /// Without workers: every call is refused.
    pub fn switched_off() -> Self {
        Self { workers: Err(ProgramState::Off), endings: Endings::default() }
    }

    /// Starts the first workers and finds out whether the kernel can confine them.
    pub async fn start(plan: CodePlan) -> Self {
        let workers = Workers::start(plan).await.map_err(ProgramState::Refused);
        Self { workers, endings: Endings::default() }
    }

    async fn call(
        &self,
        call: ProgramCall,
        host: Arc<dyn ProgramHost>,
    ) -> Result<ProgramOutcome, Error> {
        let begun = Instant::now();
        let timeout = call.timeout.min(CODE_TIMEOUT_MAX);
        let deadline = begun.checked_add(timeout).unwrap_or(begun);
        let Ok(workers) = &self.workers else {
            return Err(Error::Internal(Fault::Impossible("a call of a program without workers")));
        };
        let party = Party { tenant: call.tenant, credential: call.credential };
        let budget = FrameBudget { shares: &workers.frames, claimant: claimant(&call, &*host) };
        // Counted before the wait, which holds the arguments.
        let bytes = call.argument.expose().len().saturating_mul(ARGUMENT_COPIES);
        let Ok(_arguments) = FrameMemory::take(budget, bytes) else {
            self.endings.note(End::Busy);
            return Err(Error::Busy);
        };
        let place = timeout_at(deadline, workers.places.permit(party)).await;
        // A call that got no worker in its time has not begun.
        let _place =
            place.unwrap_or(Err(Error::Busy)).inspect_err(|_| self.endings.note(End::Busy))?;
        self.endings.note_wait(begun.elapsed());
        let running = timeout_at(deadline, workers.converse(call, &host, budget, deadline)).await;
        let ended = running.unwrap_or(Ok(ProgramOutcome::Stopped(Stop::TimedOut)));
        self.endings.note(End::of(&ended));
        ended
    }
}

impl Workers {
    async fn start(plan: CodePlan) -> Result<Self, &'static str> {
        let needs = !plan.allow_without_sandbox;
        let pool = WorkerPool::start(WorkerPlan {
            binary: plan.binary,
            memory_mib: plan.memory_mib,
            warm: plan.workers_warm,
        });
        let workers = Self {
            pool: pool.or(Err(NO_START))?,
            places: FairPool::for_long_work(plan.workers_max, CODE_WAITING_MAX),
            priorities: Priorities::new(),
            frames: Shares::new(CODE_FRAMES_BYTES_MAX),
            packages: plan.packages,
            needed: Confinement { landlock: needs, seccomp: needs },
            walls: Walls { landlock: false, seccomp: false },
        };
        match workers.try_one().await {
            None => Err(NO_START),
            Some(Confinement { seccomp: false, .. }) if needs => Err(NO_SECCOMP),
            Some(Confinement { landlock: false, .. }) if needs => Err(NO_LANDLOCK),
            Some(Confinement { landlock, seccomp }) => {
                Ok(Self { walls: Walls { landlock, seccomp }, ..workers })
            }
        }
    }

    async fn try_one(&self) -> Option<Confinement> {
        let mut worker = self.pool.take().await.ok()?;
        let socket = worker.socket().ok()?;
        timeout(CODE_START_MAX, greeting(socket)).await.ok()?
    }

    async fn converse(
        &self,
        call: ProgramCall,
        host: &Arc<dyn ProgramHost>,
        budget: FrameBudget<'_>,
        deadline: Instant,
    ) -> Result<ProgramOutcome, Error> {
        let ProgramCall { tenant, code, contract, argument, key, .. } = call;
        // The worker ends with this variable, whatever happens to this future.
        let Ok(mut worker) = self.pool.take().await else { return Err(Error::Busy) };
        let Ok(socket) = worker.socket() else { return Err(Error::Busy) };
        let conversation = Conversation::new(socket, host, &self.packages, budget);
        let left = deadline.saturating_duration_since(Instant::now());
        let call = WorkerCall {
            code,
            contract,
            argument,
            key,
            base_url: String::from(VAULT_URL),
            timeout_ms: millis(left),
        };
        let turn = self.priorities.begin(tenant, &worker);
        tokio::select! {
            ended = conversation.run(call, self.needed) => ended,
            never = turn.keep() => match never {},
        }
    }
}

fn claimant(call: &ProgramCall, host: &dyn ProgramHost) -> Claimant {
    let tenant = call.tenant;
    match call.credential {
        Credential::Secret => Claimant::Keyed(tenant),
        Credential::Public => {
            Claimant::Stranger { address: host.caller_address(), tenant: Some(tenant) }
        }
    }
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

impl Programs for ProgramsOnWorkers {
    fn run(&self, call: ProgramCall, host: Arc<dyn ProgramHost>) -> Running<'_> {
        Box::pin(self.call(call, host))
    }

    fn state(&self) -> ProgramState {
        match &self.workers {
            Ok(workers) => ProgramState::Runs(workers.walls),
            Err(state) => *state,
        }
    }
}
