//! Builds, end to end: what is made, what is told, what the cache gives back, and that nobody can spoil it for others.

mod attacks;
mod cached;
mod diagnostics;
mod faults;
mod in_session;
mod plain;
mod scene;
