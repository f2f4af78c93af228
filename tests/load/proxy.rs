//! Calls through the proxy beside the same calls through a bare one, and reads of tokens while many destinations are silent.

use crate::Outcome;
use crate::bare::Bare;
use crate::bare_proxy::BareProxy;
use crate::client::{Connection, Target, block_on};
use crate::drive::{Slice, drive, seeded};
use crate::plan::Plan;
use crate::proc::Scratch;
use crate::report::{self, Cell, HEADLINE, Results};
use crate::request::{Kind, Load, Work};
use crate::slow::SlowDestinations;
use crate::stats::{median, quotient};
use crate::vault::VaultFiles;
use crate::yardsticks::Yardsticks;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::task::JoinSet;

const SLICES: usize = 3;
const DESTINATIONS: usize = 1_000;
/// Connections from one address, below the maximum that the vault allows it.
const PER_ADDRESS: usize = 200;
/// The time in which the handshakes of all destinations are over.
const SETTLE: Duration = Duration::from_secs(5);

pub(crate) fn measure(
    plan: &Plan,
    yardsticks: &Yardsticks,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    println!("\nproxy: calls with a card's number, code and expiry in the body");
    let destination = Bare::start(&yardsticks.model, &scratch.path("psp"))?;
    let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("proxy") };
    let mut vault =
        place.start_with(&["--outbound-ca".as_ref(), destination.ready.ca.as_os_str()])?;
    let ids = seeded(&vault.target, Kind::Card)?;
    let bare =
        BareProxy::start(&destination.ready, &vault.target.key, &scratch.path("bare-proxy"))?;
    let load = Load::Proxy(format!("{}/charge", destination.ready.url));
    let work = Work { ids, kind: Kind::Card, load };
    report::print_columns();
    let mut pairs: Vec<(Slice, Slice)> = Vec::with_capacity(SLICES);
    for _ in 0..SLICES {
        let through_vault = drive(&vault.target, &work, HEADLINE, plan.pace)?;
        pairs.push((through_vault, drive(&bare.target, &work, HEADLINE, plan.pace)?));
    }
    results.add(Cell::new("proxy", 0, HEADLINE, &pairs), &pairs);
    results.proxy_cpu =
        median(pairs.iter().map(|(vault, bare)| quotient(vault.cpu_us, bare.cpu_us)));
    vault.stop()?;
    place.remove()?;
    beside_silence(plan, scratch, results)
}

/// Reads tokens without and with a thousand calls in flight whose destinations do not answer.
fn beside_silence(plan: &Plan, scratch: &Scratch, results: &mut Results) -> Outcome<()> {
    let silent = SlowDestinations::start(DESTINATIONS, &scratch.path("slow"))?;
    let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("beside") };
    let mut vault = place.start_with(&["--outbound-ca".as_ref(), silent.ready.ca.as_os_str()])?;
    let ids = seeded(&vault.target, Kind::Card)?;
    let gets = Work { ids: Arc::clone(&ids), kind: Kind::Card, load: Load::Get };
    let get = |results: &mut Results| {
        let slice = drive(&vault.target, &gets, HEADLINE, plan.pace)?;
        results.count_errors("get", &slice);
        Outcome::Ok(slice.rps)
    };
    let mut alone = vec![get(results)?, get(results)?];
    let calls = thread::scope(|scope| {
        let (target, ports) = (vault.target.clone(), &silent.ready.ports);
        let calls = scope.spawn(move || call_all(&target, &ids, ports));
        thread::sleep(SETTLE);
        let beside = (0..SLICES).map(|_| get(results)).collect::<Outcome<Vec<_>>>();
        let counted = calls.join().expect("the calls do not panic")?;
        Outcome::Ok((beside?, counted))
    })?;
    let (beside, (waited, refused)) = calls;
    alone.push(get(results)?);
    let ratio = median(beside).zip(median(alone)).map(|(beside, alone)| quotient(beside, alone));
    println!(
        "{DESTINATIONS} silent destinations: {waited} calls waited for theirs, {refused} were refused; gets beside them {}",
        ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x")),
    );
    results.gets_beside_silence = ratio;
    vault.stop()?;
    place.remove()
}

/// One call to each destination, all at once. Returns the numbers of calls that ended with an answer of the destination, and
/// of those that the vault refused.
fn call_all(target: &Target, ids: &Arc<Vec<String>>, ports: &[u16]) -> Outcome<(u64, u64)> {
    block_on(async {
        let mut calls = JoinSet::new();
        for (index, port) in ports.iter().enumerate() {
            let host = u8::try_from(index / PER_ADDRESS + 2)?;
            let load = Load::Proxy(format!("https://127.0.0.1:{port}/"));
            let work = Work { ids: Arc::clone(ids), kind: Kind::Card, load };
            let (target, mut requests) = (target.clone(), target.requests(work));
            calls.spawn(async move {
                let from = Ipv4Addr::new(127, 0, 0, host);
                let mut connection: Connection = target.connect_from(from).await?;
                requests.write_next(&mut connection.out);
                Outcome::Ok(connection.exchange_in_time().await?.status)
            });
        }
        let (mut waited, mut refused) = (0, 0);
        while let Some(call) = calls.join_next().await {
            match call?? {
                200 => waited += 1,
                _ => refused += 1,
            }
        }
        Ok((waited, refused))
    })
}
