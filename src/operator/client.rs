//! The client of the operator's socket.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::operator::command::{Command, CommandAnswer};
use crate::operator::socket_path;

#[derive(Debug)]
pub enum CommandExchange {
    Answered(CommandAnswer),
    /// A server is running, but the exchange failed.
    Failed(io::Error),
    NoServer,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other error is a failed exchange")]
pub fn ask(data_directory: &Path, command: &Command) -> CommandExchange {
    let mut stream = match UnixStream::connect(socket_path(data_directory)) {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                // The socket of a killed server refuses connections; without a socket the file is
                // not found.
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    CommandExchange::NoServer
                }
                _ => CommandExchange::Failed(error),
            };
        }
    };
    let mut converse = || -> io::Result<CommandAnswer> {
        stream.write_all(&serde_json::to_vec(command)?)?;
        stream.shutdown(Shutdown::Write)?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    match converse() {
        Ok(answer) => CommandExchange::Answered(answer),
        Err(error) => CommandExchange::Failed(error),
    }
}
