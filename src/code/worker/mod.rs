//! The parts of the process that runs a program.

pub(in crate::code) mod crypto;
