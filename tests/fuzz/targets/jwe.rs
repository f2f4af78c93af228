//! Fuzzes the target `jwe`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("jwe", data));
