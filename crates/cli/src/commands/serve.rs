//! `headwater serve`: the gateway in the foreground, and a worker that outlives it.
//!
//! Two processes: a small supervisor, which holds the listening socket, and the server, which the supervisor restarts if
//! it dies. Connections that arrive meanwhile wait in the socket's queue.

mod reports;
mod socket;
pub mod supervisor;

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use headwater_gateway::config::Config;
use headwater_gateway::serve::{Ready, ServeError};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::reports::OwnReports;
use crate::args::ServeArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};

/// Sent by the server to its supervisor once it answers requests.
const READY: Signal = Signal::USR1;

/// Serves until it is asked to stop. The worker and its sessions keep running.
pub fn serve(data: &Path, args: &ServeArgs) -> Result<u8, CommandError> {
    match args.supervisor.and_then(Pid::from_raw) {
        None => supervisor::supervise(data, args),
        Some(supervisor) => serve_for(supervisor, data, args),
    }
}

/// Runs the server process.
fn serve_for(supervisor: Pid, data: &Path, args: &ServeArgs) -> Result<u8, CommandError> {
    // Without its supervisor it could not be restarted, and would keep the next server from starting.
    let linked = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if linked.is_err() || rustix::process::getppid() != Some(supervisor) {
        return Err(CommandError::internal("the supervisor of this server has exited"));
    }
    let listener = socket::inherited().map_err(|error| {
        CommandError::internal(format!("the supervisor passed no listening socket: {error}"))
    })?;
    let config = super::config::load(data, &args.config)?;
    // Before the first thread starts: all threads share the free memory instead of each keeping its own.
    headwater_sandbox::allocator::bound_heaps();
    crate::log::to_stderr(config.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(format!("cannot start: {error}")))?;
    let reports = OwnReports { data: data.to_owned(), config: args.config.config.clone() };
    runtime.block_on(run(config, listener, place(data, args), reports, supervisor))?;
    Ok(0)
}

/// The data folder and settings of this server's worker.
fn place(data: &Path, args: &ServeArgs) -> Place {
    let mut place = Place::new(data.to_owned());
    place.sandbox = args.config.sandbox.map(Into::into);
    place.config.clone_from(&args.config.config);
    place.log_format = args.config.log_format.map(Into::into);
    place
}

async fn run(
    config: Config,
    listener: TcpListener,
    place: Place,
    reports: OwnReports,
    supervisor: Pid,
) -> Result<(), CommandError> {
    let stop = CancellationToken::new();
    stop_on_signals(stop.clone())
        .map_err(|error| CommandError::internal(format!("cannot handle signals: {error}")))?;
    let (worker, restarter) = place.supervised().await?;
    let token_file = config.token_path();
    let greet = |ready: &Ready| {
        greet(ready, &token_file);
        let _ = kill_process(supervisor, READY); // fails only if the supervisor has exited, and then so do we
    };
    let reports = Arc::new(reports);
    headwater_gateway::serve(config, listener, worker, restarter, reports, stop, greet).await.map_err(explain)
}

/// Prints the address and, on the first start, the sign-in URL.
fn greet(ready: &Ready, token_file: &Path) {
    let mut out = std::io::stdout().lock();
    // The server runs even if nobody reads its output.
    let _ = out.write_all(greeting(ready, token_file).as_bytes());
    let _ = out.flush();
    tracing::info!(address = %ready.address, "the server is ready");
}

fn greeting(ready: &Ready, token_file: &Path) -> String {
    let address = ready.address;
    let mut lines = vec![format!("Headwater is listening on http://{address}")];
    if let Some(token) = &ready.first_token {
        lines.push(format!("Sign in at http://{address}/login?token={}", token.secret));
        lines.push(format!("(shown only once; the token is also in {})", token_file.display()));
    }
    lines.join("\n") + "\n"
}

/// SIGHUP is ignored here: it is for the supervisor, but a terminal sends it to both.
fn stop_on_signals(stop: CancellationToken) -> std::io::Result<()> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => break,
                _ = int.recv() => break,
                _ = hangup.recv() => {}
            }
        }
        tracing::info!("the server is stopping; the worker and its programs keep running");
        stop.cancel();
    });
    Ok(())
}

fn explain(error: ServeError) -> CommandError {
    let text = error.to_string();
    match error {
        ServeError::AlreadyRunning(_) => already_running(text),
        ServeError::Data(..) => {
            CommandError::new(ErrorKind::Refused, text).hint("choose another folder with `--data DIR`")
        }
        ServeError::Listen(_) | ServeError::Store(_) | ServeError::Token(_) | ServeError::Jwt(_) => {
            CommandError::new(ErrorKind::Refused, text)
        }
        ServeError::Worker(error) => error.into(),
    }
}

fn already_running(message: String) -> CommandError {
    CommandError::new(ErrorKind::Refused, message)
        .hint("`headwater stop` stops it and hibernates its sessions; `--data DIR` selects another folder")
}

#[cfg(test)]
mod tests {
    use headwater_gateway::auth::make_token;
    use headwater_store::Role;

    use super::*;
    use crate::snapshot;

    #[test]
    fn greeting_and_errors_match_their_snapshots() {
        let mut token = make_token("first", "admin", Role::Admin, None);
        token.secret = "SECRET".to_owned();
        let first = Ready { address: ([127, 0, 0, 1], 8080).into(), first_token: Some(token) };
        let later = Ready { address: first.address, first_token: None };
        let file = Path::new("/data/token");
        snapshot::assert("serve-greeting", &[greeting(&first, file), greeting(&later, file)].join("\n"));
        let text = "another server uses the data folder `/data`".to_owned();
        snapshot::assert_errors("serve-errors", &[already_running(text)]);
    }
}
