//! One call: the vault's side of the socket to a worker.
//!
//! It reads while it writes, since a worker that sends a large request does not read meanwhile. A
//! message that a sound worker never sends ends the call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::app::Error;
use crate::app::programs::{
    FetchFailure, ProgramHost, ProgramOutcome, ProgramRequest, ProgramResponse, Stop, Thrown,
};
use crate::bounds::{
    CODE_FETCHES_IN_ALL_MAX, CODE_FETCHES_MAX, CODE_LINES_MAX, CODE_PACKAGES_BYTES_MAX,
    CODE_SMALL_FRAME_BYTES, CODE_SOURCES_MAX,
};
use crate::code::frames::{
    Confinement, FromWorker, HEAD_BYTES, ToWorker, WorkerCall, content_length,
};
use crate::code::outcome;
use crate::code::packages::Packages;
use crate::domain::shares::{Claimant, Shares};
use crate::secret::Secret;

const ANSWER_TOO_LARGE: &str = "The answer is too large";
const WAITS_FOR_EVER: &str = "The program waits for something that cannot happen";
const READ_BYTES: usize = 16 * 1024;

/// The memory of frames that arrive, and whose share of it this call uses.
#[derive(Debug, Clone, Copy)]
pub struct FrameBudget<'a> {
    pub shares: &'a Shares,
    pub claimant: Claimant,
}

pub struct Conversation<'a> {
    reader: FrameReceiver<'a>,
    writer: OwnedWriteHalf,
    outgoing: VecDeque<Outgoing<'a>>,
    /// Bytes of the first outgoing frame that are sent.
    sent: usize,
    host: &'a Arc<dyn ProgramHost>,
    packages: &'a Packages,
    fetches: Vec<Fetch<'a>>,
    fetches_in_all: usize,
    lines: usize,
    sources: usize,
    /// Bytes of the files that were sent.
    source_bytes: usize,
}

/// A frame that the worker has not read yet. A worker may be slow to read on purpose, so the memory
/// of large ones is counted too.
struct Outgoing<'a> {
    frame: Vec<u8>,
    _memory: Option<FrameMemory<'a>>,
}

type Answer = (u32, Result<ProgramResponse, FetchFailure>);
type Fetch<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// The reason that a call ended without an outcome.
pub enum Broken {
    /// The share of the tenant in the memory of frames is taken.
    NoMemory,
    /// The worker ended, or sent what a sound worker does not send.
    Worker,
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self::Worker
    }
}

/// Reads the first message of a worker: the walls around it.
pub async fn greeting(socket: UnixStream) -> Option<Confinement> {
    let shares = Shares::new(0);
    let claimant = Claimant::Stranger { address: [0, 0, 0, 0].into(), tenant: None };
    let (read, _write) = socket.into_split();
    let mut reader = FrameReceiver::new(read, FrameBudget { shares: &shares, claimant });
    match reader.next().await {
        Ok((FromWorker::Ready(confinement), _)) => Some(confinement),
        Ok(_) | Err(_) => None,
    }
}

impl<'a> Conversation<'a> {
    pub fn new(
        socket: UnixStream,
        host: &'a Arc<dyn ProgramHost>,
        packages: &'a Packages,
        budget: FrameBudget<'a>,
    ) -> Self {
        let (read, writer) = socket.into_split();
        Self {
            reader: FrameReceiver::new(read, budget),
            writer,
            outgoing: VecDeque::new(),
            sent: 0,
            host,
            packages,
            fetches: Vec::new(),
            fetches_in_all: 0,
            lines: 0,
            sources: 0,
            source_bytes: 0,
        }
    }

    /// Runs the call. The worker must be behind these walls. [`Error::Busy`] only before the program
    /// has started: callers repeat such a call.
    pub async fn run(
        mut self,
        call: WorkerCall,
        needed: Confinement,
    ) -> Result<ProgramOutcome, Error> {
        let ended = match self.greet(needed).await {
            Err(Broken::NoMemory) => return Err(Error::Busy),
            Err(Broken::Worker) => Err(Broken::Worker),
            Ok(()) => self.exchange(call).await,
        };
        Ok(match ended {
            Ok(outcome) => outcome,
            Err(Broken::NoMemory) => ProgramOutcome::Stopped(Stop::NoMemory),
            Err(Broken::Worker) => ProgramOutcome::Stopped(Stop::Died),
        })
    }

