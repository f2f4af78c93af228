//! One running vault and the slices of load that it gets, each beside the bare server. It prints rows as they come.

use crate::Outcome;
use crate::bulk;
use crate::client::block_on;
use crate::drive::{Slice, drive, seeded};
use crate::list;
use crate::metrics::wait_until_merged;
use crate::model::expect_reply;
use crate::overwrite::Overwrite;
use crate::plan::{PARTS, Part, Plan};
use crate::proc::{self, Scratch};
use crate::report::{self, Cell, HEADLINE, Results};
use crate::request::{Kind, Load, Work};
use crate::stats::{median, quotient};
use crate::vault::{Vault, VaultFiles};
use crate::yardsticks::Yardsticks;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// An odd number, so that the median is one that was measured.
pub(crate) const SLICES: usize = 3;
/// Tokens that are read back before the load, to see that ids answer with their own token.
const CHECKED: usize = 100;
/// The vault's writer finishes and goes idle in this time, so that its work is not taken from the bare server's slice.
const SETTLE: Duration = Duration::from_millis(300);
/// Long enough to count as idle, whatever the vault still does by then.
pub(crate) const IDLE: Duration = Duration::from_secs(2);

pub(crate) struct Stage<'a> {
    pub(crate) plan: &'a Plan,
    yardsticks: &'a Yardsticks,
    pub(crate) place: VaultFiles,
    pub(crate) vault: Vault,
    ids: Arc<Vec<String>>,
    /// 0 for the vault that starts each round of writes empty.
    tokens: u64,
}

