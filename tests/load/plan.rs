//! The run itself: which vault is started and filled when, and which slices of load it gets. It prints rows as they come
//! and leaves judging to `report`.

use crate::Outcome;
use crate::bare::Bare;
use crate::baseline::Baseline;
use crate::client::Target;
use crate::drive::{Pace, Slice, drive, seed};
use crate::model::{compare_tls, confirm_replies, expect_reply, learn};
use crate::proc::{self, Scratch};
use crate::report::{self, Cell, Results};
use crate::request::{Kind, Load, PAGE_SIZE, Work};
use crate::stats::{median, quotient};
use crate::vault::{Place, Vault};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// An odd number, so that the median is one that was measured.
const SLICES: usize = 3;
/// Tokens in the "empty" vault: gets need some to choose from, and lists a last page.
const SEEDED: usize = 1_000;
/// The vault's writer finishes and goes idle in this time, so that its work is not taken from the bare server's slice.
const SETTLE: Duration = Duration::from_millis(300);
/// Long enough to count as idle, whatever the vault still does by then.
const IDLE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Backup,
    Create,
    Get,
    List,
    Mix,
    Redb,
    Rotate,
    Start,
}

pub(crate) const PARTS: [(&str, Part); 8] = [
    ("get", Part::Get),
    ("list", Part::List),
    ("create", Part::Create),
    ("mix", Part::Mix),
    ("redb", Part::Redb),
    ("backup", Part::Backup),
    ("start", Part::Start),
    ("rotate", Part::Rotate),
];

pub(crate) struct Plan {
    pub(crate) binary: PathBuf,
    pub(crate) kind: Kind,
    /// The number of tokens in the second vault; with 0 there is no second vault.
    pub(crate) tokens: u64,
    pub(crate) connections: Vec<usize>,
    pub(crate) parts: Vec<Part>,
    pub(crate) pace: Pace,
    /// The number of measured starts of each kind.
    pub(crate) starts: usize,
    /// The time limit of the search for the last page of a list.
    pub(crate) walk_max: Duration,
}

impl Plan {
    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    fn work(&self, load: Load, ids: &Arc<Vec<String>>) -> Work {
        Work { ids: Arc::clone(ids), kind: self.kind, load }
    }
}

pub(crate) fn run(plan: &Plan, scratch: &Scratch) -> Outcome<Results> {
    let mut results = Results::new(plan)?;
    let place = Place { binary: plan.binary.clone(), data: scratch.path("empty") };
    let (vault, ids) = fresh(plan, &place)?;
    results.resident_idle_empty_bytes = proc::resident_bytes(vault.target.pid);
    let list = plan.has(Part::List).then(|| plan.work(Load::Page(String::new()), &ids));
    let model = learn(&vault.target, &plan.work(Load::Get, &ids), list)?;
    let bare = Bare::start(&model, &scratch.path("bare"))?;
    confirm_replies(&bare.target, &plan.work(Load::Get, &ids), &model)?;
    compare_tls(&vault.target, &bare.target)?;
    report::print_opening(plan, &model);

    let mut stage =
        Stage { plan, bare: &bare.target, place, vault, ids, tokens: 0, baseline: None };
    stage.baseline =
        plan.has(Part::Redb).then(|| Baseline::new(&scratch.path("baseline.redb"))).transpose()?;
    stage.measure(&mut results)?;
    if plan.tokens > 0 {
        stage.finish()?;
        let place = Place { binary: plan.binary.clone(), data: scratch.path("full") };
        let (vault, ids) = filled(plan, &place, &mut results)?;
        stage = Stage {
            plan,
            bare: &bare.target,
            place,
            vault,
            ids,
            tokens: plan.tokens,
            baseline: None,
        };
        stage.measure(&mut results)?;
    }
    results.resident_loaded_bytes = proc::resident_bytes(stage.vault.target.pid);
    if plan.has(Part::Backup) {
        stage.back_up_and_restore(scratch, &mut results)?;
    }
    if plan.has(Part::Start) {
        stage = stage.killed_idle(&mut results)?;
        stage = stage.killed_under_load(&mut results)?;
    }
    if plan.has(Part::Rotate) {
        stage = stage.rotated(&mut results)?;
    }
    stage.finish()?;
    Ok(results)
}

/// A running vault with nothing in it but the seeded tokens.
fn fresh(plan: &Plan, place: &Place) -> Outcome<(Vault, Arc<Vec<String>>)> {
    if place.data.exists() {
        place.remove()?;
    }
    let vault = place.start()?;
    let work = plan.work(Load::Create, &Arc::default());
    let ids = block_on(seed(&vault.target, &work, SEEDED))?;
    Ok((vault, Arc::new(ids)))
}

