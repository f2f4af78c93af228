//! The results of the run, as rows while it goes on, and in full at the end. It measures nothing and judges nothing.

use crate::Outcome;
use crate::counts::{CountedLoad, Counts};
use crate::drive::Slice;
use crate::merge::MergeTail;
use crate::model::Model;
use crate::plan::Plan;
use crate::proc::Scratch;
use crate::stats::{median, quotient};
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The number of connections that the figures speak of.
pub(crate) const HEADLINE: usize = 64;
pub(crate) const MIB: f64 = 1_048_576.0;

#[derive(Serialize)]
pub(crate) struct Side {
    rps: f64,
    pub(crate) p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

impl Side {
    fn new(slices: &[&Slice]) -> Self {
        let middle = |of: fn(&Slice) -> f64| {
            median(slices.iter().map(|slice| of(slice))).unwrap_or_default()
        };
        Self {
            rps: middle(|slice| slice.rps),
            p50_us: middle(|slice| slice.p50_us),
            p90_us: middle(|slice| slice.p90_us),
            p99_us: middle(|slice| slice.p99_us),
            cpu_us: middle(|slice| slice.cpu_us),
        }
    }
}

/// One kind of load with one number of connections on one vault, beside the bare server.
#[derive(Serialize)]
pub(crate) struct Cell {
    load: String,
    /// The number of tokens in the vault at the start; 0 for the empty one.
    tokens: u64,
    connections: usize,
    pub(crate) vault: Side,
    bare: Side,
    /// Requests per second against the bare server's, the median over neighbouring slices.
    pub(crate) ratio: f64,
    /// The server's processor time for a request against the bare server's, likewise.
    pub(crate) cpu_ratio: f64,
    /// p50 against the bare server's p50, likewise.
    pub(crate) p50_ratio: f64,
    /// The number of tokens that the vault made, warm-ups included.
    pub(crate) made: u64,
    /// The p50 of creates over one connection against that of overwriting 4 KiB of the disk.
    pub(crate) create_over_overwrite: Option<f64>,
}

impl Cell {
    pub(crate) fn new(
        load: &str,
        tokens: u64,
        connections: usize,
        pairs: &[(Slice, Slice)],
    ) -> Self {
        let over = |of: fn(&Slice) -> f64| {
            let ratios = pairs.iter().map(|(vault, bare)| quotient(of(vault), of(bare)));
            median(ratios).unwrap_or_default()
        };
        Self {
            load: load.to_owned(),
            tokens,
            connections,
            vault: Side::new(&pairs.iter().map(|(vault, _)| vault).collect::<Vec<_>>()),
            bare: Side::new(&pairs.iter().map(|(_, bare)| bare).collect::<Vec<_>>()),
            ratio: over(|slice| slice.rps),
            cpu_ratio: over(|slice| slice.cpu_us),
            p50_ratio: over(|slice| slice.p50_us),
            made: pairs.iter().map(|(vault, _)| vault.made).sum(),
            create_over_overwrite: None,
        }
    }
}

/// Everything that was measured; what was not is `None` or empty.
#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) tokens: u64,
    pub(crate) binary_bytes: u64,
    pub(crate) cells: Vec<Cell>,
    pub(crate) errors: u64,
    pub(crate) resident_idle_bytes: Option<u64>,
    pub(crate) resident_loaded_bytes: Option<u64>,
    pub(crate) start_clean_s: Option<f64>,
    pub(crate) start_killed_idle_s: Vec<f64>,
    pub(crate) start_killed_loaded_s: Vec<f64>,
    /// Tokens that a killed vault had answered for, and those of them that were gone after the restart.
    pub(crate) killed_answered: u64,
    pub(crate) killed_lost: u64,
    pub(crate) counts: Vec<CountedLoad>,
    pub(crate) merge_tail: Option<MergeTail>,
    pub(crate) archive_lag_max_s: Option<f64>,
    /// Cards that a rotation of keys brought under the new ones in a vault without requests.
    pub(crate) rotated_cards_per_s: Option<f64>,
    /// The p50 of creates beside a rotation against that without one.
    pub(crate) create_beside_rotation: Option<f64>,
    /// Processor time of a call through the proxy against that of one through the bare proxy.
    pub(crate) proxy_cpu: Option<f64>,
    /// Gets beside calls to silent destinations against gets alone.
    pub(crate) gets_beside_silence: Option<f64>,
    /// With its worker.
    pub(crate) program_cpu_ms: Option<f64>,
    pub(crate) program_p50_ms: Option<f64>,
    pub(crate) programs_per_s: Option<f64>,
    pub(crate) gets_beside_programs: Option<f64>,
    /// The preload made the cards of the load, with code and metadata.
    pub(crate) preload_is_whole: Option<bool>,
    pub(crate) preload_tokens_per_s: Option<f64>,
    /// Entries of the filled vault's audit chain that were verified in a second.
    pub(crate) audit_verified_per_s: Option<f64>,
    /// While the vault runs, and of the file that came of it.
    pub(crate) backup_tokens_per_s: Option<f64>,
    pub(crate) backup_per_token_bytes: Option<f64>,
    pub(crate) restore_tokens_per_s: Option<f64>,
    pub(crate) disk_per_preloaded_bytes: Option<f64>,
    /// The growth of the data file, and of the files beside it.
    pub(crate) data_per_created_bytes: Option<f64>,
    pub(crate) beside_per_created_bytes: Option<f64>,
    pub(crate) overwrite_p50_us: Option<f64>,
    /// The growth of a database, without its log.
    pub(crate) database_per_created_bytes: Option<f64>,
    /// The number of the page that stands for the last one, for each vault.
    pub(crate) list_pages: Vec<(u64, u64)>,
}

