//! The standard library of programs, as JavaScript: the globals and modules of Node that programs
//! use, the published packages, and `main.js`, which puts them together.
//!
//! Every file is embedded. A worker evaluates `main.js` at its start and the others when a program
//! uses them first.

#[cfg(test)]
mod tests;

/// The text of a file of the library.
pub fn source(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

macro_rules! files {
    ($($name:literal,)*) => {
        const FILES: &[(&str, &str)] = &[$(($name, include_str!($name)),)*];
    };
}

files! {
    "abort.js",
    "absent.js",
    "assert.js",
    "axios.js",
    "basis_theory_js.js",
    "buffer.js",
    "bytes.js",
    "clone.js",
    "console.js",
    "contracts.js",
    "crypto.js",
    "empty.js",
    "encoding.js",
    "errors.js",
    "events.js",
    "fetch.js",
    "form_data.js",
    "form_data_web.js",
    "headers.js",
    "http.js",
    "https.js",
    "keys.js",
    "main.js",
    "node_fetch.js",
    "node_sdk.js",
    "os.js",
    "path.js",
    "perf_hooks.js",
    "process.js",
    "punycode.js",
    "querystring.js",
    "stream.js",
    "stream_promises.js",
    "string_decoder.js",
    "timers.js",
    "timers_promises.js",
    "url.js",
    "url_module.js",
    "util.js",
    "util_types.js",
    "vault_calls.js",
    "webcrypto.js",
}
