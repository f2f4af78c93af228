//! The results of the run, as rows while it goes on, and in full at the end. It measures nothing and judges nothing.

use crate::Outcome;
use crate::drive::Slice;
use crate::model::Model;
use crate::plan::Plan;
use crate::stats::{median, quotient};
use serde::Serialize;

/// The number of connections that the figures speak of.
pub(crate) const HEADLINE: usize = 64;
pub(crate) const MIB: f64 = 1_048_576.0;

#[derive(Serialize)]
pub(crate) struct Side {
    rps: f64,
    pub(crate) p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
    errors: u64,
}

impl Side {
    fn new<'a>(slices: impl Iterator<Item = &'a Slice> + Clone) -> Self {
        let middle = |of: fn(&Slice) -> f64| median(slices.clone().map(of)).unwrap_or_default();
        Self {
            rps: middle(|slice| slice.rps),
            p50_us: middle(|slice| slice.p50_us),
            p99_us: middle(|slice| slice.p99_us),
            cpu_us: middle(|slice| slice.cpu_us),
            errors: slices.map(|slice| slice.errors).sum(),
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
    /// p99/p50 against the bare server's p99/p50, likewise.
    pub(crate) tail_ratio: f64,
    /// p50 against the bare server's p50, likewise.
    pub(crate) p50_ratio: f64,
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
            vault: Side::new(pairs.iter().map(|(vault, _)| vault)),
            bare: Side::new(pairs.iter().map(|(_, bare)| bare)),
            ratio: over(|slice| slice.rps),
            tail_ratio: over(|slice| quotient(slice.p99_us, slice.p50_us)),
            p50_ratio: over(|slice| slice.p50_us),
        }
    }
}

/// Everything that was measured; what was not is `None`.
#[derive(Serialize)]
pub(crate) struct Results {
    pub(crate) kind: String,
    pub(crate) tokens: u64,
    pub(crate) binary_bytes: u64,
    pub(crate) cells: Vec<Cell>,
    pub(crate) resident_idle_empty_bytes: Option<u64>,
    pub(crate) resident_idle_bytes: Option<u64>,
    pub(crate) resident_loaded_bytes: Option<u64>,
    pub(crate) start_clean_s: Option<f64>,
    pub(crate) start_killed_idle_s: Option<f64>,
    pub(crate) start_killed_loaded_s: Option<f64>,
    /// Records that a rotation of keys brought under the new one.
    pub(crate) rotated_per_s: Option<f64>,
    /// Tokens that a killed vault had answered for, and those of them that were gone after the restart.
    pub(crate) killed_answered: u64,
    pub(crate) killed_lost: u64,
    pub(crate) preload_s: Option<f64>,
    /// Entries of the filled vault's audit chain that were verified in a second.
    pub(crate) audit_verified_per_s: Option<f64>,
    /// While the vault runs, and of the file that came of it.
    pub(crate) backup_tokens_per_s: Option<f64>,
    pub(crate) backup_per_token_bytes: Option<f64>,
    pub(crate) restore_tokens_per_s: Option<f64>,
    pub(crate) disk_per_preloaded_bytes: Option<f64>,
    pub(crate) disk_per_created_bytes: Option<f64>,
    pub(crate) redb_commit_p50_us: Option<f64>,
    /// The p50 of creates over one connection against that, the median over neighbouring slices.
    pub(crate) create_over_commit: Option<f64>,
    /// The number of the page that stands for the last one, for each vault.
    pub(crate) list_pages: Vec<(u64, u64)>,
}

impl Results {
    pub(crate) fn new(plan: &Plan) -> Outcome<Self> {
        let binary = std::fs::metadata(&plan.binary)
            .map_err(|why| format!("cannot read {}: {why}", plan.binary.display()))?;
        Ok(Self {
            kind: format!("{:?}", plan.kind).to_lowercase(),
            tokens: plan.tokens,
            binary_bytes: binary.len(),
            cells: Vec::new(),
            resident_idle_empty_bytes: None,
            resident_idle_bytes: None,
            resident_loaded_bytes: None,
            start_clean_s: None,
            start_killed_idle_s: None,
            start_killed_loaded_s: None,
            rotated_per_s: None,
            killed_answered: 0,
            killed_lost: 0,
            preload_s: None,
            audit_verified_per_s: None,
            backup_tokens_per_s: None,
            backup_per_token_bytes: None,
            restore_tokens_per_s: None,
            disk_per_preloaded_bytes: None,
            disk_per_created_bytes: None,
            redb_commit_p50_us: None,
            create_over_commit: None,
            list_pages: Vec::new(),
        })
    }

