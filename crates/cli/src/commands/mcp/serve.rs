//! `headwater mcp`: serves an agent on standard input and output. Standard output has nothing but messages of
//! the protocol; everything else goes to standard error.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Client, v1};
use headwater_mcp::{OneAgent, Server, stdio};
use headwater_protocol::{Session, SessionId};
use headwater_tools::LocalHost;
use headwater_tools::policy::{ApprovalPolicy, SharedPolicy};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::rules;
use super::spec::session_spec;
use crate::args::{ApprovalsArg, McpServeArgs};
use crate::connect::Place;
use crate::dispatch::runtime;
use crate::engine::Engine;
use crate::error::CommandError;
use crate::output::print_note;
use crate::{escape, in_place, resolve};

/// How long a session is kept for programs that still ran when the client went away, after the last of them
/// has ended.
const KEPT: Duration = Duration::from_hours(1);

/// How long programs are awaited that end with their client. Clients expect an end within two seconds.
const ENDING: Duration = Duration::from_millis(500);
/// How often they are checked.
const POLL: Duration = Duration::from_millis(20);

/// Serves until the client closes standard input, or a signal comes.
pub fn serve(data: &Path, args: &McpServeArgs) -> Result<u8, CommandError> {
    log_to_stderr();
    let runtime = runtime()?;
    let result = runtime.block_on(serve_session(&Place::new(data.to_owned()), args));
    // A thread may still be blocked on standard input; it is no longer needed.
    runtime.shutdown_background();
    result
}

/// Clients show standard error to people, so only what they can act on is logged. `HEADWATER_LOG` changes that.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_env("HEADWATER_LOG").unwrap_or_else(|_| EnvFilter::new("warn,rmcp=error"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    lines.with_writer(escape::Log { colours: false, json: false }).init();
    headwater_contract::panics::install_hook();
}

async fn serve_session(place: &Place, args: &McpServeArgs) -> Result<u8, CommandError> {
    let stop = stop_on_signals()?;
    let client = place.worker().await?;
    let session = match &args.session {
        Some(name) => joined(&client, name).await?,
        None => created(&client, args).await?,
    };
    let id = session.id;
    let host = Arc::new(LocalHost::new(client.clone()));
    let workspace = session.spec.place.as_ref().map(|place| place.folder.clone());
    let policy = policy(place, args.approvals, workspace.as_deref())?;
    let agent = OneAgent::new(host, session, BTreeMap::new()).with_policy(policy);
    let agent = match workspace {
        Some(folder) => agent.with_workspace(folder),
        None => agent,
    };
    let server = Server::new(Arc::new(agent));
    let ended = Box::pin(stdio::serve(server, tokio::io::stdin(), tokio::io::stdout(), stop)).await;
    if args.session.is_none() {
        leave(&client, id).await?;
    }
    ended.map_err(|error| CommandError::internal(format!("the client cannot be served: {error}")))?;
    Ok(0)
}

/// The policy of the project in this folder. Its rules are in the data folder, which no session can reach.
fn policy(
    place: &Place,
    approvals: Option<ApprovalsArg>,
    folder: Option<&str>,
) -> Result<SharedPolicy, CommandError> {
    let approval = match approvals {
        Some(ApprovalsArg::Never) => ApprovalPolicy::Never,
        Some(ApprovalsArg::OnFailure) => ApprovalPolicy::OnFailure,
        None | Some(ApprovalsArg::OnRequest) => ApprovalPolicy::OnRequest,
        Some(ApprovalsArg::UnlessTrusted) => ApprovalPolicy::UnlessTrusted,
    };
    let Some(folder) = folder else { return Ok(SharedPolicy::new(approval)) };
    let file = rules::file_of(&place.data, folder);
    SharedPolicy::of_project(approval, &file).map_err(|error| {
        CommandError::usage(error.to_string()).hint("correct the file, or remove it to forget the rules")
    })
}

/// The session of this name or id.
pub async fn joined(client: &Client, name: &str) -> Result<Session, CommandError> {
    let id = resolve::session(&Engine::Local(client.clone()), name).await?;
    Ok(client.retry(|client| client.session(id)).await?)
}

async fn created(client: &Client, args: &McpServeArgs) -> Result<Session, CommandError> {
    let spec = session_spec(args)?;
    // Chosen here, so that a repeated call creates only one.
    let id = SessionId::random();
    let session = client.retry(|client| client.create_session(Some(id), &spec)).await?;
    in_place::check_created(&spec, &session)?;
    Ok(session)
}

/// Ends the session, unless programs are left in it that may outlive their client.
pub async fn leave(client: &Client, id: SessionId) -> Result<(), CommandError> {
    let mut running = client.retry(|client| client.running_in_brief(Some(id))).await?;
    // Those that end with their client are being ended now.
    let until = Instant::now() + ENDING;
    while !running.is_empty() && Instant::now() < until {
        sleep(POLL).await;
        running = client.retry(|client| client.running_in_brief(Some(id))).await?;
    }
    if running.is_empty() {
        client.retry(|client| client.end_session(id, false)).await?;
        return Ok(());
    }
    let idle_timeout_ms = u64::try_from(KEPT.as_millis()).ok();
    let request =
        &v1::UpdateSessionRequest { session_id: id.to_string(), idle_timeout_ms, ..Default::default() };
    client.retry(|client| client.update_session(request.clone())).await?;
    print_note(&format!(
        "headwater: {} in the session {id}; `headwater ps --session {id}` shows what runs, and \
         `headwater sessions end {id}` ends it (the folder stays as it is)",
        if running.len() == 1 {
            "a program still runs".to_owned()
        } else {
            format!("{} programs still run", running.len())
        }
    ));
    Ok(())
}

/// Cancelled when the process is asked to end.
fn stop_on_signals() -> Result<CancellationToken, CommandError> {
    let stop = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let failed = |error| CommandError::internal(format!("signals cannot be handled: {error}"));
        let mut signals = signal(kind).map_err(failed)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}