impl Results {
    pub(crate) fn new(plan: &Plan, scratch: &Scratch) -> Outcome<Self> {
        let bytes = |file: &Path| std::fs::metadata(file).map(|facts| facts.len());
        let binary = bytes(&plan.binary)
            .map_err(|why| format!("cannot read {}: {why}", plan.binary.display()))?;
        // Packages have no names of functions, and the binary of the benchmark has them.
        let stripped = scratch.path("stripped");
        drop(Command::new("strip").arg("-o").arg(&stripped).arg(&plan.binary).output());
        let binary_bytes = bytes(&stripped).unwrap_or(binary);
        Ok(Self { tokens: plan.tokens, binary_bytes, ..Self::default() })
    }

    pub(crate) fn count_errors(&mut self, load: &str, slice: &Slice) {
        self.errors += slice.errors;
        if let Some(why) = &slice.first_error {
            println!("    {} errors of {load}, the first: {why}", slice.errors);
        }
    }

    /// Prints a cell and keeps it, with the errors of its slices.
    pub(crate) fn add(&mut self, cell: Cell, pairs: &[(Slice, Slice)]) {
        print_cell(&cell);
        for (vault, bare) in pairs {
            self.count_errors(&cell.load, vault);
            self.count_errors("the bare server", bare);
        }
        self.cells.push(cell);
    }

    pub(crate) fn on_empty(&self, load: &str, connections: usize) -> Option<&Cell> {
        self.cell(load, 0, connections)
    }

    /// `None` unless the filled vault holds the cards of the load: smaller ones have fewer rows and shorter answers.
    pub(crate) fn on_full(&self, load: &str, connections: usize) -> Option<&Cell> {
        (self.preload_is_whole == Some(true)).then(|| self.cell(load, self.tokens, connections))?
    }

    pub(crate) fn counts(&self, load: &str) -> Option<&Counts> {
        self.counts.iter().find(|counted| counted.load == load).map(|counted| &counted.vault)
    }

