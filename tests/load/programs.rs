//! Calls of a program, and reads of tokens beside programs that do not end.

use crate::Outcome;
use crate::client::{Target, block_on, id_of};
use crate::drive::{Slice, drive, seeded};
use crate::plan::Plan;
use crate::proc::Scratch;
use crate::report::{HEADLINE, Results};
use crate::request::{Kind, Load, Work};
use crate::stats::{median, quotient};
use crate::vault::VaultFiles;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::task::JoinSet;

const SLICES: usize = 3;
/// The load for calls a second.
const CONNECTIONS: usize = 8;
/// A tenant has half of the places for programs, 64.
const ENDLESS: usize = 64;
/// The time in which all endless programs have started.
const SETTLE: Duration = Duration::from_secs(3);

const SMALL: &str = "module.exports = (req) => ({ raw: req.args })";
const LOOP: &str = "module.exports = () => { for (;;); }";

pub(crate) fn measure(plan: &Plan, scratch: &Scratch, results: &mut Results) -> Outcome<()> {
    println!("\nprograms: calls of a reactor that returns its arguments");
    let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("programs") };
    let mut vault = place.start()?;
    let ids = seeded(&vault.target, Kind::Card)?;
    let calls =
        Work { ids: Arc::clone(&ids), kind: Kind::Card, load: reactor(&vault.target, SMALL)? };
    let mut slices = |connections: usize| {
        let slice = || drive(&vault.target, &calls, connections, plan.pace);
        let slices = (0..SLICES).map(|_| slice()).collect::<Outcome<Vec<Slice>>>()?;
        for slice in &slices {
            results.count_errors("react", slice);
        }
        Outcome::Ok(slices)
    };
    let (one, many) = (slices(1)?, slices(CONNECTIONS)?);
    results.program_cpu_ms = median(many.iter().map(|slice| slice.cpu_us / 1e3));
    results.program_p50_ms = median(one.iter().map(|slice| slice.p50_us / 1e3));
    results.programs_per_s = median(many.iter().map(|slice| slice.rps));
    let gets = Work { ids, kind: Kind::Card, load: Load::Get };
    let get = |results: &mut Results| {
        let slice = drive(&vault.target, &gets, HEADLINE, plan.pace)?;
        results.count_errors("get", &slice);
        Outcome::Ok(slice.rps)
    };
    let endless = reactor(&vault.target, LOOP)?;
    // Side by side in time: the machine is not equally fast all the while.
    let mut shares = Vec::new();
    for _ in 0..SLICES {
        let alone = get(results)?;
        let is_over = AtomicBool::new(false);
        let beside = thread::scope(|scope| {
            let calling = scope.spawn(|| call_until(&vault.target, &endless, &is_over));
            thread::sleep(SETTLE);
            let beside = get(results);
            is_over.store(true, Ordering::Relaxed);
            calling.join().expect("the calls do not panic")?;
            beside
        })?;
        shares.push(quotient(beside, alone));
    }
    results.gets_beside_programs = median(shares);
    vault.stop()?;
    place.remove()
}

/// Makes a reactor and returns the load of its calls.
fn reactor(target: &Target, code: &str) -> Outcome<Load> {
    let body = serde_json::json!({
        "name": "load", "code": code, "runtime": { "image": "node-bt", "timeout": 2 },
    });
    let made = Load::Post(String::from("/reactors"), body.to_string());
    let (status, body) = block_on(send(target.with_key(&target.management), made))?;
    let refused = || format!("the reactor was answered {status}");
    let id = id_of(&body).filter(|_| status == 201).ok_or_else(refused)?;
    Ok(Load::Post(format!("/reactors/{id}/react"), String::from(r#"{"args":{"a":1}}"#)))
}

async fn send(target: Target, load: Load) -> Outcome<(u16, Vec<u8>)> {
    let mut connection = target.connect().await?;
    let work = Work { ids: Arc::default(), kind: Kind::Card, load };
    target.requests(work).write_next(&mut connection.out);
    let answer = connection.exchange_in_time().await?;
    Ok((answer.status, connection.bytes(&answer.body).to_vec()))
}

/// Keeps calls in flight. Their answers are failures: the programs do not end in time.
fn call_until(target: &Target, load: &Load, is_over: &AtomicBool) -> Outcome<()> {
    block_on(async {
        let mut calls = JoinSet::new();
        for _ in 0..ENDLESS {
            calls.spawn(send(target.clone(), load.clone()));
        }
        while let Some(call) = calls.join_next().await {
            call??;
            if !is_over.load(Ordering::Relaxed) {
                calls.spawn(send(target.clone(), load.clone()));
            }
        }
        Ok(())
    })
}
