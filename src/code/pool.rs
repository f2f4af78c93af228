//! Worker processes: made by one thread, kept warm, ended.
//!
//! The kernel ends a template with the thread that started it, and workers with their template, so one
//! thread starts all templates and lives as long as the pool.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use nix::time::{clock_getcpuclockid, clock_gettime};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal, setpriority_process};
use scheduler::{Policy, set_policy};
use tokio::sync::oneshot;

use crate::bounds::{CODE_COPY_MAX, CODE_TEMPLATE_COPIES_MAX};
pub use crate::code::template::WorkerPlan;
use crate::code::template::{Template, WorkerCopy};
use crate::lock::Lock;
use crate::metrics::Counter;

/// Requests to the vault come first when processors are scarce. The service may not go below this.
const NICENESS: i32 = 10;
/// The most that the kernel has, where it refuses the background.
const NICENESS_MAX: i32 = 19;
/// While templates end, the reaper looks this often.
const REAP_EVERY: Duration = Duration::from_millis(200);

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
    id: Pid,
    process: OwnedFd,
    socket: Option<UnixStream>,
    /// It reaps this worker, and the kernel would end this worker with it.
    _template: Arc<Template>,
}

/// The kernel scheduler's treatment of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// As a worker starts.
    Low,
    /// Only when a processor is free.
    Idle,
}

impl WorkerPool {
    pub fn start(plan: WorkerPlan) -> io::Result<Self> {
        let (ended, templates) = mpsc::channel();
        let reap = move || reap_templates(&templates);
        std::thread::Builder::new().name(String::from("code-reaper")).spawn(reap)?;
        let warm: Arc<Lock<VecDeque<Worker>>> = Arc::default();
        let started: Arc<Counter> = Arc::default();
        let (orders, taken) = mpsc::channel();
        let mut maker = WorkerMaker {
            plan,
            ended,
            template: None,
            copies_left: 0,
            warm: Arc::clone(&warm),
            started: Arc::clone(&started),
        };
        let serve = move || maker.serve(&taken);
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
            let Some(worker) = warm else { break };
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

struct WorkerMaker {
    plan: WorkerPlan,
    ended: Sender<Child>,
    template: Option<Arc<Template>>,
    copies_left: usize,
    warm: Arc<Lock<VecDeque<Worker>>>,
    started: Arc<Counter>,
}

impl WorkerMaker {
    fn serve(&mut self, orders: &Receiver<Order>) {
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
    fn fill(&mut self, orders: &Receiver<Order>) {
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

    fn start(&mut self) -> io::Result<Worker> {
        // The second try has a new template.
        self.copy().or_else(|_| self.copy())
    }

    fn copy(&mut self) -> io::Result<Worker> {
        if self.copies_left == 0 {
            self.template = None;
        }
        let template = if let Some(template) = self.template.take() {
            template
        } else {
            self.copies_left = CODE_TEMPLATE_COPIES_MAX;
            Arc::new(Template::start(&self.plan, self.ended.clone())?)
        };
        let WorkerCopy { id, process, socket } = template.copy()?;
        // Only a template that did not fail is asked again.
        self.template = Some(Arc::clone(&template));
        self.copies_left = self.copies_left.saturating_sub(1);
        self.started.add(1);
        let worker = Worker { id, process, socket: Some(socket), _template: template };
        // If a filter of the system refuses this, programs still run.
        if worker.is_alive() {
            setpriority_process(Some(id), NICENESS).ok();
        }
        Ok(worker)
    }
}

impl Worker {
    /// The socket, once.
    pub fn socket(&mut self) -> io::Result<tokio::net::UnixStream> {
        let socket = self.socket.take().ok_or(io::ErrorKind::NotConnected)?;
        tokio::net::UnixStream::from_std(socket)
    }

    /// False if the system refuses that.
    pub fn set_rank(&self, rank: Rank) -> bool {
        // The number of a worker that has ended may belong to another process.
        if !self.is_alive() {
            return false;
        }
        let has = |niceness| setpriority_process(Some(self.id), niceness).is_ok();
        let is_under = |policy| set_policy(self.number(), policy, 0).is_ok();
        match rank {
            Rank::Low => has(NICENESS) && is_under(Policy::Other),
            Rank::Idle => is_under(Policy::Idle) || has(NICENESS_MAX),
        }
    }

    /// Lets this worker go on, or stops it.
    pub fn go_on(&self, goes_on: bool) {
        let signal = if goes_on { Signal::CONT } else { Signal::STOP };
        // Fails only if it has ended.
        pidfd_send_signal(&self.process, signal).ok();
    }

    /// True if it wants a processor now. The state follows the name, which is in parentheses.
    pub fn is_computing(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.number()));
        stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R')))
    }

    /// None if it has ended.
    pub fn processor_time(&self) -> Option<Duration> {
        let clock = clock_getcpuclockid(nix::unistd::Pid::from_raw(self.number())).ok()?;
        clock_gettime(clock).ok().map(Duration::from)
    }

    const fn number(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }

    /// The descriptor of a process can be read when it has ended.
    fn is_alive(&self) -> bool {
        let mut polled = [PollFd::new(&self.process, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut polled, Some(&now)), Ok(0))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Fails only if it has ended.
        pidfd_send_signal(&self.process, Signal::KILL).ok();
    }
}

/// Reaps templates, which end by themselves, and kills those that do not.
fn reap_templates(ended: &Receiver<Child>) {
    let mut ending: Vec<(Child, Instant)> = Vec::new();
    loop {
        let wait = if ending.is_empty() { Duration::MAX } else { REAP_EVERY };
        match ended.recv_timeout(wait) {
            Ok(child) => ending.push((child, Instant::now())),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) if ending.is_empty() => return,
            // The pool is gone: no template is to outlive it.
            Err(RecvTimeoutError::Disconnected) => {
                for (child, _) in &mut ending {
                    child.kill().ok();
                    child.wait().ok();
                }
                return;
            }
        }
        ending.retain_mut(|(child, since)| {
            if since.elapsed() > CODE_COPY_MAX {
                child.kill().ok();
            }
            matches!(child.try_wait(), Ok(None))
        });
    }
}
