//! The figures that the vault shall reach, set from measurements of bare hyper, the disk and a prototype on a two-core
//! machine, and how the run compares. A figure that was not measured counts as missed, never as reached.

use crate::Outcome;
use crate::counts;
use crate::report::{Cell, HEADLINE, MIB, Results};
use serde::Serialize;

/// The size that the figures of the filled vault are set for.
const FILLED_CARDS: u64 = 1_000_000;

/// A promise in numbers: `reach` must hold, `aim` is what we want.
struct Figure {
    name: &'static str,
    unit: &'static str,
    bound: Bound,
    reach: f64,
    aim: f64,
    measured: fn(&Results) -> Option<f64>,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast,
    AtMost,
}

impl Bound {
    const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Aim,
    Missed,
    NotMeasured,
    Reached,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Aim => "aim",
            Self::Missed => "missed",
            Self::NotMeasured => "not measured",
            Self::Reached => "reached",
        }
    }
}

/// "Filled" is the vault with the preloaded cards, "empty" the one with the thousand that gets and lists need.
const FIGURES: [Figure; 39] = [
    at_least("get against bare, empty", "x", (0.50, 0.60), |r| ratio(r, "get")),
    at_most("get: processor time against bare, empty", "x", (2.4, 1.8), |r| cpu(r, "get")),
    at_most("get: instructions", "k", (75.0, 55.0), |r| Some(r.counts("get")?.instructions? / 1e3)),
    at_most("get: allocations", "", (30.0, 15.0), |r| r.counts("get")?.allocations),
    at_least("create against bare, empty", "x", (0.22, 0.30), |r| ratio(r, "create")),
    at_least("create against bare, filled", "x", (0.20, 0.30), |r| {
        Some(r.on_full("create", HEADLINE)?.ratio)
    }),
    at_most("create: processor time against bare, empty", "x", (7.5, 4.5), |r| cpu(r, "create")),
    at_most("create: instructions", "k", (300.0, 200.0), |r| {
        Some(r.counts("create")?.instructions? / 1e3)
    }),
    at_most("create: allocations", "", (150.0, 80.0), |r| r.counts("create")?.allocations),
    at_most("create p50, empty", "ms", (4.0, 2.0), |r| {
        Some(r.on_empty("create", HEADLINE)?.vault.p50_us / 1e3)
    }),
    at_most("create p50, filled", "ms", (4.0, 2.0), |r| {
        Some(r.on_full("create", HEADLINE)?.vault.p50_us / 1e3)
    }),
    at_most("one connection: create over overwrite, empty", "x", (3.0, 2.0), |r| {
        r.on_empty("create", 1)?.create_over_overwrite
    }),
    at_most("one connection: create over overwrite, filled", "x", (3.0, 2.0), |r| {
        r.on_full("create", 1)?.create_over_overwrite
    }),
    at_most("create p99 during a merge against outside", "x", (3.0, 1.5), |r| {
        Some(r.merge_tail.as_ref()?.ratio)
    }),
    at_least("preload with all indexes", "/s", (60_000.0, 150_000.0), |r| {
        whole(r, r.preload_tokens_per_s)
    }),
    at_least("restore with all indexes", "/s", (60_000.0, 150_000.0), |r| {
        whole(r, r.restore_tokens_per_s)
    }),
    at_least("get, filled against empty", "x", (0.9, 1.0), |r| {
        r.full_over_empty("get", HEADLINE, rate)
    }),
    at_most("first page of 20, filled against empty", "x", (1.5, 1.0), |r| {
        r.full_over_empty("list-first", 1, time)
    }),
    at_most("last page of 20, filled against empty", "x", (1.5, 1.0), |r| {
        r.full_over_empty("list-last", 1, time)
    }),
    at_most("resident, idle and filled", "MiB", (36.0, 20.0), |r| mib(r.resident_idle_bytes)),
    at_most("resident, filled and after the load", "MiB", (160.0, 120.0), |r| {
        mib(r.resident_loaded_bytes)
    }),
    at_most("start to first answer, clean", "ms", (50.0, 15.0), |r| Some(r.start_clean_s? * 1e3)),
    at_most("start after kill -9 idle, the slowest", "ms", (50.0, 15.0), |r| {
        slowest_ms(&r.start_killed_idle_s)
    }),
    at_most("start after kill -9 under load, the slowest", "ms", (300.0, 100.0), |r| {
        slowest_ms(&r.start_killed_loaded_s)
    }),
    at_most("answered creates lost by kill -9", "", (0.0, 0.0), |r| {
        (!r.start_killed_loaded_s.is_empty()).then_some(r.killed_lost as f64)
    }),
    // Without the log, which grows to a few segments whatever the number of cards.
    at_most("disk for a created card", "KiB", (2.2, 1.5), |r| {
        Some(r.data_per_created_bytes? / 1024.0)
    }),
    at_most("rotation of a million cards, idle", "min", (3.0, 1.0), |r| {
        Some(1e6 / 60.0 / r.rotated_cards_per_s?)
    }),
    at_most("create p50 beside a rotation against without", "x", (1.5, 1.1), |r| {
        r.create_beside_rotation
    }),
    at_most("processor time of a proxy call against a bare proxy", "x", (3.0, 2.0), |r| {
        r.proxy_cpu
    }),
    at_least("gets beside 1,000 silent destinations", "x", (0.9, 1.0), |r| r.gets_beside_silence),
    at_most("processor time of a call of a program", "ms", (3.0, 2.0), |r| r.program_cpu_ms),
    at_most("one connection: call of a program, p50", "ms", (5.0, 2.0), |r| r.program_p50_ms),
    at_least("calls of a program", "/s", (200.0, 1_000.0), |r| r.programs_per_s),
    at_least("gets beside 64 programs that do not end", "x", (0.9, 1.0), |r| {
        r.gets_beside_programs
    }),
    at_least("PostgreSQL, get against a bare SELECT", "x", (0.5, 0.8), |r| ratio(r, "get-pg-1")),
    at_least("PostgreSQL, create against a bare INSERT", "x", (0.5, 0.8), |r| {
        ratio(r, "create-pg-1")
    }),
    at_least("the same get, two processes", "x", (0.5, 0.8), |r| ratio(r, "get-pg-2")),
    at_least("the same create, two processes", "x", (0.5, 0.8), |r| ratio(r, "create-pg-2")),
    at_most("binary", "MiB", (32.0, 32.0), |r| Some(r.binary_bytes as f64 / MIB)),
];

