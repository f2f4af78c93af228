//! The vault's side against workers that a program took over, and the engine without a process.

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream as Socket;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use uuid::Uuid;

use super::*;
use crate::app::programs::{
    Contract, Fetching, LineLevel, ProgramRequest, ProgramResponse, Thrown,
};
use crate::bounds::{
    CODE_FETCHES_MAX, CODE_FRAME_BYTES_MAX, CODE_LINES_MAX, CODE_MESSAGE_BYTES_MAX,
    CODE_PACKAGE_FILE_BYTES_MAX, CODE_PACKAGES_BYTES_MAX, CODE_SOURCES_MAX, CODE_THROWN_BYTES_MAX,
    JSON_VALUES_MAX,
};
use crate::code::frames::{FromWorker, HEAD_BYTES, ToWorker};
use crate::code::worker::engine;
use crate::code::worker::link::Link;
use crate::crypto::Sha256;
use crate::domain::hex;
use crate::domain::id::TenantId;
use crate::secret::Secret;
use crate::waiting::within;

const WALLS: Confinement = Confinement { landlock: true, seccomp: true };

#[derive(Debug, Default)]
struct SilentHost;

impl ProgramHost for SilentHost {
    fn fetch(&self, request: ProgramRequest) -> Fetching<'_> {
        Box::pin(async move {
            if request.method == "WAIT" {
                std::future::pending::<()>().await;
            }
            let body = Secret::new(vec![1; 1024 * 1024]);
            Ok(ProgramResponse { status: 200, headers: Vec::new(), body })
        })
    }

    fn caller_address(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn line(&self, _: LineLevel, _: Secret<String>) {}
}

fn worker_call() -> WorkerCall {
    WorkerCall {
        code: Secret::new(String::from("module.exports = (req) => req.a")),
        contract: Contract::Bt,
        argument: Secret::new(b"{\"a\":7}".to_vec()),
        key: None,
        base_url: String::from(VAULT_URL),
        timeout_ms: 60_000,
    }
}

fn keyed() -> Claimant {
    Claimant::Keyed(TenantId::new(Uuid::from_u128(1)))
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(within("the end of the call", work))
}

/// The outcome of a call whose worker sends these bytes and then reads nothing.
async fn outcome_of(sent: Vec<u8>, shares: &Shares) -> Result<String, Error> {
    outcome_with(sent, shares, &Packages::default()).await
}

async fn outcome_with(
    sent: Vec<u8>,
    shares: &Shares,
    packages: &Packages,
) -> Result<String, Error> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let host: Arc<dyn ProgramHost> = Arc::new(SilentHost);
    let budget = FrameBudget { shares, claimant: keyed() };
    let conversation = Conversation::new(ours, &host, packages, budget);
    let worker = async move {
        // The vault may hang up in the middle.
        theirs.write_all(&sent).await.ok();
        theirs
    };
    let call = async {
        let ended = conversation.run(worker_call(), WALLS).await;
        ended.map(|outcome| format!("{outcome:?}"))
    };
    tokio::pin!(call);
    tokio::select! {
        ended = &mut call => ended,
        _theirs = worker => call.await,
    }
}

fn frames(messages: &[FromWorker]) -> Vec<u8> {
    messages.iter().flat_map(|message| message.encode().unwrap()).collect()
}

fn fetch(number: u32, method: &str) -> FromWorker {
    let request = ProgramRequest {
        method: String::from(method),
        url: Secret::new(String::from("https://x/")),
        headers: Vec::new(),
        body: Secret::new(Vec::new()),
    };
    FromWorker::Fetch { number, request }
}

fn many(count: usize, method: &str) -> Vec<FromWorker> {
    let fetches = (0..).take(count).map(|number| fetch(number, method));
    std::iter::once(FromWorker::Ready(WALLS)).chain(fetches).collect()
}

fn line() -> FromWorker {
    FromWorker::Line { level: LineLevel::Info, text: Secret::new(String::from("x")) }
}

fn source() -> FromWorker {
    FromWorker::Source { name: String::from("x.js") }
}

