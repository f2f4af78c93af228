//! A runtime for commands that wait for one piece of work.

use crate::cli::support::failure::{Exit, Failure};

pub(in crate::cli) fn block_on<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime =
        runtime.map_err(|error| Failure::new(Exit::Unavailable, "cannot start").why(error))?;
    runtime.block_on(work)
}
