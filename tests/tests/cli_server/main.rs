//! The command line through a server: the tests of the local one once more, and what only a server has.

mod accounts;
#[path = "../cli/codes.rs"]
mod codes;
#[path = "../cli/command.rs"]
mod command;
mod configured;
#[path = "../cli/ending.rs"]
mod ending;
mod errors;
#[path = "../cli/hostile.rs"]
mod hostile;
#[path = "../cli/interrupts.rs"]
mod interrupts;
#[path = "../cli/json.rs"]
mod json;
mod killed;
#[path = "../cli/leaving.rs"]
mod leaving;
mod lists;
#[path = "../cli/logs.rs"]
mod logs;
#[path = "../cli/lossless.rs"]
mod lossless;
#[path = "../cli/pty.rs"]
mod pty;
#[path = "../cli/run.rs"]
mod run;
mod sessions;
mod stopping;
#[path = "../cli/surviving.rs"]
mod surviving;
#[path = "../cli/terminal.rs"]
mod terminal;
mod tls;
#[path = "../cli/workspace.rs"]
mod workspace;

use anyhow::Result;
use headwater_tests::{ServerOptions, TestServer};

/// What the shared tests call their worker is a server here, which prepares no more than a test needs.
async fn worker() -> Result<TestServer> {
    TestServer::with(ServerOptions { config: Some("pool = 1\n".into()), ..ServerOptions::default() }).await
}
