//! Builds, end to end: results, diagnostics, the cache, and attacks on it.

mod attacks;
mod cached;
mod calls;
mod diagnostics;
mod faults;
mod in_session;
mod plain;
mod variables;
