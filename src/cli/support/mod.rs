//! Support for all commands: failures and their exit codes.

pub(in crate::cli) mod failure;
