//! `headwater stop`: end the server, the worker and, unless told otherwise, its sessions.

use std::os::fd::OwnedFd;
use std::time::Duration;

use headwater_contract::{Client, ContractError};
use headwater_gateway::Config;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::{Instant, sleep};

use crate::args::StopArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::style::Style;

/// How long a worker may take to end its sessions: the grace of their programs, and then some.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked for.
const RETRY: Duration = Duration::from_millis(10);

/// Ends them, and returns when they have ended.
pub async fn stop(place: &Place, args: &StopArgs) -> Result<u8, CommandError> {
    // The server first: it would start the worker again.
    let had_server = stop_server(place).await?;
    let client = match place.running().await? {
        Some(client) => client,
        // Sessions outlive a killed worker: only a worker knows how to find and end them.
        None if !args.keep_sessions && place.data.join("sessions").is_dir() => place.worker().await?,
        None if had_server => return Ok(0),
        None => {
            eprintln!("{}", Style::of_stderr().dim("headwater: no worker runs"));
            return Ok(0);
        }
    };
    let pid = client.info().await?.pid;
    let process = open(pid);
    shut_down(&client, !args.keep_sessions).await?;
    if !has_ended(process.as_ref()).await {
        let message = format!("the worker (pid {pid}) was told to end and has not yet");
        return Err(CommandError::new(ErrorKind::Refused, message)
            .hint(format!("see `{}`", place.data.join("worker.log").display())));
    }
    Ok(0)
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
    let Some(pid) = server_pid(place).await else {
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
    let message = format!("the server (pid {pid}) was told to end and has not yet");
    Err(CommandError::new(ErrorKind::Refused, message).hint("its log says what it waits for"))
}

/// Who holds the server's lock. What the file says counts only while it is held: a killed server leaves the file.
async fn server_pid(place: &Place) -> Option<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let lock = std::fs::File::open(place.data.join("server.lock")).ok()?;
        if flock(&lock, FlockOperation::NonBlockingLockShared) != Err(Errno::AGAIN) {
            return None;
        }
        drop(lock);
        // One that is just starting has not written it yet.
        if let Some(pid) = announced_pid(place) {
            return Some(pid);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(RETRY).await;
    }
}

fn announced_pid(place: &Place) -> Option<u32> {
    let text = std::fs::read(Config::new(&place.data).address_path()).ok()?;
    let said: serde_json::Value = serde_json::from_slice(&text).ok()?;
    said.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok())
}

/// A worker that ends before its answer is out has done what it was told.
async fn shut_down(client: &Client, sessions: bool) -> Result<(), ContractError> {
    match client.shutdown(sessions).await {
        Err(error) if error.is_disconnected() => Ok(()),
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
