//! Fuzzes the target `proxy_urls`.
#![no_main]

mod allocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strongroom::testing::fuzz("proxy_urls", data));
