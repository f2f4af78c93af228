//! Runs samples in child processes: a damaged page can end the process, and the panic hook is
//! shared by the whole process.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;

use crate::store::panic_cannot_be_caught;
use crate::store::tests::damage::number;
use crate::waiting::{PATIENCE, thorough};

/// The samples of a child: the first seed, and the one after the last.
const SEEDS: &str = "STRONGROOM_TEST_SEEDS";

/// Precedes the seed of the sample that begins.
const BEGINS: &str = "sample ";

/// Precedes a sample that fails the test.
const BAD: &str = "bad sample: ";

/// A cycle of damaged pages can make a write of redb end like this.
const OVERFLOW: &str = "has overflowed its stack";

/// The exit code of a child that stopped because of damage, as in the program.
const DAMAGED: i32 = 65;

/// Runs `samples` in children of this test, from the usual seed on unless the environment names
/// another. Each sample and each child must end: by itself, or by damage that cannot be caught,
/// after which the next child continues.
pub(super) fn in_children(test: &str, usual_seed: u64, samples: impl FnOnce(Range<u64>)) {
    if let Some(seeds) = own_seeds() {
        return samples(seeds);
    }
    let first = number("STRONGROOM_SEED", usual_seed);
    let mut seeds = first..first + number("STRONGROOM_FLIPS", thorough(60, 500));
    let (mut bad, mut ended) = (Vec::new(), 0);
    while !seeds.is_empty() {
        let mut child = start(test, &seeds);
        let complaints = last_complaints(&mut child);
        let last = follow(&mut child, &mut bad);
        let code = child.wait().unwrap().code();
        if code == Some(0) {
            break;
        }
        let complaints = complaints.join().unwrap();
        let is_damage = code == Some(DAMAGED) || complaints.contains(OVERFLOW);
        assert!(is_damage, "it ended with {code:?} at sample {last:?}:\n{complaints}");
        ended += 1;
        seeds.start = last.unwrap() + 1;
    }
    println!("{ended:6} ended by damage");
    assert!(bad.is_empty(), "{} bad samples:\n{}", bad.len(), bad.join("\n"));
}

/// The seeds that this process is to try; `None` unless it is a child.
fn own_seeds() -> Option<Range<u64>> {
    #[expect(clippy::disallowed_methods, reason = "the argument of a child of this test")]
    let text = std::env::var(SEEDS).ok()?;
    let (first, end) = text.split_once(' ').unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic_cannot_be_caught() {
            #[expect(clippy::exit, reason = "the program does the same")]
            std::process::exit(DAMAGED);
        }
        hook(panic);
    }));
    Some(first.parse().unwrap()..end.parse().unwrap())
}

/// A child calls it before each sample.
pub(super) fn begin(seed: u64) {
    println!("{BEGINS}{seed}");
}

/// Printed at once, since a later sample may end the child.
pub(super) fn report_bad(sample: &str) {
    println!("{BAD}{sample}");
}

fn start(test: &str, seeds: &Range<u64>) -> Child {
    let test = format!("app::tests::faults::{test}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([test.as_str(), "--exact", "--nocapture"]);
    child.env(SEEDS, format!("{} {}", seeds.start, seeds.end));
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The end of a child's standard error, which has caught panics too.
fn last_complaints(child: &mut Child) -> JoinHandle<String> {
    const KEPT: usize = 400;
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    std::thread::spawn(move || {
        let mut last = VecDeque::new();
        for line in lines.map_while(Result::ok) {
            last.push_back(line);
            if last.len() > KEPT {
                last.pop_front();
            }
        }
        last.make_contiguous().join("\n")
    })
}

/// Prints the output of a child until it ends. Returns the seed of its last sample.
fn follow(child: &mut Child, bad: &mut Vec<String>) -> Option<u64> {
    let lines = lines_of(child);
    let mut last = None;
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                if let Some(seed) = line.strip_prefix(BEGINS) {
                    last = Some(seed.parse().unwrap());
                } else if let Some(sample) = line.strip_prefix(BAD) {
                    bad.push(String::from(sample));
                } else {
                    println!("{line}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => return last,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                panic!("waited {PATIENCE:?} in vain for the end of sample {last:?}");
            }
        }
    }
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            sender.send(line).ok();
        }
    });
    lines
}
