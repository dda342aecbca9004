//! From the parsed arguments to the command, and whether that may use a server.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::args::{self, Cli, Command, McpAction, McpArgs, ServerArgs};
use crate::commands;
use crate::commands::run::ChosenWorkspace;
use crate::connect::Place;
use crate::contexts::Contexts;
use crate::error::CommandError;
use crate::host;
use crate::server::Server;

/// Runs the command and returns its exit code.
pub fn dispatch(cli: Cli, matches: &ArgMatches) -> Result<u8, CommandError> {
    let names_data =
        cli.data.is_some() || std::env::var_os("HEADWATER_DATA").is_some_and(|data| !data.is_empty());
    let data = args::data_folder(cli.data)?;
    if let Some(name) = cli.command.only_on_this_machine() {
        return host::act(name, cli.command, &data, matches);
    }
    let command = match without_engine(cli.command, &cli.server, matches)? {
        Without::Done(code) => return Ok(code),
        Without::Needed(command) => *command,
    };
    let server = Server::select(&cli.server, &data, names_data, Contexts::load)?;
    let runtime = runtime()?;
    let local = tokio::task::LocalSet::new();
    let result =
        runtime.block_on(local.run_until(with_engine(Place::new(data).with_server(server), command)));
    // A thread may still be blocked on standard input or on a slow reader; it is no longer needed.
    runtime.shutdown_background();
    result
}

/// Creates the runtime, on this thread.
pub fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CommandError::internal(format!("cannot start: {error}")))
}

/// Refuses a server for a command that always acts on this machine: it would act on something else than was named.
pub fn refuse_server(name: &str, matches: &ArgMatches) -> Result<(), CommandError> {
    for (id, flag, variable) in
        [("server", "--server", "HEADWATER_URL"), ("context", "--context", "HEADWATER_CONTEXT")]
    {
        let is_set = matches.get_one::<String>(id).is_some_and(|value| !value.is_empty());
        let error = match matches.value_source(id) {
            Some(ValueSource::CommandLine) if is_set => {
                CommandError::usage(format!("`{flag}` means nothing for `headwater {name}`"))
                    .hint(format!("it acts on this machine: leave `{flag}` out"))
            }
            Some(ValueSource::EnvVariable) if is_set => {
                let message =
                    format!("`headwater {name}` acts on this machine, but `{variable}` names a server");
                CommandError::usage(message).hint(format!("run it as `env -u {variable} headwater {name}`"))
            }
            _ => continue,
        };
        return Err(error);
    }
    Ok(())
}

/// The result of a command that needs no engine, or the command that needs one.
enum Without {
    Done(u8),
    Needed(Box<Command>),
}

/// Runs the commands that need neither a worker nor the server that is selected.
fn without_engine(
    command: Command,
    server: &ServerArgs,
    matches: &ArgMatches,
) -> Result<Without, CommandError> {
    let refuse = |name: &str| match matches.value_source("server") {
        Some(ValueSource::CommandLine) => {
            Err(CommandError::usage(format!("`--server` means nothing for `headwater {name}`")))
        }
        _ => Ok(()),
    };
    let done = match command {
        Command::Login(args) => {
            refuse("login")?;
            runtime()?.block_on(commands::login::login(&args, server.token.clone()))
        }
        Command::Logout(args) => {
            refuse("logout")?;
            runtime()?.block_on(commands::login::logout(&args))
        }
        Command::Context(args) => {
            refuse("context")?;
            commands::login::context(args)
        }
        Command::Mcp(McpArgs { action: Some(McpAction::Install(args)), .. }) => {
            refuse("mcp install")?;
            commands::mcp::install::install(&args)
        }
        Command::Completion(args) => {
            refuse("completion")?;
            commands::about::completion(&args)
        }
        Command::Man(args) => {
            refuse("man")?;
            commands::about::man(&args)
        }
        command => return Ok(Without::Needed(Box::new(command))),
    };
    done.map(Without::Done)
}

async fn with_engine(place: Place, command: Command) -> Result<u8, CommandError> {
    match command {
        Command::Run(args) => {
            Box::pin(commands::run::run(place, &args.program, ChosenWorkspace::of(&args))).await
        }
        Command::Exec(args) => {
            let session = ChosenWorkspace::Session(&args.session);
            Box::pin(commands::run::run(place, &args.program, session)).await
        }
        Command::Shell(args) => commands::shell::shell(&place, &args).await,
        Command::Sessions(args) => commands::sessions::sessions(&place, args).await,
        Command::Ps(args) => commands::ps::ps(&place, &args).await,
        Command::Logs(args) => commands::logs::logs(&place, &args).await,
        Command::Attach(args) => commands::attach::attach(&place, &args).await,
        Command::Wait(args) => commands::wait::wait(&place, &args).await,
        Command::Kill(args) => commands::kill::kill(&place, &args).await,
        Command::Forget(args) => commands::forget::forget(&place, &args).await,
        Command::Prune(args) => commands::prune::prune(&place, &args).await,
        Command::Chat(args) => Box::pin(commands::chat::chat(&place, &args)).await,
        Command::Token(args) => commands::token::token(&place.data, place.server.as_ref(), args).await,
        Command::User(args) => commands::user::user(&place.data, place.server.as_ref(), args).await,
        Command::Cp(args) => Box::pin(commands::cp::cp(&place, &args)).await,
        Command::Stats(args) => commands::stats::stats(&place, &args).await,
        Command::Snapshot(args) => commands::snapshot::snapshot(&place, args.action).await,
        Command::Fork(args) => commands::fork::fork(&place, &args).await,
        Command::Hibernate(args) => commands::hibernate::hibernate(&place, &args).await,
        Command::Share(args) => commands::share::share(&place, args.action).await,
        Command::Languages(args) => commands::languages::languages(&place, &args).await,
        Command::Packages(args) => commands::packages::packages(&place, &args).await,
        Command::Usage(args) => commands::usage::usage(&place, &args).await,
        Command::Audit(args) => commands::audit::audit(&place, &args).await,
        Command::Open(args) => commands::open::open(&place, &args),
        Command::Version(args) => commands::about::version(&place, &args).await,
        // Dispatched above: they act on this machine, or need neither a worker nor a server.
        Command::Worker(_)
        | Command::Doctor(_)
        | Command::Serve(_)
        | Command::Config(_)
        | Command::Stop(_)
        | Command::Mcp(_)
        | Command::Login(_)
        | Command::Logout(_)
        | Command::Context(_)
        | Command::Completion(_)
        | Command::Man(_) => Ok(0),
    }
}
