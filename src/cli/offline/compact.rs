//! `strongroom compact`: returns the free space inside the data file to the disk.

use std::sync::Arc;

use serde_json::json;

use crate::app::VaultFailure;
use crate::cli::commands::CompactCommand;
use crate::cli::commands::vault::VaultCommand as _;
use crate::cli::support::failure::Failure;
use crate::cli::support::failure_texts::explain;
use crate::cli::support::files::check_directory;
use crate::cli::support::open_vault::catch_damage;
use crate::cli::support::output::{say, show_json};
use crate::cli::support::progress::{Label, ProgressBar, Unit};
use crate::clock::Clock;
use crate::domain::duration;
use crate::domain::size;
use crate::store::{CompactSummary, Store};

pub(in crate::cli) fn compact(command: &CompactCommand) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now();
    let home = command.vault()?.home;
    let directory = home.require_data_file("strongroom compact")?;
    check_directory(directory)?;
    // redb does not say how far it is.
    let label = Label { work: "compact", unit: Unit::None };
    let bar = ProgressBar::of(label, command.json(), &Arc::default());
    let compacted = catch_damage(directory, || Store::compact(directory, &clock))?;
    drop(bar);
    let CompactSummary { before_bytes, after_bytes } =
        compacted.map_err(|failure| explain(VaultFailure::File(failure), directory))?;
    let took = clock.now().since(start);
    if command.json() {
        show_json(&json!({
            "data_file": directory.join(Store::FILE).display().to_string(),
            "before_bytes": before_bytes,
            "after_bytes": after_bytes,
            "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }));
        return Ok(());
    }
    say(&format!(
        "The data file is compacted.\n  before:  {}\n  after:   {}\n  took:    {}",
        size::render(before_bytes),
        size::render(after_bytes),
        duration::render(took)
    ));
    Ok(())
}
