//! Init as it is: a real process, without walls, driven over its link.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests: a failure is a failed test

mod adoption;
mod ending;
mod failures;
mod harness;
mod output;
mod terminal;
