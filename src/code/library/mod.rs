//! The standard library of programs, as JavaScript. Every file is embedded.

/// The text of a file of the library.
pub fn source(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

const FILES: &[(&str, &str)] = &[("main.js", include_str!("main.js"))];
