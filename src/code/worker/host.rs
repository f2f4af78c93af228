//! The functions that the library gets from the worker. Programs cannot reach them.

use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::{Array, Ctx, Exception, Function, IntoJs as _, Object, Promise, TypedArray, Value};

use crate::app::programs::{LineLevel, ProgramRequest, ProgramResponse};
use crate::bounds::{
    CODE_FETCH_BODY_BYTES_MAX, CODE_FETCH_HEADERS_MAX, CODE_FETCHES_IN_ALL_MAX, CODE_FETCHES_MAX,
    CODE_FRAME_BYTES_MAX, CODE_LINE_BYTES_MAX, CODE_LINES_MAX, CODE_PACKAGE_NAME_BYTES_MAX,
    CODE_RANDOM_BYTES_MAX, CODE_SOURCES_MAX, CODE_TIMEOUT_MAX, CODE_TIMERS_MAX,
};
use crate::clock::Clock;
use crate::code::frames::{FromWorker, ToWorker};
use crate::code::library;
use crate::code::worker::bytes::BytesReader;
use crate::code::worker::crypto;
use crate::code::worker::engine::script;
use crate::code::worker::link::{Link, Received};
use crate::crypto::Random;
use crate::secret::Secret;

const TOO_MANY_REQUESTS: &str = "The program has sent too many requests";
const REQUEST_TOO_LARGE: &str = "The request is too large";
const TOO_MANY_TIMERS: &str = "The program has set too many timers";

/// The state of one call.
pub struct Host<'js, S> {
    link: Link<S>,
    bytes: BytesReader<'js>,
    clock: Clock,
    /// Set when the call begins: copies of a process that had drawn would draw the same.
    random: OnceCell<Random>,
    /// Requests under way, by number: the functions that settle their promises.
    fetches: RefCell<BTreeMap<u32, Settlement<'js>>>,
    /// Frames of requests that wait until others are answered, and their bytes.
    waiting: RefCell<VecDeque<Vec<u8>>>,
    waiting_bytes: Cell<usize>,
    sent: Cell<usize>,
    timers: RefCell<BinaryHeap<Reverse<(Instant, usize)>>>,
    timer_ends: RefCell<BTreeMap<usize, Function<'js>>>,
    timers_set: Cell<usize>,
    lines: Cell<usize>,
    /// Files that were asked for.
    sources: Cell<usize>,
    /// Answers that arrived while the worker waited for a file.
    early: RefCell<VecDeque<ToWorker>>,
}

struct Settlement<'js> {
    resolve: Function<'js>,
    reject: Function<'js>,
}

impl<'js, S: AsFd> Host<'js, S> {
    pub fn new(ctx: &Ctx<'js>, link: Link<S>) -> rquickjs::Result<Self> {
        Ok(Self {
            link,
            bytes: BytesReader::new(ctx)?,
            clock: Clock::new(),
            random: OnceCell::new(),
            fetches: RefCell::default(),
            waiting: RefCell::default(),
            waiting_bytes: Cell::new(0),
            sent: Cell::new(0),
            timers: RefCell::default(),
            timer_ends: RefCell::default(),
            timers_set: Cell::new(0),
            lines: Cell::new(0),
            sources: Cell::new(0),
            early: RefCell::default(),
        })
    }

    /// This process is a worker now.
    pub fn begin(&self) -> io::Result<()> {
        self.random.set(Random::new()).or(Err(io::ErrorKind::AlreadyExists.into()))
    }

    pub fn send(&self, message: &FromWorker) -> io::Result<()> {
        self.link.send(message)
    }

    pub fn receive(&self, wait: Option<Duration>) -> io::Result<Received> {
        match self.early.borrow_mut().pop_front() {
            Some(message) => Ok(Received::Message(message)),
            None => self.link.receive(wait),
        }
    }

