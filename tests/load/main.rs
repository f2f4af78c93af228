//! Load on the real binary beside a bare hyper + rustls server that answers the same bytes: `cargo bench --bench load`.
//!
//! Absolute figures of a shared machine vary, so all figures are ratios to the bare server in the same run, or the processor
//! time that the kernel charged the server. It never runs against a vault that it did not start.
#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program: it prints, waits for a time, counts in floating point and stops at the first surprise"
)]

mod archive;
mod bare;
mod bare_database;
mod bare_proxy;
mod budget;
mod bulk;
mod check;
mod client;
mod cluster;
mod counts;
mod drive;
mod figures;
mod hosts;
mod list;
mod merge;
mod metrics;
mod model;
mod overwrite;
mod plan;
mod postgres;
mod proc;
mod programs;
mod proxy;
mod recovery;
mod relay;
mod report;
mod request;
mod share;
mod slow;
mod stage;
mod stats;
mod vault;
mod yardsticks;

use argh::FromArgs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The vault's own allocator, so that the bare server differs from it in nothing but the work.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measure the vault beside a bare server in the same run. The load is a card with a code, an idempotency key and three
/// metadata entries. The run ends with the table of the figures to reach; its exit status is 0 unless an answer was wrong
/// or an answered write was lost.
#[derive(FromArgs)]
struct Arguments {
    /// cards in the filled vault (default 1000000, with --quick 200000; 0 leaves it out)
    #[argh(option)]
    tokens: Option<u64>,
    /// short slices, fewer connections, no plain, no mix, no rotate, no postgres, no hosts: under five minutes
    #[argh(switch)]
    quick: bool,
    /// parts to run, with commas (default all): get, list and create of cards; plain (get and create of short texts);
    /// mix (nine gets and a create in ten); merge (tail of creates during merges); bulk (backup and restore); start (clean,
    /// and after kill -9); archive (its lag); rotate (keys); proxy (calls through it, and reads beside silent destinations);
    /// programs (calls of a reactor, and reads beside programs that do not end);
    /// counts (instructions, allocations and system calls of a get and a create; needs valgrind and strace);
    /// postgres (get and create of cards with the embedded engine, and with one and two processes on a temporary server);
    /// hosts (creates of sixteen tenants with one, two and four processes on it, with and without a delay of COMMIT)
    #[argh(option, from_str_fn(parse_parts))]
    only: Option<List<plan::Part>>,
    /// kills in the part start, idle and under load each (default 3, with --quick 1)
    #[argh(option)]
    kills: Option<u32>,
    /// length of one measured slice (default 3, with --quick 1)
    #[argh(option)]
    seconds: Option<f64>,
    /// numbers of connections for get and create, with commas (default 1,16,64,256, with --quick 1,64); the figures need
    /// 1 and 64
    #[argh(option, from_str_fn(parse_connections))]
    connections: Option<List<usize>>,
    /// threads of the client (default: one for each core, or the bare server would wait for the client)
    #[argh(option)]
    client_threads: Option<usize>,
    /// print the figures as a table in Markdown, with the date and the machine
    #[argh(switch)]
    markdown: bool,
    /// write the results to this file
    #[argh(option)]
    json: Option<PathBuf>,
    /// another binary to measure
    #[argh(option)]
    vault: Option<PathBuf>,
    /// be the bare server with the answers of this file (used by the program itself)
    #[argh(option)]
    bare: Option<PathBuf>,
    /// be a proxy to the destination of this file (used by the program itself)
    #[argh(option)]
    bare_proxy: Option<PathBuf>,
    /// be a server that inserts and reads rows as this file says (used by the program itself)
    #[argh(option)]
    bare_database: Option<PathBuf>,
    /// be as many silent destinations as this file says (used by the program itself)
    #[argh(option)]
    slow: Option<PathBuf>,
    /// given by cargo bench; without it, only the driver checks itself
    #[argh(switch)]
    bench: bool,
}