    fn cell(&self, load: &str, tokens: u64, connections: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            cell.load == load && cell.tokens == tokens && cell.connections == connections
        })
    }

    /// The full vault against the empty one. Each is taken against the bare server of its own minutes, since the machine's
    /// own speed wanders over a run.
    pub(crate) fn full_over_empty(
        &self,
        load: &str,
        connections: usize,
        of: fn(&Cell) -> f64,
    ) -> Option<f64> {
        let (full, empty) = (self.on_full(load, connections)?, self.on_empty(load, connections)?);
        Some(quotient(of(full), of(empty)))
    }
}

pub(crate) fn print_opening(plan: &Plan, model: &Model) {
    println!(
        "cards with code, idempotency key and three metadata entries; slices of {:.1} s, medians of three; answers of {} B \
         to get and {} B to create",
        plan.pace.window.as_secs_f64(),
        model.get.bytes(),
        model.create.bytes()
    );
}

pub(crate) fn print_heading(tokens: u64) {
    let filling =
        if tokens == 0 { "empty vault".to_owned() } else { format!("vault with {tokens} cards") };
    println!("\n{filling}");
    print_columns();
}

pub(crate) fn print_columns() {
    let side = |name: &str| {
        format!("{name:>9} {:>8} {:>8} {:>8} {:>7}", "p50 us", "p90 us", "p99 us", "cpu us")
    };
    let (vault, bare) = (side("vault r/s"), side("bare r/s"));
    println!("{:<12} {:>5} | {vault} | {bare} | {:>6}", "load", "conns", "ratio");
}

fn print_cell(cell: &Cell) {
    let side = |side: &Side| {
        format!(
            "{:>9.0} {:>8.0} {:>8.0} {:>8.0} {:>7.1}",
            side.rps, side.p50_us, side.p90_us, side.p99_us, side.cpu_us
        )
    };
    let (vault, bare) = (side(&cell.vault), side(&cell.bare));
    println!("{:<12} {:>5} | {vault} | {bare} | {:>6.3}", cell.load, cell.connections, cell.ratio);
}

/// Measurements that no figure judges, or that explain one.
pub(crate) fn print_facts(results: &Results) {
    println!();
    let optional = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            println!("{name}: {value:.1} {unit}");
        }
    };
    optional("overwriting 4 KiB with fdatasync, p50", results.overwrite_p50_us, "us");
    optional("archive lag under load, maximum", results.archive_lag_max_s, "s");
    optional("rotation of tenant keys", results.rotated_cards_per_s, "cards/s");
    optional("preload", results.preload_tokens_per_s, "cards/s");
    optional("audit entries verified", results.audit_verified_per_s, "/s");
    optional("backup", results.backup_tokens_per_s, "tokens/s");
    optional("backup for a token", results.backup_per_token_bytes, "B");
    optional("restore", results.restore_tokens_per_s, "tokens/s");
    optional("disk for a preloaded card", results.disk_per_preloaded_bytes, "B");
    optional("disk for a created card, data file", results.data_per_created_bytes, "B");
    optional("disk for a created card, growth of the log", results.beside_per_created_bytes, "B");
    optional("database for a created card", results.database_per_created_bytes, "B");
    for (tokens, pages) in &results.list_pages {
        println!("last page of 20 that was reached with {tokens} cards preloaded: {pages}");
    }
    for (name, times) in
        [("idle", &results.start_killed_idle_s), ("under load", &results.start_killed_loaded_s)]
    {
        let of_kills = format!("start after kill -9 {name}, median of {}", times.len());
        let time = median(times.iter().copied()).map(|time| time * 1e3);
        optional(&of_kills, time, "ms");
    }
    if !results.start_killed_loaded_s.is_empty() {
        let (answered, lost) = (results.killed_answered, results.killed_lost);
        println!("answered before kill -9 and looked up after: {answered}, of these lost: {lost}");
    }
    if results.preload_is_whole == Some(false) {
        println!(
            "the preloaded cards lack the code or metadata, so rates of the filled vault are not judged"
        );
    }
}