    /// Waits for the next answer or timer and settles its promise. False if neither can come.
    pub fn turn(&self, ctx: &Ctx<'js>) -> io::Result<bool> {
        let now = Instant::now();
        let next = self.timers.borrow().peek().map(|Reverse((due, _))| *due);
        let is_waiting = !self.fetches.borrow().is_empty();
        if next.is_none() && !is_waiting {
            return Ok(false);
        }
        let wait = next.map(|due| due.saturating_duration_since(now));
        match self.receive(wait)? {
            Received::Message(ToWorker::Fetched { number, answer }) => {
                self.settle(ctx, number, answer)?;
            }
            Received::Message(ToWorker::Call(_) | ToWorker::Source(_)) => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            Received::Nothing => (),
            Received::End => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.end_timers();
        Ok(true)
    }

    /// One timer a turn, so that the promises of one are done before the next, as programs expect.
    fn end_timers(&self) {
        let now = Instant::now();
        let is_due = self.timers.borrow().peek().is_some_and(|Reverse((due, _))| *due <= now);
        let due = is_due.then(|| self.timers.borrow_mut().pop()).flatten();
        let end = due.and_then(|Reverse((_, number))| self.timer_ends.borrow_mut().remove(&number));
        if let Some(end) = end {
            // It only marks a promise as settled. If there is no memory for that, the program waits
            // until its deadline.
            end.call::<_, ()>(()).ok();
        }
    }

    fn settle(
        &self,
        ctx: &Ctx<'js>,
        number: u32,
        answer: Result<ProgramResponse, String>,
    ) -> io::Result<()> {
        let settlement = self.fetches.borrow_mut().remove(&number);
        let Settlement { resolve, reject } = settlement.ok_or(io::ErrorKind::InvalidData)?;
        let rejected = |message: &str| {
            Exception::from_message(ctx.clone(), message)
                .and_then(|error| reject.call::<_, ()>((error,)))
        };
        let settled = match answer {
            Ok(response) => match response_object(ctx, &response) {
                Ok(object) => resolve.call::<_, ()>((object,)),
                Err(_) => rejected("out of memory"),
            },
            Err(message) => rejected(&message),
        };
        settled.ok();
        let next = self.waiting.borrow_mut().pop_front();
        if let Some(frame) = next {
            self.waiting_bytes.set(self.waiting_bytes.get().saturating_sub(frame.len()));
            self.link.send_frame(&frame)?;
        }
        Ok(())
    }

    fn fetch(&self, ctx: &Ctx<'js>, request: &Object<'js>) -> rquickjs::Result<Promise<'js>> {
        let (promise, resolve, reject) = ctx.promise()?;
        let request = read_request(ctx, &self.bytes, request)?;
        let sent = self.sent.get();
        if sent >= CODE_FETCHES_IN_ALL_MAX {
            return Err(Exception::throw_message(ctx, TOO_MANY_REQUESTS));
        }
        let number = u32::try_from(sent).unwrap_or(u32::MAX);
        let frame = FromWorker::Fetch { number, request };
        let frame = frame.encode();
        let Ok(frame) = frame else {
            return Err(Exception::throw_message(ctx, REQUEST_TOO_LARGE));
        };
        let is_full = self.fetches.borrow().len() >= CODE_FETCHES_MAX;
        if is_full {
            let bytes = self.waiting_bytes.get().saturating_add(frame.len());
            if bytes > CODE_FRAME_BYTES_MAX {
                return Err(Exception::throw_message(ctx, TOO_MANY_REQUESTS));
            }
            self.waiting_bytes.set(bytes);
            self.waiting.borrow_mut().push_back(frame);
        } else {
            self.link.send_frame(&frame)?;
        }
        self.sent.set(sent.saturating_add(1));
        self.fetches.borrow_mut().insert(number, Settlement { resolve, reject });
        Ok(promise)
    }

    fn wait(&self, ctx: &Ctx<'js>, millis: f64) -> rquickjs::Result<Promise<'js>> {
        if self.timer_ends.borrow().len() >= CODE_TIMERS_MAX {
            return Err(Exception::throw_message(ctx, TOO_MANY_TIMERS));
        }
        let longest = CODE_TIMEOUT_MAX.as_secs_f64();
        let seconds = millis / 1_000.0;
        // Also for a time that is not a number.
        let seconds = if seconds >= 0.0 { seconds.min(longest) } else { 0.0 };
        let now = Instant::now();
        let due = now.checked_add(Duration::from_secs_f64(seconds)).unwrap_or(now);
        let (promise, resolve, _) = ctx.promise()?;
        let number = self.timers_set.get();
        self.timers_set.set(number.wrapping_add(1));
        self.timer_ends.borrow_mut().insert(number, resolve);
        self.timers.borrow_mut().push(Reverse((due, number)));
        Ok(promise)
    }

    fn log(&self, level: &str, mut text: String) -> io::Result<()> {
        let level = LineLevel::parse(level).unwrap_or(LineLevel::Info);
        let lines = self.lines.get();
        if lines >= CODE_LINES_MAX {
            return Ok(());
        }
        self.lines.set(lines.saturating_add(1));
        if text.len() > CODE_LINE_BYTES_MAX {
            text.truncate(text.floor_char_boundary(CODE_LINE_BYTES_MAX));
            // The vault would not find a card number that is cut off.
            text.truncate(text.trim_end_matches(|it: char| !it.is_alphabetic()).len());
        }
        self.send(&FromWorker::Line { level, text: Secret::new(text) })
    }

    fn random(&self, ctx: &Ctx<'js>, count: usize) -> rquickjs::Result<TypedArray<'js, u8>> {
        if count > CODE_RANDOM_BYTES_MAX {
            return Err(Exception::throw_range(ctx, "too many random bytes at once"));
        }
        let random = self.random.get().ok_or(rquickjs::Error::Unknown)?;
        let mut bytes = vec![0; count];
        random.fill(&mut bytes);
        TypedArray::new_copy(ctx.clone(), bytes)
    }

    /// Asks the vault for a file of a package and waits for it.
    fn source(&self, name: String) -> io::Result<Option<String>> {
        let asked = self.sources.get();
        if name.len() > CODE_PACKAGE_NAME_BYTES_MAX || asked >= CODE_SOURCES_MAX {
            return Ok(None);
        }
        self.sources.set(asked.saturating_add(1));
        self.send(&FromWorker::Source { name })?;
        loop {
            match self.link.receive(None)? {
                Received::Message(ToWorker::Source(text)) => return Ok(text),
                Received::Message(message @ ToWorker::Fetched { .. }) => {
                    self.early.borrow_mut().push_back(message);
                }
                Received::Message(ToWorker::Call(_)) | Received::Nothing | Received::End => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
    }
}

impl<'js, S: AsFd + 'js> Host<'js, S> {
    /// The argument of the library's `boot`.
    pub fn object(self: &Rc<Self>, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx.clone())?;
        let host = Rc::clone(self);
        let fetch = move |ctx: Ctx<'js>, request: Object<'js>| host.fetch(&ctx, &request);
        object.set("fetch", Function::new(ctx.clone(), fetch)?)?;
        let host = Rc::clone(self);
        let wait = move |ctx: Ctx<'js>, millis: f64| host.wait(&ctx, millis);
        object.set("wait", Function::new(ctx.clone(), wait)?)?;
        let host = Rc::clone(self);
        let log = move |level: String, text: String| host.log(&level, text);
        object.set("log", Function::new(ctx.clone(), log)?)?;
        let host = Rc::clone(self);
        let now = move || -> f64 { exact_millis(host.clock.now().millis()) };
        object.set("now", Function::new(ctx.clone(), now)?)?;
        let host = Rc::clone(self);
        let random = move |ctx: Ctx<'js>, count: usize| host.random(&ctx, count);
        object.set("random", Function::new(ctx.clone(), random)?)?;
        let host = Rc::clone(self);
        let source = move |ctx: Ctx<'js>, name: String| {
            let text = host.source(name)?;
            text_or_null(&ctx, text.as_deref())
        };
        object.set("source", Function::new(ctx.clone(), source)?)?;
        let library = |ctx: Ctx<'js>, name: String| text_or_null(&ctx, library::source(&name));
        object.set("library", Function::new(ctx.clone(), library)?)?;
        object.set("compile", Function::new(ctx.clone(), compile)?)?;
        crypto::install(ctx, &object)?;
        Ok(object)
    }
}

pub fn text_or_null<'js>(ctx: &Ctx<'js>, text: Option<&str>) -> rquickjs::Result<Value<'js>> {
    text.map_or_else(|| Ok(Value::new_null(ctx.clone())), |text| text.into_js(ctx))
}

