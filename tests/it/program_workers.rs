//! Programs of tenants in real worker processes: results, limits, attempts to get out.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use strongroom::testing::programs::{
    Contract, FetchFailure, Fetching, LineLevel, ProgramCall, ProgramHost, ProgramOutcome,
    ProgramRequest, ProgramResponse, Programs as _, Thrown,
};
use strongroom::testing::{CodePlan, Credential, Packages, ProgramsOnWorkers, Secret, TenantId};
use uuid::Uuid;

use crate::harness::{wait_until, within};

const LONG: Duration = Duration::from_mins(1);

fn plan() -> CodePlan {
    CodePlan {
        binary: PathBuf::from(env!("CARGO_BIN_EXE_strongroom")),
        workers_max: 8,
        workers_warm: 1,
        memory_mib: 64,
        // The kernel of a test machine may have no Landlock; tests/kernel/run starts one that has it.
        allow_without_sandbox: std::env::var_os("STRONGROOM_LANDLOCK_REQUIRED").is_none(),
        packages: Packages::default(),
    }
}

/// Answers requests from a table of its own and keeps the lines.
#[derive(Debug, Default)]
struct Host {
    lines: Mutex<Vec<(LineLevel, String)>>,
    asked: Mutex<Vec<String>>,
    /// The answer to requests for `/state`.
    state: Mutex<String>,
}

impl ProgramHost for Host {
    fn fetch(&self, request: ProgramRequest) -> Fetching<'_> {
        let url = request.url.expose().clone();
        let state = self.state.lock().unwrap().clone();
        self.asked.lock().unwrap().push(format!("{} {url}", request.method));
        Box::pin(async move {
            if url.ends_with("/refused") {
                return Err(FetchFailure("The address is not allowed"));
            }
            if url.ends_with("/never") {
                std::future::pending::<()>().await;
            }
            let body = if url.ends_with("/large") {
                vec![b'x'; 3 * 1024 * 1024]
            } else if url.ends_with("/state") {
                state.into_bytes()
            } else {
                request.body.expose().clone()
            };
            let (name, value) = (String::from("X-Seen"), Secret::new(b"caf\xe9".to_vec()));
            let headers = vec![(name, value)];
            Ok(ProgramResponse { status: 201, headers, body: Secret::new(body) })
        })
    }

    fn caller_address(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn line(&self, level: LineLevel, text: Secret<String>) {
        self.lines.lock().unwrap().push((level, text.expose().clone()));
    }
}

fn call(code: &str, argument: &str, timeout: Duration) -> ProgramCall {
    ProgramCall {
        tenant: TenantId::new(Uuid::from_u128(1)),
        owner: Uuid::from_u128(2),
        credential: Credential::Secret,
        code: Secret::new(String::from(code)),
        contract: Contract::Bt,
        argument: Secret::new(argument.as_bytes().to_vec()),
        key: Some(Secret::new(String::from("key_of_the_call"))),
        timeout,
    }
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(within("the end of all calls", work))
}

/// The outcome as a short text.
fn shown(outcome: &ProgramOutcome) -> String {
    match outcome {
        ProgramOutcome::Returned(json) => {
            format!("returned {}", String::from_utf8_lossy(json.expose()))
        }
        ProgramOutcome::Threw(Thrown::Other { message }) => format!("threw {}", message.expose()),
        ProgramOutcome::Threw(Thrown::Class { status, title, detail, errors }) => {
            format!("class {status} {title} {detail} {}", errors.expose())
        }
        ProgramOutcome::Threw(Thrown::Response { status, headers, body }) => {
            format!("response {status} {} {}", headers.len(), body.expose())
        }
        ProgramOutcome::NotAProgram(why) => format!("not a program: {}", why.expose()),
        ProgramOutcome::Stopped(stop) => format!("stopped {stop:?}"),
    }
}

async fn outcome_of(programs: &ProgramsOnWorkers, code: &str) -> String {
    outcome_within(programs, code, LONG).await
}

