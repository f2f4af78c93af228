//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(strongroom::main(std::env::args_os().skip(1)))
}
