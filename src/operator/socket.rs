//! The server's end of the operator's socket: mode 0600, the peer's user checked, one command a
//! connection.

use std::fmt;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::app::Vault;
use crate::bounds::{
    OPERATOR_COMMAND_BYTES_MAX, OPERATOR_COMMAND_MAX, OPERATOR_COMMANDS_MAX, OPERATOR_READ_MAX,
};
use crate::operator::command::{ClockControl, Command, CommandAnswer};
use crate::operator::socket_path;

pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Who owns the socket file, which is who runs this process.
    owner: u32,
}

/// Why there can be no socket.
#[derive(Debug)]
pub struct SocketFailure {
    pub path: PathBuf,
    pub source: io::Error,
}

impl Socket {
    /// Must be called inside a Tokio runtime, by the process that holds the data file: whatever
    /// socket is there was left behind by one that is gone.
    pub fn bind(data_directory: &Path) -> Result<Self, SocketFailure> {
        let path = socket_path(data_directory);
        let bound = || {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => (),
            }
            let listener = UnixListener::bind(&path)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            let owner = std::fs::metadata(&path)?.uid();
            Ok((listener, owner))
        };
        match bound() {
            Ok((listener, owner)) => Ok(Self { listener, path, owner }),
            Err(source) => Err(SocketFailure { path, source }),
        }
    }

    /// A long command, such as a backup, must not hold up another one, such as deleting a key.
    pub async fn serve(self, vault: Arc<Vault>, clock_control: ClockControl) {
        let places = Arc::new(Semaphore::new(OPERATOR_COMMANDS_MAX));
        // Ends what it began when it is dropped itself.
        let mut conversations = JoinSet::new();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let served = converse(stream, self.owner, Arc::clone(&vault), clock_control);
                    conversations.spawn(async move {
                        timeout(OPERATOR_COMMAND_MAX, served).await.ok();
                        drop(place);
                    });
                }
                // Out of file descriptors: others will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
            while conversations.try_join_next().is_some() {}
        }
    }
}

async fn converse(
    mut stream: UnixStream,
    owner: u32,
    vault: Arc<Vault>,
    clock_control: ClockControl,
) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    let answer = if peer == owner || peer == 0 {
        let read = timeout(OPERATOR_READ_MAX, read_command(&mut stream)).await;
        match read.map_err(|_elapsed| io::ErrorKind::TimedOut)?? {
            Some(command) => command.run(&vault, clock_control).await,
            None => CommandAnswer::Refused(vec![String::from("This is not a command.")]),
        }
    } else {
        CommandAnswer::Refused(vec![String::from("Only the server's own user may command it.")])
    };
    stream.write_all(&serde_json::to_vec(&answer)?).await?;
    stream.shutdown().await
}

/// The client ends its command by closing its side.
async fn read_command(stream: &mut UnixStream) -> io::Result<Option<Command>> {
    let mut bytes = Vec::new();
    let mut bounded = stream.take(OPERATOR_COMMAND_BYTES_MAX);
    bounded.read_to_end(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes).ok())
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Whoever comes later finds no socket and opens the file; a failure only costs them a try.
        std::fs::remove_file(&self.path).ok();
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("path", &self.path).finish_non_exhaustive()
    }
}
