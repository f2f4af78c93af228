//! Fuzzes the target `proxy_bodies`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("proxy_bodies", data));