const fn at_least(
    name: &'static str,
    unit: &'static str,
    (reach, aim): (f64, f64),
    measured: fn(&Results) -> Option<f64>,
) -> Figure {
    Figure { name, unit, bound: Bound::AtLeast, reach, aim, measured }
}

const fn at_most(
    name: &'static str,
    unit: &'static str,
    (reach, aim): (f64, f64),
    measured: fn(&Results) -> Option<f64>,
) -> Figure {
    Figure { name, unit, bound: Bound::AtMost, reach, aim, measured }
}

/// Cards without code and metadata have fewer rows, so their rate is not the figure.
fn whole(results: &Results, rate: Option<f64>) -> Option<f64> {
    rate.filter(|_| results.preload_is_whole == Some(true))
}

fn ratio(results: &Results, load: &str) -> Option<f64> {
    results.on_empty(load, HEADLINE).map(rate)
}

fn cpu(results: &Results, load: &str) -> Option<f64> {
    results.on_empty(load, HEADLINE).map(|cell| cell.cpu_ratio)
}

fn mib(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64 / MIB)
}

fn slowest_ms(times_s: &[f64]) -> Option<f64> {
    times_s.iter().copied().max_by(f64::total_cmp).map(|time| time * 1e3)
}

fn rate(cell: &Cell) -> f64 {
    cell.ratio
}