    async fn greet(&mut self, needed: Confinement) -> Result<(), Broken> {
        let (FromWorker::Ready(confinement), _) = self.reader.next().await? else {
            return Err(Broken::Worker);
        };
        if needed.landlock && !confinement.landlock || needed.seccomp && !confinement.seccomp {
            return Err(Broken::Worker);
        }
        Ok(())
    }

    async fn exchange(&mut self, call: WorkerCall) -> Result<ProgramOutcome, Broken> {
        let frame = ToWorker::Call(call).encode().or(Err(Broken::Worker))?;
        self.outgoing.push_back(Outgoing { frame, _memory: None });
        loop {
            let message = tokio::select! {
                message = self.reader.next() => message?,
                answer = next_answer(&mut self.fetches) => {
                    self.queue_answer(answer)?;
                    continue;
                }
                written = write_some(&mut self.writer, &self.outgoing, self.sent) => {
                    self.note_written(written?);
                    continue;
                }
            };
            if let Some(outcome) = self.take(message)? {
                return Ok(outcome);
            }
        }
    }

    fn take(
        &mut self,
        (message, memory): (FromWorker, FrameMemory<'a>),
    ) -> Result<Option<ProgramOutcome>, Broken> {
        match message {
            FromWorker::Ready(_) => return Err(Broken::Worker),
            FromWorker::Fetch { number, request } => self.fetch(number, request, memory)?,
            FromWorker::Line { level, text } => {
                self.lines = counted(self.lines, CODE_LINES_MAX)?;
                self.host.line(level, text);
            }
            FromWorker::Source { name } => {
                self.sources = counted(self.sources, CODE_SOURCES_MAX)?;
                self.check_under_way()?;
                let text = self.packages.file(&name);
                // A sound worker asks for each file once.
                self.source_bytes = self.source_bytes.saturating_add(text.map_or(0, str::len));
                if self.source_bytes > CODE_PACKAGES_BYTES_MAX {
                    return Err(Broken::Worker);
                }
                self.queue(&ToWorker::Source(text.map(String::from)))?;
            }
            FromWorker::Outcome(json) => return Ok(Some(outcome::read(json.expose()))),
            FromWorker::OutOfMemory => {
                return Ok(Some(ProgramOutcome::Stopped(Stop::OutOfMemory)));
            }
            FromWorker::ResultTooLarge => {
                return Ok(Some(ProgramOutcome::Stopped(Stop::ResultTooLarge)));
            }
            FromWorker::Forever => {
                let message = Secret::new(String::from(WAITS_FOR_EVER));
                return Ok(Some(ProgramOutcome::Threw(Thrown::Other { message })));
            }
        }
        Ok(None)
    }

    fn fetch(
        &mut self,
        number: u32,
        request: ProgramRequest,
        memory: FrameMemory<'a>,
    ) -> Result<(), Broken> {
        self.fetches_in_all = counted(self.fetches_in_all, CODE_FETCHES_IN_ALL_MAX)?;
        self.check_under_way()?;
        let host = self.host;
        self.fetches.push(Box::pin(async move {
            let answer = host.fetch(request).await;
            drop(memory);
            (number, answer)
        }));
        Ok(())
    }

    /// A sound worker has this many requests and one question under way, unread answers included.
    fn check_under_way(&self) -> Result<(), Broken> {
        let under_way = self.fetches.len().saturating_add(self.outgoing.len());
        if under_way > CODE_FETCHES_MAX { Err(Broken::Worker) } else { Ok(()) }
    }

    /// An answer that does not fit into a frame becomes a failure.
    fn queue_answer(&mut self, (number, answer): Answer) -> Result<(), Broken> {
        let answer = answer.map_err(|FetchFailure(why)| String::from(why));
        match self.queue(&ToWorker::Fetched { number, answer }) {
            Err(Broken::Worker) => {
                let answer = Err(String::from(ANSWER_TOO_LARGE));
                self.queue(&ToWorker::Fetched { number, answer })
            }
            queued => queued,
        }
    }

    fn queue(&mut self, message: &ToWorker) -> Result<(), Broken> {
        let frame = message.encode().or(Err(Broken::Worker))?;
        let memory = FrameMemory::take(self.reader.budget, frame.len())?;
        self.outgoing.push_back(Outgoing { frame, _memory: Some(memory) });
        Ok(())
    }

    fn note_written(&mut self, written: usize) {
        self.sent = self.sent.saturating_add(written);
        if self.outgoing.front().is_some_and(|it| self.sent >= it.frame.len()) {
            self.outgoing.pop_front();
            self.sent = 0;
        }
    }
}

/// One more, unless a sound worker has stopped before.
const fn counted(count: usize, most: usize) -> Result<usize, Broken> {
    if count < most { Ok(count.saturating_add(1)) } else { Err(Broken::Worker) }
}

/// Waits without an end if there is nothing to write. Nothing is lost if this is dropped.
async fn write_some(
    writer: &mut OwnedWriteHalf,
    outgoing: &VecDeque<Outgoing<'_>>,
    sent: usize,
) -> io::Result<usize> {
    match outgoing.front().and_then(|it| it.frame.get(sent..)) {
        Some(rest) => match writer.write(rest).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            written => Ok(written),
        },
        None => std::future::pending().await,
    }
}

