//! The JavaScript engine and the loop that runs one call: jobs of promises, timers, answers.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Exception, Function, Object, Promise, Runtime, Value};

use crate::app::programs::Contract;
use crate::bounds::{CODE_RESULT_BYTES_MAX, CODE_STACK_BYTES};
use crate::code::frames::{Confinement, FromWorker, ToWorker, WorkerCall};
use crate::code::library;
use crate::code::worker::host::{Host, text_or_null};
use crate::code::worker::link::{Link, Received};
use crate::secret::Secret;

/// The text of the engine's own error.
pub const OUT_OF_MEMORY: &str = "out of memory";
/// The vault ends a call at its deadline and knows then that the time was over. The worker's own
/// deadline is later, for a vault that forgot.
const AFTER_THE_VAULT: Duration = Duration::from_secs(2);

/// A worker ended without an outcome. There is no message, since a program could have written it.
#[derive(Debug)]
pub struct Broken;

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl From<rquickjs::Error> for Broken {
    fn from(_: rquickjs::Error) -> Self {
        Self
    }
}

/// Starts the engine. In each copy of this process, in which `become_worker` returns the walls around
/// it, says that it is ready, waits for the call and runs it.
pub fn work<S: AsFd + 'static>(
    link: Link<S>,
    memory: usize,
    become_worker: impl FnOnce() -> io::Result<Option<Confinement>>,
) -> Result<(), Broken> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(memory);
    runtime.set_max_stack_size(CODE_STACK_BYTES);
    let deadline: Rc<Cell<Option<Instant>>> = Rc::default();
    let ends = Rc::clone(&deadline);
    let is_over = move || ends.get().is_some_and(|deadline| Instant::now() >= deadline);
    runtime.set_interrupt_handler(Some(Box::new(is_over)));
    let context = Context::full(&runtime)?;
    let ended = context.with(|ctx| serve(&ctx, link, become_worker, &deadline));
    // The engine is not taken apart: functions of the host hold values that its collector does not
    // see, and the process ends anyway.
    std::mem::forget((context, runtime));
    ended
}

fn serve<S: AsFd + 'static>(
    ctx: &Ctx<'_>,
    link: Link<S>,
    become_worker: impl FnOnce() -> io::Result<Option<Confinement>>,
    deadline: &Cell<Option<Instant>>,
) -> Result<(), Broken> {
    // It shows microseconds, by which a program could measure others.
    ctx.globals().remove("performance")?;
    let host = Rc::new(Host::new(ctx, link)?);
    let main = library::source("main.js").ok_or(Broken)?;
    let boot: Function<'_> = ctx.eval_with_options(main, script("library.js"))?;
    let run: Function<'_> = boot.call((host.object(ctx)?,))?;
    while ctx.execute_pending_job() {}
    let Some(confinement) = become_worker()? else { return Ok(()) };
    host.begin()?;
    host.send(&FromWorker::Ready(confinement))?;
    let call = match host.receive(None)? {
        Received::Message(ToWorker::Call(call)) => call,
        Received::End => return Ok(()),
        Received::Message(ToWorker::Fetched { .. } | ToWorker::Source(_)) | Received::Nothing => {
            return Err(Broken);
        }
    };
    let timeout = Duration::from_millis(u64::from(call.timeout_ms));
    let ends = Instant::now().checked_add(timeout).and_then(|it| it.checked_add(AFTER_THE_VAULT));
    deadline.set(ends);
    let outcome = match run_call(ctx, &host, &run, call) {
        Ok(outcome) => outcome,
        // The program may have left no memory for the library.
        Err(Failed::Engine(rquickjs::Error::Allocation)) => FromWorker::OutOfMemory,
        Err(Failed::Engine(rquickjs::Error::Exception)) if is_out_of_memory(&ctx.catch()) => {
            FromWorker::OutOfMemory
        }
        Err(Failed::Engine(_) | Failed::Socket) => return Err(Broken),
    };
    Ok(host.send(&outcome)?)
}

enum Failed {
    Engine(rquickjs::Error),
    Socket,
}

from_causes!(Failed: rquickjs::Error => Self::Engine);

impl From<io::Error> for Failed {
    fn from(_: io::Error) -> Self {
        Self::Socket
    }
}

fn run_call<'js, S: AsFd>(
    ctx: &Ctx<'js>,
    host: &Host<'js, S>,
    run: &Function<'js>,
    call: WorkerCall,
) -> Result<FromWorker, Failed> {
    let given = Object::new(ctx.clone())?;
    given.set("code", call.code.expose().as_str())?;
    given.set(
        "contract",
        match call.contract {
            Contract::Bt => "bt",
            Contract::Node => "node",
        },
    )?;
    let argument = std::str::from_utf8(call.argument.expose());
    given.set("argument", argument.map_err(rquickjs::Error::Utf8)?)?;
    let key = call.key.as_ref().map(|key| key.expose().as_str());
    given.set("key", text_or_null(ctx, key)?)?;
    given.set("baseUrl", call.base_url.as_str())?;
    drop(call);
    let promise: Promise<'js> = run.call((given,))?;
    loop {
        while ctx.execute_pending_job() {}
        match promise.state() {
            PromiseState::Pending => (),
            PromiseState::Resolved | PromiseState::Rejected => break,
        }
        // A job that the interrupt handler ended leaves its promise pending.
        if !host.turn(ctx)? {
            return Ok(FromWorker::Forever);
        }
    }
    let json: String = promise.result().unwrap_or(Err(rquickjs::Error::Unknown))?;
    Ok(if json.len() > CODE_RESULT_BYTES_MAX {
        FromWorker::ResultTooLarge
    } else {
        FromWorker::Outcome(Secret::new(json.into_bytes()))
    })
}

/// If there is no memory even for the error, the engine throws null.
fn is_out_of_memory(thrown: &Value<'_>) -> bool {
    let message = thrown.as_object().and_then(|it| Exception::from_object(it.clone()));
    thrown.is_null()
        || message.and_then(|it| it.message()).is_some_and(|message| message == OUT_OF_MEMORY)
}

/// Options of a script that is not strict, as the files of Node are not.
pub fn script(name: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(String::from(name));
    options
}
