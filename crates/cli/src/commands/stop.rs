//! `headwater stop`: stops the server and the worker. Sessions are hibernated, or ended with `--end-sessions`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

use headwater_contract::{Client, ContractError, v1};
use headwater_protocol::{Session, SessionId, SessionState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::serve::supervisor;
use crate::args::StopArgs;
use crate::confirm::confirm;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::humanize;
use crate::output::{print_line, print_note};
use crate::style::Style;

/// How long a process may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often to check whether it has exited.
const EXIT_POLL: Duration = Duration::from_millis(10);
/// Sessions that are ended in parallel: deleting a workspace keeps the disk busy.
const PARALLEL_ENDS: usize = 16;
/// The metadata key of a session's owner. Sessions of the local command line have none.
const OWNER: &str = "headwater.owner";
/// Owners listed in the question.
const MAX_OWNERS: usize = 20;
/// Printed if nothing is running.
const NO_WORKER: &str = "headwater: no worker is running";

/// Stops the server and the worker, and returns when they have exited.
pub async fn stop(place: &Place, args: &StopArgs) -> Result<u8, CommandError> {
    let ends = if args.end_sessions { confirmed_sessions(place, args.yes).await? } else { Vec::new() };
    // The server first: it would restart the worker.
    let had_server = stop_server(place).await?;
    let client = match place.running().await? {
        Some(client) => client,
        // Programs outlive a killed worker, and only a worker can find and end them.
        None if !args.keep_sessions && place.data.join("sessions").is_dir() => place.worker().await?,
        None if had_server => return Ok(0),
        None => {
            print_note(&Style::of_stderr().dim(NO_WORKER));
            return Ok(0);
        }
    };
    let ended = end(&client, ends).await?;
    let info = client.info().await?;
    if !args.keep_sessions && info.running > 0 {
        print_note(&Style::of_stderr().dim(&running_note(info.running)));
    }
    let process = open(info.pid);
    let done = shut_down(&client, !args.keep_sessions).await?;
    if !has_exited(process.as_ref()).await {
        let log = place.data.join("worker.log");
        return Err(still_runs("worker", info.pid).hint(format!("see `{}`", log.display())));
    }
    if args.keep_sessions {
        return Ok(0);
    }
    print_line(&summary(ended, &done))?;
    Ok(0)
}

fn running_note(count: u32) -> String {
    format!("headwater: stopping {}: SIGTERM first, then SIGKILL", executions(count))
}

/// One line that says what was done.
fn summary(ended: u32, done: &v1::ShutdownResponse) -> String {
    let mut parts = vec![format!("{} hibernated", sessions(done.hibernated))];
    if ended + done.ended > 0 {
        parts.push(format!("{} ended", sessions(ended + done.ended)));
    }
    parts.push(format!("{} ended", executions(done.executions)));
    format!("stopped: {}", parts.join(", "))
}

fn sessions(count: u32) -> String {
    humanize::count(u64::from(count), "session")
}

fn executions(count: u32) -> String {
    humanize::count(u64::from(count), "execution")
}

/// The sessions to end, once the user has confirmed it.
async fn confirmed_sessions(place: &Place, yes: bool) -> Result<Vec<SessionId>, CommandError> {
    let client = match place.running().await? {
        Some(client) => client,
        None if place.data.join("sessions").is_dir() => place.worker().await?,
        None => return Ok(Vec::new()),
    };
    let all = client.retry(|client| client.sessions(false)).await?;
    if !all.is_empty() {
        confirm(&question(&all), yes)?;
    }
    Ok(all.into_iter().map(|session| session.id).collect())
}

/// The question before all sessions are ended: how many, and of which owners.
fn question(all: &[Session]) -> String {
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for session in all {
        let owner = session.spec.metadata.get(OWNER).map_or("the local command line", String::as_str);
        *owners.entry(printable(owner)).or_default() += 1;
    }
    let more = owners.len().saturating_sub(MAX_OWNERS);
    let mut named: Vec<String> =
        owners.into_iter().take(MAX_OWNERS).map(|(owner, count)| format!("{owner} ({count})")).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let hibernated = all.iter().filter(|session| session.state == SessionState::Hibernated).count();
    let hibernated = if hibernated > 0 { format!(" ({hibernated} hibernated)") } else { String::new() };
    format!(
        "end {}{hibernated} of {} and delete their workspaces and snapshots (logs are kept)",
        humanize::count(all.len() as u64, "session"),
        named.join(", ")
    )
}

/// Ends these sessions; returns how many it ended.
async fn end(client: &Client, ids: Vec<SessionId>) -> Result<u32, CommandError> {
    let (mut ends, mut ended) = (JoinSet::new(), 0);
    for id in ids {
        if ends.len() >= PARALLEL_ENDS {
            ended += joined(ends.join_next().await)?;
        }
        let client = client.clone();
        ends.spawn(async move { client.end_session(id, false).await });
    }
    while let Some(one) = ends.join_next().await {
        ended += joined(Some(one))?;
    }
    Ok(ended)
}

type Joined = Option<Result<Result<Session, ContractError>, tokio::task::JoinError>>;

/// A session that no longer exists counts as ended, but not by us.
fn joined(one: Joined) -> Result<u32, CommandError> {
    match one {
        Some(Ok(Ok(_))) => Ok(1),
        Some(Ok(Err(error))) if !is_missing(&error) => Err(error.into()),
        _ => Ok(0),
    }
}

fn is_missing(error: &ContractError) -> bool {
    error.fault().is_some_and(|fault| fault.kind == headwater_contract::FaultKind::NotFound)
}

async fn has_exited(process: Option<&OwnedFd>) -> bool {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    while process.is_some_and(is_running) {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(EXIT_POLL).await;
    }
    true
}

/// Stops the server of this folder; returns whether it was running.
async fn stop_server(place: &Place) -> Result<bool, CommandError> {
    // Its supervisor forwards the signal; it would restart a server that was killed alone.
    let Some(pid) = supervisor::running(&place.data) else {
        return Ok(false);
    };
    let process = open(pid);
    if let Some(process) = &process {
        let sent = pidfd_send_signal(process, Signal::TERM);
        sent.map_err(|error| {
            CommandError::new(ErrorKind::Refused, format!("cannot signal the server (pid {pid}): {error}"))
        })?;
    }
    if has_exited(process.as_ref()).await {
        return Ok(true);
    }
    Err(still_runs("server", pid).hint("its log shows what it is waiting for"))
}

fn still_runs(what: &str, pid: u32) -> CommandError {
    let message = format!("the {what} (pid {pid}) was asked to stop but is still running");
    CommandError::new(ErrorKind::Refused, message)
}

/// Stops the worker of this folder, if it is running, and leaves its programs running for the next one.
pub async fn end_worker(place: &Place) -> Result<(), CommandError> {
    let Some(client) = place.running().await? else {
        return Ok(());
    };
    let process = open(client.info().await?.pid);
    shut_down(&client, false).await?;
    if has_exited(process.as_ref()).await {
        return Ok(());
    }
    Err(CommandError::new(ErrorKind::Refused, "the worker was asked to stop but is still running"))
}

/// Asks the worker to stop. One that exits before it has answered has done so.
async fn shut_down(client: &Client, hibernate: bool) -> Result<v1::ShutdownResponse, ContractError> {
    match client.shutdown(hibernate).await {
        Err(error) if error.is_disconnected() => Ok(v1::ShutdownResponse::default()),
        answer => answer,
    }
}

/// Opens the process by descriptor, which reports its exit even if its parent has not reaped it yet.
fn open(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn is_running(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)) == Ok(0)
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SandboxKind, SessionSpec};

    use super::*;
    use crate::snapshot;

    fn session(owner: Option<&str>, state: SessionState) -> Session {
        let metadata = owner.map(|owner| (OWNER.to_owned(), owner.to_owned())).into_iter().collect();
        Session {
            id: SessionId::random(),
            spec: SessionSpec { metadata, ..SessionSpec::default() },
            sandbox: SandboxKind::Full,
            state,
            created_at_ms: 0,
            running: 0,
        }
    }

    #[test]
    fn the_question_names_the_number_and_the_owners_and_escapes_their_names() {
        let all = [
            session(Some("ann"), SessionState::Ready),
            session(Some("ann"), SessionState::Hibernated),
            session(Some("\u{1b}[2Jbob"), SessionState::Ready),
            session(None, SessionState::Ready),
        ];
        let question = question(&all);
        assert!(question.starts_with("end 4 sessions (1 hibernated) of "), "{question}");
        assert!(
            question.contains("ann (2)") && question.contains("the local command line (1)"),
            "{question}"
        );
        assert!(question.contains("bob (1)") && !question.contains('\u{1b}'), "{question}");
    }

    #[test]
    fn question_and_summary_match_their_snapshots() {
        let all = [session(Some("ann"), SessionState::Ready), session(None, SessionState::Hibernated)];
        let done = v1::ShutdownResponse { hibernated: 1, ended: 1, executions: 2 };
        snapshot::assert(
            "stop",
            &[question(&all), running_note(2), summary(0, &done), NO_WORKER.into()].join("\n"),
        );
        snapshot::assert_errors("stop-errors", &[still_runs("worker", 7), still_runs("server", 7)]);
    }

    #[test]
    fn the_summary_is_one_line() {
        let done = v1::ShutdownResponse { hibernated: 1, ended: 0, executions: 2 };
        assert_eq!(summary(0, &done), "stopped: 1 session hibernated, 2 executions ended");
        let done = v1::ShutdownResponse { hibernated: 0, ended: 1, executions: 1 };
        assert_eq!(summary(2, &done), "stopped: 0 sessions hibernated, 3 sessions ended, 1 execution ended");
    }
}
