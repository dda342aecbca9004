//! `headwater stop`: end the server and the worker. Sessions are hibernated, and end only if that was asked for.

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
use crate::output::say;
use crate::style::Style;
use crate::words;

/// How long a process may take to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked for.
const RETRY: Duration = Duration::from_millis(10);
/// Sessions that are ended at the same time: deleting a workspace is work for the disk.
const AT_ONCE: usize = 16;
/// Metadata of a session: its owner. The local command line's sessions have none.
const OWNER: &str = "headwater.owner";
/// Owners that a question names.
const NAMED: usize = 20;
/// What is said where nothing runs.
const NO_WORKER: &str = "headwater: no worker runs";

/// Ends them, and returns when they have ended.
pub async fn stop(place: &Place, args: &StopArgs) -> Result<u8, CommandError> {
    let ends = if args.end_sessions { agreed(place, args.yes).await? } else { Vec::new() };
    // The server first: it would start the worker again.
    let had_server = stop_server(place).await?;
    let client = match place.running().await? {
        Some(client) => client,
        // Programs outlive a killed worker: only a worker knows how to find and end them.
        None if !args.keep_sessions && place.data.join("sessions").is_dir() => place.worker().await?,
        None if had_server => return Ok(0),
        None => {
            eprintln!("{}", Style::of_stderr().dim(NO_WORKER));
            return Ok(0);
        }
    };
    let ended = end(&client, ends).await?;
    let info = client.info().await?;
    if !args.keep_sessions && info.running > 0 {
        eprintln!("{}", Style::of_stderr().dim(&running_note(info.running)));
    }
    let process = open(info.pid);
    let done = shut_down(&client, !args.keep_sessions).await?;
    if !has_ended(process.as_ref()).await {
        let log = place.data.join("worker.log");
        return Err(still_runs("worker", info.pid).hint(format!("see `{}`", log.display())));
    }
    if args.keep_sessions {
        return Ok(0);
    }
    say(&told(ended, &done))?;
    Ok(0)
}

fn running_note(count: u32) -> String {
    format!("headwater: {} running: each gets SIGTERM first", executions(count))
}

/// What was done, in a line.
fn told(ended: u32, done: &v1::ShutdownResponse) -> String {
    let mut parts = vec![format!("{} hibernated", sessions(done.hibernated))];
    if ended + done.ended > 0 {
        parts.push(format!("{} ended", sessions(ended + done.ended)));
    }
    parts.push(format!("{} ended", executions(done.executions)));
    format!("stopped: {}", parts.join(", "))
}

fn sessions(count: u32) -> String {
    words::count(u64::from(count), "session")
}

fn executions(count: u32) -> String {
    words::count(u64::from(count), "execution")
}

