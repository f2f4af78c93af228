//! Programs run on the library in the engine, with a host that answers from a table.
//!
//! A program is a file of `programs`. Its header says what it gets and what comes of it:
//! lines that begin with `//:` and a word, then JSON.

mod chapter;
mod host;
mod node;
mod table;