#[test]
fn a_worker_that_breaks_the_rules_is_dead() {
    let ready = || FromWorker::Ready(WALLS);
    let no_walls = Confinement { landlock: false, seccomp: true };
    let mut too_long = frames(&[ready()]);
    too_long.extend(u32::MAX.to_le_bytes());
    let mut unknown = frames(&[ready()]);
    unknown.extend([1, 0, 0, 0, 99]);
    let lines = std::iter::once(ready()).chain((0..=CODE_LINES_MAX).map(|_| line()));
    let lines: Vec<_> = lines.collect();
    let sources = std::iter::once(ready()).chain((0..=CODE_SOURCES_MAX).map(|_| source()));
    let sources: Vec<_> = sources.collect();
    for (what, sent) in [
        ("an outcome before the greeting", frames(&[FromWorker::Outcome(Secret::new(vec![]))])),
        ("a missing wall", frames(&[FromWorker::Ready(no_walls)])),
        ("two greetings", frames(&[ready(), ready()])),
        ("a frame that is too long", too_long),
        ("an unknown kind", unknown),
        ("too many lines", frames(&lines)),
        ("too many requests at once", frames(&many(CODE_FETCHES_MAX + 2, "WAIT"))),
        ("answers that it does not read", frames(&many(200, "GET"))),
        ("too many questions", frames(&sources)),
        ("no JSON", frames(&[ready(), FromWorker::Outcome(Secret::new(b"{".to_vec()))])),
    ] {
        let shares = Shares::new(CODE_FRAMES_BYTES_MAX);
        let ended = on_runtime(outcome_of(sent, &shares));
        assert_eq!(ended.unwrap(), "Stopped(Died)", "{what}");
        assert_eq!(shares.taken(), 0, "{what} keeps memory");
    }
}

