//! The sources and documents keep their rules.

mod rules;
