//! Reads the status of a running server or standby from its socket for metrics.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use crate::bounds::STATUS_WAIT_MAX;
use crate::operator::metrics_socket_path;

pub fn read_status(socket: &Path) -> io::Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(STATUS_WAIT_MAX))?;
    stream.write_all(b"GET /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    Ok(serde_json::from_str(body)?)
}

/// True if a standby has this data directory open. Only the status of a standby has that section.
pub fn is_followed(data_directory: &Path) -> bool {
    read_status(&metrics_socket_path(data_directory))
        .is_ok_and(|status| status.get("standby").is_some())
}
