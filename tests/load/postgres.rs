//! The same load on the embedded engine, on one process over PostgreSQL and on two, each beside a bare server that inserts
//! and reads rows of the same size in the same database server.

use crate::Outcome;
use crate::bare_database::{BareDatabase, Order};
use crate::client::{Target, block_on};
use crate::cluster::Cluster;
use crate::drive::{SEEDED, Slice, drive, drive_all, seeded};
use crate::plan::Plan;
use crate::proc::Scratch;
use crate::report::{self, Cell, HEADLINE, Results};
use crate::request::{Kind, Load, Work};
use crate::stats::quotient;
use crate::vault::{Vault, VaultFiles};
use crate::yardsticks::Yardsticks;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const SLICES: usize = 3;
/// The writers finish in this time, so that their work is not taken from the bare server's slice.
const SETTLE: Duration = Duration::from_millis(300);
/// The files of a development vault that a second process needs.
const FILES: [&str; 5] =
    ["keys.json", "master.key", "ca.pem", "certificate.pem", "certificate.key"];
const URL_FILE: &str = "database.url";
const ROW_BYTES: &str =
    "SELECT sum(octet_length(key) + octet_length(value))::bigint FROM strongroom_rows";
const DATABASE_BYTES: &str = "SELECT pg_database_size(current_database())";

/// The processes of one vault, and the names of their rows in the table.
struct Setting<'a> {
    names: [&'a str; 2],
    places: Vec<VaultFiles>,
    vaults: Vec<Vault>,
}

struct Bench<'a> {
    plan: &'a Plan,
    scratch: &'a Scratch,
    bare: BareDatabase,
    bare_ids: Arc<Vec<String>>,
}

pub(crate) fn measure(
    plan: &Plan,
    yardsticks: &Yardsticks,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    println!("\npostgres: the engines, beside a bare server that inserts and reads rows");
    let Some(cluster) = Cluster::start()? else {
        println!("postgres: skipped, PostgreSQL is not installed");
        return Ok(());
    };
    let row_bytes = row_bytes(plan, scratch, &cluster)?;
    println!("postgres: the rows of a card have {row_bytes} B");
    block_on(cluster.create("bare"))?;
    let (socket, model) = (cluster.directory.clone(), yardsticks.model.clone());
    let order = Order { socket, database: "bare".to_owned(), row_bytes, model };
    let bare = BareDatabase::start(&order, &scratch.path("bare-database"))?;
    let bare_ids = seeded(&bare.target, Kind::Card)?;
    let bench = Bench { plan, scratch, bare, bare_ids };
    report::print_columns();
    bench.cells(bench.local()?, results)?;
    let url = block_on(cluster.create("one"))?;
    let one = bench.shared(["get-pg-1", "create-pg-1"], 1, &url)?;
    let before = block_on(cluster.number("one", DATABASE_BYTES))?;
    let made = bench.cells(one, results)?;
    let after = block_on(cluster.number("one", DATABASE_BYTES))?;
    results.database_per_created_bytes = Some(quotient((after - before) as f64, made as f64));
    let url = block_on(cluster.create("two"))?;
    bench.cells(bench.shared(["get-pg-2", "create-pg-2"], 2, &url)?, results)?;
    Ok(())
}

/// The bytes of the rows that a vault writes for a card: indexes, audit entry and idempotency key included.
fn row_bytes(plan: &Plan, scratch: &Scratch, cluster: &Cluster) -> Outcome<usize> {
    let url = block_on(cluster.create("rows"))?;
    let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("rows") };
    let mut vault = start_over(&place, &url)?;
    let before = block_on(cluster.number("rows", ROW_BYTES))?;
    seeded(&vault.target, Kind::Card)?;
    let after = block_on(cluster.number("rows", ROW_BYTES))?;
    vault.stop()?;
    place.remove()?;
    Ok(usize::try_from(after - before)? / SEEDED)
}

impl Bench<'_> {
    fn local(&self) -> Outcome<Setting<'static>> {
        let place = self.place("local");
        let vault = place.start()?;
        let names = ["get-local", "create-local"];
        Ok(Setting { names, places: vec![place], vaults: vec![vault] })
    }

    fn shared<'a>(&self, names: [&'a str; 2], count: usize, url: &str) -> Outcome<Setting<'a>> {
        let mut setting = Setting { names, places: Vec::new(), vaults: Vec::new() };
        for number in 0..count {
            let place = self.place(&format!("shared-{count}-{number}"));
            if let Some(first) = setting.places.first() {
                join(first, &place, url)?;
            }
            setting.vaults.push(start_over(&place, url)?);
            setting.places.push(place);
        }
        Ok(setting)
    }

    fn place(&self, name: &str) -> VaultFiles {
        VaultFiles { binary: self.plan.binary.clone(), data: self.scratch.path(name) }
    }

    /// Gets, then creates, then the end of the processes. Returns the number of cards that were made.
    fn cells(&self, mut setting: Setting<'_>, results: &mut Results) -> Outcome<u64> {
        let targets: Vec<Target> = setting.vaults.iter().map(|it| it.target.clone()).collect();
        let ids = seeded(&targets[0], Kind::Card)?;
        let mut made = SEEDED as u64;
        for (name, load) in setting.names.into_iter().zip([Load::Get, Load::Create]) {
            let work = Work { ids: Arc::clone(&ids), kind: Kind::Card, load };
            made += self.cell(name, &targets, &work, results)?;
        }
        for vault in &mut setting.vaults {
            vault.stop()?;
        }
        for place in &setting.places {
            place.remove()?;
        }
        Ok(made)
    }

    fn cell(
        &self,
        name: &str,
        targets: &[Target],
        work: &Work,
        results: &mut Results,
    ) -> Outcome<u64> {
        let bare_work = Work { ids: Arc::clone(&self.bare_ids), ..work.clone() };
        let mut pairs: Vec<(Slice, Slice)> = Vec::with_capacity(SLICES);
        for _ in 0..SLICES {
            let vault = drive_all(targets, work, HEADLINE, self.plan.pace)?;
            thread::sleep(SETTLE);
            let bare = drive(&self.bare.target, &bare_work, HEADLINE, self.plan.pace)?;
            thread::sleep(SETTLE);
            pairs.push((vault, bare));
        }
        let cell = Cell::new(name, 0, HEADLINE, &pairs);
        let made = cell.made;
        results.add(cell, &pairs);
        Ok(made)
    }
}

pub(crate) fn start_over(place: &VaultFiles, url: &str) -> Outcome<Vault> {
    let file = write_url(&place.data, url)?;
    place.start_with(&["--engine-url-file".as_ref(), OsStr::new(&file)])
}

/// Beside the data directory. Others may not read it.
fn write_url(data: &Path, url: &str) -> Outcome<std::path::PathBuf> {
    let file = data.with_extension("url");
    fs::write(&file, url)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Prepares the directory of a further process of the vault.
pub(crate) fn join(first: &VaultFiles, next: &VaultFiles, url: &str) -> Outcome<()> {
    fs::create_dir_all(&next.data)?;
    fs::set_permissions(&next.data, fs::Permissions::from_mode(0o700))?;
    for name in FILES {
        fs::copy(first.data.join(name), next.data.join(name))?;
    }
    Ok(symlink(write_url(&next.data, url)?, next.data.join(URL_FILE))?)
}
