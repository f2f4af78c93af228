//! The figures that the vault shall reach, set from measurements of bare hyper, redb and a prototype on a two-core machine,
//! and how the run compares. A figure that was not measured is shown as such, never as reached.

use crate::Outcome;
use crate::report::{Cell, HEADLINE, MIB, Results};
use serde::Serialize;

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

/// "Filled" is the vault with the preloaded tokens, "empty" the one with the thousand that gets and lists need.
const FIGURES: [Figure; 16] = [
    at_least("get against bare, empty", (0.40, 0.60), |r| Some(r.on_empty("get", HEADLINE)?.ratio)),
    at_least("create against bare, empty", (0.12, 0.25), |r| {
        Some(r.on_empty("create", HEADLINE)?.ratio)
    }),
    at_least("create, filled against empty", (0.4, 0.9), |r| {
        r.full_over_empty("create", HEADLINE, rate)
    }),
    at_least("get, filled against empty", (0.9, 1.0), |r| r.full_over_empty("get", HEADLINE, rate)),
    at_most("first page of 20, filled against empty", "x", (1.5, 1.0), |r| {
        r.full_over_empty("list-first", 1, time)
    }),
    at_most("last page of 20, filled against empty", "x", (1.5, 1.0), |r| {
        r.full_over_empty("list-last", 1, time)
    }),
    at_most("get p99/p50 against bare's own", "x", (1.5, 1.0), |r| {
        Some(r.on_empty("get", HEADLINE)?.tail_ratio)
    }),
    at_most("create p99/p50 against bare's own", "x", (2.0, 1.0), |r| {
        Some(r.on_empty("create", HEADLINE)?.tail_ratio)
    }),
    at_most("one connection: create p50 over one commit", "x", (1.6, 1.2), |r| {
        r.create_over_commit
    }),
    at_most("resident, idle and filled", "MiB", (40.0, 20.0), |r| {
        Some(r.resident_idle_bytes? as f64 / MIB)
    }),
    at_most("resident, after the load", "MiB", (200.0, 120.0), |r| {
        Some(r.resident_loaded_bytes? as f64 / MIB)
    }),
    at_most("start to first answer, clean and filled", "s", (0.3, 0.05), |r| r.start_clean_s),
    at_most("start after kill -9 when idle", "s", (0.3, 0.05), |r| r.start_killed_idle_s),
    at_most("start after kill -9 under load", "s", (5.0, 1.0), |r| r.start_killed_loaded_s),
    at_most("disk for a preloaded token with its indexes", "KiB", (2.5, 1.5), |r| {
        Some(r.disk_per_preloaded_bytes? / 1024.0)
    }),
    at_most("binary", "MiB", (15.0, 8.0), |r| Some(r.binary_bytes as f64 / MIB)),
];

const fn at_least(
    name: &'static str,
    (reach, aim): (f64, f64),
    measured: fn(&Results) -> Option<f64>,
) -> Figure {
    Figure { name, unit: "x", bound: Bound::AtLeast, reach, aim, measured }
}

const fn at_most(
    name: &'static str,
    unit: &'static str,
    (reach, aim): (f64, f64),
    measured: fn(&Results) -> Option<f64>,
) -> Figure {
    Figure { name, unit, bound: Bound::AtMost, reach, aim, measured }
}

fn rate(cell: &Cell) -> f64 {
    cell.ratio
}

fn time(cell: &Cell) -> f64 {
    cell.p50_ratio
}

impl Figure {
    fn verdict(&self, measured: Option<f64>) -> &'static str {
        let holds = |limit: f64, measured: f64| match self.bound {
            Bound::AtLeast => measured >= limit,
            Bound::AtMost => measured <= limit,
        };
        match measured {
            None => "not measured",
            Some(measured) if holds(self.aim, measured) => "aim",
            Some(measured) if holds(self.reach, measured) => "reach",
            Some(_) => "MISSED",
        }
    }

    fn sign(&self) -> &'static str {
        match self.bound {
            Bound::AtLeast => ">=",
            Bound::AtMost => "<=",
        }
    }
}

pub(crate) fn print(results: &Results) {
    println!(
        "\n{:<44} {:>4} {:>8} {:>8} {:>9}  ok? (kind {}, filled with {})",
        "figure", "", "reach", "aim", "measured", results.kind, results.tokens
    );
    for figure in FIGURES {
        let measured = (figure.measured)(results);
        let sign = figure.sign();
        println!(
            "{:<44} {:>4} {:>8} {:>8} {:>9}  {}",
            figure.name,
            figure.unit,
            format!("{sign} {}", figure.reach),
            format!("{sign} {}", figure.aim),
            measured.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}")),
            figure.verdict(measured)
        );
    }
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
        let (sign, verdict) = (figure.sign(), figure.verdict(measured));
        let Figure { name, unit, reach, aim, .. } = figure;
        Judged { name, unit, sign, reach, aim, measured, verdict }
    };
    let figures = FIGURES.into_iter().map(judge).collect();
    Ok(serde_json::to_vec_pretty(&Whole { results, figures })?)
}
