//! The one binary of tests that stand outside of the program.

mod tidy;