/// The sessions that are to end, if the person agrees to that.
async fn agreed(place: &Place, yes: bool) -> Result<Vec<SessionId>, CommandError> {
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

/// How many sessions, and whose.
fn question(all: &[Session]) -> String {
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    for session in all {
        let owner = session.spec.metadata.get(OWNER).map_or("this machine's command line", String::as_str);
        *owners.entry(printable(owner)).or_default() += 1;
    }
    let more = owners.len().saturating_sub(NAMED);
    let mut named: Vec<String> =
        owners.into_iter().take(NAMED).map(|(owner, count)| format!("{owner} ({count})")).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let asleep = all.iter().filter(|session| session.state == SessionState::Hibernated).count();
    let asleep = if asleep > 0 { format!(" ({asleep} of them hibernated)") } else { String::new() };
    format!(
        "end {}{asleep} of {} and delete their workspaces and snapshots; the logs stay",
        words::count(all.len() as u64, "session"),
        named.join(", ")
    )
}

/// Ends these sessions; returns how many it ended.
async fn end(client: &Client, ids: Vec<SessionId>) -> Result<u32, CommandError> {
    let (mut ends, mut ended) = (JoinSet::new(), 0);
    for id in ids {
        if ends.len() >= AT_ONCE {
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

/// One that is gone already, by its own end, is what was wanted.
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

async fn has_ended(process: Option<&OwnedFd>) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while process.is_some_and(lives) {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(RETRY).await;
    }
    true
}

/// Ends the server of this folder, if one runs; answers whether one did.
async fn stop_server(place: &Place) -> Result<bool, CommandError> {
    // Its supervisor passes the signal on, and would start it again if it were killed alone.
    let Some(pid) = supervisor::running(&place.data) else {
        return Ok(false);
    };
    let process = open(pid);
    if let Some(process) = &process {
        let told = pidfd_send_signal(process, Signal::TERM);
        told.map_err(|error| {
            CommandError::new(ErrorKind::Refused, format!("the server (pid {pid}): {error}"))
        })?;
    }
    if has_ended(process.as_ref()).await {
        return Ok(true);
    }
    Err(still_runs("server", pid).hint("its log says what it waits for"))
}

fn still_runs(what: &str, pid: u32) -> CommandError {
    let message = format!("the {what} (pid {pid}) was told to end and has not yet");
    CommandError::new(ErrorKind::Refused, message)
}

/// Ends the worker of this folder, if one runs, and leaves its programs running for the next one.
pub async fn end_worker(place: &Place) -> Result<(), CommandError> {
    let Some(client) = place.running().await? else {
        return Ok(());
    };
    let process = open(client.info().await?.pid);
    shut_down(&client, false).await?;
    if has_ended(process.as_ref()).await {
        return Ok(());
    }
    Err(CommandError::new(ErrorKind::Refused, "the worker was asked to end and has not yet"))
}

/// A worker that ends before its answer is out has done what it was told.
async fn shut_down(client: &Client, hibernate: bool) -> Result<v1::ShutdownResponse, ContractError> {
    match client.shutdown(hibernate).await {
        Err(error) if error.is_disconnected() => Ok(v1::ShutdownResponse::default()),
        answer => answer,
    }
}

/// The process itself: a descriptor tells of its end also while its parent has not asked for its exit code.
fn open(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn lives(process: &OwnedFd) -> bool {
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
    fn the_question_names_how_many_and_whose_and_no_owner_can_command_the_terminal() {
        let all = [
            session(Some("ann"), SessionState::Ready),
            session(Some("ann"), SessionState::Hibernated),
            session(Some("\u{1b}[2Jbob"), SessionState::Ready),
            session(None, SessionState::Ready),
        ];
        let asked = question(&all);
        assert!(asked.starts_with("end 4 sessions (1 of them hibernated) of "), "{asked}");
        assert!(asked.contains("ann (2)") && asked.contains("this machine's command line (1)"), "{asked}");
        assert!(asked.contains("bob (1)") && !asked.contains('\u{1b}'), "{asked}");
    }

    #[test]
    fn question_and_report_read_like_this() {
        let all = [session(Some("ann"), SessionState::Ready), session(None, SessionState::Hibernated)];
        let done = v1::ShutdownResponse { hibernated: 1, ended: 1, executions: 2 };
        snapshot::assert(
            "stop",
            &[question(&all), running_note(2), told(0, &done), NO_WORKER.into()].join("\n"),
        );
        snapshot::assert_errors("stop-errors", &[still_runs("worker", 7), still_runs("server", 7)]);
    }

    #[test]
    fn the_summary_is_one_line() {
        let done = v1::ShutdownResponse { hibernated: 1, ended: 0, executions: 2 };
        assert_eq!(told(0, &done), "stopped: 1 session hibernated, 2 executions ended");
        let done = v1::ShutdownResponse { hibernated: 0, ended: 1, executions: 1 };
        assert_eq!(told(2, &done), "stopped: 0 sessions hibernated, 3 sessions ended, 1 execution ended");
    }
}