#[test]
fn a_worker_that_asks_for_files_again_and_again_is_dead() {
    let directory = std::env::temp_dir().join(format!("strongroom-again-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let large = " ".repeat(CODE_PACKAGE_FILE_BYTES_MAX);
    let mut hash = Sha256::new();
    hash.update(large.as_bytes());
    std::fs::write(directory.join("x.js"), large).unwrap();
    let lock = format!("{}  x.js\n", hex::encode(&hash.finish()));
    std::fs::write(directory.join(LOCK_FILE), lock).unwrap();
    let packages = Packages::load(&directory).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let shares = Shares::new(CODE_FRAMES_BYTES_MAX);
    let files = CODE_PACKAGES_BYTES_MAX / CODE_PACKAGE_FILE_BYTES_MAX;
    let sent = std::iter::once(FromWorker::Ready(WALLS)).chain((0..=files).map(|_| source()));
    let sent = frames(&sent.collect::<Vec<_>>());
    let ended = on_runtime(outcome_with(sent, &shares, &packages));
    assert_eq!(ended.unwrap(), "Stopped(Died)");
    assert_eq!(shares.taken(), 0);
}

#[test]
fn a_large_frame_needs_a_share_of_the_memory() {
    let outcome = FromWorker::Outcome(Secret::new(vec![b' '; 64 * 1024]));
    let sent = frames(&[FromWorker::Ready(WALLS), outcome]);
    let shares = Shares::new(100 * 1024);
    // The program has run: "busy" would let its caller run it once more.
    let ended = on_runtime(outcome_of(sent.clone(), &shares));
    assert_eq!(ended.unwrap(), "Stopped(NoMemory)");
    // So is an answer that the program does not read.
    let small = Shares::new(100 * 1024);
    let ended = on_runtime(outcome_of(frames(&many(1, "GET")), &small));
    assert_eq!(ended.unwrap(), "Stopped(NoMemory)");
    assert_eq!((shares.taken(), small.taken()), (0, 0));
    let shares = Shares::new(CODE_FRAME_BYTES_MAX);
    assert_eq!(on_runtime(outcome_of(sent, &shares)).unwrap(), "Stopped(Died)");
    assert_eq!(shares.taken(), 0);
}

#[test]
fn a_call_is_busy_only_before_its_program_starts() {
    let greeting = FromWorker::Outcome(Secret::new(vec![b' '; 64 * 1024]));
    let ended = on_runtime(outcome_of(frames(&[greeting]), &Shares::new(100 * 1024)));
    assert!(matches!(ended, Err(Error::Busy)));
}

#[test]
fn outcomes_are_read_within_their_bounds() {
    let long = "x".repeat(CODE_MESSAGE_BYTES_MAX + 1);
    let larger = "x".repeat(CODE_THROWN_BYTES_MAX);
    let class = |status: u16, title: &str, errors: &str| {
        format!(
            "{{\"kind\":\"threw\",\"class\":{{\"status\":{status},\"title\":\"{title}\",\
             \"detail\":\"\",\"errors\":{errors}}}}}"
        )
    };
    for (json, expected) in [
        (String::from(r#"{"kind":"returned","value":[1.10]}"#), "Returned"),
        (String::from(r#"{"kind":"returned","value":null}"#), "Returned"),
        (String::from(r#"{"kind":"returned"}"#), "Stopped(Died)"),
        (String::from(r#"{"kind":"returned","value":1,"message":"x"}"#), "Stopped(Died)"),
        (String::from(r#"{"kind":"returned","value":1,"value":2}"#), "Stopped(Died)"),
        (String::from(r#"{"kind":"returned","value":1}{}"#), "Stopped(Died)"),
        (String::from(r#"{"kind":"other","value":1}"#), "Stopped(Died)"),
        (class(400, "t", "{}"), "Threw(Class"),
        (class(600, "t", "{}"), "Stopped(Died)"),
        (class(99, "t", "{}"), "Stopped(Died)"),
        (class(400, &long, "{}"), "Stopped(ResultTooLarge)"),
        (class(400, "t", &format!("\"{larger}\"")), "Stopped(ResultTooLarge)"),
        (
            class(400, "t", &format!("[{}0]", "0,".repeat(JSON_VALUES_MAX))),
            "Stopped(ResultTooLarge)",
        ),
        (
            format!(
                "{{\"kind\":\"threw\",\"response\":{{\"status\":200,\"body\":[{}0]}}}}",
                "0,".repeat(JSON_VALUES_MAX)
            ),
            "Stopped(ResultTooLarge)",
        ),
        (class(400, "t", &"[".repeat(1_000)), "Stopped(Died)"),
        (
            String::from(r#"{"kind":"threw","response":{"status":299,"headers":[["a","b"]]}}"#),
            "Threw(Response",
        ),
        (String::from(r#"{"kind":"threw","message":"out of memory"}"#), "Stopped(OutOfMemory)"),
        (format!("{{\"kind\":\"threw\",\"message\":\"{long}\"}}"), "Threw(Other"),
        (String::from(r#"{"kind":"not_a_program","message":"why"}"#), "NotAProgram"),
        (String::from("null"), "Stopped(Died)"),
    ] {
        let outcome = outcome::read(json.as_bytes());
        let shown = format!("{outcome:?}");
        assert!(shown.starts_with(expected), "{shown} instead of {expected}");
        if let ProgramOutcome::Threw(Thrown::Other { message }) = outcome {
            assert_eq!(message.expose().len(), CODE_MESSAGE_BYTES_MAX);
        }
    }
}

#[test]
fn a_returned_value_keeps_its_text() {
    let deep = format!("{}1.10{}", "[".repeat(100_000), "]".repeat(100_000));
    let json = format!("{{\"kind\":\"returned\",\"value\":{deep}}}");
    let ProgramOutcome::Returned(value) = outcome::read(json.as_bytes()) else { panic!() };
    assert!(value.expose() == deep.as_bytes());
}

#[test]
fn the_engine_runs_a_call_over_the_socket() {
    let (ours, theirs) = Socket::pair().unwrap();
    let worker = std::thread::spawn(move || {
        engine::work(Link::new(theirs), 32 * 1024 * 1024, || Ok(Some(WALLS))).is_ok()
    });
    let outcome = on_runtime(async {
        ours.set_nonblocking(true).unwrap();
        let socket = UnixStream::from_std(ours).unwrap();
        let host: Arc<dyn ProgramHost> = Arc::new(SilentHost);
        let (packages, shares) = (Packages::default(), Shares::new(CODE_FRAMES_BYTES_MAX));
        let budget = FrameBudget { shares: &shares, claimant: keyed() };
        let conversation = Conversation::new(socket, &host, &packages, budget);
        conversation.run(worker_call(), WALLS).await
    });
    let Ok(ProgramOutcome::Returned(value)) = outcome else { panic!() };
    assert_eq!(value.expose(), b"7");
    assert!(worker.join().unwrap());
}

#[test]
fn the_engine_ends_when_the_vault_is_gone() {
    let (ours, theirs) = Socket::pair().unwrap();
    drop(ours);
    let work = move || engine::work(Link::new(theirs), 1 << 25, || Ok(Some(WALLS)));
    let worker = std::thread::spawn(work);
    assert!(worker.join().unwrap().is_err());
}

#[test]
fn the_call_is_the_first_frame_of_the_vault() {
    on_runtime(async {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let host: Arc<dyn ProgramHost> = Arc::new(SilentHost);
        let (packages, shares) = (Packages::default(), Shares::new(CODE_FRAMES_BYTES_MAX));
        let budget = FrameBudget { shares: &shares, claimant: keyed() };
        let conversation = Conversation::new(ours, &host, &packages, budget);
        let worker = async {
            theirs.write_all(&frames(&[FromWorker::Ready(WALLS)])).await.unwrap();
            let mut head = [0; HEAD_BYTES];
            theirs.read_exact(&mut head).await.unwrap();
            let mut content = vec![0; frames::content_length(head).unwrap()];
            theirs.read_exact(&mut content).await.unwrap();
            assert!(matches!(ToWorker::decode(&content), Some(ToWorker::Call(_))));
            theirs.write_all(&frames(&[FromWorker::Forever])).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(conversation.run(worker_call(), WALLS), worker);
        assert!(matches!(outcome, Ok(ProgramOutcome::Threw(Thrown::Other { .. }))));
    });
}