async fn outcome_within(programs: &ProgramsOnWorkers, code: &str, timeout: Duration) -> String {
    let ended = programs.run(call(code, r#"{"a":[1,2]}"#, timeout), Arc::new(Host::default()));
    shown(&ended.await.unwrap())
}

#[test]
fn programs_return_throw_or_are_no_programs() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(plan()).await;
        assert_eq!(programs.obstacle(), None);
        let mut wrong = Vec::new();
        for (code, expected) in [
            ("module.exports = (req) => ({ sum: req.a[0] + req.a[1] })", "returned {\"sum\":3}"),
            ("module.exports = async () => { await null; return 'x' }", "returned \"x\""),
            ("module.exports = () => undefined", "returned null"),
            (
                "module.exports = (req) => req.applicationOptions.apiKey",
                "returned \"key_of_the_call\"",
            ),
            ("module.exports = () => { throw new Error('no') }", "threw no"),
            (
                "const { AuthenticationError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js'); \
                 module.exports = () => { throw new AuthenticationError('e') }",
                "class 401 Authentication Failed Authentication Failed {\"error\":[\"e\"]}",
            ),
            ("module.exports = 5", "not a program: The code must set module.exports to a function"),
            ("module.exports = () => 1 /* unended", "not a program: unexpected end of comment"),
        ] {
            let found = outcome_of(&programs, code).await;
            if found != expected {
                wrong.push(format!("{code}: {found}, not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn a_program_that_loops_grows_or_recurses_costs_its_caller_an_error() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(plan()).await;
        let short = Duration::from_millis(300);
        for (code, expected) in [
            ("for (;;);", "stopped TimedOut"),
            ("/(a+)+$/.test('a'.repeat(60) + 'b')", "stopped TimedOut"),
            ("(async () => { for (;;) await null })()", "stopped TimedOut"),
            ("return new Promise((end) => setTimeout(end, 1e9))", "stopped TimedOut"),
            ("return fetch('https://x/never')", "stopped TimedOut"),
        ] {
            let code = format!("module.exports = () => {{ {code} }}");
            assert_eq!(outcome_within(&programs, &code, short).await, expected, "{code}");
        }
        for (code, expected) in [
            ("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)", "stopped OutOfMemory"),
            ("const a = []; for (;;) a.push({ a })", "stopped OutOfMemory"),
            ("const a = []; for (;;) a.push({})", "stopped OutOfMemory"),
            ("new Uint8Array(1e9)", "stopped OutOfMemory"),
            ("throw null", "threw null"),
            ("const a = []; while (a.length < 1e5) a.push({ a }); throw null", "threw null"),
            ("throw undefined", "threw undefined"),
            ("let s = 'x'; for (;;) s += s", "threw string too long"),
            ("const f = () => f(); f()", "threw Maximum call stack size exceeded"),
            ("return JSON.parse('['.repeat(1e6))", "threw Maximum call stack size exceeded"),
            ("return 'x'.repeat(11e6)", "stopped ResultTooLarge"),
            (
                "return new Promise(() => {})",
                "threw The program waits for something that cannot happen",
            ),
        ] {
            let code = format!("module.exports = () => {{ {code} }}");
            assert_eq!(outcome_of(&programs, &code).await, expected, "{code}");
        }
        assert_eq!(outcome_of(&programs, "module.exports = () => 1").await, "returned 1");
    });
}

#[test]
fn programs_find_no_way_out_of_the_language() {
    const NOTHING: &str = "returned \"undefined\"";
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(plan()).await;
        let mut wrong = Vec::new();
        for (code, expected) in [
            ("return Object.keys(process.env).length", "returned 0"),
            ("return typeof std", NOTHING),
            ("return typeof os", NOTHING),
            ("return performance.now() % 1", "returned 0"),
            ("return typeof host", NOTHING),
            ("return new Function('return typeof host')()", NOTHING),
            ("return (() => {}).constructor('return typeof host')()", NOTHING),
            ("return eval('typeof host')", NOTHING),
            ("return typeof this.constructor.constructor('return this')().host", NOTHING),
            ("return import('fs')", "threw could not load module 'fs'"),
            ("return import('/etc/passwd')", "threw could not load module '/etc/passwd'"),
            ("return require('../../mod.rs')", "threw Cannot find module '../../mod.rs'"),
            ("return require('/etc/passwd')", "threw Cannot find module '/etc/passwd'"),
            (
                "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)",
                "threw cannot block in this thread",
            ),
            // A program that replaces what the library uses harms itself alone.
            ("Object.prototype.toJSON = () => 'mine'; return {}", "returned \"mine\""),
            ("JSON.stringify = () => '}'; return 1", "returned 1"),
            ("Promise.prototype.then = null; return 1", "returned 1"),
            ("return new Date(0).getTimezoneOffset()", "returned 0"),
        ] {
            let code = format!("module.exports = function () {{ {code} }}");
            let found = outcome_of(&programs, &code).await;
            if found != expected {
                wrong.push(format!("{code}: {found}, not {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let left = "globalThis.left = 1; module.exports = () => globalThis.left++";
        assert_eq!(outcome_of(&programs, left).await, "returned 1");
        let look = "module.exports = () => typeof left";
        assert_eq!(outcome_of(&programs, look).await, NOTHING, "a worker was used twice");
    });
}

#[test]
fn the_vault_serves_the_requests_and_lines_of_a_program() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(plan()).await;
        let host = Arc::new(Host::default());
        let code = "module.exports = async () => {
            console.warn('a line', 1);
            const all = await Promise.all([...Array(40).keys()].map((n) =>
                fetch('https://x/' + n, { method: 'PUT', body: new Uint8Array([255, 0, n]) })));
            const large = await fetch('https://x/large');
            const refused = await fetch('https://x/refused').catch((error) => error.message);
            const bytes = async (answer) => Array.from(new Uint8Array(await answer.arrayBuffer()));
            return [all.length, all[39].status, await bytes(all[39]), [...all[0].headers],
                (await bytes(large)).length, refused];
        }";
        let shared: Arc<dyn ProgramHost> = Arc::<Host>::clone(&host);
        let ended = programs.run(call(code, "{}", LONG), shared).await;
        assert_eq!(
            shown(&ended.unwrap()),
            "returned [40,201,[255,0,39],[[\"x-seen\",\"caf\u{e9}\"]],3145728,\
             \"fetch failed: The address is not allowed\"]"
        );
        assert_eq!(*host.lines.lock().unwrap(), [(LineLevel::Warn, String::from("a line 1"))]);
        assert_eq!(host.asked.lock().unwrap().len(), 42);
    });
}

#[test]
fn a_flood_of_lines_or_timers_is_cut_off() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(CodePlan { memory_mib: 256, ..plan() }).await;
        let host = Arc::new(Host::default());
        let code = "module.exports = async () => {
            for (let n = 0; n < 5000; n++) console.log('x'.repeat(5000));
            let timers = '';
            try { for (let n = 0; n < 100100; n++) setTimeout(() => {}, 1e6); }
            catch (error) { timers = error.message; }
            return timers;
        }";
        let shared: Arc<dyn ProgramHost> = Arc::<Host>::clone(&host);
        let ended = programs.run(call(code, "{}", LONG), shared).await;
        assert_eq!(shown(&ended.unwrap()), "returned \"The program has set too many timers\"");
        let lines = host.lines.lock().unwrap();
        assert_eq!(lines.len(), 1_000);
        assert!(lines.iter().all(|(_, text)| text.len() == 4_096));
    });
}

