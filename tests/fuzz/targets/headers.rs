//! Fuzzes the target `headers`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("headers", data));
