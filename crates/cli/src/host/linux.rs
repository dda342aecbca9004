//! What this machine can be: a host of sessions.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgMatches;

use crate::args::{Command, McpAction, McpArgs};
use crate::commands;
use crate::connect::Place;
use crate::dispatch::{refuse_server, runtime};
use crate::error::CommandError;

/// What to do if a server cannot be reached.
pub const UNREACHABLE: &str =
    "is it running? `headwater serve` starts a server; without `--server` the worker on this machine is used";

/// Runs init, if this process is one. It must stay small: it is dispatched before anything else allocates memory.
pub fn init() -> Option<ExitCode> {
    let is_init = std::env::args_os().nth(1).is_some_and(|argument| argument == "init");
    is_init.then(|| ExitCode::from(headwater_sandbox::init::main()))
}

/// Runs a command that always acts on this machine.
pub fn act(name: &str, command: Command, data: &Path, matches: &ArgMatches) -> Result<u8, CommandError> {
    refuse_server(name, matches)?;
    match command {
        Command::Worker(args) => commands::worker::worker(data, &args),
        Command::Doctor(args) => commands::doctor::doctor(data, &args),
        Command::Serve(args) => commands::serve::serve(data, &args),
        Command::Config(args) => {
            let matches = matches.subcommand_matches("config").unwrap_or(matches);
            runtime()?.block_on(commands::config::config(data, &args, matches))
        }
        Command::Stop(args) => runtime()?.block_on(commands::stop::stop(&Place::new(data.to_owned()), &args)),
        Command::Mcp(McpArgs { action: Some(McpAction::Rules(args)), .. }) => {
            commands::mcp::rules::rules(data, &args)
        }
        Command::Mcp(args) => commands::mcp::serve::serve(data, &args.serve),
        // Dispatched by the caller.
        _ => Ok(0),
    }
}