/// The answer of the request that is done first. Waits without an end without a request.
async fn next_answer(fetches: &mut Vec<Fetch<'_>>) -> Answer {
    poll_fn(|context| {
        let polled = fetches.iter_mut().enumerate().find_map(|(index, fetch)| {
            match fetch.as_mut().poll(context) {
                Poll::Ready(answer) => Some((index, answer)),
                Poll::Pending => None,
            }
        });
        match polled {
            Some((index, answer)) => {
                drop(fetches.swap_remove(index));
                Poll::Ready(answer)
            }
            None => Poll::Pending,
        }
    })
    .await
}

/// Memory that a large frame takes until it is dealt with.
pub struct FrameMemory<'a> {
    budget: FrameBudget<'a>,
    bytes: usize,
}

impl<'a> FrameMemory<'a> {
    pub fn take(budget: FrameBudget<'a>, bytes: usize) -> Result<Self, Broken> {
        let bytes = if bytes > CODE_SMALL_FRAME_BYTES { bytes } else { 0 };
        if bytes > 0 && !budget.shares.take(budget.claimant, bytes) {
            return Err(Broken::NoMemory);
        }
        Ok(Self { budget, bytes })
    }
}

impl Drop for FrameMemory<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.shares.give_back(self.budget.claimant, self.bytes);
        }
    }
}

/// Reads whole frames. A frame that has arrived in part is kept if the wait for it is dropped.
struct FrameReceiver<'a> {
    socket: OwnedReadHalf,
    budget: FrameBudget<'a>,
    bytes: Vec<u8>,
    /// The length and the memory of the frame that arrives.
    arriving: Option<(usize, FrameMemory<'a>)>,
}

impl<'a> FrameReceiver<'a> {
    const fn new(socket: OwnedReadHalf, budget: FrameBudget<'a>) -> Self {
        Self { socket, budget, bytes: Vec::new(), arriving: None }
    }

    async fn next(&mut self) -> Result<(FromWorker, FrameMemory<'a>), Broken> {
        loop {
            if let Some(whole) = self.whole()? {
                return Ok(whole);
            }
            self.bytes.reserve(READ_BYTES);
            if self.socket.read_buf(&mut self.bytes).await? == 0 {
                return Err(Broken::Worker);
            }
        }
    }

    /// The first frame, if all of it is here.
    fn whole(&mut self) -> Result<Option<(FromWorker, FrameMemory<'a>)>, Broken> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        if self.arriving.is_none() {
            let length = content_length(*head).ok_or(Broken::Worker)?;
            self.arriving = Some((length, FrameMemory::take(self.budget, length)?));
        }
        let length = self.arriving.as_ref().map_or(0, |(length, _)| *length);
        let Some(content) = rest.get(..length) else { return Ok(None) };
        let message = FromWorker::decode(content).ok_or(Broken::Worker)?;
        self.bytes.drain(..length.saturating_add(HEAD_BYTES));
        self.bytes.shrink_to(READ_BYTES);
        let memory = self.arriving.take().map(|(_, memory)| memory).ok_or(Broken::Worker)?;
        Ok(Some((message, memory)))
    }
}
