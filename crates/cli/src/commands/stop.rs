//! `headwater stop`: end the worker and, unless told otherwise, its sessions.

use std::os::fd::OwnedFd;
use std::time::Duration;

use headwater_contract::{Client, ContractError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::{Instant, sleep};

use crate::args::StopArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::style::Style;

/// How long a worker may take to end its sessions: the grace of their programs, and then some.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked for.
const RETRY: Duration = Duration::from_millis(10);

/// Ends it, and returns when it has ended.
pub async fn stop(place: &Place, args: &StopArgs) -> Result<u8, CommandError> {
    let client = match place.running().await? {
        Some(client) => client,
        // Sessions outlive a killed worker: only a worker knows how to find and end them.
        None if !args.keep_sessions && place.data.join("sessions").is_dir() => place.worker().await?,
        None => {
            eprintln!("{}", Style::of_stderr().dim("headwater: no worker runs"));
            return Ok(0);
        }
    };
    let pid = client.info().await?.pid;
    let process = open(pid);
    shut_down(&client, !args.keep_sessions).await?;
    let deadline = Instant::now() + PATIENCE;
    while process.as_ref().is_some_and(lives) {
        if Instant::now() >= deadline {
            let message = format!("the worker (pid {pid}) was told to end and has not yet");
            return Err(CommandError::new(ErrorKind::Refused, message)
                .hint(format!("see `{}`", place.data.join("worker.log").display())));
        }
        sleep(RETRY).await;
    }
    Ok(0)
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
