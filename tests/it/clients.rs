//! The published clients drive the binary: programs written for the published interface work by
//! changing their base URL. The clients are test tools that `tests/clients/install` installs by
//! package name; without them there is nothing to run.

use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn the_published_clients_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clients = root.join("target/clients");
    let installed = ["python/installed.txt", "node/installed.json"];
    if !installed.iter().all(|file| clients.join(file).is_file()) {
        // Written past the capture of the test harness, so that plain `cargo test` shows it.
        let line = b"skipped: the published clients are not installed (tests/clients/install)\n";
        std::io::stderr().write_all(line).expect("standard error is open");
        return;
    }
    let output = Command::new(root.join("tests/clients/run"))
        .arg(env!("CARGO_BIN_EXE_strongroom"))
        .output()
        .expect("tests/clients/run starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    println!("{said}{complained}");
    assert!(output.status.success(), "a suite failed; its lines are above");
}
