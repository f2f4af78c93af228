//! `strongroom compact`: returns the free space inside the data file to the disk.

use std::sync::Arc;

use serde_json::json;

use crate::app::VaultFailure;
use crate::cli::command::{OnVault as _, command};
use crate::cli::support::estimate::Work;
use crate::cli::support::{
    Form, Label, ProgressBar, Result, Unit, catch_damage, check_directory, complain, explain, tell,
};
use crate::clock::Clock;
use crate::domain::duration;
use crate::domain::size;
use crate::store::{CompactForecast, CompactSummary, Store};
use std::path::PathBuf;

command! {
    /// Return the free space inside the data file of a stopped vault to the disk, as after a rotation of
    /// the keys or the deletion of many tokens.
    "compact" CompactCommand on vault {} => |it| compact(&it)
}

fn compact(command: &CompactCommand) -> Result<()> {
    let clock = Clock::new();
    let start = clock.now();
    let home = command.vault()?.home;
    let directory = home.require_data_file("strongroom compact")?;
    check_directory(directory)?;
    let explained = |failure| explain(VaultFailure::File(failure), directory);
    // redb does not report its progress.
    let label = Label { work: "measure", unit: Unit::None };
    let bar = ProgressBar::of(label, command.json(), &Arc::default());
    let forecast = catch_damage(directory, || Store::forecast_compact(directory))?;
    drop(bar);
    let forecast = forecast.map_err(explained)?;
    if !command.json() {
        complain(&forecast_text(forecast));
    }
    let label = Label { work: "compact", unit: Unit::None };
    let bar = ProgressBar::of(label, command.json(), &Arc::default());
    let compacted = catch_damage(directory, || Store::compact(directory, &clock))?;
    drop(bar);
    let CompactSummary { before_bytes, after_bytes } = compacted.map_err(explained)?;
    let took = clock.now().since(start);
    let facts = || {
        json!({
            "data_file": directory.join(Store::FILE).display().to_string(),
            "free_bytes": forecast.free_bytes,
            "before_bytes": before_bytes,
            "after_bytes": after_bytes,
            "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })
    };
    let [before, after] = [before_bytes, after_bytes].map(size::render);
    let text = || {
        let took = duration::render(took);
        format!(
            "The data file is compacted.\n  before:  {before}\n  after:   {after}\n  took:    {took}"
        )
    };
    tell(Form::of(command.json()), facts, text);
    Ok(())
}

/// Said before the data file is opened for writing.
fn forecast_text(forecast: CompactForecast) -> String {
    let CompactForecast { bytes, free_bytes } = forecast;
    format!(
        "The data file has {}, of which {} is free: compact returns about that much to the disk. It \
         needs no further space and takes about {}; the vault stays stopped meanwhile. Interrupted, \
         it loses nothing.",
        size::render(bytes),
        size::render(free_bytes),
        duration::render_seconds(Work::Compact.seconds(bytes)),
    )
}
