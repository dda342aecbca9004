//! Tests of a real init process, driven over its link, mostly without walls.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests: a failure is a failed test

mod adoption;
mod code_file;
mod ending;
mod failures;
mod harness;
mod outlet;
mod output;
mod terminal;
mod walled;
