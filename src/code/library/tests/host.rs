//! A host without a network: requests are answered from a list and noted, time is virtual.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::function::{Func, MutFn};
use rquickjs::promise::PromiseState;
use rquickjs::{Array, Context, Ctx, Exception, Function, Object, Promise, Runtime, TypedArray};
use serde_json::{Value, json};

use crate::code::library::source;
use crate::code::worker::crypto;

/// A program that computes longer has lost its way.
const STEPS_MAX: u64 = 20_000;
const START_MS: i64 = 1_767_225_600_000;
/// The engine's own stack; library and packages are nested.
const STACK_BYTES: usize = 1 << 20;
const MEMORY_BYTES: usize = 128 << 20;

/// One call and the world around it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) code: String,
    pub(crate) contract: String,
    pub(crate) argument: String,
    pub(crate) key: Option<String>,
    /// Objects with status, headers and body; `error` fails the request.
    pub(crate) answers: Vec<Value>,
    pub(crate) packages: BTreeMap<String, String>,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            code: String::new(),
            contract: String::from("bt"),
            argument: String::from("{}"),
            key: Some(String::from("key_of_call")),
            answers: Vec::new(),
            packages: BTreeMap::new(),
        }
    }
}

/// The outcome, the requests and the lines of a program.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) outcome: String,
    pub(crate) requests: Vec<Value>,
    pub(crate) lines: Vec<String>,
}

#[derive(Default)]
struct World<'js> {
    answers: VecDeque<Value>,
    requests: Vec<Value>,
    lines: Vec<String>,
    timers: Vec<(i64, u64, Function<'js>)>,
    now: i64,
    made: u64,
    seed: u64,
}

type Shared<'js> = Rc<RefCell<World<'js>>>;

pub(crate) fn run(call: &Call) -> Run {
    let runtime = Runtime::new().unwrap();
    runtime.set_max_stack_size(STACK_BYTES);
    runtime.set_memory_limit(MEMORY_BYTES);
    let mut steps = 0;
    runtime.set_interrupt_handler(Some(Box::new(move || {
        steps += 1;
        steps > STEPS_MAX
    })));
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| run_in(&ctx, call))
}

fn run_in<'js>(ctx: &Ctx<'js>, call: &Call) -> Run {
    let world: Shared<'js> = Rc::default();
    world.borrow_mut().answers = call.answers.iter().cloned().collect();
    world.borrow_mut().now = START_MS;
    let host = host(ctx, &world, call).unwrap();
    let boot: Function<'js> = caught(ctx, ctx.eval(source("main.js").unwrap()));
    let run: Function<'js> = caught(ctx, boot.call((host,)));
    let given = Object::new(ctx.clone()).unwrap();
    given.set("code", call.code.as_str()).unwrap();
    given.set("contract", call.contract.as_str()).unwrap();
    given.set("argument", call.argument.as_str()).unwrap();
    given.set("key", call.key.clone()).unwrap();
    given.set("baseUrl", "https://vault.internal").unwrap();
    let promise: Promise<'js> = caught(ctx, run.call((given,)));
    loop {
        while ctx.execute_pending_job() {}
        if promise.state() != PromiseState::Pending || !advance(&world) {
            break;
        }
    }
    let outcome = match promise.result::<String>() {
        Some(result) => caught(ctx, result),
        None => String::from("pending"),
    };
    let mut world = world.borrow_mut();
    world.timers.clear();
    Run {
        outcome,
        requests: std::mem::take(&mut world.requests),
        lines: std::mem::take(&mut world.lines),
    }
}

/// Ends the next wait.
fn advance(world: &Shared<'_>) -> bool {
    let mut state = world.borrow_mut();
    let Some(at) = (0..state.timers.len()).min_by_key(|at| {
        let (due, number, _) = &state.timers[*at];
        (*due, *number)
    }) else {
        return false;
    };
    let (due, _, resolve) = state.timers.remove(at);
    state.now = due;
    drop(state);
    resolve.call::<_, ()>(()).unwrap();
    true
}

#[track_caller]
fn caught<T>(ctx: &Ctx<'_>, result: rquickjs::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}: {:?}", ctx.catch()),
    }
}

