//! Worker processes: started by one thread, kept warm, ended and reaped.
//!
//! The kernel ends a worker with the thread that started it, so one thread starts all of them and
//! lives as long as the pool. The start uses `posix_spawn`, whose cost does not grow with the memory
//! of the vault.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use tokio::sync::oneshot;

use crate::code::WORKER_COMMAND;
use crate::lock::Lock;
use crate::metrics::Counter;

/// The whole environment of a worker: its allocator reserves no memory ahead, which the limit of
/// the worker's data would not allow, and uses no large pages, of which a small worker needs few.
const ALLOCATOR: [(&str, &str); 2] = [("MIMALLOC_ARENA_RESERVE", "0"), ("MIMALLOC_ALLOW_THP", "0")];

/// Requests to the vault come first when processors are scarce.
const NICENESS: i32 = 10;
/// The most that the kernel has.
const NICENESS_MAX: i32 = 19;

/// The binary and the size of workers, and their number ahead of calls.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    pub binary: PathBuf,
    pub memory_mib: u64,
    /// Workers that wait for a call.
    pub warm: usize,
}

#[derive(Debug)]
pub struct WorkerPool {
    warm: Arc<Lock<VecDeque<Worker>>>,
    started: Arc<Counter>,
    orders: Sender<Order>,
}

enum Order {
    /// Fill the warm ones up.
    Fill,
    Start(oneshot::Sender<io::Result<Worker>>),
}

/// One process. Dropping it ends the process.
#[derive(Debug)]
pub struct Worker {
    /// None only while it is dropped.
    child: Option<Child>,
    socket: Option<UnixStream>,
    dead: Sender<Child>,
}

impl WorkerPool {
    pub fn start(plan: WorkerPlan) -> io::Result<Self> {
        let (dead, reaped) = mpsc::channel::<Child>();
        let reap = move || {
            for mut child in reaped {
                // It was killed. A failure means that it is gone already.
                child.wait().ok();
            }
        };
        std::thread::Builder::new().name(String::from("code-reaper")).spawn(reap)?;
        let warm: Arc<Lock<VecDeque<Worker>>> = Arc::default();
        let started: Arc<Counter> = Arc::default();
        let (orders, taken) = mpsc::channel();
        let launcher =
            Starter { plan, dead, warm: Arc::clone(&warm), started: Arc::clone(&started) };
        let serve = move || launcher.serve(&taken);
        std::thread::Builder::new().name(String::from("code-starter")).spawn(serve)?;
        let pool = Self { warm, started, orders };
        pool.orders.send(Order::Fill).ok();
        Ok(pool)
    }

    /// A worker that has run nothing: a warm one, or one that is started now.
    pub async fn take(&self) -> io::Result<Worker> {
        let ended = || io::Error::from(io::ErrorKind::BrokenPipe);
        loop {
            let warm = self.warm.lock().pop_front();
            let Some(mut worker) = warm else { break };
            self.orders.send(Order::Fill).ok();
            // The kernel may have ended it for its memory.
            if worker.is_alive() {
                return Ok(worker);
            }
        }
        let (given, worker) = oneshot::channel();
        self.orders.send(Order::Start(given)).or(Err(ended()))?;
        self.orders.send(Order::Fill).ok();
        worker.await.or(Err(ended()))?
    }

    pub fn warm(&self) -> usize {
        self.warm.lock().len()
    }

    pub fn started(&self) -> u64 {
        self.started.get()
    }
}

struct Starter {
    plan: WorkerPlan,
    dead: Sender<Child>,
    warm: Arc<Lock<VecDeque<Worker>>>,
    started: Arc<Counter>,
}

impl Starter {
    fn serve(&self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Start(given) => {
                    // The call may be over already: the worker is then ended by its drop.
                    drop(given.send(self.start()));
                }
                Order::Fill => self.fill(orders),
            }
        }
        // Without this the warm ones would live until the process ends.
        self.warm.lock().clear();
    }

    /// Calls that wait for a worker go first.
    fn fill(&self, orders: &Receiver<Order>) {
        while self.warm.lock().len() < self.plan.warm {
            while let Ok(order) = orders.try_recv() {
                match order {
                    Order::Start(given) => drop(given.send(self.start())),
                    Order::Fill => (),
                }
            }
            // The next call tries again and gets the error.
            let Ok(worker) = self.start() else { return };
            self.warm.lock().push_back(worker);
        }
    }

    fn start(&self) -> io::Result<Worker> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&self.plan.binary)
            .arg0("strongroom")
            .arg(WORKER_COMMAND)
            .arg(std::process::id().to_string())
            .arg(self.plan.memory_mib.to_string())
            .env_clear()
            .envs(ALLOCATOR)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.started.add(1);
        let worker = Worker { child: Some(child), socket: Some(ours), dead: self.dead.clone() };
        worker.be_nice(1);
        Ok(worker)
    }
}

impl Worker {
    /// The socket, once.
    pub fn socket(&mut self) -> io::Result<tokio::net::UnixStream> {
        let socket = self.socket.take().ok_or(io::ErrorKind::NotConnected)?;
        tokio::net::UnixStream::from_std(socket)
    }

    /// Lowers the priority of this worker with each further worker of its tenant, so that a tenant
    /// with many programs does not take the processors from one with a few. If the kernel or a
    /// filter refuses this, programs still run, and share the processors unequally.
    pub fn be_nice(&self, workers_of_tenant: usize) {
        let further = i32::try_from(workers_of_tenant.saturating_sub(1)).unwrap_or(i32::MAX);
        let niceness = NICENESS.saturating_add(further).min(NICENESS_MAX);
        let pid = self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            rustix::process::setpriority_process(Some(pid), niceness).ok();
        }
    }

    fn is_alive(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Fails only if it has ended and was reaped.
        child.kill().ok();
        if let Err(mpsc::SendError(mut child)) = self.dead.send(child) {
            child.wait().ok();
        }
    }
}
