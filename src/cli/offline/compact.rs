//! `strongroom compact`: returns the free space inside the data file to the disk.

use crate::app::VaultFailure;
use crate::cli::commands::CompactCommand;
use crate::cli::support::failure::Failure;
use crate::cli::support::failure_texts::explain;
use crate::cli::support::files::check_directory;
use crate::cli::support::open_vault::catch_damage;
use crate::cli::support::output::say;
use crate::cli::support::settings::place;
use crate::clock::Clock;
use crate::store::{CompactSummary, Store};

pub(in crate::cli) fn compact(command: &CompactCommand) -> Result<(), Failure> {
    let clock = Clock::new();
    let start = clock.now();
    let (directory, _) = place(command.config.as_deref(), command.data.as_deref(), None)?;
    check_directory(&directory)?;
    let compacted = catch_damage(&directory, || Store::compact(&directory, &clock))?;
    let CompactSummary { before_bytes, after_bytes } =
        compacted.map_err(|failure| explain(VaultFailure::File(failure), &directory))?;
    let took = clock.now().since(start).as_secs_f64();
    say(&format!(
        "The data file is compacted.\n  before:  {before_bytes} bytes\n  after:   {after_bytes} bytes\n  \
         took:    {took:.1} s"
    ));
    Ok(())
}
