//! State that programs of tenants share: calls without a waiting caller, and lines that are kept.

pub(in crate::http) mod lines;
pub(in crate::http) mod pending;

pub(in crate::http) use lines::ProgramLines;
pub(in crate::http) use pending::{PendingCalls, PendingPlace};