/// argh takes a plain `Vec` for an option that may come several times.
struct List<T>(Vec<T>);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let arguments = match Arguments::from_args(&["load"], &words[1..]) {
        Ok(arguments) => arguments,
        Err(early) => {
            println!("{}", early.output);
            return early.status.map_or(ExitCode::from(64), |()| ExitCode::SUCCESS);
        }
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("load: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Outcome<()> {
    if let Some(model) = arguments.bare {
        return bare::serve(&model);
    }
    if let Some(destination) = arguments.bare_proxy {
        return bare_proxy::serve(&destination);
    }
    if let Some(order) = arguments.bare_database {
        return bare_database::serve(&order);
    }
    if let Some(count) = arguments.slow {
        return slow::serve(&count);
    }
    proc::watch_signals()?;
    if !arguments.bench {
        return check::run();
    }
    let scratch = proc::Scratch::new()?;
    let (json, markdown) = (arguments.json.clone(), arguments.markdown);
    let results = plan::run(&plan_of(arguments), &scratch)?;
    report::print_facts(&results);
    figures::print(&results);
    if markdown {
        figures::print_markdown(&results);
    }
    if let Some(file) = json {
        std::fs::write(file, figures::to_json(&results)?)?;
    }
    if results.killed_lost > 0 {
        return Err(format!("{} answered tokens were lost by kill -9", results.killed_lost).into());
    }
    match results.errors {
        0 => Ok(()),
        errors => Err(format!("{errors} requests failed").into()),
    }
}

fn plan_of(arguments: Arguments) -> plan::Plan {
    let quick = arguments.quick;
    let choose = |quickly: u32, fully: u32| if quick { quickly } else { fully };
    let seconds = arguments.seconds.unwrap_or_else(|| choose(1, 3).into());
    let connections = if quick { vec![1, 64] } else { vec![1, 16, 64, 256] };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = plan::PARTS.map(|(_, part)| part).to_vec();
    if quick {
        parts.retain(|part| {
            use plan::Part::{Hosts, Mix, Plain, Postgres, Rotate};
            !matches!(part, Hosts | Mix | Plain | Postgres | Rotate)
        });
    }
    plan::Plan {
        binary: arguments.vault.unwrap_or_else(|| env!("CARGO_BIN_EXE_strongroom").into()),
        tokens: arguments.tokens.unwrap_or_else(|| choose(200_000, 1_000_000).into()),
        connections: arguments.connections.map_or(connections, |list| list.0),
        parts: arguments.only.map_or(parts, |list| list.0),
        pace: drive::Pace {
            warm: Duration::from_millis(choose(250, 500).into()),
            window: Duration::from_secs_f64(seconds),
            client_threads: arguments.client_threads.unwrap_or(cores),
            timeline: drive::Timeline::LeftOut,
        },
        starts: choose(1, 3),
        kills: arguments.kills.unwrap_or_else(|| choose(1, 3)),
        walk_max: Duration::from_secs(choose(20, 120).into()),
        merge_max: Duration::from_secs(choose(15, 60).into()),
        archive_window: Duration::from_secs(choose(12, 30).into()),
    }
}

fn parse_parts(text: &str) -> Result<List<plan::Part>, String> {
    let find = |word: &str| {
        let found = plan::PARTS.iter().find(|(name, _)| *name == word);
        found.map(|(_, part)| *part).ok_or_else(|| format!("there is no part `{word}`"))
    };
    text.split(',').map(find).collect::<Result<_, _>>().map(List)
}

fn parse_connections(text: &str) -> Result<List<usize>, String> {
    let parse = |word: &str| match word.parse() {
        Ok(count @ 1..=4_096) => Ok(count),
        _ => Err(format!("`{word}` is not a number from 1 to 4096")),
    };
    text.split(',').map(parse).collect::<Result<_, _>>().map(List)
}
