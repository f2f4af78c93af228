//! A relay between a vault and its database that holds every COMMIT back, as a database does that waits for a replica in
//! another site.

use crate::Outcome;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const SOCKET: &str = ".s.PGSQL.5432";
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

pub(crate) struct Relay {
    pub(crate) directory: PathBuf,
}

impl Relay {
    pub(crate) fn start(server: &Path, delay: Duration) -> Outcome<Self> {
        let name = format!("strongroom-relay-{}-{}", std::process::id(), delay.as_millis());
        let directory = PathBuf::from("/var/tmp").join(name);
        fs::create_dir(&directory)?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))?;
        let listener = UnixListener::bind(directory.join(SOCKET))?;
        let target = server.join(SOCKET);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&target) else { continue };
                let (Ok(to_client), Ok(from_server)) = (client.try_clone(), server.try_clone())
                else {
                    continue;
                };
                thread::spawn(move || copy(&client, &server, delay));
                thread::spawn(move || copy(&from_server, &to_client, Duration::ZERO));
            }
        });
        Ok(Self { directory })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// A batch ends with COMMIT, so waiting before the last bytes go on delays nothing else.
fn copy(mut from: &UnixStream, mut to: &UnixStream, delay: Duration) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..count];
        let (before, commit) = if bytes.ends_with(COMMIT) && !delay.is_zero() {
            bytes.split_at(count - COMMIT.len())
        } else {
            (bytes, &[][..])
        };
        if to.write_all(before).is_err() {
            break;
        }
        if !commit.is_empty() {
            thread::sleep(delay);
            if to.write_all(commit).is_err() {
                break;
            }
        }
    }
    drop(to.shutdown(Shutdown::Both));
}
