//! Programs of tenants: the worker that runs one, and the library that it runs on.

#[cfg_attr(not(test), expect(dead_code, reason = "the worker evaluates it"))]
mod library;
#[cfg_attr(not(test), expect(dead_code, reason = "the worker installs it"))]
mod worker;
