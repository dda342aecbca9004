//! `headwater serve`: the gateway in the foreground, and a worker that outlives it.

use std::io::Write;
use std::path::Path;

use headwater_gateway::config::Config;
use headwater_gateway::serve::{Ready, ServeError};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::ServeArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};

/// Serves until it is told to end. The worker and its sessions stay.
pub fn serve(data: &Path, args: &ServeArgs) -> Result<u8, CommandError> {
    let config = super::config::load(data, &args.config)?;
    // Before the first thread: thousands of streams share what is free instead of each thread keeping its own.
    headwater_sandbox::memory::share_heaps();
    // The first process of a container gets all orphans.
    headwater_sandbox::orphans::keep_reaping();
    crate::log::to_stderr(config.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(format!("cannot start: {error}")))?;
    let mut place = Place::new(data.to_owned());
    place.sandbox = args.sandbox.map(Into::into);
    place.config.clone_from(&args.config.config);
    runtime.block_on(run(config, place))?;
    Ok(0)
}

async fn run(config: Config, place: Place) -> Result<(), CommandError> {
    let stop = CancellationToken::new();
    stop_on_signals(stop.clone()).map_err(|error| CommandError::internal(format!("no signals: {error}")))?;
    let (worker, reviver) = place.supervised().await?;
    let token_file = config.token_path();
    let greet = |ready: &Ready| greet(ready, &token_file);
    headwater_gateway::serve(config, worker, reviver, stop, greet).await.map_err(explain)
}

/// Says where it listens; and, the first time, how to get in.
fn greet(ready: &Ready, token_file: &Path) {
    let address = ready.address;
    let mut out = std::io::stdout().lock();
    // Nobody may be reading, and the server serves all the same.
    let _ = writeln!(out, "Headwater listens on http://{address}");
    if let Some(token) = &ready.first_token {
        let _ = writeln!(out, "Open http://{address}/login?token={}", token.secret);
        let _ = writeln!(out, "(shown this once; the token is in {})", token_file.display());
    }
    let _ = out.flush();
    tracing::info!(%address, "the server is ready");
}

fn stop_on_signals(stop: CancellationToken) -> std::io::Result<()> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("the server ends; the worker and its programs run on");
        stop.cancel();
    });
    Ok(())
}

fn explain(error: ServeError) -> CommandError {
    let text = error.to_string();
    match error {
        ServeError::Listen(..) => CommandError::new(ErrorKind::Refused, text)
            .hint("choose another address with `--listen 127.0.0.1:PORT`; port 0 takes a free one"),
        ServeError::AlreadyRunning(_) => CommandError::new(ErrorKind::Refused, text)
            .hint("`headwater stop` ends it and hibernates its sessions; `--data DIR` uses another folder"),
        ServeError::Data(..) => {
            CommandError::new(ErrorKind::Refused, text).hint("choose another with `--data DIR`")
        }
        ServeError::Store(_) | ServeError::Token(_) | ServeError::Jwt(_) => {
            CommandError::new(ErrorKind::Refused, text)
        }
        ServeError::Worker(error) => error.into(),
    }
}
