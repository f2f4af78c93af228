//! Shared by the tests: the binary in a directory of its own, and a client for it.
//!
//! No wait here is a fixed time. A server is ready when its ready line has been read, a process has
//! ended when its exit code is there, and every wait has the deadline of [`PATIENCE`].

mod answer;
mod connection;
mod contract;
mod cutter;
mod directory;
mod directory_server;
mod fixtures;
mod frames;
mod http2;
mod postgres;
mod processes;
mod program;
mod psp;
mod reads;
mod request;
mod stranger;
mod vault;
mod wait;

pub(crate) use answer::Answer;
pub(crate) use connection::{Connection, trusting};
pub(crate) use contract::{Operation, api_document};
pub(crate) use cutter::{Cutter, Moment};
pub(crate) use directory::Directory;
pub(crate) use directory_server::{Authority, Certificate, DirectoryServer, Told};
pub(crate) use fixtures::{NUMBER, card, names, only_rule, rule};
pub(crate) use frames::{
    END_HEADERS, END_STREAM, Frames, StreamEnd, field, indexed_field, request, stream_end,
};
pub(crate) use http2::{again_over_http2, only_http1, over_http2};
pub(crate) use postgres::{Cluster, Database, lacks_data_file, needs_data_file, on_postgres};
pub(crate) use processes::{has_several_processes, needs_one_process};
pub(crate) use program::{Ended, Running, json_lines, output_of, program, run, with_other_program};
pub(crate) use psp::{Clients, Cut, Offer, Psp, Received};
pub(crate) use reads::{Attacked, cpu_of_reads};
pub(crate) use request::{Request, delete, get, options, patch, post, put};
pub(crate) use stranger::{Flooded, Stranger, flood};
pub(crate) use vault::Vault;
pub(crate) use wait::{
    KillOnDrop, PATIENCE, SetOnDrop, thorough, wait_for, wait_for_clients, wait_until, within,
};
