//! The allocator of the targets: it ends the process on a block that no input of a target needs, so
//! that a length that is taken from the input without a check is found at once.

use std::alloc::{GlobalAlloc, Layout, System};

/// The largest block. The largest one that the program asks for on purpose is a chunk of a backup,
/// 16 MiB.
const BLOCK_BYTES_MAX: usize = 24 * 1024 * 1024;

struct Bounded;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

fn check(bytes: usize) {
    if bytes > BLOCK_BYTES_MAX {
        // A panic would allocate; the fuzzer reports the signal and keeps the input.
        std::process::abort();
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        check(bytes);
        unsafe { System.realloc(block, layout, bytes) }
    }
}
