//! The fuzz targets: a function for each parser that reads bytes from outside. `tests/fuzz` runs
//! them with cargo-fuzz; the tests here run them over the stored seeds and their mutations.
//!
//! A target panics if a rule is broken: a written text does not parse to the same value, work
//! exceeds its budget, a refused value comes out, an error quotes its input. A target that needs
//! private parts of a room is in a file `fuzz.rs` of that room.

#[cfg(test)]
mod tests;
mod texts;
mod threeds;

use crate::app::{jwe_fuzz as jwe, proxy_fuzz as proxy};
use crate::cli::fuzz as imports;
use crate::code::fuzz as code;
use crate::expressions::fuzz as expressions;
use crate::http::fuzz as http;
use crate::names::fuzz as names;
use crate::operator::fuzz as operator;
use crate::server::fuzz as server;
use crate::store::fuzz as store;

/// The name of a target, which its program and the directory of its seeds have too.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    ("archive", store::archive),
    ("backup", store::backup),
    ("bins", texts::bins),
    ("bodies", http::bodies),
    ("certificates", server::certificates),
    ("code_frames", code::messages),
    ("code_packages", code::locks),
    ("commands", operator::commands),
    ("cvc_keys", store::cvc_keys),
    ("expressions", expressions::expressions),
    ("forwarded_for", texts::forwarded_for),
    ("frames", store::frames),
    ("framing", server::framing),
    ("headers", http::headers),
    ("imports", imports::files),
    ("jsonpath", expressions::json_path),
    ("jwe", jwe::messages),
    ("keys", store::keys),
    ("names", names::names),
    ("patterns", texts::patterns),
    ("proxy_bodies", proxy::bodies),
    ("proxy_urls", proxy::urls),
    ("records", store::records),
    ("routes", http::routes),
    ("settings", texts::settings),
    ("shares", texts::shares),
    ("threeds", threeds::messages),
    ("words", texts::words),
];

/// Checks a sentence of an error. No sentence of ours has the number of consecutive digits of a
/// card number, so one that has them quotes its input.
pub fn check_sentence(sentence: &str) {
    let longest = sentence.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    assert!(longest.is_none_or(|digits| digits < 12), "an error quotes its input");
}

pub fn run(name: &str, data: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    assert!(found.is_some(), "there is no target {name}");
    if let Some((_, target)) = found {
        target(data);
    }
}
