//! The lag of the archive under a load of creates: the age of the newest change that is not in the archive yet.

use crate::Outcome;
use crate::drive::{Pace, drive};
use crate::metrics::{ARCHIVE_LAG, Metrics};
use crate::proc::Scratch;
use crate::report::{HEADLINE, Results};
use crate::request::{Kind, Load};
use crate::stage::Stage;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// The longest time between two copies of the open segment; the default of the setting.
pub(crate) const ARCHIVE_EVERY_S: u64 = 10;

/// `dev` takes no settings file, so the vault runs under `serve` for this part.
pub(crate) fn measure(
    stage: &mut Stage<'_>,
    scratch: &Scratch,
    results: &mut Results,
) -> Outcome<()> {
    let directory = scratch.path("archive");
    std::fs::create_dir_all(&directory)?;
    let section = format!(
        "[archive]\ndirectory = \"{}\"\nevery = \"{ARCHIVE_EVERY_S}s\"\n",
        directory.display()
    );
    if !stage.place.accepts_settings(&section)? {
        println!("archive: not measured, the vault has no setting [archive]");
        return Ok(());
    }
    stage.vault.stop()?;
    stage.vault = stage.place.serve(&section)?;
    let work = stage.work(Kind::Card, Load::Create);
    let pace = Pace { window: stage.plan.archive_window, ..stage.plan.pace };
    let ended = AtomicBool::new(false);
    let (slice, lags) = thread::scope(|scope| {
        let watcher = scope.spawn(|| sample_until(&stage.place.data, &ended));
        let slice = drive(&stage.vault.target, &work, HEADLINE, pace);
        ended.store(true, Ordering::Relaxed);
        let lags = watcher.join().expect("the watcher does not panic")?;
        Outcome::Ok((slice?, lags))
    })?;
    results.count_errors("archive", &slice);
    results.archive_lag_max_s = lags.into_iter().max_by(f64::total_cmp);
    if results.archive_lag_max_s.is_none() {
        println!("archive: not measured, the vault has no metric {ARCHIVE_LAG}");
    }
    stage.vault.stop()?;
    stage.vault = stage.place.start()?;
    Ok(std::fs::remove_dir_all(directory)?)
}

fn sample_until(data: &Path, ended: &AtomicBool) -> Outcome<Vec<f64>> {
    let mut metrics = Metrics::connect(data)?;
    let mut lags = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        lags.extend(metrics.page()?.value(ARCHIVE_LAG));
        thread::sleep(SAMPLE_EVERY);
    }
    Ok(lags)
}
