//! Counts for a request over one connection: instructions and allocations under callgrind, system calls under strace.
//! Unlike times they hold on a busy machine. Instructions are those of the processor that valgrind shows to programs,
//! which has no instructions for SHA.

use crate::Outcome;
use crate::bare::Bare;
use crate::client::{Connection, Target, block_on};
use crate::drive::seed;
use crate::metrics::wait_until_scrubbed;
use crate::model::Model;
use crate::proc::{Process, Scratch};
use crate::report::Results;
use crate::request::{Kind, Load, Requests, Work};
use crate::vault::VaultFiles;
use serde::Serialize;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

pub(crate) const LOADS: [(&str, Load); 2] = [("get", Load::Get), ("create", Load::Create)];
/// Enough for several merges, so that their share is about the same in each run.
const REQUESTS: usize = 500;
/// Creates and gets before the counted ones: a first request has work that later ones do not have.
const SEEDED: usize = 100;
const WARM: usize = 20;
/// The functions of the allocator that Rust code calls. They are C, so no build inlines them.
const ALLOCATE: [&str; 3] = ["mi_malloc_aligned", "mi_realloc_aligned", "mi_zalloc_aligned"];
/// A function that only the thread of merges calls.
const MERGE: &str = "local::merge::run";

/// The threads that count. Merges come at times of their own, so they are left out where runs are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    All,
    WithoutMerger,
}

/// The averages of one request.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) instructions: Option<f64>,
    /// `None` for a binary without the names of its functions.
    pub(crate) allocations: Option<f64>,
    pub(crate) system_calls: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct CountedLoad {
    pub(crate) load: &'static str,
    pub(crate) vault: Counts,
    bare: Counts,
}

pub(crate) fn measure(
    binary: &Path,
    model: &Model,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    println!("\ncounts for a request, one connection, averages of {REQUESTS}");
    let mut all = LOADS.map(|(load, _)| {
        let (vault, bare) = (Counts::default(), Counts::default());
        CountedLoad { load, vault, bare }
    });
    if is_installed("valgrind") {
        let vault = vault_under_callgrind(binary, REQUESTS, Threads::All, scratch)?;
        let tool = Callgrind::new(scratch.path("counts-bare"))?;
        let bare = Bare::start_under(&tool.words(), model, &tool.directory)?;
        let bare = block_on(tool.count(&bare.target, REQUESTS, Threads::All))?;
        for ((one, vault), bare) in all.iter_mut().zip(vault).zip(bare) {
            (one.vault, one.bare) = (vault, bare);
        }
    } else {
        println!("instructions and allocations are not counted: valgrind is not installed");
    }
    if let Err(why) = count_calls(binary, model, scratch, &mut all) {
        println!("system calls are not counted: {why}");
    }
    for [name, counts @ ..] in rows(&all) {
        println!("{name:<12} {:>13} {:>12} {:>13}", counts[0], counts[1], counts[2]);
    }
    results.counts.extend(all);
    Ok(())
}

/// The counts as a table with a heading.
pub(crate) fn rows(all: &[CountedLoad]) -> Vec<[String; 4]> {
    let shown = |count: Option<f64>, decimals: usize| {
        count.map_or_else(|| "-".to_owned(), |count| format!("{count:.decimals$}"))
    };
    let row = |name: String, of: &Counts| {
        let calls = shown(of.system_calls, 1);
        [name, shown(of.instructions, 0), shown(of.allocations, 1), calls]
    };
    let heading = ["request", "instructions", "allocations", "system calls"].map(str::to_owned);
    let of_load = |one: &CountedLoad| {
        [row(one.load.to_owned(), &one.vault), row(format!("{}, bare", one.load), &one.bare)]
    };
    std::iter::once(heading).chain(all.iter().flat_map(of_load)).collect()
}

/// The counts of get and create of a new vault, without system calls: valgrind runs one thread at a time, so threads wait
/// for each other more often than they do otherwise.
pub(crate) fn vault_under_callgrind(
    binary: &Path,
    requests: usize,
    threads: Threads,
    scratch: &Scratch,
) -> Outcome<Vec<Counts>> {
    let tool = Callgrind::new(scratch.path("counts-vault"))?;
    let place = VaultFiles { binary: binary.to_owned(), data: tool.directory.join("data") };
    let mut vault = place.start_under(&tool.words(), &[])?;
    wait_until_scrubbed(&place.data)?;
    let counts = block_on(tool.count(&vault.target, requests, threads))?;
    vault.stop()?;
    Ok(counts)
}

pub(crate) fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// callgrind, with the directory of its dumps.
struct Callgrind {
    directory: PathBuf,
}

