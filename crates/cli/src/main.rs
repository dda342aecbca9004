//! `headwater`, the only binary: the command line, the server, the worker and init.
//!
//! A command is parsed in [`args`] and implemented in its own file in [`commands`]. [`connect`] finds a server, or finds
//! or starts the worker; [`engine`] gives both the same interface. `run` and `attach` share [`live`].

mod args;
mod commands;
mod confirm;
mod connect;
mod contexts;
mod dispatch;
mod engine;
mod error;
mod escape;
mod exit;
mod humanize;
mod input;
mod live;
mod log;
mod output;
mod resolve;
mod server;
mod show;
mod signals;
#[cfg(test)]
mod snapshot;
mod start;
mod style;
mod terminal;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::Cli;

fn main() -> ExitCode {
    // init must stay small: it is dispatched before anything here allocates memory.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "init") {
        return ExitCode::from(headwater_sandbox::init::main());
    }
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let runs_a_program = cli.command.runs_a_program();
    match dispatch::dispatch(cli, &matches) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print();
            ExitCode::from(exit::of_failure(error.kind, runs_a_program))
        }
    }
}