/// Processes that run this binary as workers do, as (id, parent, memory in MiB). Other tests of this
/// binary have some too, and each plan here has a memory of its own.
fn worker_processes() -> Vec<(u32, u32, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let read = |name| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let arguments = read("cmdline");
        let Some((_, rest)) = arguments.split_once("\0code-worker\0") else { continue };
        let memory = rest.trim_end_matches('\0').rsplit('\0').next().and_then(|it| it.parse().ok());
        let status = read("status");
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t"));
        let parent = parent.and_then(|it| it.parse().ok());
        // A process that has ended meanwhile has no arguments or no parent.
        found.extend(memory.zip(parent).map(|(memory, parent)| (id, parent, memory)));
    }
    found
}

fn status_of(worker: u32) -> String {
    fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default()
}

/// The templates of a plan whose memory no other test has: children of this process.
fn templates_with_memory(mib: u64) -> Vec<u32> {
    let all = worker_processes().into_iter();
    all.filter(|it| it.1 == std::process::id() && it.2 == mib).map(|it| it.0).collect()
}

fn signal(process: u32, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// The workers of such a plan: children of its templates.
fn workers_with_memory(mib: u64) -> Vec<u32> {
    let templates = templates_with_memory(mib);
    let all = worker_processes().into_iter();
    all.filter(|it| templates.contains(&it.1)).map(|it| it.0).collect()
}

/// The state and the policy: the third and the 41st field of `stat`. The name before is in parentheses.
fn state_and_policy_of(worker: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{worker}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.nth(37)?.parse().ok()?))
}

