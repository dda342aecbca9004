//! The command line, as a person or a script uses it: the real binary, its bytes, its exit codes.

mod chat;
mod codes;
mod command;
mod config;
mod ending;
mod errors;
mod here;
mod hostile;
mod interrupts;
mod json;
mod leaving;
mod logs;
mod lossless;
mod lost_worker;
mod places;
mod pty;
mod run;
mod sessions;
mod starting;
mod surviving;
mod terminal;
mod workspace;

use anyhow::Result;
use headwater_tests::{Options, TestWorker};

/// A worker that prepares no more than the test needs.
async fn worker() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), ..Options::default() }).await
}
