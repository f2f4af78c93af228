//! Creates of sixteen tenants by one, two and four processes over one database, with every COMMIT held back as a database
//! that is replicated to other sites holds it back, and without. On a machine that one process fills with its database and
//! the clients, more processes add nothing; so the first part is repeated with a fifth of a processor for each process, as
//! on hosts of their own.

use crate::Outcome;
use crate::client::{Target, block_on};
use crate::cluster::Cluster;
use crate::drive::{Slice, drive_all};
use crate::plan::Plan;
use crate::postgres::{join, start_over};
use crate::proc::{Scratch, output};
use crate::relay::Relay;
use crate::report::HEADLINE;
use crate::request::{Kind, Load, Work};
use crate::share::ProcessorShare;
use crate::stats::quotient;
use crate::vault::{Vault, VaultFiles};
use serde_json::Value;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const TENANTS: usize = 16;
const PROCESSES: [usize; 3] = [1, 2, 4];
const DELAY: Duration = Duration::from_millis(5);
/// Of a processor, for each process: four and a database fit on two processors.
const PERCENT: u32 = 20;
/// The waits for locks that the database has counted cannot be had; these are the waits of one moment under load.
const LOCK_WAITS: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
const ROWS_OF_WRITERS: &str = "SELECT count(*) FROM strongroom_writers";

pub(crate) fn measure(plan: &Plan, scratch: &Scratch) -> Outcome<()> {
    println!(
        "\nhosts: creates of {TENANTS} tenants by several processes over one database, {HEADLINE} connections to each"
    );
    let Some(cluster) = Cluster::counting_statements()? else {
        println!("hosts: skipped, PostgreSQL is not installed");
        return Ok(());
    };
    for (delay, percent) in [(DELAY, None), (Duration::ZERO, None), (DELAY, Some(PERCENT))] {
        if let Some(percent) = percent {
            if !ProcessorShare::is_available() {
                println!(
                    "  with a part of a processor for each process: skipped, needs root and control groups"
                );
                continue;
            }
            println!("  each process with {percent}% of a processor:");
        }
        let relay = Relay::start(&cluster.directory, delay)?;
        let mut first_rps = None;
        for count in PROCESSES {
            let name =
                format!("hosts_{}_{count}_{}", delay.as_millis(), percent.unwrap_or_default());
            let url = block_on(cluster.create(&name))?;
            let url = url.replace(
                &cluster.directory.display().to_string(),
                &relay.directory.display().to_string(),
            );
            let slice = creates(plan, scratch, &name, (count, &url, percent), || {
                block_on(cluster.number(&name, LOCK_WAITS))
            });
            let (slice, waits) = slice?;
            let writers = block_on(cluster.number(&name, ROWS_OF_WRITERS))?;
            let first = *first_rps.get_or_insert(slice.rps);
            println!(
                "  COMMIT + {} ms, {count} processes: {:.0}/s ({:.2}x of one), p50 {:.1} ms, p99 {:.1} ms, {:.0} us of CPU, \
                 {writers} writers, {waits} sessions waited for a lock{}",
                delay.as_millis(),
                slice.rps,
                quotient(slice.rps, first),
                slice.p50_us / 1000.0,
                slice.p99_us / 1000.0,
                slice.cpu_us,
                slice
                    .first_error
                    .map_or(String::new(), |why| format!(", {} errors: {why}", slice.errors)),
            );
            for statement in block_on(cluster.statements(&name))? {
                println!("    {statement}");
            }
        }
    }
    Ok(())
}

fn creates(
    plan: &Plan,
    scratch: &Scratch,
    name: &str,
    (count, url, percent): (usize, &str, Option<u32>),
    waits: impl Fn() -> Outcome<i64> + Sync,
) -> Outcome<(Slice, i64)> {
    let mut places: Vec<VaultFiles> = Vec::new();
    let mut vaults: Vec<Vault> = Vec::new();
    for number in 0..count {
        let data = scratch.path(&format!("{name}-{number}"));
        let place = VaultFiles { binary: plan.binary.clone(), data };
        if let Some(first) = places.first() {
            join(first, &place, url)?;
        }
        vaults.push(start_over(&place, url)?);
        places.push(place);
    }
    let limit = |(vault, percent): (&Vault, u32)| ProcessorShare::limit(vault.target.pid, percent);
    let limited = vaults.iter().filter_map(|vault| Some((vault, percent?))).map(limit);
    let shares = limited.collect::<Outcome<Vec<_>>>()?;
    let keys = (0..TENANTS).map(|_| tenant_key(&places[0])).collect::<Outcome<Vec<_>>>()?;
    let servers = vaults.iter().map(|vault| &vault.target);
    // Each tenant uses every process.
    let targets: Vec<Target> =
        keys.iter().flat_map(|key| servers.clone().map(|server| server.with_key(key))).collect();
    let work = Work { ids: Arc::new(Vec::new()), kind: Kind::Card, load: Load::Create };
    let (slice, waits) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            std::thread::sleep(plan.pace.warm + plan.pace.window / 2);
            waits()
        });
        // As many to each process: a batch has as many changes however many processes there are.
        let slice = drive_all(&targets, &work, HEADLINE * count, plan.pace)?;
        Outcome::Ok((slice, looking.join().expect("looking does not panic")?))
    })?;
    for vault in &mut vaults {
        vault.stop()?;
    }
    drop(shares);
    for place in &places {
        place.remove()?;
    }
    Ok((slice, waits))
}

/// Makes a tenant and an application. Returns its key.
fn tenant_key(place: &VaultFiles) -> Outcome<String> {
    let run = |words: &[&str]| -> Outcome<Value> {
        let mut command = Command::new(&place.binary);
        let made = output(command.args(words).arg("--json").arg("--data").arg(&place.data))?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into());
        }
        Ok(serde_json::from_slice(&made.stdout)?)
    };
    let tenant = run(&["tenant", "create", "--name", "load", "--type", "test"])?;
    let tenant = tenant["id"].as_str().ok_or("the tenant has no id")?;
    let mut create =
        vec!["application", "create", "--tenant", tenant, "--name", "load", "--type", "private"];
    create.extend(["--permission", "token:create", "--permission", "token:read"]);
    Ok(run(&create)?["key"].as_str().ok_or("the application has no key")?.to_owned())
}
