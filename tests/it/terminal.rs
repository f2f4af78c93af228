//! Runs the binary on a terminal, for commands that ask a person.

use std::process::Command;

use crate::harness::output_of;

const SCRIPT: &str = r"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
os.write(terminal, (sys.argv[1] + '\n').encode())
said = b''
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
status = os.waitpid(pid, 0)[1]
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(status))
";

/// The exit code and the output of a command while a person types this line. `None` on a machine
/// without Python, which gives the test its terminal.
pub(crate) fn on_terminal(arguments: &[&str], typed: &str) -> Option<(i32, String)> {
    Command::new("python3").arg("--version").output().ok()?;
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT, typed, env!("CARGO_BIN_EXE_strongroom")]).args(arguments);
    let output = output_of(&mut command);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((output.status.code()?, said))
}