fn time(cell: &Cell) -> f64 {
    cell.p50_ratio
}

impl Figure {
    fn verdict(&self, measured: Option<f64>) -> Verdict {
        let holds = |limit: f64, measured: f64| match self.bound {
            Bound::AtLeast => measured >= limit,
            Bound::AtMost => measured <= limit,
        };
        match measured {
            None => Verdict::NotMeasured,
            Some(measured) if holds(self.aim, measured) => Verdict::Aim,
            Some(measured) if holds(self.reach, measured) => Verdict::Reached,
            Some(_) => Verdict::Missed,
        }
    }
}

pub(crate) fn print(results: &Results) {
    println!("\nFigures to reach (filled with {} cards)", results.tokens);
    if results.tokens < FILLED_CARDS {
        println!(
            "They are set for {FILLED_CARDS} cards: the verdicts of the filled vault hold for this size only."
        );
    }
    println!("{:<47} {:>4} {:>9} {:>9} {:>9}  verdict", "figure", "", "reach", "aim", "measured");
    let mut verdicts = Vec::new();
    for figure in FIGURES {
        let measured = (figure.measured)(results);
        let (sign, verdict) = (figure.bound.sign(), figure.verdict(measured));
        verdicts.push(verdict);
        println!(
            "{:<47} {:>4} {:>9} {:>9} {:>9}  {}",
            figure.name,
            figure.unit,
            format!("{sign} {}", figure.reach),
            format!("{sign} {}", figure.aim),
            measured.map_or_else(|| "-".to_owned(), shown),
            verdict.as_str()
        );
    }
    let count = |verdict| verdicts.iter().filter(|each| **each == verdict).count();
    let not_measured = count(Verdict::NotMeasured);
    println!(
        "{} aim, {} reached, {} missed ({not_measured} of them not measured)",
        count(Verdict::Aim),
        count(Verdict::Reached),
        count(Verdict::Missed) + not_measured
    );
}

/// The measured figures as a table for the README.
pub(crate) fn print_markdown(results: &Results) {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (date, cards) = (time::OffsetDateTime::now_utc().date(), results.tokens);
    println!("\n{date}, {model}, {cores} cores for client and server, {cards} cards:\n");
    println!("| figure | measured | to reach | aim |\n|---|---|---|---|");
    for Figure { name, unit, reach, aim, measured, bound } in FIGURES {
        if let Some(measured) = measured(results) {
            let (sign, measured) = (bound.sign(), shown(measured));
            let measured = format!("{measured} {unit}");
            println!("| {name} | {} | {sign} {reach} | {sign} {aim} |", measured.trim_end());
        }
    }
    for (at, row) in counts::rows(&results.counts).iter().enumerate() {
        let rule = if at == 0 { "\n|---|---|---|---|" } else { "" };
        println!("{}| {} |{rule}", if at == 0 { "\n" } else { "" }, row.join(" | "));
    }
}

fn shown(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// Everything that was measured, and the figures with their verdicts.
pub(crate) fn to_json(results: &Results) -> Outcome<Vec<u8>> {
    #[derive(Serialize)]
    struct Judged {
        name: &'static str,
        unit: &'static str,
        sign: &'static str,
        reach: f64,
        aim: f64,
        measured: Option<f64>,
        verdict: &'static str,
    }
    #[derive(Serialize)]
    struct Whole<'a> {
        results: &'a Results,
        figures: Vec<Judged>,
    }
    let judge = |figure: Figure| {
        let measured = (figure.measured)(results);
        let (sign, verdict) = (figure.bound.sign(), figure.verdict(measured).as_str());
        let Figure { name, unit, reach, aim, .. } = figure;
        Judged { name, unit, sign, reach, aim, measured, verdict }
    };
    let figures = FIGURES.into_iter().map(judge).collect();
    Ok(serde_json::to_vec_pretty(&Whole { results, figures })?)
}
