//! Fuzzes the target `cvc_keys`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("cvc_keys", data));