fn host<'js>(ctx: &Ctx<'js>, world: &Shared<'js>, call: &Call) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    crypto::install(ctx, &host)?;
    let shared = Rc::clone(world);
    host.set(
        "fetch",
        Func::from(MutFn::from(move |ctx: Ctx<'js>, it: Object<'js>| fetch(&ctx, &it, &shared))),
    )?;
    let shared = Rc::clone(world);
    host.set(
        "log",
        Func::from(MutFn::from(move |level: String, text: String| {
            shared.borrow_mut().lines.push(format!("{level} {text}"));
        })),
    )?;
    let shared = Rc::clone(world);
    host.set(
        "wait",
        Func::from(MutFn::from(move |ctx: Ctx<'js>, ms: i64| wait(&ctx, ms, &shared))),
    )?;
    let shared = Rc::clone(world);
    host.set(
        "now",
        Func::from(MutFn::from(move || {
            i32::try_from(shared.borrow().now - START_MS).map_or(0.0, f64::from)
                + 1_767_225_600_000.0
        })),
    )?;
    let shared = Rc::clone(world);
    host.set(
        "random",
        Func::from(MutFn::from(move |ctx: Ctx<'js>, count: usize| {
            TypedArray::new(ctx, random(count, &mut shared.borrow_mut().seed))
        })),
    )?;
    let packages = call.packages.clone();
    host.set("source", Func::from(MutFn::from(move |name: String| packages.get(&name).cloned())))?;
    host.set("library", Func::from(|name: String| source(&name)))?;
    host.set(
        "compile",
        Func::from(|ctx: Ctx<'js>, name: String, text: String| compile(&ctx, &name, &text)),
    )?;
    Ok(host)
}

fn compile<'js>(ctx: &Ctx<'js>, name: &str, text: &str) -> rquickjs::Result<Function<'js>> {
    let mut options = rquickjs::context::EvalOptions::default();
    options.strict = false;
    options.filename = Some(String::from(name));
    let code = format!("(function (exports, require, module, __filename, __dirname) {{{text}\n}})");
    ctx.eval_with_options(code, options)
}

/// Bytes that repeat from run to run, so that outcomes can be compared.
fn random(count: usize, seed: &mut u64) -> Vec<u8> {
    let mut next = || {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

fn wait<'js>(ctx: &Ctx<'js>, ms: i64, world: &Shared<'js>) -> rquickjs::Result<Promise<'js>> {
    let (promise, resolve, _) = ctx.promise()?;
    let mut world = world.borrow_mut();
    world.made += 1;
    let (due, number) = (world.now + ms, world.made);
    world.timers.push((due, number, resolve));
    Ok(promise)
}

fn fetch<'js>(
    ctx: &Ctx<'js>,
    request: &Object<'js>,
    world: &Shared<'js>,
) -> rquickjs::Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    let mut headers = serde_json::Map::new();
    for pair in request.get::<_, Array<'js>>("headers")?.iter::<Vec<String>>() {
        let [name, value] = <[String; 2]>::try_from(pair?).unwrap();
        headers.insert(name, Value::String(value));
    }
    let mut noted = json!({
        "method": request.get::<_, String>("method")?,
        "url": request.get::<_, String>("url")?,
        "headers": headers,
    });
    if let Some(body) = request.get::<_, Option<Object<'js>>>("body")? {
        let encode: Function<'js> = ctx.eval("(body) => body.toBase64()")?;
        let bytes = STANDARD.decode(encode.call::<_, String>((body,))?).unwrap();
        noted["body"] = Value::String(String::from_utf8_lossy(&bytes).into_owned());
    }
    let answer = {
        let mut world = world.borrow_mut();
        world.requests.push(noted);
        world.answers.pop_front().unwrap_or_else(|| json!({"error": "no answer is left"}))
    };
    if let Some(message) = answer["error"].as_str() {
        let error = Exception::from_message(ctx.clone(), message)?;
        reject.call::<_, ()>((error,))?;
        return Ok(promise);
    }
    resolve.call::<_, ()>((answered(ctx, &answer)?,))?;
    Ok(promise)
}

fn answered<'js>(ctx: &Ctx<'js>, answer: &Value) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("status", answer["status"].as_i64().unwrap_or(200))?;
    let mut headers = Vec::new();
    match answer["headers"].as_object() {
        Some(pairs) => {
            for (name, value) in pairs {
                headers.push(vec![name.clone(), String::from(value.as_str().unwrap())]);
            }
        }
        None => headers.push(vec![String::from("content-type"), String::from("application/json")]),
    }
    object.set("headers", headers)?;
    let body = match &answer["body"] {
        Value::Null => Vec::new(),
        Value::String(text) => text.clone().into_bytes(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            serde_json::to_vec(other).unwrap()
        }
    };
    object.set("body", TypedArray::new(ctx.clone(), body)?)?;
    Ok(object)
}
