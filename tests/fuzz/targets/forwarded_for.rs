//! Fuzzes the target `forwarded_for`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("forwarded_for", data));
