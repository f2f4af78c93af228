//! Output of the commands on standard output and standard error.

use std::io::Write as _;

/// Ignores a closed pipe: the reader has stopped reading.
pub(in crate::cli) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

pub(in crate::cli) fn complain(text: &str) {
    writeln!(std::io::stderr().lock(), "{text}").ok();
}
