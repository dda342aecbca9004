//! `apply_patch` against files in memory: a corpus of written cases, and properties of generated patches.

#![allow(clippy::unwrap_used)] // helpers of tests: a failure is a failed test

mod bytes;
mod files;
mod grammar;
mod harness;
mod matching;
mod mismatched;
mod paths;
mod properties;
mod refused;