impl<'a> Stage<'a> {
    /// A vault with nothing in it but the seeded cards.
    pub(crate) fn empty(
        plan: &'a Plan,
        yardsticks: &'a Yardsticks,
        scratch: &Scratch,
    ) -> Outcome<Self> {
        let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("empty") };
        let vault = place.start()?;
        let ids = seeded(&vault.target, Kind::Card)?;
        Ok(Self { plan, yardsticks, place, vault, ids, tokens: 0 })
    }

    /// A vault with the plan's cards: made by a first start, filled while stopped, started again against the clock.
    pub(crate) fn filled(
        plan: &'a Plan,
        yardsticks: &'a Yardsticks,
        scratch: &Scratch,
        results: &mut Results,
    ) -> Outcome<Self> {
        let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("full") };
        let mut vault = place.start()?;
        vault.stop()?;
        let ids = Arc::new(bulk::preload(&place, plan.tokens, results)?);
        let mut stage = Self { plan, yardsticks, place, vault, ids, tokens: plan.tokens };
        let mut times = vec![stage.start_against_the_clock()?];
        if plan.has(Part::Start) {
            for _ in 1..plan.starts {
                stage.vault.stop()?;
                times.push(stage.start_against_the_clock()?);
            }
        }
        results.start_clean_s = median(times);
        thread::sleep(IDLE);
        results.resident_idle_bytes = proc::resident_bytes(stage.vault.target.pid);
        results.preload_is_whole = Some(stage.read_back()?);
        Ok(stage)
    }

    pub(crate) fn work(&self, kind: Kind, load: Load) -> Work {
        Work { ids: Arc::clone(&self.ids), kind, load }
    }

    /// From the start of the process to the last byte of the first 200, over a new connection.
    pub(crate) fn start_against_the_clock(&mut self) -> Outcome<f64> {
        proc::check_interrupted()?;
        let start = Instant::now();
        self.vault = self.place.start()?;
        let target = &self.vault.target;
        block_on(async {
            let mut connection = target.connect().await?;
            expect_reply(target, &mut connection, self.work(Kind::Card, Load::Get), 200).await
        })?;
        Ok(start.elapsed().as_secs_f64())
    }

    pub(crate) fn measure(
        &mut self,
        overwrite: &mut Overwrite,
        results: &mut Results,
    ) -> Outcome<()> {
        report::print_heading(self.tokens);
        for (_, part) in PARTS {
            match part {
                _ if !self.plan.has(part) => (),
                Part::Get => {
                    for &connections in &self.plan.connections {
                        self.cell("get", Kind::Card, &Load::Get, connections, results)?;
                    }
                }
                Part::List => self.lists(results)?,
                Part::Create => self.creates(overwrite, results)?,
                Part::Plain => self.plain(results)?,
                Part::Mix => {
                    self.refresh(Kind::Card)?;
                    self.cell("mix", Kind::Card, &Load::Mix, HEADLINE, results)?;
                }
                Part::Archive
                | Part::Bulk
                | Part::Counts
                | Part::Merge
                | Part::Hosts
                | Part::Postgres
                | Part::Programs
                | Part::Proxy
                | Part::Rotate
                | Part::Start => (),
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Outcome<()> {
        self.vault.stop()?;
        self.place.remove()
    }

    fn lists(&mut self, results: &mut Results) -> Outcome<()> {
        let first = Load::Page(String::new());
        self.cell("list-first", Kind::Card, &first, 1, results)?;
        let (cursor, pages) = list::last_page(&self.vault.target, self.plan.walk_max)?;
        results.list_pages.push((self.tokens, pages));
        self.cell("list-last", Kind::Card, &Load::Page(cursor), 1, results)
    }

    fn creates(&mut self, overwrite: &mut Overwrite, results: &mut Results) -> Outcome<()> {
        for &connections in &self.plan.connections {
            self.refresh(Kind::Card)?;
            if connections == 1 {
                self.creates_one_by_one(overwrite, results)?;
            } else if connections == HEADLINE && self.tokens == 0 {
                self.creates_by_size(results)?;
            } else {
                self.cell("create", Kind::Card, &Load::Create, connections, results)?;
            }
        }
        Ok(())
    }

    /// Creates over one connection, each slice followed by one of the disk alone, since the disk's own speed wanders.
    fn creates_one_by_one(
        &mut self,
        overwrite: &mut Overwrite,
        results: &mut Results,
    ) -> Outcome<()> {
        let (mut disk_us, mut ratios) = (Vec::new(), Vec::new());
        let window = self.plan.pace.window;
        let load = Load::Create;
        self.cell_with("create", Kind::Card, &load, 1, results, &mut |slice| {
            let p50_us = overwrite.p50_us(window)?;
            disk_us.push(p50_us);
            ratios.push(quotient(slice.p50_us, p50_us));
            Ok(())
        })?;
        results.overwrite_p50_us = median(disk_us);
        if let Some(cell) = results.cells.last_mut() {
            cell.create_over_overwrite = median(ratios);
        }
        Ok(())
    }

    /// Creates, and the growth of the files that came of them.
    fn creates_by_size(&mut self, results: &mut Results) -> Outcome<()> {
        wait_until_merged(&self.place.data)?;
        let before = self.place.sizes()?;
        self.cell("create", Kind::Card, &Load::Create, HEADLINE, results)?;
        wait_until_merged(&self.place.data)?;
        let after = self.place.sizes()?;
        let made = results.cells.last().map_or(0, |cell| cell.made) as f64;
        let grown = |after: u64, before: u64| Some(quotient(after as f64 - before as f64, made));
        results.data_per_created_bytes = grown(after.data_file, before.data_file);
        results.beside_per_created_bytes = grown(after.beside, before.beside);
        Ok(())
    }

    fn plain(&mut self, results: &mut Results) -> Outcome<()> {
        self.refresh(Kind::Plain)?;
        let cards = Arc::clone(&self.ids);
        if self.tokens > 0 {
            self.ids = seeded(&self.vault.target, Kind::Plain)?;
        }
        self.cell("get-plain", Kind::Plain, &Load::Get, HEADLINE, results)?;
        self.cell("create-plain", Kind::Plain, &Load::Create, HEADLINE, results)?;
        if self.tokens > 0 {
            self.ids = cards;
        }
        Ok(())
    }

    fn cell(
        &mut self,
        name: &str,
        kind: Kind,
        load: &Load,
        connections: usize,
        results: &mut Results,
    ) -> Outcome<()> {
        self.cell_with(name, kind, load, connections, results, &mut |_| Ok(()))
    }

    /// Alternates vault and bare server, so that whatever else the machine does hits both. `between` runs after each slice
    /// of the vault.
    fn cell_with(
        &mut self,
        name: &str,
        kind: Kind,
        load: &Load,
        connections: usize,
        results: &mut Results,
        between: &mut dyn FnMut(&Slice) -> Outcome<()>,
    ) -> Outcome<()> {
        let work = self.work(kind, load.clone());
        let bare = self.yardsticks.target(kind);
        let mut pairs: Vec<(Slice, Slice)> = Vec::with_capacity(SLICES);
        for _ in 0..SLICES {
            let vault = drive(&self.vault.target, &work, connections, self.plan.pace)?;
            thread::sleep(SETTLE);
            between(&vault)?;
            pairs.push((vault, drive(bare, &work, connections, self.plan.pace)?));
        }
        results.add(Cell::new(name, self.tokens, connections, &pairs), &pairs);
        Ok(())
    }

    /// Replaces the empty vault, which earlier cells wrote to. The filled one stays.
    fn refresh(&mut self, kind: Kind) -> Outcome<()> {
        if self.tokens > 0 {
            return Ok(());
        }
        self.vault.stop()?;
        self.place.remove()?;
        self.vault = self.place.start()?;
        self.ids = seeded(&self.vault.target, kind)?;
        Ok(())
    }

    /// Reads some of the cards, and returns whether they are those of the load: with a code and three metadata entries.
    fn read_back(&self) -> Outcome<bool> {
        let target = &self.vault.target;
        let every = (self.ids.len() / CHECKED).max(1);
        block_on(async {
            let mut connection = target.connect().await?;
            let mut is_whole = true;
            for id in self.ids.iter().step_by(every) {
                let ids = Arc::new(vec![id.clone()]);
                let work = Work { ids, ..self.work(Kind::Card, Load::Get) };
                let reply = expect_reply(target, &mut connection, work, 200).await?;
                let card: serde_json::Value = serde_json::from_str(&reply.body)?;
                if card["id"] != **id {
                    return Err(format!("{id} answers with another token").into());
                }
                let entries = card["metadata"].as_object().map_or(0, serde_json::Map::len);
                is_whole &= card["data"]["cvc"].is_string() && entries == 3;
            }
            Ok(is_whole)
        })
    }
}
