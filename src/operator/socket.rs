//! The server of the operator's socket. The socket has mode 0600, the server checks the user of
//! each client, and a connection carries one command.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
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
    OPERATOR_COMMAND_BYTES_MAX, OPERATOR_COMMAND_MAX, OPERATOR_COMMANDS_MAX,
    OPERATOR_CONVERSATIONS_MAX, OPERATOR_READ_MAX,
};
use crate::domain::audit::RefusalReason;
use crate::domain::origin::Origin;
use crate::files::SocketFile;
use crate::operator::command::{ClockControl, Command, CommandAnswer};
use crate::operator::socket_path;
use crate::operator::user::{user_of, user_of_process};
use crate::server::{AddressLimit, Permit, Permits};

pub struct Socket {
    /// Dropped before the listener: while the listener exists, the inode number of the socket
    /// cannot belong to another file.
    file: SocketFile,
    listener: UnixListener,
}

#[derive(Debug)]
pub struct SocketFailure {
    pub path: PathBuf,
    pub source: io::Error,
}

impl Socket {
    /// Must be called inside a Tokio runtime, by the process that has the data file open. An
    /// existing socket file was therefore left by a process that has ended, and is removed.
    pub fn bind(data_directory: &Path) -> Result<Self, SocketFailure> {
        let path = socket_path(data_directory);
        let bound = SocketFile::bind(&path).and_then(|(listener, file)| {
            // Without the socket the command line opens the data file. If the removal at the end
            // fails, it gets a refused connection first.
            Ok(Self { file, listener: UnixListener::from_std(listener)? })
        });
        bound.map_err(|source| SocketFailure { path, source })
    }

    /// Serves several commands at once, so that a long one, such as a backup, does not delay
    /// another, such as the deletion of a key. Each user has a separate share.
    pub async fn serve(self, vault: Arc<Vault>, clock_control: ClockControl) {
        let mut shares: HashMap<u32, Share> = HashMap::new();
        // Dropping the set ends its tasks.
        let mut conversations = JoinSet::new();
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of file descriptors: wait until some are closed.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            while conversations.try_join_next().is_some() {}
            let Ok((peer, process)) = stream.peer_cred().map(|peer| (peer.uid(), peer.pid()))
            else {
                continue;
            };
            let may_command = may_command(peer, self.file.owner());
            // All users that may not give commands have one share together.
            let share = shares.entry(if may_command { peer } else { u32::MAX }).or_default();
            let address = Ipv4Addr::LOCALHOST.into();
            let Ok(permit) = share.places.take(address, AddressLimit::Unbounded) else { continue };
            let permit = Arc::new(permit);
            let served = Conversation {
                stream,
                user: may_command.then_some(Arc::clone(&share.commands)),
                permit: Arc::clone(&permit),
                // A peer without a process id must not get the login of this process.
                origin: Arc::new(Origin::of_user(match process {
                    Some(_) => user_of_process(peer, process),
                    None => user_of(peer),
                })),
            };
            let served = served.hold(Arc::clone(&vault), clock_control);
            conversations.spawn(async move {
                tokio::select! {
                    biased;
                    () = permit.ended() => {}
                    _ = timeout(OPERATOR_COMMAND_MAX, served) => {}
                }
            });
        }
    }
}

/// The connections and commands of one user. The oldest connection that has not sent its command
/// makes room for another.
struct Share {
    commands: Arc<Semaphore>,
    places: Permits,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            commands: Arc::new(Semaphore::new(OPERATOR_COMMANDS_MAX)),
            places: Permits::new(OPERATOR_CONVERSATIONS_MAX, None),
        }
    }
}

/// The name of the socket in the entries of refused attempts.
const SOCKET_NAME: &str = "operator_socket";

/// Root and the server's own user may give commands.
const fn may_command(peer: u32, owner: u32) -> bool {
    peer == owner || peer == 0
}

struct Conversation {
    stream: UnixStream,
    /// The places of the user's commands; `None` for a user that may not give commands.
    user: Option<Arc<Semaphore>>,
    permit: Arc<Permit>,
    origin: Arc<Origin>,
}

impl Conversation {
    async fn hold(mut self, vault: Arc<Vault>, clock_control: ClockControl) -> io::Result<()> {
        let answer = if let Some(places) = self.user {
            let read = timeout(OPERATOR_READ_MAX, read_command(&mut self.stream)).await;
            let command = read.map_err(|_elapsed| io::ErrorKind::TimedOut)??;
            self.permit.keep();
            // The semaphore is never closed. A client that does not read its answer holds no place.
            let _place = places.acquire_owned().await.map_err(io::Error::other)?;
            match command {
                Some(command) => originated(self.origin, command.run(&vault, clock_control)).await,
                None => CommandAnswer::Refused(vec![String::from("This is not a command.")]),
            }
        } else {
            vault.audit().refusals().note(&RefusedAttempt {
                reason: RefusalReason::OtherUser,
                route: SOCKET_NAME,
                caller: None,
                origin: self.origin,
            });
            CommandAnswer::Refused(vec![String::from("Only the server's own user may command it.")])
        };
        self.stream.write_all(&serde_json::to_vec(&answer)?).await?;
        self.stream.shutdown().await
    }
}

/// The client ends its command by closing its sending half of the connection.
async fn read_command(stream: &mut UnixStream) -> io::Result<Option<Command>> {
    let mut bytes = Vec::new();
    let mut bounded = stream.take(OPERATOR_COMMAND_BYTES_MAX);
    bounded.read_to_end(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes).ok())
}

opaque_debug!(Socket);