#[test]
fn a_worker_has_one_descriptor_no_rights_and_walls_around_it() {
    on_runtime(async {
        let plan = CodePlan { memory_mib: 71, workers_warm: 0, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        assert_eq!(programs.obstacle(), None);
        wait_until("the end of the first worker", || workers_with_memory(71).is_empty());
        let code = "module.exports = () => new Promise((end) => setTimeout(end, 60000))";
        let mut running = programs.run(call(code, "{}", LONG), Arc::new(Host::default()));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(running.as_mut().poll(&mut context).is_pending());
        wait_until("a worker behind its walls", || {
            workers_with_memory(71).first().is_some_and(|it| status_of(*it).contains("Seccomp:\t2"))
        });
        let worker = workers_with_memory(71)[0];
        let status = status_of(worker);
        for line in [
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
            "Threads:\t1",
            "CapInh:\t0000000000000000",
            "CapPrm:\t0000000000000000",
            "CapEff:\t0000000000000000",
        ] {
            assert!(status.contains(line), "{line}: {status}");
        }
        let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        let limit = |name: &str| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            String::from(line.split_whitespace().rev().nth(1).unwrap())
        };
        assert_eq!(limit("Max open files"), "1");
        assert_eq!(limit("Max processes"), "0");
        assert_eq!(limit("Max file size"), "0");
        let addresses: u64 = limit("Max address space").parse().unwrap();
        assert!(addresses < 512 * 1024 * 1024, "{addresses}");
        assert_eq!(limit("Max core file size"), "0");
        // Only root may look at the rest, because the worker is not dumpable.
        if let Ok(open) = fs::read_dir(format!("/proc/{worker}/fd")) {
            let open: Vec<_> = open.flatten().map(|it| it.file_name()).collect();
            assert_eq!(open, ["0"]);
            let environment = fs::read_to_string(format!("/proc/{worker}/environ")).unwrap();
            let names = environment.split('\0').filter(|it| !it.is_empty());
            assert!(names.clone().all(|it| it.starts_with("MIMALLOC_")), "{environment}");
        }
        let score = fs::read_to_string(format!("/proc/{worker}/oom_score_adj")).unwrap();
        assert_eq!(score.trim(), "1000");
    });
}

