//! Fuzzes the target `routes`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("routes", data));
