//! SIGHUP means "load the certificate again" from the moment at which the server says that it is
//! ready. Without a handler, the signal would end the process.

use std::io::{ErrorKind, PipeWriter, Write as _};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::Value;

use crate::harness::{Connection, Directory, Running, get, run, trusting, wait_until};

/// Fills a pipe with spaces, so that the next write to it blocks until the other end is read.
fn fill(pipe: &mut PipeWriter) {
    let flags = fcntl_getfl(&*pipe).unwrap();
    fcntl_setfl(&*pipe, flags | OFlags::NONBLOCK).unwrap();
    let full = std::iter::repeat_with(|| pipe.write(b" ")).find_map(Result::err).unwrap();
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    // The server shares this setting. Its own write must block.
    fcntl_setfl(&*pipe, flags).unwrap();
}

/// The server is held at its ready line, which it cannot write to the full pipe. A signal that
/// comes then finds exactly the handlers of a server that has just become ready.
#[test]
fn a_hangup_right_after_the_ready_line_does_not_end_the_server() {
    let directory = Directory::new();
    let data = &directory.text("data");
    let (reader, mut writer) = std::io::pipe().unwrap();
    fill(&mut writer);
    let arguments = ["dev", "--data", data, "--listen", "127.0.0.1:0", "--json"];
    let mut server = Running::start_on(&arguments, &directory.join("log"), writer);
    // The operator's socket is served before the ready line is written.
    wait_until("the operator's socket answers", || {
        run(&["dev-clock", "--data", data, "advance", "0"]).code == Some(0)
    });
    server.signal("HUP");
    server.read_lines(reader);
    // JSON may begin with spaces.
    let ready = server.line().unwrap_or_else(|| panic!("it ended: {}", server.log()));
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let address = ready["url"].as_str().unwrap().strip_prefix("https://").unwrap();
    let client = trusting(ready["ca"].as_str().unwrap().as_ref());
    let mut connection = Connection::open(address.parse().unwrap(), &client).unwrap();
    connection.send(&get("/healthz").bytes(address)).unwrap();
    connection.receive().unwrap().with_status(200);
    assert_eq!(server.terminate(), Some(0));
}
