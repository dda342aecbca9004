//! Running things: what is printed is what is followed, and every end has its reason.

mod children;
mod code;
mod ends;
mod follow;
mod input;
mod languages;
mod limits;
mod lossless;
mod many;
mod output;
mod sessions;
mod sleep;
mod surroundings;
mod terminal;
mod unstarted;

use anyhow::Result;
use headwater_contract::{ContractError, Fault};
use headwater_tests::{Options, TestWorker};

/// A worker that prepares no more than the test needs.
async fn worker() -> Result<TestWorker> {
    TestWorker::with(Options { pool: Some(1), ..Options::default() }).await
}

/// The fault of a call that the worker must refuse.
fn refused<T: std::fmt::Debug>(answer: Result<T, ContractError>) -> Fault {
    answer.expect_err("the worker should refuse").fault().expect("the worker should answer").clone()
}