#[test]
fn a_worker_ends_with_its_call_and_with_the_vault() {
    on_runtime(async {
        let plan = CodePlan { memory_mib: 72, workers_warm: 0, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        wait_until("the end of the first worker", || workers_with_memory(72).is_empty());
        let running = programs.run(
            call("module.exports = () => { for (;;); }", "{}", LONG),
            Arc::new(Host::default()),
        );
        // The future is dropped in the middle of the call.
        let left = tokio::time::timeout(Duration::from_millis(500), running).await;
        assert!(left.is_err());
        wait_until("the end of a worker without a caller", || workers_with_memory(72).is_empty());
        let warm = CodePlan { memory_mib: 73, workers_warm: 2, ..self::plan() };
        let others = ProgramsOnWorkers::start(warm).await;
        wait_until("warm workers", || !workers_with_memory(73).is_empty());
        drop(others);
        wait_until("the end of warm workers and their template", || {
            worker_processes().iter().all(|it| it.2 != 73)
        });
    });
}

#[test]
fn a_tenant_with_many_programs_leaves_places_for_others() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(CodePlan { workers_max: 4, ..plan() }).await;
        let sleeps = "module.exports = () => new Promise((end) => setTimeout(end, 60000))";
        let mut held: Vec<_> = (0..6)
            .map(|_| programs.run(call(sleeps, "{}", LONG), Arc::new(Host::default())))
            .collect();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for running in &mut held {
            assert!(running.as_mut().poll(&mut context).is_pending());
        }
        for tenant in 2..5 {
            let begun = Instant::now();
            let mut quick = call("module.exports = () => 1", "{}", LONG);
            quick.tenant = TenantId::new(Uuid::from_u128(tenant));
            let ended = programs.run(quick, Arc::new(Host::default())).await.unwrap();
            assert_eq!(shown(&ended), "returned 1");
            assert!(begun.elapsed() < LONG, "it waited for the programs of another tenant");
        }
    });
}

/// Ends its threads when it is dropped.
struct BusyProcessors(Arc<AtomicBool>);

impl BusyProcessors {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || while !is_over.load(Ordering::Relaxed) {});
        }
        Self(is_over)
    }
}

impl Drop for BusyProcessors {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_tenant_that_computes_long_leaves_the_processors_to_others() {
    const NORMAL: u32 = 0;
    const IDLE: u32 = 5;
    on_runtime(async {
        let plan = CodePlan { workers_max: 256, workers_warm: 0, memory_mib: 74, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        wait_until("the end of the first worker", || workers_with_memory(74).is_empty());
        // More than may compute at once: two for each processor, and one.
        let turns = 2 * std::thread::available_parallelism().unwrap().get();
        let endless = "module.exports = () => { for (;;); }";
        let mut held: Vec<_> = (0..turns + 3)
            .map(|_| programs.run(call(endless, "{}", 2 * LONG), Arc::new(Host::default())))
            .collect();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let is_seen = async {
            loop {
                for running in &mut held {
                    assert!(running.as_mut().poll(&mut context).is_pending());
                }
                let workers = workers_with_memory(74).into_iter();
                let seen: Vec<_> = workers.filter_map(state_and_policy_of).collect();
                let of = |policy| seen.iter().filter(|it| it.1 == policy).count();
                let stopped = seen.iter().filter(|it| it.0 == 'T').count();
                // More are stopped while this process works, for other tests.
                if (of(NORMAL), of(IDLE)) == (0, turns + 3) && stopped >= 3 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within("all workers in the background, three stopped", is_seen).await;
        // A worker in the background would get nothing beside these threads.
        let busy = BusyProcessors::start();
        let code = "module.exports = () => { let n = 0; while (n < 1e7) n++; return n; }";
        let mut long = call(code, "{}", LONG);
        long.tenant = TenantId::new(Uuid::from_u128(2));
        let outcome = programs.run(long, Arc::new(Host::default())).await.unwrap();
        drop(busy);
        assert_eq!(shown(&outcome), "returned 10000000");
    });
}

#[test]
fn workers_of_one_template_draw_different_random_bytes() {
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(CodePlan { memory_mib: 75, ..plan() }).await;
        let code = "const crypto = require('crypto'); module.exports = () => [
            Math.random(), crypto.randomBytes(8).toString('hex'), crypto.randomUUID(),
            Array.from(globalThis.crypto.getRandomValues(new Uint8Array(8))),
            crypto.generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }),
        ].map(String)";
        let mut drawn = BTreeSet::new();
        for _ in 0..4 {
            let outcome = outcome_of(&programs, code).await;
            let json = outcome.strip_prefix("returned ").unwrap_or_else(|| panic!("{outcome}"));
            drawn.extend(serde_json::from_str::<Vec<String>>(json).unwrap());
        }
        assert_eq!(drawn.len(), 4 * 5, "{drawn:?}");
    });
}

