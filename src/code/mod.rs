//! Programs of tenants: the worker that runs one.

#[cfg_attr(not(test), expect(dead_code, reason = "the worker installs it"))]
mod worker;
