//! Reactors: their records, and the calls of their programs.

pub(in crate::app) mod called;
mod events;
pub(in crate::app) mod react;
pub(in crate::app) mod results;