/// A running vault filled with the plan's tokens: made by a first start, filled while stopped, started again against the clock.
fn filled(plan: &Plan, place: &Place, results: &mut Results) -> Outcome<(Vault, Arc<Vec<String>>)> {
    place.start()?.stop()?;
    let empty_bytes = proc::disk_bytes(&place.data)?;
    let start = Instant::now();
    let ids = Arc::new(place.preload(plan.tokens, plan.kind)?);
    results.preload_s = Some(start.elapsed().as_secs_f64());
    let filled_bytes = proc::disk_bytes(&place.data)? - empty_bytes;
    results.disk_per_preloaded_bytes = Some(filled_bytes as f64 / plan.tokens as f64);
    let start = Instant::now();
    let entries = place.verify_audit()?;
    results.audit_verified_per_s = Some(entries / start.elapsed().as_secs_f64());
    let mut times = Vec::new();
    let (mut vault, first) = timed_start(plan, place, &ids)?;
    times.push(first);
    if plan.has(Part::Start) {
        for _ in 1..plan.starts {
            vault.stop()?;
            let (again, time) = timed_start(plan, place, &ids)?;
            vault = again;
            times.push(time);
        }
    }
    results.start_clean_s = median(times);
    thread::sleep(IDLE);
    results.resident_idle_bytes = proc::resident_bytes(vault.target.pid);
    Ok((vault, ids))
}

/// From the start of the process to the last byte of the first 200, over a new connection.
fn timed_start(plan: &Plan, place: &Place, ids: &Arc<Vec<String>>) -> Outcome<(Vault, f64)> {
    proc::check_interrupted()?;
    let start = Instant::now();
    let vault = place.start()?;
    let work = plan.work(Load::Get, ids);
    block_on(async {
        let mut connection = vault.target.connect().await?;
        expect_reply(&vault.target, &mut connection, work, 200).await
    })?;
    Ok((vault, start.elapsed().as_secs_f64()))
}

/// One vault and its cells.
struct Stage<'a> {
    plan: &'a Plan,
    bare: &'a Target,
    place: Place,
    vault: Vault,
    ids: Arc<Vec<String>>,
    /// 0 for the vault that starts each round of writes empty.
    tokens: u64,
    /// The storage engine alone, measured between the slices of creates over one connection.
    baseline: Option<Baseline>,
}