/// Milliseconds since 1970 are exact in this type for 285,000 years.
fn exact_millis(millis: i64) -> f64 {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    (since.as_secs_f64() * 1_000.0).round()
}

/// The text may close the function and go on after it. It then runs outside of the function with the
/// same rights as inside.
#[expect(clippy::needless_pass_by_value, reason = "the engine gives values")]
fn compile(ctx: Ctx<'_>, name: String, text: String) -> rquickjs::Result<Value<'_>> {
    let source =
        format!("(function (exports, require, module, __filename, __dirname) {{{text}\n}})");
    ctx.eval_with_options(source, script(&name))
}

fn read_request<'js>(
    ctx: &Ctx<'js>,
    bytes: &BytesReader<'js>,
    object: &Object<'js>,
) -> rquickjs::Result<ProgramRequest> {
    let too_large = || Exception::throw_message(ctx, REQUEST_TOO_LARGE);
    let pairs: Array<'js> = object.get("headers")?;
    if pairs.len() > CODE_FETCH_HEADERS_MAX {
        return Err(too_large());
    }
    let mut headers = Vec::with_capacity(pairs.len());
    for pair in pairs.iter::<Array<'js>>() {
        let pair = pair?;
        let (name, value): (String, String) = (pair.get(0)?, pair.get(1)?);
        headers.push((name, Secret::new(value.into_bytes())));
    }
    let body: Option<TypedArray<'js, u8>> = object.get("body")?;
    let body = match body {
        Some(body) if body.len() > CODE_FETCH_BODY_BYTES_MAX => return Err(too_large()),
        Some(body) => bytes.read(&body)?,
        None => Vec::new(),
    };
    Ok(ProgramRequest {
        method: object.get("method")?,
        url: Secret::new(object.get("url")?),
        headers,
        body: Secret::new(body),
    })
}

/// Header values that are not UTF-8 are read as Latin-1, as browsers do.
fn response_object<'js>(
    ctx: &Ctx<'js>,
    response: &ProgramResponse,
) -> rquickjs::Result<Object<'js>> {
    let headers = Array::new(ctx.clone())?;
    for (index, (name, value)) in response.headers.iter().enumerate() {
        let pair = Array::new(ctx.clone())?;
        pair.set(0, name.as_str())?;
        let value = value.expose();
        match std::str::from_utf8(value) {
            Ok(text) => pair.set(1, text)?,
            Err(_) => pair.set(1, value.iter().copied().map(char::from).collect::<String>())?,
        }
        headers.set(index, pair)?;
    }
    let object = Object::new(ctx.clone())?;
    object.set("status", response.status)?;
    object.set("headers", headers)?;
    object.set("body", TypedArray::<u8>::new_copy(ctx.clone(), response.body.expose())?)?;
    Ok(object)
}
