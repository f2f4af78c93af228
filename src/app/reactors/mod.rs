//! Reactors: their records, and the calls of their programs.

mod events;
pub(in crate::app) mod manage;
pub(in crate::app) mod react;
pub(in crate::app) mod results;
