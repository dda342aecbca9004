//! Slices, blocks, edits and images without a worker.

#![allow(clippy::unwrap_used)] // a failure is a failed test

mod blocks;
mod edits;
mod images;
mod slices;
