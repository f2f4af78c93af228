//! kill -9, idle and under load: the time from the start to the first answer, and the proof that no answered create is lost.

use crate::Outcome;
use crate::client::{block_on, id_of};
use crate::drive::{Pace, drive};
use crate::report::{HEADLINE, Results};
use crate::request::{Created, Kind, Load, stored_text};
use crate::stage::{IDLE, Stage};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const LOAD_MIN: Duration = Duration::from_secs(1);
/// Added for each further kill, so that kills hit merges at different moments.
const LOAD_STEP: Duration = Duration::from_millis(370);
const LOAD_STEPS: u32 = 6;

pub(crate) fn measure(stage: &mut Stage<'_>, results: &mut Results) -> Outcome<()> {
    for kill in 0..stage.plan.kills {
        thread::sleep(IDLE);
        stage.vault.kill()?;
        let idle_s = stage.start_against_the_clock()?;
        let created = kill_under_load(stage, LOAD_MIN + LOAD_STEP * (kill % LOAD_STEPS))?;
        let loaded_s = stage.start_against_the_clock()?;
        let lost = count_lost(stage, &created)?;
        results.start_killed_idle_s.push(idle_s);
        results.start_killed_loaded_s.push(loaded_s);
        results.killed_answered += created.len() as u64;
        results.killed_lost += lost;
        println!(
            "kill {}: start {:.1} ms after idle, {:.1} ms under load; {} answered, {lost} lost",
            kill + 1,
            idle_s * 1e3,
            loaded_s * 1e3,
            created.len()
        );
    }
    stage.vault.stop()?;
    stage.place.verify_audit()?;
    stage.vault = stage.place.start()?;
    Ok(())
}

/// Returns every create that was answered before the kill.
fn kill_under_load(stage: &mut Stage<'_>, after: Duration) -> Outcome<Vec<Created>> {
    let work = stage.work(Kind::Card, Load::Create);
    let pace = Pace { warm: Duration::ZERO, window: after * 2, ..stage.plan.pace };
    let (target, vault) = (stage.vault.target.clone(), &mut stage.vault);
    let slice = thread::scope(|scope| {
        let load = scope.spawn(|| drive(&target, &work, HEADLINE, pace));
        thread::sleep(after);
        vault.kill()?;
        load.join().expect("the driver does not panic")
    })?;
    if slice.created.len() as u64 != slice.made {
        return Err("more creates were answered than the client remembers".into());
    }
    Ok(slice.created)
}

/// A create is lost unless its id answers with the value that was sent.
fn count_lost(stage: &Stage<'_>, created: &[Created]) -> Outcome<u64> {
    let target = &stage.vault.target;
    block_on(async {
        let mut connection = target.connect().await?;
        let mut lost = 0;
        for Created { id, serial } in created {
            let mut work = stage.work(Kind::Card, Load::Get);
            work.ids = Arc::new(vec![id.clone()]);
            target.requests(work).write_next(&mut connection.out);
            let answer = connection.exchange_in_time().await?;
            let body = connection.bytes(&answer.body);
            let value = stored_text(Kind::Card, *serial);
            let is_there = answer.status == 200
                && id_of(body).as_ref() == Some(id)
                && body.windows(value.len()).any(|window| window == value.as_bytes());
            lost += u64::from(!is_there);
        }
        Ok(lost)
    })
}
