//! The workers of a running vault for programs of tenants.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::programs::{ProgramState, Programs as _};
use crate::app::{Vault, configure_programs};
use crate::cli::support::{Exit, Failure, Result};
use crate::code::{CodePlan, LOCK_FILE, Packages, ProgramsOnWorkers, TracePrinter, TracedPrograms};
use crate::config::CodeSettings;
use crate::log::{Event, Log, Value};

/// Starts the first workers. The server starts without them if the kernel cannot confine them, but
/// not with packages that differ from their hashes.
pub async fn set_up(
    vault: &Vault,
    settings: &CodeSettings,
    trace: Option<TracePrinter>,
    log: &Log,
) -> Result<Arc<ProgramsOnWorkers>> {
    let programs = Arc::new(start(settings, log).await?);
    let plain = Arc::<ProgramsOnWorkers>::clone(&programs);
    match trace {
        Some(print) => configure_programs(vault, Arc::new(TracedPrograms::new(plain, print))),
        None => configure_programs(vault, plain),
    }
    Ok(programs)
}

async fn start(settings: &CodeSettings, log: &Log) -> Result<ProgramsOnWorkers> {
    if !settings.enabled {
        return Ok(ProgramsOnWorkers::switched_off());
    }
    let packages = settings.packages.as_deref().map(load).transpose()?;
    let programs = ProgramsOnWorkers::start(CodePlan {
        binary: PathBuf::from(ProgramsOnWorkers::THIS_BINARY),
        workers_max: settings.workers_max,
        workers_warm: settings.workers_warm,
        memory_mib: settings.memory_mib,
        allow_without_sandbox: settings.allow_without_sandbox,
        packages: packages.unwrap_or_default(),
    })
    .await;
    match programs.state() {
        ProgramState::Refused(why) => {
            log.event(Event::error("programs_refused").with("why", Value::Name(why)));
        }
        ProgramState::Runs(walls) if !walls.are_whole() => {
            log.event(Event::warn("programs_without_sandbox"));
        }
        ProgramState::Off | ProgramState::Runs(_) => (),
    }
    Ok(programs)
}

fn load(directory: &Path) -> Result<Packages> {
    Packages::load(directory).map_err(|problem| {
        Failure::new(Exit::Config, "cannot use the packages of programs")
            .file(directory)
            .why(problem)
            .try_this(format!("correct the files, or make {LOCK_FILE} again if you trust them"))
    })
}
