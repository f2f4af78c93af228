//! What the tests share: the binary in a directory of its own, and a client for it.
//!
//! Nothing here sleeps: a server is waited for by its own words, a process by its end.

mod answer;
mod connection;
mod directory;
mod directory_server;
mod program;
mod request;
mod vault;

pub(crate) use answer::Answer;
pub(crate) use connection::{Connection, trusting};
pub(crate) use directory::Directory;
pub(crate) use directory_server::{Authority, Certificate, DirectoryServer, Told};
pub(crate) use program::{Ended, Running, run};
pub(crate) use request::{Request, delete, get, options, post, put};
pub(crate) use vault::Vault;
