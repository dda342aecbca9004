//! `headwater`, the only binary: the command line, the server, the worker and init.
//!
//! A command is parsed in [`args`] and implemented in its own file in [`commands`]. [`connect`] finds a server, or finds
//! or starts the worker; [`engine`] gives both the same interface. `run` and `attach` share [`live`].

mod args;
mod commands;
mod confirm;
mod connect;
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

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use crate::args::{Cli, Command};
use crate::connect::Place;
use crate::error::CommandError;
use crate::server::Server;

fn main() -> ExitCode {
    // init must stay small: it is dispatched before anything here allocates memory.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "init") {
        return ExitCode::from(headwater_sandbox::init::main());
    }
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let own_failure = match cli.command {
        Command::Run(_) | Command::Attach(_) => Some(exit::OWN_FAILURE),
        _ => None,
    };
    match dispatch(cli, &matches) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print();
            let code = error.kind.exit_code();
            ExitCode::from(own_failure.filter(|_| code != exit::OUTPUT_MISSING).unwrap_or(code))
        }
    }
}

fn dispatch(cli: Cli, matches: &ArgMatches) -> Result<u8, CommandError> {
    let data = args::data_folder(cli.data)?;
    match cli.command {
        Command::Worker(args) => return commands::worker::worker(&data, &args),
        Command::Doctor(args) => return commands::doctor::doctor(&data, &args),
        Command::Serve(args) => return commands::serve::serve(&data, &args),
        Command::Token(args) => return commands::token::token(&data, args),
        Command::User(args) => return commands::user::user(&data, args),
        Command::Config(args) => {
            let matches = matches.subcommand_matches("config").unwrap_or(matches);
            return commands::config::config(&data, &args, matches);
        }
        _ => {}
    }
    let server = match cli.command {
        Command::Stop(_) => None, // always acts on a data folder of this machine
        _ => Server::new(&cli.server, &data)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(format!("cannot start: {error}")))?;
    let local = tokio::task::LocalSet::new();
    let result =
        runtime.block_on(local.run_until(with_worker(Place::new(data).with_server(server), cli.command)));
    // A thread may still be blocked on standard input or on a slow reader; it is no longer needed.
    runtime.shutdown_background();
    result
}

async fn with_worker(place: Place, command: Command) -> Result<u8, CommandError> {
    match command {
        Command::Run(args) => Box::pin(commands::run::run(place, &args)).await,
        Command::Sessions(args) => commands::sessions::sessions(&place, args).await,
        Command::Ps(args) => commands::ps::ps(&place, &args).await,
        Command::Logs(args) => commands::logs::logs(&place, &args).await,
        Command::Attach(args) => commands::attach::attach(&place, &args).await,
        Command::Kill(args) => commands::kill::kill(&place, &args).await,
        Command::Forget(args) => commands::forget::forget(&place, &args).await,
        Command::Prune(args) => commands::prune::prune(&place, &args).await,
        Command::Stop(args) => commands::stop::stop(&place, &args).await,
        // Dispatched above: they need no worker, or start it themselves.
        Command::Worker(_)
        | Command::Doctor(_)
        | Command::Serve(_)
        | Command::Token(_)
        | Command::User(_)
        | Command::Config(_) => Ok(0),
    }
}