impl Callgrind {
    fn new(directory: PathBuf) -> Outcome<Self> {
        std::fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// The words before those of the program.
    fn words(&self) -> Vec<OsString> {
        let mut file = OsString::from("--callgrind-out-file=");
        file.push(self.directory.join("dump"));
        let fixed = ["valgrind", "--tool=callgrind", "--instr-atstart=no"];
        let mut words = fixed.map(OsString::from).to_vec();
        words.extend(["--separate-threads=yes".into(), file]);
        words
    }

    async fn count(
        &self,
        target: &Target,
        requests: usize,
        threads: Threads,
    ) -> Outcome<Vec<Counts>> {
        let mut session = Session::new(target).await?;
        let mut counts = Vec::new();
        for (dump, (_, load)) in (1..).zip(LOADS) {
            let mut warm = session.begin(load).await?;
            control(target.pid, &["-i", "on"])?;
            session.send(&mut warm, requests).await?;
            control(target.pid, &["-d"])?;
            control(target.pid, &["-i", "off"])?;
            counts.push(self.read(dump, requests, threads)?);
        }
        Ok(counts)
    }

    /// Sums up a dump, which has a file for each thread.
    fn read(&self, dump: usize, requests: usize, threads: Threads) -> Outcome<Counts> {
        let prefix = format!("dump.{dump}-");
        let (mut instructions, mut allocations) = (0, 0);
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(&prefix) {
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(entry.path())?).into_owned();
            if threads == Threads::All || !text.contains(MERGE) {
                let counted = read_thread(&text).ok_or("a dump of callgrind is not understood")?;
                instructions += counted.0;
                allocations += counted.1;
            }
        }
        if instructions == 0 {
            return Err("callgrind counted nothing".into());
        }
        let average = |count: u64| (count > 0).then(|| count as f64 / requests as f64);
        let (instructions, allocations) = (average(instructions), average(allocations));
        Ok(Counts { instructions, allocations, system_calls: None })
    }
}

/// The instructions of a thread, and the calls of the functions that allocate. A function has its name where it is
/// mentioned first, and only its number after that.
pub(crate) fn read_thread(dump: &str) -> Option<(u64, u64)> {
    let (mut allocate, mut is_called) = (HashSet::new(), false);
    let (mut instructions, mut allocations) = (None, 0);
    for line in dump.lines() {
        if let Some(total) = line.strip_prefix("totals: ") {
            instructions = total.split_whitespace().next()?.parse().ok();
        } else if let Some((head, function)) = line.split_once("fn=(") {
            let (number, name) = function.split_once(')')?;
            if ALLOCATE.contains(&name.trim()) {
                allocate.insert(number);
            }
            is_called = head == "c" && allocate.contains(number);
        } else if let Some(calls) = line.strip_prefix("calls=")
            && is_called
        {
            allocations += calls.split_whitespace().next()?.parse::<u64>().ok()?;
        }
    }
    Some((instructions?, allocations))
}

fn control(pid: u32, words: &[&str]) -> Outcome<()> {
    let mut command = Command::new("callgrind_control");
    let output = command.args(words).arg(pid.to_string()).output()?;
    if !output.status.success() {
        return Err(
            format!("callgrind_control: {}", String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    Ok(())
}

fn count_calls(
    binary: &Path,
    model: &Model,
    scratch: &Scratch,
    all: &mut [CountedLoad],
) -> Outcome<()> {
    let place = VaultFiles { binary: binary.to_owned(), data: scratch.path("counts-calls") };
    let mut vault = place.start()?;
    wait_until_scrubbed(&place.data)?;
    let bare = Bare::start(model, &scratch.path("counts-calls-bare"))?;
    let log = scratch.path("counts-strace");
    let vaults = block_on(calls(&vault.target, &log))?;
    let bares = block_on(calls(&bare.target, &log))?;
    for ((one, vault), bare) in all.iter_mut().zip(vaults).zip(bares) {
        (one.vault.system_calls, one.bare.system_calls) = (Some(vault), Some(bare));
    }
    vault.stop()
}

async fn calls(target: &Target, log: &Path) -> Outcome<Vec<f64>> {
    let mut session = Session::new(target).await?;
    let mut counts = Vec::new();
    for (_, load) in LOADS {
        let mut warm = session.begin(load).await?;
        let table = log.with_extension("table");
        let mut command = Command::new("strace");
        command.args(["-f", "-c", "-U", "name,calls", "-p"]).arg(target.pid.to_string());
        let mut strace = Process::start(command.arg("-o").arg(&table), log)?;
        strace.logged("attached")?;
        session.send(&mut warm, REQUESTS).await?;
        strace.interrupt()?;
        let table = std::fs::read_to_string(table)?;
        let total = table.lines().find_map(|line| line.strip_prefix("total "));
        let total: f64 = total.ok_or("strace prints no total")?.trim().parse()?;
        counts.push(total / REQUESTS as f64);
    }
    Ok(counts)
}

/// One connection, and the tokens that gets read.
struct Session<'a> {
    target: &'a Target,
    connection: Connection,
    ids: Arc<Vec<String>>,
}

impl<'a> Session<'a> {
    async fn new(target: &'a Target) -> Outcome<Self> {
        let work = Work { ids: Arc::default(), kind: Kind::Card, load: Load::Create };
        let ids = Arc::new(seed(target, &work, SEEDED).await?);
        Ok(Self { target, connection: target.connect().await?, ids })
    }

    async fn begin(&mut self, load: Load) -> Outcome<Requests> {
        let work = Work { ids: Arc::clone(&self.ids), kind: Kind::Card, load };
        let mut requests = self.target.requests(work);
        self.send(&mut requests, WARM).await?;
        Ok(requests)
    }

    async fn send(&mut self, requests: &mut Requests, count: usize) -> Outcome<()> {
        for _ in 0..count {
            requests.write_next(&mut self.connection.out);
            let answer = self.connection.exchange_in_time().await?;
            if !(200..300).contains(&answer.status) {
                return Err(format!("a counted request was answered {}", answer.status).into());
            }
        }
        Ok(())
    }
}