    pub(crate) fn errors(&self) -> u64 {
        self.cells.iter().map(|cell| cell.vault.errors + cell.bare.errors).sum()
    }

    pub(crate) fn on_empty(&self, load: &str, connections: usize) -> Option<&Cell> {
        self.cell(load, 0, connections)
    }

    fn on_full(&self, load: &str, connections: usize) -> Option<&Cell> {
        (self.tokens > 0).then(|| self.cell(load, self.tokens, connections))?
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
        "{} tokens, slices of {:.1} s, medians of three; answers of {} B to get and {} B to create",
        format!("{:?}", plan.kind).to_lowercase(),
        plan.pace.window.as_secs_f64(),
        model.get.bytes(),
        model.create.bytes()
    );
}

pub(crate) fn print_heading(tokens: u64) {
    let filling =
        if tokens == 0 { "empty vault".to_owned() } else { format!("vault with {tokens} tokens") };
    println!("\n{filling}");
    println!(
        "{:<10} {:>5} | {:>9} {:>9} {:>9} {:>7} {:>4} | {:>9} {:>9} {:>9} {:>7} {:>4} | {:>6} {:>6}",
        "load",
        "conns",
        "vault r/s",
        "p50 us",
        "p99 us",
        "cpu us",
        "err",
        "bare r/s",
        "p50 us",
        "p99 us",
        "cpu us",
        "err",
        "ratio",
        "tail"
    );
}

pub(crate) fn print_cell(cell: &Cell, pairs: &[(Slice, Slice)]) {
    let side = |side: &Side| {
        format!(
            "{:>9.0} {:>9.0} {:>9.0} {:>7.1} {:>4}",
            side.rps, side.p50_us, side.p99_us, side.cpu_us, side.errors
        )
    };
    println!(
        "{:<10} {:>5} | {} | {} | {:>6.3} {:>6.2}",
        cell.load,
        cell.connections,
        side(&cell.vault),
        side(&cell.bare),
        cell.ratio,
        cell.tail_ratio
    );
    let slices = pairs.iter().flat_map(|(vault, bare)| [("vault", vault), ("bare", bare)]);
    for (name, slice) in slices {
        if let Some(why) = &slice.first_error {
            println!("    error of the {name}: {why}");
        }
    }
}

pub(crate) fn print_facts(results: &Results) {
    println!();
    let optional = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            println!("{name}: {value:.3} {unit}");
        }
    };
    let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / MIB);
    optional("one redb commit of a create's rows, p50", results.redb_commit_p50_us, "us");
    optional("resident, idle and empty", mib(results.resident_idle_empty_bytes), "MiB");
    optional("resident, idle and filled", mib(results.resident_idle_bytes), "MiB");
    optional("resident, after the load", mib(results.resident_loaded_bytes), "MiB");
    optional("start to first answer, clean", results.start_clean_s, "s");
    optional("start to first answer, after kill -9 when idle", results.start_killed_idle_s, "s");
    optional("start to first answer, after kill -9 under load", results.start_killed_loaded_s, "s");
    optional("rotation of tenant keys, records", results.rotated_per_s, "/s");
    optional("preload", results.preload_s, "s");
    optional("audit entries verified", results.audit_verified_per_s, "/s");
    optional("backup", results.backup_tokens_per_s, "tokens/s");
    optional("backup for a token", results.backup_per_token_bytes, "B");
    optional("restore", results.restore_tokens_per_s, "tokens/s");
    optional("disk for a preloaded token", results.disk_per_preloaded_bytes, "B");
    optional("disk for a created token", results.disk_per_created_bytes, "B");
    optional("binary", Some(results.binary_bytes as f64 / MIB), "MiB");
    for (tokens, pages) in &results.list_pages {
        println!("last page of 20 that was reached with {tokens} tokens preloaded: {pages}");
    }
    if results.start_killed_loaded_s.is_some() {
        let (answered, lost) = (results.killed_answered, results.killed_lost);
        println!("answered before kill -9 and looked up after: {answered}, of these lost: {lost}");
    }
}
