//! `headwater`, the only binary: the command line, the server, the worker and init.
//!
//! A command is parsed in [`args`] and implemented in its own file in [`commands`]. [`connect`] finds a server, or finds
//! or starts the worker; [`engine`] gives both the same interface. `run` and `attach` share [`live`].
//!
//! On macOS and Windows it is only the command line of a server. What needs Linux is in [`host`], the modules below that
//! are compiled on Linux only, and the stores of [`commands::token`] and [`commands::user`]; what differs between
//! terminals is in [`system`].

// Arguments of commands that need Linux are parsed, and the worker's calls are compiled, without being used.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

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
#[cfg_attr(target_os = "linux", path = "host/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "host/elsewhere.rs")]
mod host;
mod humanize;
mod in_place;
mod input;
mod live;
#[cfg(target_os = "linux")]
mod log;
mod output;
mod resolve;
mod server;
mod show;
mod signals;
#[cfg(test)]
mod snapshot;
#[cfg(target_os = "linux")]
mod start;
mod style;
#[cfg_attr(unix, path = "system/unix.rs")]
#[cfg_attr(windows, path = "system/windows.rs")]
mod system;
mod terminal;
#[cfg(any(windows, test))]
mod utf8;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::Cli;

fn main() -> ExitCode {
    if let Some(code) = host::init() {
        return code;
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