#[test]
fn a_template_is_replaced_after_many_workers() {
    on_runtime(async {
        let plan = CodePlan { memory_mib: 76, workers_warm: 0, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        let first = templates_with_memory(76);
        // The start has used one of 256.
        for _ in 0..256 {
            assert_eq!(outcome_of(&programs, "module.exports = () => 1").await, "returned 1");
        }
        wait_until("the end of the first template", || {
            let templates = templates_with_memory(76);
            templates.len() == 1 && templates != first
        });
    });
}

#[test]
fn a_template_that_fails_is_replaced_and_ended_workers_are_reaped() {
    on_runtime(async {
        let plan = CodePlan { memory_mib: 77, workers_warm: 0, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        wait_until("an ended worker that is reaped", || workers_with_memory(77).is_empty());
        let template = templates_with_memory(77);
        signal(template[0], Signal::KILL);
        assert_eq!(outcome_of(&programs, "module.exports = () => 1").await, "returned 1");
        wait_until("the end of the template that was killed", || {
            let templates = templates_with_memory(77);
            templates.len() == 1 && templates != template
        });
    });
}

#[test]
fn a_template_that_stalls_is_replaced_and_its_workers_go_on() {
    on_runtime(async {
        let plan = CodePlan { memory_mib: 78, workers_warm: 0, ..plan() };
        let programs = ProgramsOnWorkers::start(plan).await;
        let template = templates_with_memory(78);
        let host = Arc::new(Host::default());
        // It asks once, and then asks again until the answer has come.
        let code = "module.exports = async () => {
            await fetch('https://x/first');
            while ((await (await fetch('https://x/state')).text()) !== 'go on')
                await new Promise((end) => setTimeout(end, 50));
            return 'went on';
        }";
        let shared: Arc<dyn ProgramHost> = Arc::<Host>::clone(&host);
        let early = programs.run(call(code, "{}", LONG), shared);
        let late = async {
            let begun = || host.asked.lock().unwrap().iter().any(|it| it.ends_with("/state"));
            while !begun() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            signal(template[0], Signal::STOP);
            let outcome = outcome_of(&programs, "module.exports = () => 1").await;
            assert_eq!(outcome, "returned 1");
            assert!(templates_with_memory(78).contains(&template[0]));
            *host.state.lock().unwrap() = String::from("go on");
        };
        let (early, ()) = tokio::join!(early, late);
        assert_eq!(shown(&early.unwrap()), "returned \"went on\"");
        wait_until("the end of the template that stalled", || {
            !templates_with_memory(78).contains(&template[0])
        });
    });
}

#[test]
fn packages_are_files_that_have_their_hash() {
    let directory = tempdir("packages");
    fs::create_dir_all(directory.join("small")).unwrap();
    fs::write(directory.join("small/index.js"), "exports.twice = (n) => 2 * n;").unwrap();
    fs::write(directory.join("unlisted.js"), "exports.secret = 1;").unwrap();
    let script =
        "cd \"$1\" && find . -name '*.js' -path './small/*' -exec sha256sum {} + > packages.lock";
    let made = std::process::Command::new("sh").args(["-c", script, "sh"]).arg(&directory).status();
    assert!(made.unwrap().success());
    let packages = Packages::load(&directory).unwrap();
    on_runtime(async {
        let programs = ProgramsOnWorkers::start(CodePlan { packages, ..plan() }).await;
        let code = "module.exports = () => require('small/index.js').twice(21)";
        assert_eq!(outcome_of(&programs, code).await, "returned 42");
        let code = "module.exports = () => require('unlisted.js')";
        assert_eq!(outcome_of(&programs, code).await, "threw Cannot find module 'unlisted.js'");
    });
    fs::write(directory.join("small/index.js"), "exports.twice = () => 'evil';").unwrap();
    assert!(Packages::load(&directory).is_err());
    fs::remove_dir_all(&directory).unwrap();
}

fn tempdir(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("strongroom-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_program_that_is_no_worker_is_an_obstacle() {
    on_runtime(async {
        let binary = PathBuf::from("/bin/false");
        assert!(Path::exists(&binary));
        let programs = ProgramsOnWorkers::start(CodePlan { binary, ..plan() }).await;
        assert_eq!(programs.obstacle(), Some("this server cannot start workers"));
        assert!(programs.run(call("", "{}", LONG), Arc::new(Host::default())).await.is_err());
    });
}

#[test]
fn a_worker_that_no_vault_started_ends_at_once() {
    for arguments in [&["code-worker"][..], &["code-worker", "1", "64"], &["code-worker", "x", "y"]]
    {
        let binary = env!("CARGO_BIN_EXE_strongroom");
        let ended = std::process::Command::new(binary).args(arguments).output().unwrap();
        assert!(!ended.status.success());
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
}

/// Root may change the score of a process that is not dumpable, so this test must not be root.
#[test]
fn workers_of_a_vault_that_is_not_root_are_ended_first_when_memory_is_scarce() {
    let directory = tempdir("score");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let binary = directory.join("strongroom");
    fs::copy(env!("CARGO_BIN_EXE_strongroom"), &binary).unwrap();
    let (orders, theirs) = UnixStream::pair().unwrap();
    let mut command = std::process::Command::new(&binary);
    command.args(["code-worker", &std::process::id().to_string(), "79"]);
    command.stdin(OwnedFd::from(theirs));
    if rustix::process::getuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let mut template = command.spawn().unwrap();
    let score = format!("/proc/{}/oom_score_adj", template.id());
    wait_until("a score of 1000", || fs::read_to_string(&score).unwrap().trim() == "1000");
    drop(orders);
    assert!(template.wait().unwrap().success());
    fs::remove_dir_all(&directory).unwrap();
}

/// A measurement, not a check: `cargo test --release --test it programs_per_second -- --ignored
/// --nocapture`.
#[test]
#[ignore = "it measures this machine"]
fn programs_per_second() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let wide = CodePlan { workers_max: 128, workers_warm: 8, ..plan() };
        let programs = Arc::new(ProgramsOnWorkers::start(wide).await);
        let code = "module.exports = (req) => ({ sum: req.a[0] + req.a[1] })";
        let mut times = Vec::new();
        for _ in 0..200 {
            let begun = Instant::now();
            outcome_of(&programs, code).await;
            times.push(begun.elapsed());
        }
        times.sort();
        println!("one at a time: p50 {:?}, p99 {:?}", times[100], times[198]);
        for at_once in [2_usize, 8, 32] {
            let begun = Instant::now();
            let mut calls = tokio::task::JoinSet::new();
            for _ in 0..at_once {
                let programs = Arc::clone(&programs);
                calls.spawn(async move {
                    for _ in 0..600 / at_once {
                        assert_eq!(outcome_of(&programs, code).await, "returned {\"sum\":3}");
                    }
                });
            }
            while let Some(ended) = calls.join_next().await {
                ended.unwrap();
            }
            println!("{at_once} at once: {:.0} a second", 600.0 / begun.elapsed().as_secs_f64());
        }
        let sleeps = "module.exports = () => new Promise((end) => setTimeout(end, 1000))";
        let begun = Instant::now();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let programs = Arc::clone(&programs);
            calls.spawn(async move { outcome_of(&programs, sleeps).await });
        }
        let other = Instant::now();
        let mut quick = call(code, "{\"a\":[1,2]}", LONG);
        quick.tenant = TenantId::new(Uuid::from_u128(9));
        programs.run(quick, Arc::new(Host::default())).await.unwrap();
        println!("beside 64 that sleep: {:?}", other.elapsed());
        while let Some(ended) = calls.join_next().await {
            assert_eq!(ended.unwrap(), "returned null");
        }
        println!("64 that sleep a second: {:?}", begun.elapsed());
    });
}
