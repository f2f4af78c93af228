//! The server of the operator's socket. The socket has mode 0600, the server checks the user of
//! each client, and a connection carries one command.

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

use crate::app::{RefusedAttempt, Vault, originated};
use crate::bounds::{
    OPERATOR_COMMAND_BYTES_MAX, OPERATOR_COMMAND_MAX, OPERATOR_COMMANDS_MAX, OPERATOR_READ_MAX,
};
use crate::domain::audit::RefusalReason;
use crate::domain::origin::Origin;
use crate::operator::command::{ClockControl, Command, CommandAnswer};
use crate::operator::socket_path;
use crate::operator::user::user_of;

pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The user id of the socket file, which is that of this process.
    owner: u32,
}

/// The failure to make the socket.
#[derive(Debug)]
pub struct SocketFailure {
    pub path: PathBuf,
    pub source: io::Error,
}

impl Socket {
    /// Must be called inside a Tokio runtime, by the process that has the data file open. An
    /// existing socket file is therefore left from a process that has ended, and is removed.
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

    /// Serves several commands at once, so that a long one, such as a backup, does not delay
    /// another, such as deleting a key.
    pub async fn serve(self, vault: Arc<Vault>, clock_control: ClockControl) {
        let places = Arc::new(Semaphore::new(OPERATOR_COMMANDS_MAX));
        // Dropping the set ends its tasks.
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
                // The process is out of file descriptors; wait for some to be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
            while conversations.try_join_next().is_some() {}
        }
    }
}

/// The name of the socket in the entries of refused attempts.
const SOCKET_NAME: &str = "operator_socket";

/// Root and the server's own user may give commands.
const fn may_command(peer: u32, owner: u32) -> bool {
    peer == owner || peer == 0
}

async fn converse(
    mut stream: UnixStream,
    owner: u32,
    vault: Arc<Vault>,
    clock_control: ClockControl,
) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    let origin = Arc::new(Origin::of_user(user_of(peer)));
    let answer = if may_command(peer, owner) {
        let read = timeout(OPERATOR_READ_MAX, read_command(&mut stream)).await;
        match read.map_err(|_elapsed| io::ErrorKind::TimedOut)?? {
            Some(command) => originated(origin, command.run(&vault, clock_control)).await,
            None => CommandAnswer::Refused(vec![String::from("This is not a command.")]),
        }
    } else {
        vault.audit().refusals().note(&RefusedAttempt {
            reason: RefusalReason::OtherUser,
            route: SOCKET_NAME,
            caller: None,
            origin,
        });
        CommandAnswer::Refused(vec![String::from("Only the server's own user may command it.")])
    };
    stream.write_all(&serde_json::to_vec(&answer)?).await?;
    stream.shutdown().await
}

/// The client ends its command by closing its side of the connection.
async fn read_command(stream: &mut UnixStream) -> io::Result<Option<Command>> {
    let mut bytes = Vec::new();
    let mut bounded = stream.take(OPERATOR_COMMAND_BYTES_MAX);
    bounded.read_to_end(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes).ok())
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Without the socket the command line opens the data file. If the removal fails, it gets a
        // refused connection first.
        std::fs::remove_file(&self.path).ok();
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("path", &self.path).finish_non_exhaustive()
    }
}