impl Stage<'_> {
    fn measure(&mut self, results: &mut Results) -> Outcome<()> {
        report::print_heading(self.tokens);
        for (name, part) in PARTS {
            match part {
                _ if !self.plan.has(part) => (),
                Part::Get => self.cells(name, &Load::Get, results)?,
                Part::Create => self.cells(name, &Load::Create, results)?,
                Part::Mix => self.cells(name, &Load::Mix, results)?,
                Part::List => {
                    self.cell("list-first", &Load::Page(String::new()), 1, results)?;
                    let (cursor, pages) = self.last_page()?;
                    results.list_pages.push((self.tokens, pages));
                    self.cell("list-last", &Load::Page(cursor), 1, results)?;
                }
                Part::Backup | Part::Redb | Part::Rotate | Part::Start => (),
            }
        }
        Ok(())
    }

    fn cells(&mut self, name: &str, load: &Load, results: &mut Results) -> Outcome<()> {
        for &connections in &self.plan.connections {
            if self.tokens == 0 && *load != Load::Get {
                // The cells before wrote to this vault, which is to be empty.
                self.replace_with_fresh()?;
            }
            let before = proc::disk_bytes(&self.place.data)?;
            let made = self.cell(name, load, connections, results)?;
            if self.tokens == 0 && *load == Load::Create && connections == report::HEADLINE {
                let grown = proc::disk_bytes(&self.place.data)?.saturating_sub(before);
                results.disk_per_created_bytes = Some(grown as f64 / made.max(1) as f64);
            }
        }
        Ok(())
    }

    /// Alternates vault and bare server, so that whatever else the machine does hits both; returns how many tokens were made.
    fn cell(
        &mut self,
        name: &str,
        load: &Load,
        connections: usize,
        results: &mut Results,
    ) -> Outcome<u64> {
        let work = self.plan.work(load.clone(), &self.ids);
        let mut pairs: Vec<(Slice, Slice)> = Vec::with_capacity(SLICES);
        let mut commits_us = Vec::new();
        for _ in 0..SLICES {
            let vault = drive(&self.vault.target, &work, connections, self.plan.pace)?;
            thread::sleep(SETTLE);
            if let (Load::Create, 1, Some(baseline)) = (load, connections, &mut self.baseline) {
                commits_us.push((vault.p50_us, baseline.commit_p50_us(self.plan.pace.window)?));
            }
            let bare = drive(self.bare, &work, connections, self.plan.pace)?;
            pairs.push((vault, bare));
        }
        let cell = Cell::new(name, self.tokens, connections, &pairs);
        report::print_cell(&cell, &pairs);
        results.cells.push(cell);
        if !commits_us.is_empty() {
            results.redb_commit_p50_us = median(commits_us.iter().map(|(_, commit)| *commit));
            let ratios = commits_us.iter().map(|(create, commit)| quotient(*create, *commit));
            results.create_over_commit = median(ratios);
        }
        Ok(pairs.iter().map(|(vault, _)| vault.made).sum())
    }

    /// Starts the next vault beside the running one, then lets that one go.
    fn replace_with_fresh(&mut self) -> Outcome<()> {
        let name = if self.place.data.ends_with("empty") { "next" } else { "empty" };
        let next = Place { data: self.place.data.with_file_name(name), ..self.place.clone() };
        let (vault, ids) = fresh(self.plan, &next)?;
        std::mem::replace(&mut self.vault, vault).stop()?;
        self.ids = ids;
        std::mem::replace(&mut self.place, next).remove()
    }

    /// Follows the cursors to the last full page, as far as the time allows; returns its cursor and its number.
    fn last_page(&self) -> Outcome<(String, u64)> {
        let until = Instant::now() + self.plan.walk_max;
        block_on(async {
            let mut connection = self.vault.target.connect().await?;
            let (mut cursor, mut pages) = (String::new(), 1);
            let mut next = cursor.clone();
            loop {
                let work = self.plan.work(Load::Page(next.clone()), &self.ids);
                let reply = expect_reply(&self.vault.target, &mut connection, work, 200).await?;
                let page: Page = serde_json::from_str(&reply.body)?;
                if page.data.len() == PAGE_SIZE && !next.is_empty() {
                    (cursor, pages) = (next, pages + 1);
                }
                match page.pagination.next {
                    Some(further) if Instant::now() < until => next = further,
                    _ => return Ok((cursor, pages)),
                }
            }
        })
    }

    /// A backup of the running vault, and a restore of it beside: the clock runs from the command to its end, when
    /// everything is durable.
    fn back_up_and_restore(&self, scratch: &Scratch, results: &mut Results) -> Outcome<()> {
        let (file, data) = (scratch.path("backup"), scratch.path("restored"));
        let (written, back_up_s) = self.place.back_up(&file)?;
        let (_, restore_s) = self.place.restore(&file, &data)?;
        let tokens = written.lines().find_map(|line| line.trim().strip_prefix("tokens:"));
        let tokens: f64 = tokens.ok_or("the backup tells no count")?.trim().parse()?;
        results.backup_tokens_per_s = Some(quotient(tokens, back_up_s));
        results.restore_tokens_per_s = Some(quotient(tokens, restore_s));
        results.backup_per_token_bytes =
            Some(std::fs::metadata(&file)?.len() as f64 / tokens.max(1.0));
        std::fs::remove_file(file)?;
        Ok(std::fs::remove_dir_all(data)?)
    }

    fn killed_idle(mut self, results: &mut Results) -> Outcome<Self> {
        let mut times = Vec::new();
        for _ in 0..self.plan.starts {
            thread::sleep(IDLE);
            self.vault.kill()?;
            let (vault, time) = timed_start(self.plan, &self.place, &self.ids)?;
            self.vault = vault;
            times.push(time);
        }
        results.start_killed_idle_s = median(times);
        Ok(self)
    }

    /// Kills the vault in the middle of a load of creates, and asks afterwards for every token it had answered for.
    fn killed_under_load(mut self, results: &mut Results) -> Outcome<Self> {
        let work = self.plan.work(Load::Create, &self.ids);
        let pace = Pace { warm: Duration::ZERO, window: IDLE, ..self.plan.pace };
        let mut times = Vec::new();
        for _ in 0..self.plan.starts {
            let target = self.vault.target.clone();
            let vault = self.vault;
            let slice = thread::scope(|scope| {
                let load = scope.spawn(|| drive(&target, &work, report::HEADLINE, pace));
                thread::sleep(IDLE / 2);
                vault.kill()?;
                load.join().expect("the driver does not panic")
            })?;
            let (vault, time) = timed_start(self.plan, &self.place, &self.ids)?;
            self.vault = vault;
            times.push(time);
            let answered = slice.created.len() as u64;
            let lost = self.count_missing(slice.created)?;
            results.killed_answered += answered;
            results.killed_lost += lost;
        }
        results.start_killed_loaded_s = median(times);
        Ok(self)
    }

    /// The stopped vault, so that nothing is held back for requests: all tenant keys, from the new one to the last entry
    /// under the old one.
    fn rotated(mut self, results: &mut Results) -> Outcome<Self> {
        self.vault.stop()?;
        let start = Instant::now();
        self.place.rotate()?;
        let time = start.elapsed().as_secs_f64();
        results.rotated_per_s = Some(self.place.records_under(2)? as f64 / time);
        self.vault = self.place.start()?;
        Ok(self)
    }

    fn count_missing(&self, ids: Vec<String>) -> Outcome<u64> {
        let target = &self.vault.target;
        block_on(async {
            let mut connection = target.connect().await?;
            let mut missing = 0;
            for id in ids {
                let work = self.plan.work(Load::Get, &Arc::new(vec![id]));
                target.requests(work).write_next(&mut connection.out);
                missing += u64::from(connection.exchange_in_time().await?.status != 200);
            }
            Ok(missing)
        })
    }

    fn finish(self) -> Outcome<()> {
        self.vault.stop()?;
        self.place.remove()
    }
}

#[derive(Deserialize)]
struct Page {
    data: Vec<IgnoredAny>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    next: Option<String>,
}

pub(crate) fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
